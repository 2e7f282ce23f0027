#include "frontend/errors.h"
#include "frontend/graph_impl.h"
#include "frontend/handle.h"
#include "plan/engine_list.h"

#include <fmt/format.h>

#include <alloca.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

using base::make_error;
using base::Rule;

Graph::Graph() : impl_(std::make_unique<Impl>()) {}
Graph::Graph(Graph const& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
// A graph that was moved from is an empty one.
Graph::Graph(Graph&& other) noexcept : impl_(std::exchange(other.impl_, std::make_unique<Impl>())) {}
Graph& Graph::operator=(Graph const& other) {
  impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
Graph& Graph::operator=(Graph&& other) noexcept {
  if (this != &other) impl_ = std::exchange(other.impl_, std::make_unique<Impl>());
  return *this;
}
Graph::~Graph() = default;

#define FUSEDNN_CONTEXT_SETTER(method, type, field) \
  Graph& Graph::method(type value) { return impl_->draft.context.field = value, *this; }
FUSEDNN_CONTEXT_SETTER(set_name, std::string const&, name)
FUSEDNN_CONTEXT_SETTER(set_io_data_type, DataType_t, io_type)
FUSEDNN_CONTEXT_SETTER(set_intermediate_data_type, DataType_t, intermediate_type)
FUSEDNN_CONTEXT_SETTER(set_compute_data_type, DataType_t, compute_type)
FUSEDNN_CONTEXT_SETTER(set_dynamic_shape_enabled, bool, dynamic_shape)
FUSEDNN_CONTEXT_SETTER(set_override_shape_enabled, bool, override_shape)
FUSEDNN_CONTEXT_SETTER(set_sm_count, int32_t, sm_count)
FUSEDNN_CONTEXT_SETTER(set_sm_version, int32_t, sm_version)
FUSEDNN_CONTEXT_SETTER(set_allow_tf32_ext, bool, allow_tf32)
FUSEDNN_CONTEXT_SETTER(set_workspace_limit_ext, int64_t, workspace_limit)
FUSEDNN_CONTEXT_SETTER(set_deterministic_ext, bool, deterministic)
FUSEDNN_CONTEXT_SETTER(set_batch_invariant_ext, bool, batch_invariant)
#undef FUSEDNN_CONTEXT_SETTER

auto Graph::tensor(Tensor_attributes const& attributes) -> tensor_ptr {
  return std::make_shared<Tensor_attributes>(attributes);
}

auto Graph::tensor_like(tensor_ptr const& other, std::string const& name) -> tensor_ptr {
  auto copy = std::make_shared<Tensor_attributes>(*other);
  copy->clear_uid().set_name(name);
  return copy;
}

error_t Graph::query_tensor_attributes_of_uid(int64_t uid, Tensor_attributes& attributes) const {
  for (tensor_ptr const& t : impl_->tensors)
    if (t->has_uid() && t->get_uid() == uid) {
      attributes = *t;
      return {};
    }
  return to_public(make_error(Rule::graph_unknown_uid, {}, fmt::format("uid {}", uid)));
}

error_t Graph::Impl::validate() {
  validated.reset();
  plans.reset();
  base::Result<ir::OpGraphPtr> result = draft.validate(tensors);
  if (!result) return to_public(result.errors());
  validated = *result;
  return {};
}

error_t Graph::validate() { return impl_->validate(); }

ir::OpGraphPtr Graph::Impl::assign_uids() {
  std::unordered_set<int64_t> used;
  for (tensor_ptr const& t : tensors)
    if (t->has_uid()) used.insert(t->get_uid());
  ir::Graph graph = validated->graph();
  int64_t next = 1;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i]->has_uid()) {
      while (used.count(next)) ++next;
      tensors[i]->set_uid(next++);
    }
    graph.tensors[i].uid = tensors[i]->get_uid();
  }
  return std::make_shared<ir::OpGraph const>(std::move(graph));
}

