#include "base/enum_names.h"
#include "frontend/errors.h"
#include "frontend/graph_impl.h"
#include "frontend/handle.h"
#include "ir/layout.h"
#include "ops/reference.h"
#include "plan/engine_list.h"

#include <fusednn/memory.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

using base::make_error;
using base::Rule;

namespace {

template <class Note>
std::string names_of(std::vector<Note> const& notes) {
  std::vector<std::string_view> names;
  for (Note n : notes) names.push_back(base::to_string(n));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Bars candidates that have any (`unwanted`), or lack one, of the notes.
template <class Note>
void filter(std::optional<plan::PlanList>& plans, std::vector<Note> const& notes, bool unwanted,
            std::vector<Note> engine::Notes::*field) {
  if (!plans) return;
  std::string const reason = fmt::format("notes {} are {}selected", names_of(notes), unwanted ? "de" : "");
  plans->bar(reason, [&](plan::Candidate const& c) {
    auto const& own = c.notes.*field;
    auto has = [&](Note n) { return std::find(own.begin(), own.end(), n) != own.end(); };
    return unwanted ? std::any_of(notes.begin(), notes.end(), has) : !std::all_of(notes.begin(), notes.end(), has);
  });
}

std::string_view engine_name(plan::PlanList const& plans, plan::Candidate const& c) {
  return plan::engines_for(plans.target().device)[static_cast<size_t>(c.engine_id)]->name();
}

base::Result<plan::Candidate const*> candidate(std::optional<plan::PlanList> const& plans, int64_t index) {
  if (!plans) return make_error(Rule::plan_stage, {}, "build_operation_graph() has not succeeded");
  return index == -1 ? plans->built(-1) : plans->at(index);
}

}  // namespace

Graph& Graph::select_behavior_notes(std::vector<BehaviorNote_t> const& notes) {
  return filter(impl_->plans, notes, false, &engine::Notes::behavior), *this;
}
Graph& Graph::deselect_behavior_notes(std::vector<BehaviorNote_t> const& notes) {
  return filter(impl_->plans, notes, true, &engine::Notes::behavior), *this;
}
Graph& Graph::select_numeric_notes(std::vector<NumericalNote_t> const& notes) {
  return filter(impl_->plans, notes, false, &engine::Notes::numeric), *this;
}
Graph& Graph::deselect_numeric_notes(std::vector<NumericalNote_t> const& notes) {
  return filter(impl_->plans, notes, true, &engine::Notes::numeric), *this;
}

Graph& Graph::deselect_workspace_greater_than(int64_t bytes) {
  if (impl_->plans) impl_->plans->limit_workspace(bytes);
  return *this;
}

Graph& Graph::deselect_shared_mem_greater_than(int64_t) { return *this; }  // no engine of the CPU has any

Graph& Graph::deselect_engines(std::vector<std::string> const& names) {
  if (impl_->plans)
    impl_->plans->bar(fmt::format("engines {} are deselected", fmt::join(names, ", ")), [&](plan::Candidate const& c) {
      std::string_view const engine = engine_name(*impl_->plans, c);
      return std::any_of(names.begin(), names.end(),
                         [&](std::string const& n) { return n == engine || c.name.find(n) != std::string::npos; });
    });
  return *this;
}

error_t Graph::get_behavior_notes(std::vector<BehaviorNote_t>& notes) const {
  return get_behavior_notes_for_plan_at_index(-1, notes);
}

error_t Graph::get_behavior_notes_for_plan_at_index(int64_t index, std::vector<BehaviorNote_t>& notes) const {
  auto c = candidate(impl_->plans, index);
  if (!c) return to_public(c.errors());
  notes = (*c)->notes.behavior;
  return {};
}

error_t Graph::select_engine_ext(std::string const& name) {
  auto plans = impl_->planning();
  return plans ? to_public((*plans)->select_engine(name)) : to_public(plans.errors());
}

int64_t Graph::get_chosen_plan_index_ext() const {
  if (!impl_->plans || !impl_->plans->chosen()) return -1;
  return static_cast<int64_t>(*impl_->plans->chosen());
}

error_t Graph::get_plan_name(std::string& name) const { return get_plan_name_at_index(-1, name); }

error_t Graph::get_plan_name_at_index(int64_t index, std::string& name) const {
  auto c = candidate(impl_->plans, index);
  if (!c) return to_public(c.errors());
  name = (*c)->name;
  return {};
}

error_t Graph::get_plan_info_ext(int64_t index, Plan_info& info) const {
  auto c = candidate(impl_->plans, index);
  if (!c) return to_public(c.errors());
  plan::Candidate const& p = **c;
  info = {};
  info.index = index == -1 ? get_chosen_plan_index_ext() : index;
  info.name = p.name;
  info.engine = engine_name(*impl_->plans, p);
  info.engine_id = p.engine_id;
  for (engine::KnobChoice k : p.config.knobs) info.knobs[k.type] = k.value;
  info.estimated_seconds = p.estimated_seconds;
  info.barred = p.barred;
  info.behavior_notes = p.notes.behavior;
  info.numeric_notes = p.notes.numeric;
  if (p.plan) {
    info.built = true;
    info.workspace_bytes = p.plan->workspace_bytes();
    for (engine::Step const& s : p.plan->prepared().steps) info.steps.push_back(s.description);
  }
  return {};
}

error_t Graph::get_workspace_size_plan_at_index(int64_t index, int64_t& bytes) const {
  if (!impl_->plans) return to_public(make_error(Rule::plan_not_built, {}, "no plan is built"));
  auto c = impl_->plans->built(index);
  if (!c) return to_public(c.errors());
  bytes = (*c)->plan->workspace_bytes();
  return {};
}

error_t Graph::get_workspace_size(int64_t& bytes) const { return get_workspace_size_plan_at_index(-1, bytes); }

int64_t Graph::get_workspace_size_plan_at_index(int64_t index) const {
  int64_t bytes = 0;
  return get_workspace_size_plan_at_index(index, bytes).is_good() ? bytes : 0;
}

int64_t Graph::get_workspace_size() const { return get_workspace_size_plan_at_index(-1); }

error_t Graph::check_ext(handle_t handle, std::unordered_map<int64_t, void*>& pack, void* workspace,
                         Check_report& report, int64_t index) const {
  base::Result<plan::Plan const*> plan = impl_->runnable(handle, index);
  if (!plan) return to_public(plan.errors());
  for (plan::Slot const& s : impl_->slots)
    if (!s.optional && !pack.count(s.uid)) return execute_plan_at_index(handle, pack, workspace, index);
  ir::OpGraph const& graph = *impl_->plans->graph();
  auto bound = [&](ir::TensorId id) -> void* {
    auto at = pack.find(*graph.tensor(id).uid);
    return at == pack.end() ? nullptr : at->second;
  };
  // What lies in device memory is compared in copies.
  std::vector<std::vector<std::byte>> copies(graph.tensors().size());
  auto fetch = [&](std::vector<ir::TensorId> const& tensors) -> error_t {
    if (!handle->context) return {};
    for (ir::TensorId id : tensors) {
      ir::Tensor const& t = graph.tensor(id);
      void const* const from = t.pass_by_value ? nullptr : bound(id);
      if (!from) continue;
      std::vector<std::byte>& copy = copies[static_cast<size_t>(id)];
      copy.resize(static_cast<size_t>(*ir::storage_bytes(t.dtype, *ir::span_elements(t.dims, t.strides))));
      if (error_t e = copy_ext(handle, copy.data(), from, copy.size()); e.is_bad()) return e;
    }
    return synchronize_ext(handle);
  };
  auto memory = [&](ir::TensorId id) -> void* {
    std::vector<std::byte>& copy = copies[static_cast<size_t>(id)];
    return copy.empty() ? bound(id) : copy.data();
  };
  // The reference reads the inputs first: an output may share memory with an input.
  if (error_t e = fetch(graph.inputs()); e.is_bad()) return e;
  std::vector<ops::RefOutput> const reference = ops::run_reference(graph, memory);
  if (error_t e = execute_plan_at_index(handle, pack, workspace, index); e.is_bad()) return e;
  if (error_t e = fetch(graph.outputs()); e.is_bad()) return e;
  report = {};
  for (ops::RefOutput const& out : reference) {
    ops::Comparison const c = ops::compare(graph.tensor(out.tensor), out.values, memory(out.tensor));
    report.elements += c.elements;
    report.undetermined += c.undetermined;
    report.worst_error_over_bound = std::max(report.worst_error_over_bound, static_cast<double>(c.worst_ratio));
    if (report.message.empty()) report.message = c.first_mismatch;
  }
  report.matches = report.message.empty();
  return {};
}

namespace {

std::vector<Graph::tensor_ptr> pick(ir::OpGraphPtr const& graph, std::vector<Graph::tensor_ptr> const& tensors,
                                    std::vector<ir::TensorId> const& (ir::OpGraph::*list)() const) {
  std::vector<Graph::tensor_ptr> picked;
  if (graph)
    for (ir::TensorId id : (graph.get()->*list)()) picked.push_back(tensors[static_cast<size_t>(id)]);
  return picked;
}

}  // namespace

auto Graph::inputs_ext() const -> std::vector<tensor_ptr> {
  return pick(impl_->validated, impl_->tensors, &ir::OpGraph::inputs);
}

auto Graph::outputs_ext() const -> std::vector<tensor_ptr> {
  return pick(impl_->validated, impl_->tensors, &ir::OpGraph::outputs);
}

}  // namespace graph

FUSEDNN_END_NAMESPACE
