#include "ops/rows/attention.h"

#include "base/numeric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::ops {

using base::Rule;

namespace {

void check_lengths(NodeContext& ctx, size_t port, int64_t batches) {
  if (!ctx.has_in(port)) return;
  ir::Tensor const& t = ctx.in(port);
  bool const indices = t.dtype == DataType_t::INT32 || t.dtype == DataType_t::INT64;
  if (!indices || t.dims != ir::Dims{batches, 1, 1, 1})
    ctx.fail(Rule::sdpa_length_tensor, t.name,
             fmt::format("{} [{}], B is {}", base::to_string(t.dtype), fmt::join(t.dims, ","), batches));
}

}  // namespace

bool check_floating(NodeContext& ctx, size_t port) {
  if (!ctx.has_in(port)) return true;
  TypeInfo const* info = type_info(ctx.in(port).dtype);
  if (!info || info->kind == TypeKind::FLOATING) return true;
  ctx.fail(Rule::sdpa_floating, ctx.in(port).name, fmt::format("data type {}", base::to_string(ctx.in(port).dtype)));
  return false;
}

void check_mask(NodeContext& ctx, ir::Dims const& scores, size_t bias, size_t length_q, size_t length_kv) {
  auto left = ctx.attrs().get_if<int64_t>("left_bound"), right = ctx.attrs().get_if<int64_t>("right_bound");
  if (left && *left < 1) ctx.fail(Rule::sdpa_band, "", fmt::format("left_bound {}", *left));
  if (right && *right < 0) ctx.fail(Rule::sdpa_band, "", fmt::format("right_bound {}", *right));
  if (!left && !right &&
      ctx.attrs().get_enum<DiagonalAlignment_t>("diagonal_alignment") == DiagonalAlignment_t::BOTTOM_RIGHT)
    ctx.fail(Rule::sdpa_alignment, "", "BOTTOM_RIGHT, and neither left_bound nor right_bound");
  check_lengths(ctx, length_q, scores[0]);
  check_lengths(ctx, length_kv, scores[0]);
  if (!ctx.has_in(bias) || !check_floating(ctx, bias)) return;
  ir::Dims const& dims = ctx.in(bias).dims;
  bool fits = dims.size() == scores.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) fits = dims[i] == scores[i] || dims[i] == 1;
  if (!fits)
    ctx.fail(Rule::sdpa_bias_dims, ctx.in(bias).name,
             fmt::format("dims [{}], scores have [{}]", fmt::join(dims, ","), fmt::join(scores, ",")));
}

}  // namespace fusednn::ops
