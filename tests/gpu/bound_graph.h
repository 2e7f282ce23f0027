#pragma once

#include "support/graph_run.h"

namespace fusednn::testing {

/// Every plan of a graph of floating-point tensors, with memory of the device for what the graph reads and writes. The
/// handle's stream does the copies.
class BoundGraph {
 public:
  /// Builds the graph, unless it has plans. A failure is a test failure, and `plans` is 0 then.
  BoundGraph(handle_t handle, graph::Graph& graph, uint64_t seed = 1);
  BoundGraph(BoundGraph const&) = delete;
  BoundGraph& operator=(BoundGraph const&) = delete;

  graph::Graph& graph() { return graph_; }
  int64_t plans() const { return plans_; }
  std::string name(int64_t plan) const;
  std::unordered_map<int64_t, void*>& pack() { return pack_; }
  void* workspace() { return workspace_; }

  /// Other inputs in the same memory.
  void set_inputs(uint64_t seed);
  /// Fills outputs and workspace with NaN.
  void poison();
  /// Enqueues the plan on this handle's stream.
  error_t execute(handle_t handle, int64_t plan) const;
  /// The elements' bytes of every output; a write outside them is a test failure.
  std::vector<std::vector<std::byte>> outputs();

 private:
  handle_t handle_;
  graph::Graph& graph_;
  int64_t plans_ = 0;
  std::map<TensorPtr, TensorBuffer> inputs_, outputs_;
  std::unordered_map<int64_t, void*> pack_;
  std::optional<PlanBuffer> workspace_memory_;
  void* workspace_ = nullptr;
};

}  // namespace fusednn::testing
