#include "ops/rows/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::ops {

namespace {

using base::Rule;

enum In { P, V, BIAS, LENGTH_Q, LENGTH_KV };

ir::Dims o_dims(NodeContext& ctx) {
  ir::Dims dims = ctx.in(P).dims;
  dims[3] = ctx.in(V).dims[3];
  return dims;
}

bool ranks_fit(NodeContext& ctx) { return ctx.in(P).rank() == 4 && ctx.in(V).rank() == 4; }

void infer(NodeContext& ctx) {
  if (!ranks_fit(ctx)) return;
  ctx.infer_dims(0, o_dims(ctx));
  ctx.infer_packed_strides(0);
}

void check(NodeContext& ctx) {
  if (!ranks_fit(ctx))
    return ctx.fail(Rule::sdpa_rank, ctx.in(P).name,
                    fmt::format("ranks {} and {}", ctx.in(P).rank(), ctx.in(V).rank()));
  ir::Dims const &p = ctx.in(P).dims, &v = ctx.in(V).dims;
  if (p[0] != v[0] || p[3] != v[2])
    ctx.fail(Rule::sdpa_dims, ctx.in(V).name,
             fmt::format("dims [{}] against [{}]", fmt::join(v, ","), fmt::join(p, ",")));
  if (v[1] == 0 ? p[1] != 0 : p[1] % v[1] != 0)
    ctx.fail(Rule::sdpa_heads, ctx.in(V).name, fmt::format("{} heads, '{}' has {}", v[1], ctx.in(P).name, p[1]));
  check_mask(ctx, p, BIAS, LENGTH_Q, LENGTH_KV);
  ctx.expect_dims(0, o_dims(ctx));
}

template <class R>
void reference(RefNode<R>& n) {
  RefTensor<R> const &p = *n.in[P], &v = *n.in[V];
  RefTensor<R>& o = *n.out[0];
  int64_t const batches = p.dims[0], heads = p.dims[1], rows = p.dims[2], keys = p.dims[3];
  size_t const width = static_cast<size_t>(v.dims[3]);
  R const u = n.unit(), step = smallest_step<R>(n.node.compute);
  MaskOperands<R> const operands(n, rows, keys, BIAS, LENGTH_Q, LENGTH_KV);
  bool const undetermined = any_undetermined(p) || any_undetermined(v);
  std::vector<R> magnitude(width), carried(width);
  size_t row = 0;
  for (int64_t b = 0; b < batches; ++b) {
    AttentionMask const mask = operands.mask(b);
    for (int64_t h = 0; h < heads; ++h) {
      size_t const v_head = static_cast<size_t>((b * v.dims[1] + h / (heads / v.dims[1])) * keys);
      for (int64_t i = 0; i < rows; ++i, ++row) {
        R *value = o.value.data() + row * width, *bound = o.bound.data() + row * width;
        std::fill(magnitude.begin(), magnitude.end(), R(0));
        std::fill(carried.begin(), carried.end(), R(0));
        R live = 0;
        for (int64_t j = mask.first_key(i); j < mask.end_key(i); ++j) {
          if (operands.masked_by_bias(b, h, i, j)) continue;
          ++live;
          size_t const at = row * static_cast<size_t>(keys) + static_cast<size_t>(j);
          size_t const v_row = (v_head + static_cast<size_t>(j)) * width;
          for (size_t c = 0; c < width; ++c) {
            R const vm = std::fabs(v.value[v_row + c]), ve = v.bound[v_row + c];
            value[c] += p.value[at] * v.value[v_row + c];
            magnitude[c] += std::fabs(p.value[at]) * vm;
            carried[c] += std::fabs(p.value[at]) * ve + p.bound[at] * (vm + ve);
          }
        }
        for (size_t c = 0; c < width; ++c) {
          R const total = carried[c] + (live + 1) * u * (magnitude[c] + carried[c]) + live * step;
          bound[c] = settled(value[c], total, undetermined);
        }
      }
    }
  }
}

constexpr Port inputs[] = {
    {.name = "P", .doc = "weights [B, H, S_q, S_kv]"},
    {.name = "V", .doc = "[B, H_v, S_kv, D_v]; H is a multiple of H_v"},
    bias_port,
    length_q_port,
    length_kv_port,
};
constexpr Port outputs[] = {{.name = "O", .doc = "[B, H, S_q, D_v], row-major"}};
Attr const attrs[] = {alignment_attr, left_attr, right_attr};

}  // namespace

OpRow const live_key_matmul_row = {
    .kind = ir::OpKind::live_key_matmul,
    .tag = "",
    .builder = "",
    .doc =
        "O = P V over the keys that each row sees, by the rule of sdpa: V at other keys is not read for the "
        "row, so NaN "
        "there does not reach it. An engine may read keys that some other row of the head sees.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
};

}  // namespace fusednn::ops
