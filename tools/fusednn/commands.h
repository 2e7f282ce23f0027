#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tool {

/// What the chosen subcommand does; returns the exit code.
using Action = std::function<int()>;

// Each adds one subcommand that sets the action when it is chosen.
void add_run(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_env(CLI::App& app, Action& action);

}  // namespace tool
