#pragma once

#include "ir/graph.h"

#include <algorithm>
#include <cstdint>

namespace fusednn::ops {

/// Which keys a query row of attention sees: the one statement of the mask's rule. The reference, the mask
/// printer and the engines read it.
///
/// Row i, below `length_q`, sees key j, below `length_kv`, when
///     i + offset - left < j <= i + offset + right
/// where offset is 0 (TOP_LEFT) or length_kv - length_q (BOTTOM_RIGHT). A bound that is not given leaves its
/// side open. Rows from `length_q` on see nothing.
class AttentionMask {
 public:
  static constexpr int64_t open = INT64_MAX;

  AttentionMask(DiagonalAlignment_t alignment, int64_t left, int64_t right, int64_t length_q, int64_t length_kv)
      : length_q_(length_q),
        length_kv_(length_kv),
        offset_(alignment == DiagonalAlignment_t::BOTTOM_RIGHT ? length_kv - length_q : 0),
        left_(std::min(left, length_q + length_kv)),
        right_(std::min(right, length_q + length_kv)) {}

  bool visible(int64_t i, int64_t j) const { return first_key(i) <= j && j < end_key(i); }
  /// The keys that row i sees are [first_key, end_key): none where the two are equal.
  int64_t first_key(int64_t i) const { return std::clamp(i + offset_ - left_ + 1, int64_t(0), end_key(i)); }
  int64_t end_key(int64_t i) const {
    return i < length_q_ ? std::clamp(i + offset_ + right_ + 1, int64_t(0), length_kv_) : 0;
  }

 private:
  int64_t length_q_, length_kv_, offset_;
  int64_t left_, right_;  // beyond the sum of the lengths a bound excludes nothing, and sums stay small
};

/// The mask that a node's attributes (diagonal_alignment, left_bound, right_bound) imply for a batch with
/// these lengths, which are brought into [0, s].
AttentionMask mask_of(ir::Node const& node, int64_t length_q, int64_t length_kv, int64_t s_q, int64_t s_kv);

}  // namespace fusednn::ops
