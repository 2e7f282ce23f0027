#pragma once

#include "plan/plan.h"

#include <functional>
#include <mutex>
#include <optional>

namespace fusednn::plan {

/// A way to run the graph: an engine with a config, and, once built, its plan.
struct Candidate {
  int engine_id = 0;
  engine::Config config;
  std::string name;
  engine::Notes notes;
  double estimated_seconds = 0;
  std::string barred;  ///< why it is out; empty while it stands
  std::shared_ptr<Plan const> plan;
};

/// One engine's answer to a graph.
struct Verdict {
  int engine_id;
  std::string_view engine;
  std::string_view summary;
  size_t configs;
  std::vector<base::Error> refusals;
};

/// The candidates for one graph on one target, in ranked order, and the filters on them. Copying shares built plans.
class PlanList {
 public:
  PlanList(ir::OpGraphPtr graph, target::Target target);

  /// Adds the candidates of each mode in turn, without repetition; the order depends on graph and target alone.
  /// A and OPENSOURCE: all, by estimated time; B: the same with one config per engine before the next; FALLBACK: the
  /// generic ones (SLOW_ext) alone.
  base::Status add_modes(std::vector<HeurMode_t> const& modes);
  /// Adds one candidate of this engine with these knobs, which must be exactly such as it has.
  base::Status add(int64_t engine_id, std::vector<engine::KnobChoice> const& knobs);

  ir::OpGraphPtr const& graph() const { return graph_; }
  target::Target const& target() const { return target_; }
  std::vector<Candidate> const& candidates() const { return candidates_; }
  std::vector<Verdict> verdicts() const;

  /// Takes out, with this reason, each candidate for which `matches` holds.
  void bar(std::string const& reason, std::function<bool(Candidate const&)> const& matches);
  /// No plan with a larger workspace is built or chosen.
  void limit_workspace(int64_t bytes) { workspace_limit_ = std::min(workspace_limit_, bytes); }
  /// Only plans of this engine; fails with the engine's reasons where it has none.
  base::Status select_engine(std::string const& name);

  /// Fails, listing every engine's reasons, where no candidate is left. Builds nothing.
  base::Status check_support() const;
  base::Status build(int64_t index);
  /// Builds candidates in order until one is built (or every one), and chooses the first that was.
  base::Status build(BuildPlanPolicy_t policy, bool multithreaded);

  std::optional<size_t> chosen() const { return chosen_; }
  base::Result<Candidate const*> at(int64_t index) const;
  /// A built candidate: that at `index`, or the chosen one for -1.
  base::Result<Candidate const*> built(int64_t index) const;

 private:
  void append(int engine_id, engine::Config config, engine::Notes notes, double seconds);
  base::Status none_left() const;
  base::Status build_candidate(Candidate& candidate) const;

  ir::OpGraphPtr graph_;
  target::Target target_;
  std::vector<Candidate> candidates_;
  std::optional<size_t> chosen_;
  int64_t workspace_limit_ = INT64_MAX;
};

}  // namespace fusednn::plan
