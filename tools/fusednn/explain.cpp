#include "commands.h"
#include "failure.h"
#include "graph_file.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

namespace tool {

namespace {

struct Options {
  std::string graph, device = "cpu";
  bool json = false;
};

/// Goes as far in the life cycle as the graph allows, then tells what is known.
int explain(Options const& options) {
  fusednn::graph::Graph graph = load_graph(options.graph);
  Handle handle(options.device);
  fusednn::error_t outcome = graph.build_operation_graph(handle);
  if (outcome.is_good()) outcome = graph.create_execution_plans({fusednn::HeurMode_t::A});
  if (outcome.is_good()) outcome = graph.build_plans(fusednn::BuildPlanPolicy_t::ALL);
  fmt::print("{}", graph.explain_ext(options.json));
  return exit_code_of(outcome.get_code());
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("explain", "Every engine's verdict on a graph with its reason, and the plans");
  command->add_option("graph", options->graph, "Graph as JSON text; - for standard input")->required();
  command
      ->add_option("--device", options->device,
                   "cpu, cuda, or the architecture of a GPU that need not be there: sm_90a")
      ->capture_default_str();
  command->add_flag("--json", options->json, "For machines");
  command->callback([options, &action] { action = [options] { return explain(*options); }; });
}

}  // namespace tool
