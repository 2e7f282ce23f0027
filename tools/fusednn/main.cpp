#include "commands.h"
#include "failure.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

int main(int argc, char** argv) {
  CLI::App app("Runs, explains and shows fuseDNN graphs.", "fusednn");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 invalid input or graph, 4 not supported,\n"
             "5 failed at run time.");
  tool::Action action;
  tool::add_run(app, action);
  tool::add_explain(app, action);
  tool::add_show(app, action);
  tool::add_env(app, action);
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
