#include "plan/plan_list.h"

#include "base/enum_names.h"
#include "base/log.h"
#include "jit/compiler.h"
#include "ops/row.h"
#include "plan/engine_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

namespace fusednn::plan {

using base::make_error;
using base::Rule;

namespace {

bool has(std::vector<BehaviorNote_t> const& notes, BehaviorNote_t note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

/// Operation tags joined by '_', then "eng<id>", then "_k<knob>=<value>" for each knob.
std::string plan_name(ir::OpGraph const& graph, int engine_id, engine::Config const& config) {
  std::string name;
  for (ir::Node const& node : graph.nodes()) name += fmt::format("{}_", ops::row(node.op).tag);
  name += fmt::format("eng{}", engine_id);
  for (engine::KnobChoice const& k : config.knobs) name += fmt::format("_k{}={}", static_cast<int>(k.type), k.value);
  return name;
}

}  // namespace

PlanList::PlanList(ir::OpGraphPtr graph, target::Target target) : graph_(std::move(graph)), target_(target) {
  limit_workspace(graph_->context().workspace_limit);
  if (target_.device == Device::CPU && graph_->context().sm_count != -1)
    log(LogLevel::INFO, "sm_count = {} has no effect on {}", graph_->context().sm_count, target_.name());
}

std::vector<Verdict> PlanList::verdicts() const {
  std::vector<Verdict> verdicts;
  auto engines = engines_for(target_.device);
  for (size_t id = 0; id < engines.size(); ++id) {
    engine::Support s = engines[id]->support(*graph_, target_);
    verdicts.push_back(
        {static_cast<int>(id), engines[id]->name(), engines[id]->summary(), s.configs.size(), std::move(s.refusals)});
  }
  return verdicts;
}

void PlanList::append(int engine_id, engine::Config config, engine::Notes notes, double seconds) {
  engine::Engine const& e = *engines_for(target_.device)[static_cast<size_t>(engine_id)];
  for (Candidate const& c : candidates_)
    if (c.engine_id == engine_id && c.config == config) return;
  Candidate c;
  c.engine_id = engine_id;
  c.name = plan_name(*graph_, engine_id, config);
  c.notes = std::move(notes);
  c.estimated_seconds = seconds;
  c.config = std::move(config);
  auto numeric_note = [&](NumericalNote_t note) {
    return std::find(c.notes.numeric.begin(), c.notes.numeric.end(), note) != c.notes.numeric.end();
  };
  if (graph_->context().deterministic && numeric_note(NumericalNote_t::NONDETERMINISTIC))
    c.barred = "the graph asks for deterministic plans";
  if (graph_->context().batch_invariant && !has(c.notes.behavior, BehaviorNote_t::BATCH_INVARIANT_ext))
    c.barred = "the graph asks for batch-invariant plans";
  log(LogLevel::INFO, "plan {}: {} by {}, estimated {:.3g} s{}{}", candidates_.size(), c.name, e.name(),
      c.estimated_seconds, c.barred.empty() ? "" : ", barred: ", c.barred);
  candidates_.push_back(std::move(c));
}

base::Status PlanList::add_modes(std::vector<HeurMode_t> const& modes) {
  if (modes.empty()) return make_error(Rule::plan_modes, {}, "the list is empty");
  for (HeurMode_t mode : modes)
    if (int64_t const number = static_cast<int64_t>(mode); number < 0 || number >= base::enum_names<HeurMode_t>().count)
      return make_error(Rule::plan_modes, {}, fmt::format("mode {}", number));
  struct Ranked {
    int engine_id;
    size_t rank;  ///< among the engine's configs
    engine::Config config;
    engine::Notes notes;
    double seconds;
  };
  std::vector<Ranked> all;
  auto engines = engines_for(target_.device);
  for (size_t id = 0; id < engines.size(); ++id) {
    engine::Support s = engines[id]->support(*graph_, target_);
    if (s.configs.empty()) log(LogLevel::INFO, "{} refuses: {}", engines[id]->name(), base::join(s.refusals));
    for (size_t i = 0; i < s.configs.size(); ++i) {
      double const seconds = engines[id]->estimate_seconds(*graph_, target_, s.configs[i]);
      engine::Notes notes = engines[id]->notes(*graph_, s.configs[i]);
      all.push_back({static_cast<int>(id), i, std::move(s.configs[i]), std::move(notes), seconds});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](Ranked const& a, Ranked const& b) { return a.seconds < b.seconds; });
  for (HeurMode_t mode : modes) {
    std::vector<Ranked> list = all;
    if (mode == HeurMode_t::B)
      std::stable_sort(list.begin(), list.end(), [](Ranked const& a, Ranked const& b) { return a.rank < b.rank; });
    for (Ranked& r : list)
      if (mode != HeurMode_t::FALLBACK || has(r.notes.behavior, BehaviorNote_t::SLOW_ext))
        append(r.engine_id, std::move(r.config), std::move(r.notes), r.seconds);
  }
  return candidates_.empty() ? none_left() : base::success();
}

base::Status PlanList::add(int64_t engine_id, std::vector<engine::KnobChoice> const& knobs) {
  base::Result<engine::Engine const*> found = engine_at(target_.device, engine_id);
  if (!found) return found.errors();
  engine::Engine const& e = **found;
  engine::Support s = e.support(*graph_, target_);
  if (s.configs.empty()) return s.refusals;
  engine::Config config = s.configs.front();
  for (engine::KnobChoice const& choice : knobs) {
    std::vector<engine::KnobRange> const ranges = e.knobs();
    auto range = std::find_if(ranges.begin(), ranges.end(), [&](auto const& r) { return r.type == choice.type; });
    bool const legal = range != ranges.end() && choice.value >= range->first && choice.value <= range->last &&
                       (choice.value - range->first) % range->step == 0;
    auto knob =
        std::find_if(config.knobs.begin(), config.knobs.end(), [&](auto const& k) { return k.type == choice.type; });
    if (!legal || knob == config.knobs.end())
      return make_error(Rule::plan_knob, {},
                        fmt::format("{} {} = {}", e.name(), base::to_string(choice.type), choice.value));
    knob->value = choice.value;
  }
  auto const offered = std::find(s.configs.begin(), s.configs.end(), config);
  if (offered == s.configs.end())
    return make_error(Rule::plan_knob, {}, fmt::format("{} does not offer this combination for the graph", e.name()));
  append(static_cast<int>(engine_id), *offered, e.notes(*graph_, *offered),
         e.estimate_seconds(*graph_, target_, *offered));
  return base::success();
}

void PlanList::bar(std::string const& reason, std::function<bool(Candidate const&)> const& matches) {
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& c = candidates_[i];
    if (!c.barred.empty() || !matches(c)) continue;
    c.barred = reason;
    log(LogLevel::INFO, "plan {} is barred: {}", i, reason);
    if (chosen_ == i) chosen_.reset();
  }
}

base::Status PlanList::select_engine(std::string const& name) {
  for (Verdict const& v : verdicts()) {
    if (v.engine != name) continue;
    if (v.configs == 0) {
      std::vector<base::Error> errors = {make_error(Rule::plan_engine_refuses, {}, fmt::format("{} does not", name))};
      errors.insert(errors.end(), v.refusals.begin(), v.refusals.end());
      return errors;
    }
    bar(fmt::format("engine {} is selected", name), [&](Candidate const& c) { return c.engine_id != v.engine_id; });
    return check_support();
  }
  return make_error(Rule::plan_engine_id, {}, fmt::format("no engine '{}' on {}", name, target_.name()));
}

base::Status PlanList::none_left() const {
  std::vector<base::Error> errors = {make_error(Rule::plan_none, {}, fmt::format("no plan on {}", target_.name()))};
  for (Verdict const& v : verdicts())
    for (base::Error const& e : v.refusals) errors.push_back({e.rule, fmt::format("{}: {}", v.engine, e.message)});
  for (Candidate const& c : candidates_)
    if (!c.barred.empty()) errors.push_back(make_error(Rule::plan_barred, {}, fmt::format("{}: {}", c.name, c.barred)));
  return errors;
}

base::Status PlanList::check_support() const {
  for (Candidate const& c : candidates_)
    if (c.barred.empty()) return base::success();
  return none_left();
}

base::Status PlanList::build_candidate(Candidate& c) const {
  if (!c.barred.empty()) return make_error(Rule::plan_barred, {}, fmt::format("{}: {}", c.name, c.barred));
  if (!c.plan) {
    engine::Engine const& e = *engines_for(target_.device)[static_cast<size_t>(c.engine_id)];
    base::Result<engine::Prepared> prepared = e.prepare(graph_, target_, c.config);
    if (!prepared) {
      c.barred = base::join(prepared.errors());
      return prepared.errors();
    }
    base::Result<std::shared_ptr<DeviceProgram const>> program = std::shared_ptr<DeviceProgram const>();
    if (target_.device == Device::CUDA)
      program = DeviceProgram::build(target_, prepared->steps, has(c.notes.behavior, BehaviorNote_t::SLOW_ext),
                                     jit::Compiler::shared());
    if (!program) {
      c.barred = base::join(program.errors());
      return program.errors();
    }
    c.plan =
        std::make_shared<Plan const>(graph_, target_, std::string(e.name()), std::move(*prepared), std::move(*program));
    log(LogLevel::INFO, "built {}: {} steps, {} bytes of workspace", c.name, c.plan->prepared().steps.size(),
        c.plan->workspace_bytes());
    for (engine::Step const& step : c.plan->prepared().steps) log(LogLevel::DEBUG, "  {}", step.description);
  }
  if (c.plan->workspace_bytes() > workspace_limit_) {
    c.barred = fmt::format("workspace of {} bytes, the limit is {}", c.plan->workspace_bytes(), workspace_limit_);
    return make_error(Rule::plan_barred, {}, fmt::format("{}: {}", c.name, c.barred));
  }
  return base::success();
}

base::Status PlanList::build(int64_t index) {
  base::Result<Candidate const*> c = at(index);
  if (!c) return c.errors();
  base::Status status = build_candidate(candidates_[static_cast<size_t>(index)]);
  if (status) chosen_ = static_cast<size_t>(index);
  return status;
}

base::Status PlanList::build(BuildPlanPolicy_t policy, bool multithreaded) {
  chosen_.reset();
  auto try_build = [this](Candidate& c) { return build_candidate(c).ok(); };
  if (policy == BuildPlanPolicy_t::ALL && multithreaded) {
    std::vector<std::future<bool>> builds;
    for (Candidate& c : candidates_) builds.push_back(std::async(std::launch::async, try_build, std::ref(c)));
    for (auto& b : builds) b.wait();
  }
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (chosen_ && policy == BuildPlanPolicy_t::HEURISTICS_CHOICE) break;
    if (try_build(candidates_[i]) && !chosen_) chosen_ = i;
  }
  return chosen_ ? base::success() : none_left();
}

base::Result<Candidate const*> PlanList::at(int64_t index) const {
  if (index < 0 || index >= static_cast<int64_t>(candidates_.size()))
    return make_error(Rule::plan_index, {}, fmt::format("index {}, there are {} plans", index, candidates_.size()));
  return &candidates_[static_cast<size_t>(index)];
}

base::Result<Candidate const*> PlanList::built(int64_t index) const {
  if (index == -1 && !chosen_) return make_error(Rule::plan_not_built, {}, "no plan is built");
  base::Result<Candidate const*> c = at(index == -1 ? static_cast<int64_t>(*chosen_) : index);
  if (c && !(*c)->plan) return make_error(Rule::plan_not_built, {}, fmt::format("plan {} is not built", index));
  return c;
}

}  // namespace fusednn::plan
