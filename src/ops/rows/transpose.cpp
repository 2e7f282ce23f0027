#include "ops/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::ops {

namespace {

using base::Rule;

ir::Dims const& permutation_of(ir::Node const& node) { return node.attrs.get<ir::Dims>("permutation"); }

bool permutes(ir::Dims const& permutation, size_t rank) {
  std::vector<bool> seen(rank);
  if (permutation.size() != rank) return false;
  for (int64_t p : permutation) {
    if (p < 0 || p >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(p)]) return false;
    seen[static_cast<size_t>(p)] = true;
  }
  return true;
}

ir::Dims permuted(ir::Dims const& list, ir::Dims const& permutation) {
  ir::Dims result;
  for (int64_t p : permutation) result.push_back(list[static_cast<size_t>(p)]);
  return result;
}

void infer(NodeContext& ctx) {
  ir::Tensor const& x = ctx.in(0);
  ir::Dims const& p = permutation_of(ctx.node());
  if (!permutes(p, x.dims.size())) return;
  ctx.infer_dims(0, permuted(x.dims, p));
  if (x.strides.size() != x.dims.size()) return;
  ir::Tensor like;
  like.strides = permuted(x.strides, p);
  ctx.infer_strides(0, like);
}

void check(NodeContext& ctx) {
  ir::Tensor const& x = ctx.in(0);
  ir::Dims const& p = permutation_of(ctx.node());
  if (!permutes(p, x.dims.size()))
    return ctx.fail(Rule::transpose_permutation, x.name,
                    fmt::format("permutation [{}], rank {}", fmt::join(p, ","), x.dims.size()));
  ctx.expect_dims(0, permuted(x.dims, p));
}

template <class R>
void reference(RefNode<R>& n) {
  RefTensor<R> const& x = *n.in[0];
  RefTensor<R>& y = *n.out[0];
  ir::Dims const strides = permuted(broadcast_strides(x.dims, x.dims), permutation_of(n.node));
  IndexWalk walk(y.dims);
  for (size_t o = 0; o < y.size(); ++o, walk.next()) {
    size_t const at = static_cast<size_t>(walk.offset(strides));
    y.value[o] = x.value[at];
    y.bound[o] = x.bound[at];
  }
}

constexpr Port inputs[] = {{.name = "X", .doc = "any dims"}};
constexpr Port outputs[] = {
    {.name = "Y", .doc = "permuted dims; packed, axes in the memory order that they have in X"}};
Attr const attrs[] = {
    {.name = "permutation",
     .type = AttrType::integers,
     .doc = "dim i of Y is dim permutation[i] of X",
     .required = true},
};

}  // namespace

OpRow const transpose_row = {
    .kind = ir::OpKind::transpose,
    .tag = "TRANSPOSE",
    .builder = "transpose",
    .doc = "Y[i0, i1, ..] = X[j0, j1, ..] where j at position permutation[k] is i at position k.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
    .moves_data = true,
};

}  // namespace fusednn::ops
