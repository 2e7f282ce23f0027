#include "ops/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fusednn::ops {

namespace {

using base::Rule;

/// One axis of a slice.
struct Range {
  int64_t start, limit, step;
  int64_t size() const { return limit <= start ? 0 : (limit - start - 1) / step + 1; }
};

/// Ranges of the axes; empty where attributes and rank do not go together. Steps of 1 may be given short, as
/// cudnn_frontend writes them.
std::vector<Range> ranges_of(ir::Node const& node, size_t rank) {
  ir::Dims const &slices = node.attrs.get<ir::Dims>("slices"), &steps = node.attrs.get<ir::Dims>("slice_strides");
  bool const ones = std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
  if (slices.size() != 2 * rank || steps.size() > rank || (!ones && steps.size() != rank)) return {};
  std::vector<Range> ranges;
  for (size_t i = 0; i < rank; ++i) ranges.push_back({slices[2 * i], slices[2 * i + 1], ones ? 1 : steps[i]});
  return ranges;
}

bool within(Range const& r, int64_t dim) { return 0 <= r.start && r.start <= r.limit && r.limit <= dim && r.step >= 1; }

void infer(NodeContext& ctx) {
  ir::Dims const& x = ctx.in(0).dims;
  std::vector<Range> const ranges = ranges_of(ctx.node(), x.size());
  if (ranges.empty()) return;
  ir::Dims dims;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!within(ranges[i], x[i])) return;
    dims.push_back(ranges[i].size());
  }
  ctx.infer_dims(0, dims);
  ctx.infer_strides(0, ctx.in(0));
}

void check(NodeContext& ctx) {
  ir::Tensor const& x = ctx.in(0);
  std::vector<Range> const ranges = ranges_of(ctx.node(), x.dims.size());
  if (ranges.empty())
    return ctx.fail(Rule::slice_rank, x.name,
                    fmt::format("{} ranges, {} steps, rank {}", ctx.attrs().get<ir::Dims>("slices").size() / 2,
                                ctx.attrs().get<ir::Dims>("slice_strides").size(), x.dims.size()));
  ir::Dims dims;
  for (size_t i = 0; i < ranges.size(); ++i) {
    Range const& r = ranges[i];
    if (!within(r, x.dims[i]))
      return ctx.fail(
          Rule::slice_range, x.name,
          fmt::format("axis {} from {} to {} in steps of {}, dim[{}] = {}", i, r.start, r.limit, r.step, i, x.dims[i]));
    dims.push_back(r.size());
  }
  ctx.expect_dims(0, dims);
}

template <class R>
void reference(RefNode<R>& n) {
  RefTensor<R> const& x = *n.in[0];
  RefTensor<R>& y = *n.out[0];
  std::vector<Range> const ranges = ranges_of(n.node, x.dims.size());
  ir::Dims strides = broadcast_strides(x.dims, x.dims);
  int64_t first = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    first += ranges[i].start * strides[i];
    strides[i] *= ranges[i].step;
  }
  IndexWalk walk(y.dims);
  for (size_t o = 0; o < y.size(); ++o, walk.next()) {
    size_t const at = static_cast<size_t>(first + walk.offset(strides));
    y.value[o] = x.value[at];
    y.bound[o] = x.bound[at];
  }
}

constexpr Port inputs[] = {{.name = "X", .doc = "any dims"}};
constexpr Port outputs[] = {{.name = "Y", .doc = "dim i is ceil((limit - start) / step); packed, memory order of X"}};
Attr const attrs[] = {
    {.name = "slices",
     .type = AttrType::integer_pairs,
     .doc = "{start, limit} per dim; limit is one past the last",
     .required = true},
    {.name = "slice_strides",
     .type = AttrType::integers,
     .doc = "step per dim; 1 where empty",
     .default_value = ir::Dims{}},
};

}  // namespace

OpRow const slice_row = {
    .kind = ir::OpKind::slice,
    .tag = "SLICE",
    .builder = "slice",
    .doc = "Y[i, ..] = X[start + i * step, ..] along each axis. An empty range gives an empty tensor.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
    .moves_data = true,
};

}  // namespace fusednn::ops
