#pragma once

#include "base/result.h"
#include "ir/op_graph.h"

#include <fusednn/graph.h>

#include <unordered_map>

namespace fusednn::frontend {

using TensorPtr = std::shared_ptr<graph::Tensor_attributes>;

/// A node as the user appended it.
struct DraftNode {
  ir::OpKind op;
  graph::Node_attributes attributes;
  std::vector<TensorPtr> inputs;   ///< by port
  std::vector<TensorPtr> outputs;  ///< by port
};

/// What the user declared: settings, tensors and nodes, with the attributes objects that the user still holds.
class Draft {
 public:
  ir::Context context;

  /// Appends a node. Extra tensors of the attributes object go to the ports that they name. `wanted[i]` says whether
  /// output port i exists; output tensors are virtual and named "<node>::<port>".
  std::vector<TensorPtr> append(ir::OpKind op, graph::Node_attributes attributes, std::vector<TensorPtr> inputs,
                                std::vector<bool> const& wanted);

  /// The draft as plain data, with what earlier calls inferred taken out again, and the user's tensor of each id.
  ir::Graph lower(std::vector<TensorPtr>& tensors) const;
  /// Validates and, on success, gives the user's tensors the inferred values.
  base::Result<ir::OpGraphPtr> validate(std::vector<TensorPtr>& tensors);
  /// Replaces everything by a graph that was read from text.
  void assign(ir::Graph const& graph);

 private:
  /// Values that validate() wrote into a user's tensor; they count as unset while the user leaves them alone.
  struct Inferred {
    ir::Dims dims, strides;
    DataType_t dtype = DataType_t::NOT_SET;
  };

  std::vector<DraftNode> nodes_;
  std::unordered_map<TensorPtr, Inferred> inferred_;
};

}  // namespace fusednn::frontend
