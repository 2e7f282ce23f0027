#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace tool {

/// What the chosen subcommand does; returns the exit code.
using Action = std::function<int()>;

/// A version number as people write it: "1.23.0".
std::string version_text(int version);

// Each adds one subcommand that sets the action when it is chosen.
void add_run(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_compile(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_env(CLI::App& app, Action& action);

}  // namespace tool
