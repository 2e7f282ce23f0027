#include "commands.h"
#include "failure.h"

#include <fusednn/version.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>

namespace {

/// What is wrong with the first argument where it should name a subcommand; empty where it does, or is an option.
std::string unknown_subcommand(CLI::App& app, int argc, char** argv) {
  std::string const name = argc > 1 ? argv[1] : "";
  if (name.empty() || name[0] == '-') return {};
  std::vector<std::string> known;
  for (CLI::App const* command : app.get_subcommands([](CLI::App*) { return true; }))
    known.push_back(command->get_name());
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return fmt::format("no subcommand '{}'; there are {}", name, fmt::join(known, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs, explains, compiles and shows fuseDNN graphs.", "fusednn");
  app.require_subcommand(1);
  app.set_version_flag("--version", "fusednn " + tool::version_text(fusednn::version()),
                       "Prints the library's version");
  app.footer(
      "Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 invalid input or graph, 4 not supported,\n"
      "5 failed at run time.");
  tool::Action action;
  tool::add_run(app, action);
  tool::add_explain(app, action);
  tool::add_compile(app, action);
  tool::add_show(app, action);
  tool::add_env(app, action);
  if (std::string const problem = unknown_subcommand(app, argc, argv); !problem.empty()) {
    fmt::print(stderr, "fusednn: {}\nRun with --help for more information.\n", problem);
    return tool::exit_usage;
  }
  try {
    app.parse(argc, argv);
    return action();
  } catch (CLI::ParseError const& e) {
    return app.exit(e) == 0 ? tool::exit_ok : tool::exit_usage;
  } catch (tool::Failure const& e) {
    fmt::print(stderr, "fusednn: {}\n", e.what());
    return e.code();
  } catch (std::exception const& e) {
    fmt::print(stderr, "fusednn: {}\n", e.what());
    return tool::exit_runtime;
  }
}
