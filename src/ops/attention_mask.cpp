#include "ops/attention_mask.h"

namespace fusednn::ops {

AttentionMask mask_of(ir::Node const& node, int64_t length_q, int64_t length_kv, int64_t s_q, int64_t s_kv) {
  auto bound = [&](char const* name) { return node.attrs.get_if<int64_t>(name).value_or(AttentionMask::open); };
  return {node.attrs.get_enum<DiagonalAlignment_t>("diagonal_alignment"), bound("left_bound"), bound("right_bound"),
          std::clamp(length_q, int64_t(0), s_q), std::clamp(length_kv, int64_t(0), s_kv)};
}

}  // namespace fusednn::ops
