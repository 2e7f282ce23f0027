#include "frontend/draft.h"

#include "ops/row.h"
#include "ops/validate.h"

#include <fmt/format.h>

namespace fusednn::frontend {

namespace {

ir::Tensor lower_tensor(graph::Tensor_attributes const& t) {
  ir::Tensor r;
  r.name = t.get_name();
  if (t.has_uid()) r.uid = t.get_uid();
  r.dtype = t.get_data_type();
  r.dims = t.get_dim();
  r.strides = t.get_stride();
  r.is_virtual = t.get_is_virtual();
  r.pass_by_value = t.get_is_pass_by_value();
  r.compile_time_constant = t.get_is_compile_time_constant();
  r.value = t.get_pass_by_value();
  r.reordering = t.get_reordering_type();
  r.alignment = t.get_alignment();
  r.vector_count = t.get_vector_count();
  r.vector_dimension = t.get_vector_dimension();
  return r;
}

TensorPtr raise_tensor(ir::Tensor const& t) {
  auto r = std::make_shared<graph::Tensor_attributes>();
  if (t.value) {
    if (t.compile_time_constant)
      r->set_compile_time_constant(*t.value);
    else
      r->set_pass_by_value(*t.value);
  }
  r->set_name(t.name).set_data_type(t.dtype).set_dim(t.dims).set_stride(t.strides).set_is_virtual(t.is_virtual);
  r->set_is_pass_by_value(t.pass_by_value);
  r->set_reordering_type(t.reordering).set_alignment(t.alignment);
  r->set_vector_count_and_dimension(t.vector_count, t.vector_dimension);
  if (t.uid) r->set_uid(*t.uid);
  return r;
}

}  // namespace

std::vector<TensorPtr> Draft::append(ir::OpKind op, graph::Node_attributes attributes, std::vector<TensorPtr> inputs,
                                     std::vector<bool> const& wanted) {
  ops::OpRow const& row = ops::row(op);
  if (attributes.name.empty()) attributes.name = fmt::format("{}", nodes_.size());
  for (auto& [name, tensor] : attributes.tensors) {
    int const port = row.find_input(name);
    if (port < 0 || !tensor) continue;
    if (inputs.size() <= static_cast<size_t>(port)) inputs.resize(static_cast<size_t>(port) + 1);
    inputs[static_cast<size_t>(port)] = tensor;
  }
  attributes.tensors.clear();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && inputs[i]->get_name().empty())
      inputs[i]->set_name(fmt::format("{}::{}", attributes.name, row.input_name(i)));
  std::vector<TensorPtr> outputs(row.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i < wanted.size() && !wanted[i]) continue;
    outputs[i] = std::make_shared<graph::Tensor_attributes>();
    outputs[i]->set_is_virtual(true).set_name(fmt::format("{}::{}", attributes.name, row.outputs[i].name));
  }
  nodes_.push_back({op, std::move(attributes), std::move(inputs), outputs});
  return outputs;
}

ir::Graph Draft::lower(std::vector<TensorPtr>& tensors) const {
  ir::Graph graph;
  graph.context = context;
  tensors.clear();
  std::unordered_map<TensorPtr, ir::TensorId> ids;
  auto id_of = [&](auto&& self, TensorPtr const& t) -> ir::TensorId {
    if (!t) return ir::no_tensor;
    if (auto at = ids.find(t); at != ids.end()) return at->second;
    ir::Tensor lowered = lower_tensor(*t);
    if (auto at = inferred_.find(t); at != inferred_.end()) {
      if (lowered.dims == at->second.dims) lowered.dims.clear();
      if (lowered.strides == at->second.strides) lowered.strides.clear();
      if (lowered.dtype == at->second.dtype) lowered.dtype = DataType_t::NOT_SET;
    }
    ir::TensorId const id = graph.add(std::move(lowered));
    ids.emplace(t, id);
    tensors.push_back(t);
    ir::TensorId const offsets = self(self, t->get_ragged_offset());
    graph.tensor(id).ragged_offset = offsets;
    return id;
  };
  for (DraftNode const& n : nodes_) {
    ir::Node node;
    node.op = n.op;
    node.name = n.attributes.name;
    node.compute = n.attributes.compute_data_type;
    for (auto const& [name, value] : n.attributes.values) node.attrs.set(name, value);
    for (TensorPtr const& t : n.inputs) node.inputs.push_back(id_of(id_of, t));
    for (TensorPtr const& t : n.outputs) node.outputs.push_back(id_of(id_of, t));
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

base::Result<ir::OpGraphPtr> Draft::validate(std::vector<TensorPtr>& tensors) {
  ir::Graph const before = lower(tensors);
  base::Result<ir::OpGraphPtr> result = ops::validate(before);
  if (!result) return result;
  for (size_t i = 0; i < tensors.size(); ++i) {
    ir::Tensor const &given = before.tensors[i], &complete = (*result)->tensors()[i];
    Inferred inferred;
    if (given.dims.empty()) inferred.dims = complete.dims;
    if (given.strides.empty()) inferred.strides = complete.strides;
    if (given.dtype == DataType_t::NOT_SET) inferred.dtype = complete.dtype;
    tensors[i]->set_dim(complete.dims).set_stride(complete.strides).set_data_type(complete.dtype);
    inferred_[tensors[i]] = std::move(inferred);
  }
  return result;
}

void Draft::assign(ir::Graph const& graph) {
  context = graph.context;
  nodes_.clear();
  inferred_.clear();
  std::vector<TensorPtr> tensors;
  for (ir::Tensor const& t : graph.tensors) tensors.push_back(raise_tensor(t));
  auto at = [&](ir::TensorId id) { return id == ir::no_tensor ? nullptr : tensors[static_cast<size_t>(id)]; };
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i]->set_ragged_offset(at(graph.tensors[i].ragged_offset));
  for (ir::Node const& n : graph.nodes) {
    DraftNode node{n.op, {n.name, n.compute, n.attrs.all(), {}}, {}, {}};
    for (ir::TensorId t : n.inputs) node.inputs.push_back(at(t));
    for (ir::TensorId t : n.outputs) node.outputs.push_back(at(t));
    nodes_.push_back(std::move(node));
  }
}

}  // namespace fusednn::frontend
