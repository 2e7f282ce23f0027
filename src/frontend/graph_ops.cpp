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

}  // namespace graph

FUSEDNN_END_NAMESPACE
