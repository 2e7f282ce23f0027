#include "base/checked.h"
#include "ir/layout.h"
#include "ops/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::ops {

namespace {

using base::Rule;

size_t axis_of(ir::Node const& node) { return static_cast<size_t>(node.attrs.get<int64_t>("axis")); }

bool axis_fits(NodeContext& ctx) {
  int64_t const axis = ctx.attrs().get<int64_t>("axis");
  return axis >= 0 && axis < ctx.in(0).rank();
}

/// Index of the first input that does not go together with input 0; the number of inputs where all do.
size_t first_misfit(NodeContext& ctx) {
  size_t const axis = axis_of(ctx.node());
  size_t i = 1;
  for (; i < ctx.in_count(); ++i) {
    ir::Dims a = ctx.in(0).dims, b = ctx.in(i).dims;
    if (a.size() != b.size()) break;
    a[axis] = b[axis] = 0;
    if (a != b) break;
  }
  return i;
}

ir::Dims joined_dims(NodeContext& ctx) {
  ir::Dims dims = ctx.in(0).dims;
  size_t const axis = axis_of(ctx.node());
  for (size_t i = 1; i < ctx.in_count(); ++i)
    dims[axis] = checked_add(dims[axis], ctx.in(i).dims[axis]).value_or(INT64_MAX);
  return dims;
}

void infer(NodeContext& ctx) {
  if (!axis_fits(ctx) || first_misfit(ctx) < ctx.in_count()) return;
  ctx.infer_dims(0, joined_dims(ctx));
  ctx.infer_strides(0, ctx.in(0));
}

void check(NodeContext& ctx) {
  if (!axis_fits(ctx))
    return ctx.fail(Rule::concatenate_axis, ctx.in(0).name,
                    fmt::format("axis {}, rank {}", ctx.attrs().get<int64_t>("axis"), ctx.in(0).rank()));
  if (size_t const i = first_misfit(ctx); i < ctx.in_count())
    return ctx.fail(Rule::concatenate_dims, ctx.in(i).name,
                    fmt::format("dims [{}], those of '{}' are [{}]", fmt::join(ctx.in(i).dims, ","), ctx.in(0).name,
                                fmt::join(ctx.in(0).dims, ",")));
  auto in_place = ctx.attrs().get_if<int64_t>("in_place_index");
  if (in_place && (*in_place < 0 || *in_place >= static_cast<int64_t>(ctx.in_count())))
    ctx.fail(Rule::concatenate_in_place, "", fmt::format("in_place_index {}, {} inputs", *in_place, ctx.in_count()));
  ctx.expect_dims(0, joined_dims(ctx));
}

template <class R>
void reference(RefNode<R>& n) {
  RefTensor<R>& y = *n.out[0];
  size_t const axis = axis_of(n.node);
  ir::Dims const strides = broadcast_strides(y.dims, y.dims);
  int64_t first = 0;
  for (RefTensor<R> const* x : n.in) {
    IndexWalk walk(x->dims);
    for (size_t i = 0; i < x->size(); ++i, walk.next()) {
      size_t const at = static_cast<size_t>(first + walk.offset(strides));
      y.value[at] = x->value[i];
      y.bound[at] = x->bound[i];
    }
    first += x->dims[axis] * strides[axis];
  }
}

constexpr Port inputs[] = {
    {.name = "0", .doc = "any number of tensors, equal in all dims but the axis", .kind = PortKind::variadic},
};
constexpr Port outputs[] = {{.name = "Y", .doc = "the axis' dim is the sum; packed, memory order of the first input"}};
Attr const attrs[] = {
    {.name = "axis",
     .type = AttrType::integer,
     .doc = "axis along which the inputs follow one another",
     .required = true},
    {.name = "in_place_index",
     .type = AttrType::integer,
     .doc = "input whose buffer may be its own part of the output's; the values do not depend on it"},
};

}  // namespace

OpRow const concatenate_row = {
    .kind = ir::OpKind::concatenate,
    .tag = "CONCATENATE",
    .builder = "concatenate",
    .doc = "Y holds the inputs one after the other along the axis.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
    .moves_data = true,
};

}  // namespace fusednn::ops
