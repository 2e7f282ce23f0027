#include "base/checked.h"
#include "ir/layout.h"
#include "ops/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::ops {

namespace {

using base::Rule;

ir::Dims const& list(NodeContext& ctx, char const* name) { return ctx.attrs().get<ir::Dims>(name); }

void infer(NodeContext& ctx) {
  if (!list(ctx, "dim").empty()) ctx.infer_dims(0, list(ctx, "dim"));
  ir::Tensor& y = ctx.out(0);
  if (y.strides.empty() && !y.dims.empty() && list(ctx, "stride").size() == y.dims.size())
    y.strides = list(ctx, "stride");
  ctx.infer_strides(0, ctx.in(0));
}

/// Where consecutive elements lie, axes that follow one another without a gap merged: two layouts with the
/// same runs put the n-th element in the same place.
std::vector<std::pair<int64_t, int64_t>> runs(ir::Dims const& dims, ir::Dims const& strides) {
  std::vector<std::pair<int64_t, int64_t>> merged;  // dim, stride
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!merged.empty() && checked_mul(dims[i], strides[i]) == merged.back().second) {
      merged.back() = {merged.back().first * dims[i], strides[i]};
    } else {
      merged.emplace_back(dims[i], strides[i]);
    }
  }
  return merged;
}

void check(NodeContext& ctx) {
  ir::Tensor const &x = ctx.in(0), &y = ctx.out(0);
  ReshapeMode_t const mode = ctx.attrs().get_enum<ReshapeMode_t>("reshape_mode");
  if (y.dims.empty()) return;
  if (!list(ctx, "dim").empty()) ctx.expect_dims(0, list(ctx, "dim"));
  auto volume = ir::volume(x.dims);
  if (!volume || volume != ir::volume(y.dims))
    return ctx.fail(
        Rule::reshape_volume, y.name,
        fmt::format("dims [{}], those of '{}' are [{}]", fmt::join(y.dims, ","), x.name, fmt::join(x.dims, ",")));
  ir::Dims const& stride = list(ctx, "stride");
  if (stride.empty()) return;
  if (stride != y.strides)
    return ctx.fail(
        Rule::reshape_stride, y.name,
        fmt::format("stride [{}], the output has strides [{}]", fmt::join(stride, ","), fmt::join(y.strides, ",")));
  if (mode == ReshapeMode_t::VIEW_ONLY && volume != 0 && stride.size() == y.dims.size() &&
      x.strides.size() == x.dims.size() && runs(x.dims, x.strides) != runs(y.dims, stride))
    ctx.fail(Rule::reshape_view, y.name,
             fmt::format("dims [{}] with strides [{}] of '{}' with dims [{}], strides [{}]", fmt::join(y.dims, ","),
                         fmt::join(stride, ","), x.name, fmt::join(x.dims, ","), fmt::join(x.strides, ",")));
}

template <class R>
void reference(RefNode<R>& n) {
  n.out[0]->value = n.in[0]->value;
  n.out[0]->bound = n.in[0]->bound;
}

constexpr Port inputs[] = {{.name = "X", .doc = "any dims"}};
constexpr Port outputs[] = {{.name = "Y", .doc = "as many elements as X"}};
Attr const attrs[] = {
    {.name = "dim",
     .type = AttrType::integers,
     .doc = "dims of Y; those given to Y itself where empty",
     .default_value = ir::Dims{}},
    {.name = "stride",
     .type = AttrType::integers,
     .doc = "strides of Y; packed where empty",
     .default_value = ir::Dims{}},
    {.name = "reshape_mode",
     .type = AttrType::enumeration,
     .doc = "VIEW_ONLY: strides, where given, must be such that Y could lie in X's memory; LOGICAL: any "
            "strides. The "
            "values are the same",
     .default_value = static_cast<int64_t>(ReshapeMode_t::VIEW_ONLY),
     .names = base::enum_names<ReshapeMode_t>},
};

}  // namespace

OpRow const reshape_row = {
    .kind = ir::OpKind::reshape,
    .tag = "RESHAPE",
    .builder = "reshape",
    .doc =
        "Y holds the elements of X, both taken in row-major order of their indices, whatever the strides "
        "are.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
    .moves_data = true,
};

}  // namespace fusednn::ops
