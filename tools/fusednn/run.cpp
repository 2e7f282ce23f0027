#include "bindings.h"
#include "commands.h"
#include "device_memory.h"
#include "failure.h"
#include "graph_file.h"
#include "progress.h"
#include "run_report.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

namespace tool {

namespace {

struct Options {
  std::string graph, device = "cpu";
  std::vector<std::string> inputs, outputs;
  bool all_plans = false, check = false, json = false;
  uint64_t seed = 1;
  int repeat = 0;
};

/// Without a number of repetitions: ten, or as many as fit into this many seconds.
constexpr int default_repeat = 10;
constexpr double default_seconds = 1;

class Runner {
 public:
  Runner(Options const& options, fusednn::graph::Graph& graph, fusednn::handle_t handle)
      : options_(options),
        graph_(graph),
        handle_(handle),
        bindings_(handle, graph, parse_files(options.inputs, "--input"), options.seed) {
    bindings_.choose_outputs(parse_files(options.outputs, "--output"));
  }

  std::vector<PlanOutcome> run() {
    std::vector<PlanOutcome> outcomes = plans();
    Progress progress(outcomes.size() * (options_.check ? 2 : 1));
    bool written = false;
    for (PlanOutcome& o : outcomes) {
      if (!o.info.built) continue;
      progress.step(o.info.name);
      Workspace const workspace(handle_, o);
      time(o, workspace.data());
      if (!written) bindings_.write_outputs();
      written = true;
      if (!options_.check) continue;
      progress.step("check " + o.info.name);
      bindings_.poison_outputs();
      tool::check(graph_.check_ext(handle_, bindings_.pack(), workspace.data(), o.check.emplace(), o.index));
    }
    return outcomes;
  }

 private:
  /// What a plan works in, 0xff in each byte at first.
  class Workspace {
   public:
    Workspace(fusednn::handle_t handle, PlanOutcome const& o) {
      size_t const bytes = static_cast<size_t>(o.info.workspace_bytes);
      host_.reset(allocate(bytes, "the workspace of " + o.info.name));
      std::fill_n(host_.get(), bytes, std::byte(0xff));
      if (!has_own_memory(handle)) return;
      device_.emplace(handle, bytes);
      device_->write(host_.get());
      host_.reset();
    }
    void* data() const { return device_ ? device_->data() : host_.get(); }

   private:
    struct Free {
      void operator()(std::byte* p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> host_;
    std::optional<DeviceMemory> device_;
  };

  /// The plans that were asked for: all, or the one that was built first.
  std::vector<PlanOutcome> plans() const {
    std::vector<PlanOutcome> outcomes;
    for (int64_t i = 0; i < graph_.get_execution_plan_count(); ++i) {
      PlanOutcome o;
      o.index = i;
      tool::check(graph_.get_plan_info_ext(i, o.info));
      if (options_.all_plans || (o.info.built && outcomes.empty())) outcomes.push_back(std::move(o));
    }
    return outcomes;
  }

  /// Seconds that one of `count` executions takes, one behind the other.
  double execute(PlanOutcome const& o, void* workspace, int count) {
    double const start = now();
    for (int i = 0; i < count; ++i)
      tool::check(graph_.execute_plan_at_index(handle_, bindings_.pack(), workspace, o.index));
    tool::check(fusednn::synchronize_ext(handle_));
    return (now() - start) / count;
  }

  void time(PlanOutcome& o, void* workspace) {
    bindings_.poison_outputs();
    double spent = execute(o, workspace, 1);  // caches and threads warm up
    // The way to a GPU and back counts little over a millisecond's worth of executions.
    int const burst = has_own_memory(handle_) ? std::clamp(static_cast<int>(1e-3 / spent) + 1, 1, 100) : 1;
    size_t const most = static_cast<size_t>(options_.repeat > 0 ? options_.repeat : default_repeat);
    while (o.seconds.empty() || (o.seconds.size() < most && (options_.repeat > 0 || spent < default_seconds))) {
      o.seconds.push_back(execute(o, workspace, burst));
      spent += burst * o.seconds.back();
    }
  }

  Options const& options_;
  fusednn::graph::Graph& graph_;
  fusednn::handle_t handle_;
  Bindings bindings_;
};

int run(Options const& options) {
  using fusednn::BuildPlanPolicy_t;
  fusednn::graph::Graph graph = load_graph(options.graph);
  Handle handle(options.device);
  check(graph.build(handle, {fusednn::HeurMode_t::A},
                    options.all_plans ? BuildPlanPolicy_t::ALL : BuildPlanPolicy_t::HEURISTICS_CHOICE));
  std::vector<PlanOutcome> const outcomes = Runner(options, graph, handle).run();
  print_outcomes(outcomes, options.device, options.json);
  bool const failed =
      std::any_of(outcomes.begin(), outcomes.end(), [](auto const& o) { return o.check && !o.check->matches; });
  return failed ? exit_check_failed : exit_ok;
}

/// CLI11's own checks take numbers through doubles, and its integers wrap.
CLI::Validator whole_number(int64_t least) {
  return CLI::Validator(
      [least](std::string& text) {
        int64_t value = 0;
        auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool const whole = error == std::errc() && end == text.data() + text.size();
        return whole && value >= least ? "" : fmt::format("'{}' is not a whole number of at least {}", text, least);
      },
      "");
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "Builds a graph's plans and runs them: kernels, time, and error on demand");
  command->add_option("graph", options->graph, "Graph as JSON text; - for standard input")->required();
  command
      ->add_option("--input", options->inputs,
                   "name=file.npy: data of an input, by name or uid; random where none is given")
      ->allow_extra_args(false);
  command->add_option("--output", options->outputs, "name=file.npy: where an output of the first plan is written")
      ->allow_extra_args(false);
  command->add_option("--device", options->device, "Device")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->add_flag("--all-plans", options->all_plans, "Every plan, not the first alone");
  command->add_flag("--check", options->check,
                    "Compares each element with the reference. An error of 100% of its bound is as far off as\n"
                    "a right result may be; rounding to the output's type alone can take all of it");
  command->add_option("--seed", options->seed, "Of the random inputs")->check(whole_number(0))->capture_default_str();
  command
      ->add_option("--repeat", options->repeat, "Timed runs per plan; ten, or what fits into a second, where not given")
      ->check(whole_number(1));
  command->add_flag("--json", options->json, "For machines");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tool
