#include "commands.h"
#include "failure.h"
#include "graph_file.h"
#include "progress.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace tool {

namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::string> graphs, archs;
  bool json = false;
};

struct Outcome {
  std::string graph, arch, error;
  std::vector<fusednn::graph::Plan_info> plans;

  bool good() const {
    for (auto const& plan : plans)
      if (!plan.built) return false;
    return error.empty();
  }
};

/// Builds every plan of one graph for one architecture, which leaves its kernels in the cache.
Outcome compile(std::string const& path, std::string const& arch) {
  Outcome outcome{path, arch, {}, {}};
  fusednn::graph::Graph graph = load_graph(path);
  Handle handle(arch);
  fusednn::error_t const built =
      graph.build(handle, {fusednn::HeurMode_t::A}, fusednn::BuildPlanPolicy_t::ALL, /*multithreaded=*/true);
  if (built.is_bad()) outcome.error = built.get_message();
  for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i)
    check(graph.get_plan_info_ext(i, outcome.plans.emplace_back()));
  return outcome;
}

/// "kernel cache: FOLDER, ..."
std::string cache_line() {
  std::string const text = fusednn::describe_cuda_ext();
  size_t const at = text.find("kernel cache: ");
  return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
}

void print(std::vector<Outcome> const& outcomes, bool json) {
  ordered_json list = ordered_json::array();
  for (Outcome const& o : outcomes) {
    size_t kernels = 0;
    ordered_json plans = ordered_json::array();
    for (auto const& plan : o.plans) {
      kernels += plan.steps.size();
      plans.push_back({{"name", plan.name}, {"built", plan.built}, {"kernels", plan.steps}, {"barred", plan.barred}});
    }
    list.push_back({{"graph", o.graph}, {"arch", o.arch}, {"error", o.error}, {"plans", plans}});
    if (json) continue;
    fmt::print("{} for {}: {} plans of {} steps\n", o.graph, o.arch, o.plans.size(), kernels);
    for (auto const& plan : o.plans)
      if (!plan.built && o.error.empty()) fmt::print("  not built: {}: {}\n", plan.name, plan.barred);
    if (!o.error.empty()) fmt::print("  {}\n", o.error);
  }
  if (json)
    fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  else
    fmt::print("{}\n", cache_line());
}

int compile_all(Options const& options) {
  std::vector<Outcome> outcomes;
  Progress progress(options.graphs.size() * options.archs.size());
  for (std::string const& graph : options.graphs)
    for (std::string const& arch : options.archs) {
      progress.step(graph + " for " + arch);
      outcomes.push_back(compile(graph, arch));
    }
  print(outcomes, options.json);
  for (Outcome const& o : outcomes)
    if (!o.good()) return exit_unsupported;
  return exit_ok;
}

}  // namespace

void add_compile(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("compile", "Compiles the kernels of graphs into the cache, for a GPU that need not be there");
  command->add_option("graphs", options->graphs, "Graphs as JSON text")->required();
  command->add_option("--arch", options->archs, "Architectures, as sm_90a,sm_80")->delimiter(',')->required();
  command->add_flag("--json", options->json, "For machines");
  command->callback([options, &action] { action = [options] { return compile_all(*options); }; });
}

}  // namespace tool
