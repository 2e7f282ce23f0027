#pragma once

#include "frontend/draft.h"
#include "plan/plan_list.h"

#include <fusednn/graph.h>

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

/// State of a Graph: what the user declared, and how far its life cycle has come.
struct Graph::Impl {
  frontend::Draft draft;
  std::vector<tensor_ptr> tensors;  ///< by TensorId of the lowered graph
  ir::OpGraphPtr validated;
  std::optional<plan::PlanList> plans;  ///< from build_operation_graph on
  std::vector<plan::Slot> slots;        ///< likewise; by ascending uid

  error_t validate();
  ir::Graph shown() const;
  /// Gives tensors without uid one, from 1 on, and returns the graph that holds them.
  ir::OpGraphPtr assign_uids();
  base::Result<plan::PlanList*> planning();
  base::Result<plan::Plan const*> runnable(handle_t handle, int64_t index) const;
  /// Executes plan `index` with the pointer that `find(slot)` gives.
  template <class Find>
  error_t execute(handle_t handle, void* workspace, int64_t index, Find&& find) const;
};

}  // namespace graph

FUSEDNN_END_NAMESPACE