error_t Graph::build_operation_graph(handle_t handle) {
  if (!handle) return to_public(make_error(Rule::plan_handle, {}, "the handle is null"));
  if (error_t e = validate(); e.is_bad()) return e;
  ir::OpGraphPtr const graph = impl_->assign_uids();
  impl_->plans.emplace(graph, handle->target);
  impl_->slots = plan::slots_of(*graph);
  return {};
}

base::Result<plan::PlanList*> Graph::Impl::planning() {
  if (!plans) return make_error(Rule::plan_stage, {}, "build_operation_graph() has not succeeded");
  return &*plans;
}

error_t Graph::create_execution_plans(std::vector<HeurMode_t> const& modes) {
  auto plans = impl_->planning();
  return plans ? to_public((*plans)->add_modes(modes)) : to_public(plans.errors());
}

error_t Graph::create_execution_plan(int64_t engine_id, std::unordered_map<KnobType_t, int64_t> const& knobs) {
  auto plans = impl_->planning();
  if (!plans) return to_public(plans.errors());
  std::vector<engine::KnobChoice> choices;
  for (auto [type, value] : knobs) choices.push_back({type, value});
  return to_public((*plans)->add(engine_id, choices));
}

error_t Graph::get_engine_count(int64_t& count) {
  auto plans = impl_->planning();
  if (!plans) return to_public(plans.errors());
  count = static_cast<int64_t>(plan::engines_for((*plans)->target().device).size());
  return {};
}

error_t Graph::get_engine_name_ext(int64_t engine_id, std::string& name) const {
  if (!impl_->plans) return to_public(make_error(Rule::plan_stage, {}, "build_operation_graph() has not succeeded"));
  auto engine = plan::engine_at(impl_->plans->target().device, engine_id);
  if (!engine) return to_public(engine.errors());
  name = (*engine)->name();
  return {};
}

error_t Graph::get_knobs_for_engine(int64_t engine_id, std::vector<Knob>& knobs) {
  auto plans = impl_->planning();
  if (!plans) return to_public(plans.errors());
  auto engine = plan::engine_at((*plans)->target().device, engine_id);
  if (!engine) return to_public(engine.errors());
  knobs.clear();
  for (engine::KnobRange const& k : (*engine)->knobs()) knobs.push_back({k.type, k.last, k.first, k.step});
  return {};
}

int64_t Graph::get_execution_plan_count() const {
  return impl_->plans ? static_cast<int64_t>(impl_->plans->candidates().size()) : 0;
}

error_t Graph::check_support() {
  auto plans = impl_->planning();
  return plans ? to_public((*plans)->check_support()) : to_public(plans.errors());
}
error_t Graph::check_support(handle_t) { return check_support(); }

error_t Graph::build_plans(BuildPlanPolicy_t policy, bool multithreaded) {
  auto plans = impl_->planning();
  return plans ? to_public((*plans)->build(policy, multithreaded)) : to_public(plans.errors());
}
error_t Graph::build_plans(handle_t, BuildPlanPolicy_t policy, bool multithreaded) {
  return build_plans(policy, multithreaded);
}

error_t Graph::build_plan_at_index(int64_t index) {
  auto plans = impl_->planning();
  return plans ? to_public((*plans)->build(index)) : to_public(plans.errors());
}
error_t Graph::build_plan_at_index(handle_t, int64_t index) { return build_plan_at_index(index); }

error_t Graph::build(handle_t handle, std::vector<HeurMode_t> const& modes, BuildPlanPolicy_t policy,
                     bool multithreaded) {
  if (error_t e = build_operation_graph(handle); e.is_bad()) return e;
  if (error_t e = create_execution_plans(modes); e.is_bad()) return e;
  if (error_t e = check_support(); e.is_bad()) return e;
  return build_plans(policy, multithreaded);
}

