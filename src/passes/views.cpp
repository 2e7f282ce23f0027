#include "passes/views.h"

#include "ir/layout.h"

#include <algorithm>

namespace fusednn::passes {

bool is_view(ir::Node const& node) {
  return node.op == ir::OpKind::reshape || node.op == ir::OpKind::transpose || node.op == ir::OpKind::slice;
}

std::optional<ir::Dims> reshaped_strides(ir::Dims const& from, ir::Dims const& strides, ir::Dims const& to) {
  if (std::find(from.begin(), from.end(), 0) != from.end()) return ir::packed_strides(to);
  // Axes of `from` that follow one another without a gap form runs; an axis of `to` must divide what is left
  // of a run.
  std::vector<std::pair<int64_t, int64_t>> runs;  // elements, stride of the innermost
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1) continue;
    if (!runs.empty() && runs.back().second == strides[i] * from[i])
      runs.back() = {runs.back().first * from[i], strides[i]};
    else
      runs.emplace_back(from[i], strides[i]);
  }
  ir::Dims result(to.size(), 1);
  int64_t taken = 1;  // of the run at the back, by inner axes
  for (size_t i = to.size(); i-- > 0;) {
    if (to[i] == 1) continue;
    if (!runs.empty() && taken == runs.back().first) {
      runs.pop_back();
      taken = 1;
    }
    if (runs.empty() || runs.back().first % (taken * to[i]) != 0) return std::nullopt;
    result[i] = runs.back().second * taken;
    taken *= to[i];
  }
  return result;
}

std::optional<StridedView> view_of_output(ir::Graph const& graph, ir::Node const& node, StridedView const& input) {
  ir::Tensor const &x = graph.tensor(node.inputs[0]), &y = graph.tensor(node.outputs[0]);
  StridedView view{input.offset, {}};
  switch (node.op) {
    case ir::OpKind::transpose:
      for (int64_t axis : node.attrs.get<ir::Dims>("permutation"))
        view.strides.push_back(input.strides[static_cast<size_t>(axis)]);
      return view;
    case ir::OpKind::slice: {
      ir::Dims const& slices = node.attrs.get<ir::Dims>("slices");
      ir::Dims const& steps = node.attrs.get<ir::Dims>("slice_strides");
      for (size_t i = 0; i < y.dims.size(); ++i) {
        view.offset += slices[2 * i] * input.strides[i];
        view.strides.push_back(input.strides[i] * (steps.size() == y.dims.size() ? steps[i] : 1));
      }
      return view;
    }
    case ir::OpKind::reshape: {
      auto strides = reshaped_strides(x.dims, input.strides, y.dims);
      if (!strides) return std::nullopt;
      view.strides = std::move(*strides);
      return view;
    }
    default:
      return std::nullopt;
  }
}

StridedView slot_of_input(ir::Graph const& graph, ir::Node const& concatenate, size_t port, StridedView const& output) {
  auto const axis = static_cast<size_t>(concatenate.attrs.get<int64_t>("axis"));
  int64_t start = 0;
  for (size_t i = 0; i < port; ++i) start += graph.tensor(concatenate.inputs[i]).dims[axis];
  return {output.offset + start * output.strides[axis], output.strides};
}

}  // namespace fusednn::passes
