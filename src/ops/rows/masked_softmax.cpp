#include "ops/rows/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::ops {

namespace {

using base::Rule;

enum In { SCORES, BIAS, LENGTH_Q, LENGTH_KV };
enum Out { P, STATS };

ir::Dims stats_dims(NodeContext& ctx) {
  ir::Dims dims = ctx.in(SCORES).dims;
  dims.back() = 1;
  return dims;
}

void infer(NodeContext& ctx) {
  ctx.infer_dims(P, ctx.in(SCORES).dims);
  ctx.infer_strides(P, ctx.in(SCORES));
  ctx.infer_dims(STATS, stats_dims(ctx));
  ctx.infer_packed_strides(STATS);
}

void check(NodeContext& ctx) {
  ir::Tensor const& s = ctx.in(SCORES);
  if (s.rank() != 4) return ctx.fail(Rule::sdpa_rank, s.name, fmt::format("rank {}", s.rank()));
  check_mask(ctx, s.dims, BIAS, LENGTH_Q, LENGTH_KV);
  ctx.expect_dims(P, s.dims);
  ctx.expect_dims(STATS, stats_dims(ctx));
}

template <class R>
void reference(RefNode<R>& n) {
  RefTensor<R> const& s = *n.in[SCORES];
  RefTensor<R>& p = *n.out[P];
  int64_t const batches = s.dims[0], heads = s.dims[1], rows = s.dims[2], keys = s.dims[3];
  DataType_t const compute = n.node.compute;
  bool const base_2 = n.node.attrs.template get<bool>("stats_use_log2");
  R const u = n.unit(), nan = std::numeric_limits<R>::quiet_NaN();
  MaskOperands<R> const operands(n, rows, keys, BIAS, LENGTH_Q, LENGTH_KV);
  std::vector<Score<R>> visible;
  size_t row = 0;
  for (int64_t b = 0; b < batches; ++b) {
    AttentionMask const mask = operands.mask(b);
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rows; ++i, ++row) {
        size_t const first = row * static_cast<size_t>(keys);
        visible.clear();
        for (int64_t j = mask.first_key(i); j < mask.end_key(i); ++j) {
          if (operands.masked_by_bias(b, h, i, j)) continue;
          size_t const at = first + static_cast<size_t>(j);
          Score<R> score{j, s.value[at] + operands.bias(b, h, i, j), s.bound[at] + operands.bias_error(b, h, i, j)};
          round_interval(compute, score.value, score.bound);
          visible.push_back(score);
        }
        SoftmaxRow<R> const softmax = softmax_row(visible, compute, base_2);
        for (size_t k = 0; k < visible.size(); ++k) {
          size_t const at = first + static_cast<size_t>(visible[k].key);
          R const weight = softmax.weight[k], error = softmax.error[k];
          p.value[at] = softmax.empty ? R(0) : softmax.not_a_number ? nan : weight / softmax.sum;
          if (softmax.undetermined) p.bound[at] = std::numeric_limits<R>::infinity();
          if (softmax.empty || softmax.not_a_number || softmax.undetermined) continue;
          // A weight lies in [0, 1] whatever the scores' errors are.
          R const least = softmax.least_sum();
          R const carried = least > 0 ? (error + p.value[at] * softmax.sum_error) / least : R(1);
          p.bound[at] = std::min(carried, R(1)) +
                        (static_cast<R>(visible.size()) + 4) * u * (p.value[at] + std::min(carried, R(1)));
        }
        if (!n.out[STATS]) continue;
        n.out[STATS]->value[row] = softmax.stats;
        n.out[STATS]->bound[row] = softmax.stats_bound;
      }
  }
}

constexpr Port inputs[] = {
    {.name = "S", .doc = "scaled scores [B, H, S_q, S_kv]"}, bias_port, length_q_port, length_kv_port};
constexpr Port outputs[] = {{.name = "P", .doc = "dims of S; 0 where masked"}, stats_port};
Attr const attrs[] = {log2_attr, alignment_attr, left_attr, right_attr};

}  // namespace

OpRow const masked_softmax_row = {
    .kind = ir::OpKind::masked_softmax,
    .tag = "",
    .builder = "",
    .doc =
        "P = softmax(S + Bias) over the keys that each row sees, by the rule of sdpa; masked scores are not "
        "read. A row "
        "that sees nothing has P = 0 and Stats = -inf. The lengths make a padding mask where they are given.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
};

}  // namespace fusednn::ops
