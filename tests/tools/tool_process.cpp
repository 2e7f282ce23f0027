#include "tool_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tool {

namespace {

std::string quoted(std::string const& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string scratch(std::string const& name) {
  auto const folder = std::filesystem::path(testing::TempDir()) / ("fusednn_cli." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

std::string scratch_file(std::string const& name, std::string const& text) {
  std::string const path = scratch(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string read_text(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string dump(std::string const& name) { return std::string(FUSEDNN_TEST_DATA) + "/serial/dumps/" + name; }

ToolResult run_tool(std::vector<std::string> const& arguments, std::string const& input) {
  std::string command = quoted(FUSEDNN_TOOL);
  for (std::string const& a : arguments) command += " " + quoted(a);
  std::string const out = scratch("stdout"), err = scratch("stderr"), in = scratch_file("stdin", input);
  command += " >" + quoted(out) + " 2>" + quoted(err) + " <" + quoted(in);
  int const status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

}  // namespace tool
