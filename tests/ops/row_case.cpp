#include "ops/row_case.h"

#include "base/numeric.h"
#include "ir/layout.h"
#include "ops/row.h"
#include "ops/validate.h"

#include <cstddef>

namespace fusednn::tests {

ir::Graph draft_of(RowCase const& c) {
  ir::Graph graph;
  graph.context.io_type = graph.context.intermediate_type = DataType_t::FLOAT;
  ir::Node node;
  node.op = c.op;
  node.name = "node";
  node.compute = c.compute;
  ops::OpRow const& row = ops::row(c.op);
  auto place = [](std::vector<ir::TensorId>& ports, int port, ir::TensorId id) {
    if (port < 0) return;
    if (ports.size() <= static_cast<size_t>(port)) ports.resize(static_cast<size_t>(port) + 1, ir::no_tensor);
    ports[static_cast<size_t>(port)] = id;
  };
  for (auto const& [name, in] : c.inputs) {
    ir::Tensor t;
    t.name = name;
    t.dtype = in.dtype;
    t.dims = in.dims;
    t.strides = ir::packed_strides(in.dims);
    place(node.inputs, row.find_input(name), graph.add(t));
  }
  for (auto const& [name, out] : c.outputs) {
    ir::Tensor t;
    t.name = name;
    t.dtype = out.dtype;
    t.dims = out.dims;
    place(node.outputs, row.find_output(name), graph.add(t));
  }
  for (auto const& [name, value] : c.attrs) node.attrs.set(name, value);
  graph.nodes.push_back(std::move(node));
  return graph;
}

ReferenceValues run_reference(ir::OpGraph const& graph, std::map<std::string, Values> const& inputs) {
  std::map<ir::TensorId, std::vector<std::byte>> memory;
  for (ir::TensorId id : graph.inputs()) {
    ir::Tensor const& t = graph.tensor(id);
    auto at = inputs.find(t.name);
    if (at == inputs.end()) continue;
    ops::RefTensor<long double> values;
    values.resize(t.dims);
    values.value.assign(at->second.begin(), at->second.end());
    size_t const bytes = static_cast<size_t>(*ir::storage_bytes(t.dtype, *ir::span_elements(t.dims, t.strides)));
    memory[id].resize(bytes);
    ops::store(t, values, memory[id].data());
  }
  ReferenceValues results;
  auto data = [&](ir::TensorId id) -> void* {
    auto at = memory.find(id);
    return at == memory.end() ? nullptr : at->second.data();
  };
  for (ops::RefOutput& out : ops::run_reference(graph, data))
    results[graph.tensor(out.tensor).name] = std::move(out.values);
  return results;
}

base::Result<ReferenceValues> reference_of(RowCase const& c) {
  base::Result<ir::OpGraphPtr> graph = ops::validate(draft_of(c));
  if (!graph) return graph.errors();
  std::map<std::string, Values> values;
  for (auto const& [name, in] : c.inputs) values[name] = in.values;
  return run_reference(**graph, values);
}

Values spread(size_t count, unsigned seed, double low, double high) {
  Values values(count);
  uint64_t state = seed;
  for (double& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
  }
  return values;
}

size_t volume_of(Dims const& dims) { return static_cast<size_t>(ir::volume(dims).value_or(0)); }

}  // namespace fusednn::tests
