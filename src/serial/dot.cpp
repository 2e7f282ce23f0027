#include "base/enum_names.h"
#include "ops/row.h"
#include "serial/graph_json.h"
#include "serial/json_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::serial {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string type_and_dims(ir::Tensor const& t) {
  std::string text(base::to_string(t.dtype));
  if (!t.dims.empty()) text += fmt::format(" [{}]", fmt::join(t.dims, ","));
  return text;
}

/// The attribute that tells nodes of one row apart: its first enumeration ("mode").
std::string label(ir::Node const& node) {
  ops::OpRow const& row = ops::row(node.op);
  std::string text = fmt::format("{}\\n{}", escaped(node.name), row.builder);
  for (ops::Attr const& a : row.attrs) {
    if (a.type != ops::AttrType::enumeration || !node.attrs.is_set(a.name)) continue;
    if (auto const* v = std::get_if<int64_t>(node.attrs.find(a.name)))
      return text + fmt::format(" {}", a.names().name(*v));
  }
  return text;
}

}  // namespace

std::string to_dot(ir::Graph const& graph) {
  std::string out = fmt::format("digraph \"{}\" {{\n  rankdir=TB;\n", escaped(graph.context.name));
  std::vector<int> producer(graph.tensors.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    out += fmt::format("  n{} [shape=box, label=\"{}\"];\n", n, label(graph.nodes[n]));
    for (ir::TensorId t : graph.nodes[n].outputs)
      if (t != ir::no_tensor) producer[static_cast<size_t>(t)] = static_cast<int>(n);
  }
  // Virtual tensors are edges; all others are drawn.
  auto drawn = [&](size_t t) { return producer[t] < 0 || !graph.tensors[t].is_virtual; };
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    ir::Tensor const& tensor = graph.tensors[t];
    if (!drawn(t)) continue;
    out +=
        fmt::format("  t{} [shape={}, label=\"{}\\n{}\"];\n", t, tensor.compile_time_constant ? "plaintext" : "ellipse",
                    escaped(tensor.name), type_and_dims(tensor));
    if (producer[t] >= 0) out += fmt::format("  n{} -> t{};\n", producer[t], t);
    if (tensor.ragged_offset != ir::no_tensor)
      out += fmt::format("  t{} -> t{} [style=dashed, label=\"ragged offsets\"];\n", tensor.ragged_offset, t);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    ops::OpRow const& row = ops::row(graph.nodes[n].op);
    for (size_t i = 0; i < graph.nodes[n].inputs.size(); ++i) {
      ir::TensorId const id = graph.nodes[n].inputs[i];
      if (id == ir::no_tensor) continue;
      size_t const t = static_cast<size_t>(id);
      std::string const from = drawn(t) ? fmt::format("t{}", t) : fmt::format("n{}", producer[t]);
      std::string const what = drawn(t) ? std::string() : fmt::format("\\n{}", type_and_dims(graph.tensors[t]));
      out += fmt::format("  {} -> n{} [label=\"{}{}\"];\n", from, n, row.input_name(i), what);
    }
  }
  return out + "}\n";
}

}  // namespace fusednn::serial
