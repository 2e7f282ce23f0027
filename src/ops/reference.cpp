#include "ops/reference.h"

#include "base/numeric.h"
#include "ops/row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::ops {

namespace {

bool needs_long_double(ir::OpGraph const& graph) {
  for (ir::Tensor const& t : graph.tensors())
    if (t.dtype == DataType_t::DOUBLE || t.dtype == DataType_t::INT64) return true;
  for (ir::Node const& n : graph.nodes())
    if (n.compute != DataType_t::FLOAT) return true;
  return false;
}

/// A value beyond the compute type's range has become infinite in an engine before it is stored.
template <class R>
void overflow_in(DataType_t compute, RefTensor<R>& t) {
  R const max = largest<R>(compute);
  for (size_t i = 0; i < t.size(); ++i)
    if (std::fabs(t.value[i]) + t.bound[i] > max) round_interval(compute, t.value[i], t.bound[i]);
}

template <class R>
RefTensor<R> load_input(ir::Tensor const& tensor, void const* data) {
  if (!tensor.value) return load<R>(tensor, data);
  return load<R>(tensor, data ? data : &tensor.value->bits);
}

template <class R>
RefTensor<long double> widen(RefTensor<R> const& t) {
  return {t.dims, {t.value.begin(), t.value.end()}, {t.bound.begin(), t.bound.end()}};
}

template <class R>
std::vector<RefOutput> run(ir::OpGraph const& graph, TensorMemory const& memory) {
  std::vector<RefTensor<R>> tensors(graph.tensors().size());
  std::vector<int> uses(tensors.size(), 0);
  for (ir::Node const& node : graph.nodes())
    for (ir::TensorId t : node.inputs)
      if (t != ir::no_tensor) ++uses[static_cast<size_t>(t)];
  std::vector<RefOutput> outputs;

  for (ir::Node const& node : graph.nodes()) {
    OpRow const& r = row(node.op);
    RefNode<R> n{graph.graph(), node, {}, {}};
    std::vector<RefTensor<R>> converted(node.inputs.size());
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      ir::TensorId id = node.inputs[port];
      if (id == ir::no_tensor) {
        n.in.push_back(nullptr);
        continue;
      }
      ir::Tensor const& tensor = graph.tensor(id);
      bool const produced = graph.producer(id) >= 0;
      RefTensor<R>& source = tensors[static_cast<size_t>(id)];
      converted[port] = produced ? source : load_input<R>(tensor, memory(id));
      if (!r.moves_data && r.input_port(port)->role == PortRole::data) round_tensor(node.compute, converted[port]);
      if (--uses[static_cast<size_t>(id)] == 0) source = {};
      n.in.push_back(&converted[port]);
    }
    for (ir::TensorId id : node.outputs) {
      if (id != ir::no_tensor) tensors[static_cast<size_t>(id)].resize(graph.tensor(id).dims);
      n.out.push_back(id == ir::no_tensor ? nullptr : &tensors[static_cast<size_t>(id)]);
    }
    if constexpr (std::is_same_v<R, double>)
      r.reference.in_double(n);
    else
      r.reference.in_long_double(n);
    for (ir::TensorId id : node.outputs) {
      if (id == ir::no_tensor) continue;
      RefTensor<R>& result = tensors[static_cast<size_t>(id)];
      if (!r.moves_data) overflow_in(node.compute, result);
      round_tensor(graph.tensor(id).dtype, result);
      if (!graph.tensor(id).is_virtual) outputs.push_back({id, widen(result)});
      if (uses[static_cast<size_t>(id)] == 0) result = {};
    }
  }
  return outputs;
}

}  // namespace

std::vector<RefOutput> run_reference(ir::OpGraph const& graph, TensorMemory const& memory) {
  return needs_long_double(graph) ? run<long double>(graph, memory) : run<double>(graph, memory);
}

Comparison compare(ir::Tensor const& tensor, RefTensor<long double> const& reference, void const* data) {
  Comparison c;
  IndexWalk walk(tensor.dims);
  c.elements = static_cast<int64_t>(reference.size());
  for (size_t i = 0; i < reference.size(); ++i, walk.next()) {
    long double const value = reference.value[i], bound = reference.bound[i];
    if (std::isinf(bound)) {
      ++c.undetermined;
      continue;
    }
    long double const found = load_element(tensor.dtype, data, walk.offset(tensor.strides));
    long double ratio = 0;
    if (std::isnan(value) || std::isnan(found) || std::isinf(value) || std::isinf(found)) {
      bool const same = (std::isnan(value) && std::isnan(found)) || value == found;
      ratio = same ? 0 : INFINITY;
    } else if (found != value) {
      ratio = bound == 0 ? INFINITY : std::fabs(found - value) / bound;
    }
    if (ratio > 1 && c.first_mismatch.empty())
      c.first_mismatch = fmt::format("tensor '{}' at [{}]: found {:.9g}, reference {:.9g}, bound {:.3g}", tensor.name,
                                     fmt::join(walk.index(), ","), found, value, bound);
    c.worst_ratio = std::max(c.worst_ratio, ratio);
  }
  return c;
}

}  // namespace fusednn::ops
