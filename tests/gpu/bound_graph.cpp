#include "gpu/bound_graph.h"

#include <algorithm>

namespace fusednn::testing {

BoundGraph::BoundGraph(handle_t handle, graph::Graph& graph, uint64_t seed) : handle_(handle), graph_(graph) {
  error_t built;
  if (graph_.get_execution_plan_count() == 0) built = graph_.build(handle_, {HeurMode_t::A}, BuildPlanPolicy_t::ALL);
  EXPECT_TRUE(built.is_good()) << built.get_message();
  if (built.is_bad()) return;
  for (TensorPtr const& t : graph_.inputs_ext())
    if (!t->get_pass_by_value()) inputs_.emplace(t, TensorBuffer(handle_, *t));
  for (TensorPtr const& t : graph_.outputs_ext()) outputs_.emplace(t, TensorBuffer(handle_, *t));
  plans_ = graph_.get_execution_plan_count();
  EXPECT_GT(plans_, 0);
  int64_t most = 0;
  for (int64_t plan = 0; plan < plans_; ++plan) most = std::max(most, graph_.get_workspace_size_plan_at_index(plan));
  workspace_memory_.emplace(handle_, static_cast<size_t>(most), 1);
  set_inputs(seed);
  poison();
}

std::string BoundGraph::name(int64_t plan) const {
  std::string name;
  (void)graph_.get_plan_name_at_index(plan, name);
  return name;
}

void BoundGraph::set_inputs(uint64_t seed) {
  for (auto& [tensor, buffer] : inputs_) {
    buffer.set(random_values(volume(tensor->get_dim()), seed++));
    pack_[tensor->get_uid()] = buffer.memory().give();
  }
}

void BoundGraph::poison() {
  for (auto& [tensor, buffer] : outputs_) {
    buffer.memory().host().fill(GuardedBuffer::poison);
    pack_[tensor->get_uid()] = buffer.memory().give();
  }
  workspace_memory_->host().fill(GuardedBuffer::poison);
  workspace_ = workspace_memory_->give();
}

error_t BoundGraph::execute(handle_t handle, int64_t plan) const {
  std::unordered_map<int64_t, void*> pack = pack_;
  return graph_.execute_plan_at_index(handle, pack, workspace_, plan);
}

std::vector<std::vector<std::byte>> BoundGraph::outputs() {
  std::vector<std::vector<std::byte>> bytes;
  for (auto& [tensor, buffer] : outputs_) {
    buffer.memory().take();
    EXPECT_TRUE(buffer.gaps_intact()) << "bytes outside output '" << tensor->get_name() << "' were written";
    bytes.push_back(buffer.element_bytes());
  }
  workspace_memory_->take();
  EXPECT_TRUE(workspace_memory_->surroundings_intact()) << "bytes around the workspace were written";
  return bytes;
}

}  // namespace fusednn::testing
