#pragma once

#include "passes/views.h"

#include <functional>
#include <span>

// Splits a graph into regions, each one kernel, and says where each tensor lies in between. Views (reshape,
// transpose, slice) and concatenations become addressing wherever strides can express them; what is left of
// them is copied.

namespace fusednn::passes {

/// Nodes that one kernel covers, in topological order, with the tensors that it reads from and writes to
/// memory.
struct Region {
  std::vector<int> nodes;
  std::vector<ir::TensorId> inputs;
  std::vector<ir::TensorId> outputs;
};

/// Where a tensor's elements lie.
struct Place {
  enum class Kind {
    nowhere,    ///< it lives inside one region, or nothing reads it
    caller,     ///< in the memory bound to tensor `base` (constants too)
    workspace,  ///< at byte `workspace_offset`
  } kind = Kind::nowhere;
  ir::TensorId base = ir::no_tensor;
  int64_t workspace_offset = 0;
  StridedView view;
};

struct Partition {
  std::vector<Region> regions;  ///< in the order of execution
  std::vector<Place> places;    ///< by TensorId
  int64_t workspace_bytes = 0;
};

/// Whether one kernel can cover these nodes (in topological order). A single node always passes: an engine
/// that cannot take a node alone refuses the graph before.
using Fits = std::function<bool(ir::OpGraph const&, std::span<int const> nodes)>;

/// Greedy, in topological order: a node joins the regions that produce its inputs where they fit together and
/// no cycle between regions arises. Virtual tensors between regions get workspace, reused once their last
/// reader has run, each aligned to `alignment` bytes.
Partition partition(ir::OpGraph const& graph, Fits const& fits, int64_t alignment);

}  // namespace fusednn::passes
