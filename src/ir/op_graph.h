#pragma once

#include "ir/graph.h"

#include <memory>
#include <span>

namespace fusednn::ir {

/// A validated graph: complete, acyclic, nodes in topological order. Immutable, shared freely between plans.
class OpGraph {
 public:
  /// `graph` must be valid (ops::validate makes sure); nodes must be in topological order.
  explicit OpGraph(Graph graph);

  Graph const& graph() const { return graph_; }
  Context const& context() const { return graph_.context; }
  std::vector<Node> const& nodes() const { return graph_.nodes; }
  std::vector<Tensor> const& tensors() const { return graph_.tensors; }
  Tensor const& tensor(TensorId id) const { return graph_.tensor(id); }
  /// Node that writes the tensor, -1 for graph inputs.
  int producer(TensorId id) const { return producer_[static_cast<size_t>(id)]; }
  /// Nodes that read the tensor, each once, in order.
  std::span<int const> consumers(TensorId id) const { return consumers_[static_cast<size_t>(id)]; }
  /// Tensors that some node reads (or that give ragged offsets) and none writes, compile-time constants
  /// excluded.
  std::vector<TensorId> const& inputs() const { return inputs_; }
  /// Tensors that a node writes and that are not virtual.
  std::vector<TensorId> const& outputs() const { return outputs_; }

 private:
  Graph graph_;
  std::vector<int> producer_;
  std::vector<std::vector<int>> consumers_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> outputs_;
};

using OpGraphPtr = std::shared_ptr<OpGraph const>;

/// Indices of the nodes in an order where each comes after the writers of its inputs, otherwise as given;
/// shorter than `graph.nodes` where a cycle keeps nodes from being ordered.
std::vector<int> topological_order(Graph const& graph);

}  // namespace fusednn::ir