base::Result<plan::Plan const*> Graph::Impl::runnable(handle_t handle, int64_t index) const {
  if (!handle) return make_error(Rule::plan_handle, {}, "the handle is null");
  if (!plans) return make_error(Rule::plan_not_built, {}, "no plan is built");
  base::Result<plan::Candidate const*> c = plans->built(index);
  if (!c) return c.errors();
  plan::Plan const& plan = *(*c)->plan;
  if (!plan.target().has_device())
    return make_error(Rule::execute_device, {},
                      fmt::format("plan for {}, an architecture without a device", plan.target().name()));
  if (plan.target().device != handle->target.device || plan.target().ordinal != handle->target.ordinal)
    return make_error(Rule::execute_device, {},
                      fmt::format("plan for {}, handle of {}", plan.target().name(), handle->target.name()));
  return &plan;
}

template <class Find>
error_t Graph::Impl::execute(handle_t handle, void* workspace, int64_t index, Find&& find) const {
  base::Result<plan::Plan const*> plan = runnable(handle, index);
  if (!plan) return to_public(plan.errors());
  void** pointers = static_cast<void**>(alloca((slots.size() + 1) * sizeof(void*)));
  for (size_t i = 0; i < slots.size(); ++i) {
    void* const* found = find(slots[i]);
    if (!found && !slots[i].optional)
      return to_public(make_error(Rule::execute_missing_pointer,
                                  {{}, tensors[static_cast<size_t>(slots[i].tensor)]->get_name()},
                                  fmt::format("uid {} is missing", slots[i].uid)));
    pointers[i] = found ? *found : nullptr;
  }
  return to_public((*plan)->execute(pointers, workspace, handle->stream));
}

error_t Graph::execute_plan_at_index(handle_t handle, std::unordered_map<tensor_ptr, void*>& pack, void* workspace,
                                     int64_t index) const {
  return impl_->execute(handle, workspace, index, [&](plan::Slot const& slot) -> void* const* {
    auto at = pack.find(impl_->tensors[static_cast<size_t>(slot.tensor)]);
    return at == pack.end() ? nullptr : &at->second;
  });
}

error_t Graph::execute_plan_at_index(handle_t handle, std::unordered_map<int64_t, void*>& pack, void* workspace,
                                     int64_t index) const {
  return impl_->execute(handle, workspace, index, [&](plan::Slot const& slot) -> void* const* {
    auto at = pack.find(slot.uid);
    return at == pack.end() ? nullptr : &at->second;
  });
}

error_t Graph::execute_plan_at_index(handle_t handle, void** pointers, int count, void* workspace,
                                     int64_t index) const {
  if (count != static_cast<int>(impl_->slots.size()))
    return to_public(
        make_error(Rule::execute_count, {}, fmt::format("{} given, {} bound tensors", count, impl_->slots.size())));
  if (!pointers && count > 0)
    return to_public(make_error(Rule::execute_null_pointer, {}, "the array of pointers is null"));
  base::Result<plan::Plan const*> plan = impl_->runnable(handle, index);
  return plan ? to_public((*plan)->execute(pointers, workspace, handle->stream)) : to_public(plan.errors());
}

error_t Graph::execute(handle_t handle, std::unordered_map<tensor_ptr, void*>& pack, void* workspace) const {
  return execute_plan_at_index(handle, pack, workspace, -1);
}
error_t Graph::execute(handle_t handle, std::unordered_map<int64_t, void*>& pack, void* workspace) const {
  return execute_plan_at_index(handle, pack, workspace, -1);
}
error_t Graph::execute(handle_t handle, void** pointers, int count, void* workspace) const {
  return execute_plan_at_index(handle, pointers, count, workspace, -1);
}

error_t Graph::prepare_variant_pack_template() {
  auto plans = impl_->planning();
  return plans ? error_t() : to_public(plans.errors());
}

std::vector<int64_t> Graph::get_variant_pack_uids_sorted() const {
  std::vector<int64_t> uids;
  for (plan::Slot const& s : impl_->slots) uids.push_back(s.uid);
  return uids;
}

error_t Graph::warmup(handle_t handle) {
  base::Result<plan::Plan const*> plan = impl_->runnable(handle, -1);
  return plan ? error_t() : to_public(plan.errors());
}

}  // namespace graph

FUSEDNN_END_NAMESPACE
