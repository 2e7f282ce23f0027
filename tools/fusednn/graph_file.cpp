#include "graph_file.h"

#include "failure.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <iterator>

namespace tool {

fusednn::graph::Graph load_graph(std::string const& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  if (!in) throw Failure(exit_invalid, fmt::format("{}: cannot be opened", path));
  std::string const text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw Failure(exit_invalid, fmt::format("{}: cannot be read", path));
  fusednn::graph::Graph graph;
  fusednn::error_t const outcome = graph.from_json_ext(text);
  if (outcome.is_bad()) throw Failure(exit_code_of(outcome.get_code()), fmt::format("{}:\n{}", path, outcome.get_message()));
  return graph;
}

nlohmann::json description_of(fusednn::graph::Graph const& graph) { return nlohmann::json::parse(graph.to_json_ext()); }

Handle::Handle(std::string const& device) {
  check(fusednn::create(&handle_, device == "cuda" ? fusednn::Device::CUDA : fusednn::Device::CPU));
}

Handle::~Handle() { (void)fusednn::destroy(handle_); }

}  // namespace tool
