#include "graph_file.h"

#include "failure.h"
#include "file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tool {

fusednn::graph::Graph load_graph(std::string const& path) {
  std::string reason;
  auto const text = read_file(path, reason);
  if (!text) throw Failure(exit_invalid, fmt::format("{}: {}", path, reason));
  fusednn::graph::Graph graph;
  fusednn::error_t const outcome = graph.from_json_ext(*text);
  if (outcome.is_bad())
    throw Failure(exit_code_of(outcome.get_code()), fmt::format("{}:\n{}", path, outcome.get_message()));
  return graph;
}

nlohmann::json description_of(fusednn::graph::Graph const& graph) { return nlohmann::json::parse(graph.to_json_ext()); }

Handle::Handle(std::string const& device) {
  if (device == "cpu" || device == "cuda")
    check(fusednn::create(&handle_, device == "cuda" ? fusednn::Device::CUDA : fusednn::Device::CPU));
  else
    check(fusednn::create_for_arch_ext(&handle_, device));
}

Handle::~Handle() { (void)fusednn::destroy(handle_); }

}  // namespace tool
