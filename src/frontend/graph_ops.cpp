#include "frontend/graph_impl.h"

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

using ir::OpKind;

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

}  // namespace graph

FUSEDNN_END_NAMESPACE
