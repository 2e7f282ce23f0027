#include "frontend/graph_impl.h"
#include "ops/row.h"

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

namespace {

using ir::OpKind;

template <class T>
T value_of(Node_attributes const& attributes, char const* name, T otherwise) {
  for (auto const& [key, value] : attributes.values)
    if (key == name && std::holds_alternative<T>(value)) return std::get<T>(value);
  return otherwise;
}

bool training(Node_attributes const& attributes) {
  return value_of<int64_t>(attributes, "forward_phase", 0) == static_cast<int64_t>(NormFwdPhase_t::TRAINING);
}

}  // namespace

auto Graph::matmul(tensor_ptr a, tensor_ptr b, Matmul_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::matmul, attributes.node_attributes(), {a, b}, {})[0];
}

auto Graph::pointwise(tensor_ptr a, Pointwise_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::pointwise, attributes.node_attributes(), {a}, {})[0];
}
auto Graph::pointwise(tensor_ptr a, tensor_ptr b, Pointwise_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::pointwise, attributes.node_attributes(), {a, b}, {})[0];
}
auto Graph::pointwise(tensor_ptr a, tensor_ptr b, tensor_ptr c, Pointwise_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::pointwise, attributes.node_attributes(), {a, b, c}, {})[0];
}

auto Graph::reduction(tensor_ptr x, Reduction_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::reduction, attributes.node_attributes(), {x}, {})[0];
}

auto Graph::reshape(tensor_ptr x, Reshape_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::reshape, attributes.node_attributes(), {x}, {})[0];
}

auto Graph::transpose(tensor_ptr x, Transpose_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::transpose, attributes.node_attributes(), {x}, {})[0];
}

auto Graph::slice(tensor_ptr x, Slice_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::slice, attributes.node_attributes(), {x}, {})[0];
}

auto Graph::concatenate(std::vector<tensor_ptr> inputs, Concatenate_attributes attributes) -> tensor_ptr {
  return impl_->draft.append(OpKind::concatenate, attributes.node_attributes(), std::move(inputs), {})[0];
}

auto Graph::layernorm(tensor_ptr x, tensor_ptr scale, tensor_ptr bias, Layernorm_attributes attributes)
    -> std::array<tensor_ptr, 3> {
  Node_attributes const& a = attributes.node_attributes();
  auto out = impl_->draft.append(OpKind::layernorm, a, {x, scale, bias}, {true, training(a), training(a)});
  return {out[0], out[1], out[2]};
}

auto Graph::rmsnorm(tensor_ptr x, tensor_ptr scale, Rmsnorm_attributes attributes) -> std::array<tensor_ptr, 2> {
  Node_attributes const& a = attributes.node_attributes();
  auto out = impl_->draft.append(OpKind::rmsnorm, a, {x, scale}, {true, training(a)});
  return {out[0], out[1]};
}

auto Graph::sdpa(tensor_ptr q, tensor_ptr k, tensor_ptr v, SDPA_attributes attributes) -> std::array<tensor_ptr, 2> {
  Node_attributes const& a = attributes.node_attributes();
  std::vector<bool> wanted(ops::row(OpKind::sdpa).outputs.size());
  wanted[0] = true;
  wanted[1] = value_of(a, "generate_stats", false);
  auto out = impl_->draft.append(OpKind::sdpa, a, {q, k, v}, wanted);
  return {out[0], out[1]};
}

}  // namespace graph

FUSEDNN_END_NAMESPACE
