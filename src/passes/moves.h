#pragma once

#include "passes/partition.h"

#include <vector>

// The copies that are left of views and concatenations where addressing could not express them.

namespace fusednn::passes {

/// Whether the node only moves elements: a view or a concatenation.
bool is_copy(ir::Node const& node);

/// One end of a move: a tensor of the graph, or memory between the moves of one region.
struct MoveEnd {
  ir::TensorId tensor = ir::no_tensor;  ///< no_tensor: packed memory in between
  DataType_t type = DataType_t::NOT_SET;
  StridedView view;
};

/// Copies elements, converted where the types differ.
struct Move {
  ir::Dims dims;
  MoveEnd from, to;
};

/// The moves of a region whose only node `is_copy`, in order.
std::vector<Move> moves_of(ir::OpGraph const& graph, Partition const& partition, Region const& region);

/// Bytes of the memory in between that the moves need.
int64_t bytes_between(std::vector<Move> const& moves);

}  // namespace fusednn::passes
