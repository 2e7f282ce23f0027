#include "fuzz/graph_text_property.h"

#include "ir/canonical.h"
#include "ops/validate.h"
#include "serial/graph_json.h"

namespace fusednn::tests {

namespace {

std::string check_graph(ir::Graph const& graph) {
  std::string const written = serial::to_json(graph);
  auto const again = serial::from_json(written);
  if (!again) return "its own text is refused: " + base::join(again.errors());
  if (serial::to_json(again.value()) != written) return "its text changes when read and written";
  if (ir::canonical_form(again.value()) != ir::canonical_form(graph)) return "its key changes when read and written";
  return serial::to_dot(graph).empty() ? "it cannot be drawn" : "";
}

}  // namespace

std::string check_graph_text(std::string_view text) {
  auto const graph = serial::from_json(text);
  if (!graph) return base::join(graph.errors()).empty() ? "refused without a message" : "";
  if (std::string const fault = check_graph(graph.value()); !fault.empty()) return "draft: " + fault;
  auto const valid = ops::validate(graph.value());
  if (!valid) return base::join(valid.errors()).empty() ? "not valid, without a message" : "";
  std::string const fault = check_graph(valid.value()->graph());
  return fault.empty() ? "" : "completed graph: " + fault;
}

}  // namespace fusednn::tests
