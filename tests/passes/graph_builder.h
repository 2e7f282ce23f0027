#pragma once

#include "ir/layout.h"
#include "ops/validate.h"

#include <gtest/gtest.h>

namespace fusednn::tests {

using ir::Dims;
using ir::OpKind;
using ir::TensorId;

/// Builds small float graphs of pointwise, matmul, reduction and view nodes.
class Builder {
 public:
  Builder() {
    graph.context.io_type = graph.context.intermediate_type = graph.context.compute_type = DataType_t::FLOAT;
  }
  TensorId input(Dims const& dims) {
    ir::Tensor t;
    t.name = "in" + std::to_string(graph.tensors.size());
    t.dims = dims;
    t.strides = ir::packed_strides(dims);
    return graph.add(t);
  }
  TensorId node(OpKind op, std::vector<TensorId> inputs, ir::AttrSet attrs = {}, Dims dims = {}) {
    ir::Tensor t;
    t.name = "t" + std::to_string(graph.tensors.size());
    t.is_virtual = true;
    t.dims = dims;
    ir::Node n;
    n.op = op;
    n.name = "n" + std::to_string(graph.nodes.size());
    n.inputs = std::move(inputs);
    n.outputs = {graph.add(t)};
    n.attrs = std::move(attrs);
    graph.nodes.push_back(n);
    return n.outputs[0];
  }
  TensorId add(TensorId a, TensorId b) { return binary(PointwiseMode_t::ADD, a, b); }
  TensorId exp(TensorId a) { return unary(PointwiseMode_t::EXP, a); }
  TensorId unary(PointwiseMode_t m, TensorId a) { return node(OpKind::pointwise, {a}, mode(m)); }
  TensorId binary(PointwiseMode_t m, TensorId a, TensorId b) { return node(OpKind::pointwise, {a, b}, mode(m)); }
  TensorId reduce(ReductionMode_t m, TensorId a, Dims const& dims) {
    return node(OpKind::reduction, {a}, mode(m), dims);
  }
  TensorId matmul(TensorId a, TensorId b) { return node(OpKind::matmul, {a, b}); }
  TensorId transpose(TensorId a, Dims const& permutation) {
    ir::AttrSet attrs;
    attrs.set("permutation", permutation);
    return node(OpKind::transpose, {a}, attrs);
  }
  TensorId concatenate(std::vector<TensorId> inputs, int64_t axis) {
    ir::AttrSet attrs;
    attrs.set("axis", axis);
    return node(OpKind::concatenate, std::move(inputs), attrs);
  }
  void output(TensorId t) { graph.tensor(t).is_virtual = false; }

  ir::OpGraphPtr build() {
    auto result = ops::validate(graph);
    if (!result) ADD_FAILURE() << base::join(result.errors());
    return result ? *result : nullptr;
  }

  ir::Graph graph;

 private:
  template <class Mode>
  static ir::AttrSet mode(Mode m) {
    ir::AttrSet attrs;
    attrs.set("mode", static_cast<int64_t>(m));
    return attrs;
  }
};

}  // namespace fusednn::tests
