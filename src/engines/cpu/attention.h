#pragma once

#include "engines/cpu/kernels/table.h"

#include <cstddef>
#include <cstdint>

namespace fusednn::engines::cpu {

/// A tensor of rank 4 as the kernel sees it. Strides are in elements, in any order and with any gaps.
struct AttentionInput {
  void const* data = nullptr;
  Storage type = Storage::F32;
  int64_t strides[4] = {0, 0, 0, 0};
};

struct AttentionOutput {
  void* data = nullptr;
  Storage type = Storage::F32;
  int64_t strides[4] = {0, 0, 0, 0};
};

/// Scaled dot product attention, forward: O = softmax(scale * Q K^T + Bias) V per batch and query head.
///
/// Heads: hq is a multiple of hk and of hv, each on its own; query head h reads K head h / (hq / hk).
///
/// Mask. Row i sees key j when
///     j < len_kv,   j <= i + offset + right_bound,   j > i + offset - left_bound,   bias[i, j] != -inf
/// where offset is 0, or len_kv - len_q when the diagonal is aligned bottom-right; the lengths are
/// seq_len_q[b] and seq_len_kv[b] where given (limited to [0, s]), the dims otherwise. So a left bound of w
/// alone is a window of the w keys up to and including the diagonal plus everything to its right, and a right
/// bound of 0 is causal.
///
/// Rows that see no key, and rows at or past seq_len_q[b]: O = 0, Stats = -inf. A bias of the lowest finite
/// value is a finite score: a row of nothing else is the mean of V.
///
/// What a row does not see never reaches it, NaN and infinity included, in Q, K, V and Bias alike. What it
/// sees follows IEEE: a NaN or +inf score makes the row NaN; a seen score of -inf weighs 0.
///
/// A row's bits do not depend on how many rows, heads or batches are computed with it, nor on the thread
/// count.
struct AttentionProblem {
  static constexpr int64_t unbounded = INT64_MAX;

  int64_t b = 0, hq = 0, hk = 0, hv = 0, sq = 0, skv = 0, dqk = 0, dv = 0;
  AttentionInput q, k, v;  // [b, heads, s, d], of any floating type
  AttentionOutput o;       // [b, hq, sq, dv], of any floating type
  // Optional operands.
  bool with_stats = false, with_bias = false, with_seq_len_q = false, with_seq_len_kv = false;
  AttentionOutput stats;      // F32 or F64 [b, hq, sq, 1]: log-sum-exp of the row's scores
  AttentionInput bias;        // of any floating type, with stride 0 along every dim that broadcasts
  AttentionInput seq_len_q;   // I32 or I64 [b, 1, 1, 1]
  AttentionInput seq_len_kv;  // I32 or I64 [b, 1, 1, 1]
  bool in_double = false;     // compute in double instead of float
  double scale = 1;
  int64_t left_bound = unbounded;
  int64_t right_bound = unbounded;
  bool bottom_right = false;
  bool stats_base_2 = false;
};

/// Bytes of scratch for run_attention with that many threads, linear in the block sizes and the head widths
/// and free of s. Reads no pointer.
size_t attention_scratch_bytes(AttentionProblem const& problem, int threads);

/// `scratch` is aligned to 64 bytes; what it holds before does not matter.
void run_attention(AttentionProblem const& problem, void* scratch, int threads);

}  // namespace fusednn::engines::cpu
