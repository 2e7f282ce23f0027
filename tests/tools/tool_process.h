#pragma once

#include <string>
#include <vector>

namespace tool {

struct ToolResult {
  int exit_code = -1;
  std::string out, err;
};

/// Runs the program with these arguments and this text as standard input.
ToolResult run_tool(std::vector<std::string> const& arguments, std::string const& input = "");

/// A path in this process's own scratch folder.
std::string scratch(std::string const& name);
/// Writes the text to a scratch file and returns its path.
std::string scratch_file(std::string const& name, std::string const& text);
std::string read_text(std::string const& path);

/// Path of a graph that cudnn_frontend dumped.
std::string dump(std::string const& name);

}  // namespace tool
