#include "commands.h"
#include "failure.h"
#include "graph_file.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace tool {

namespace {

using nlohmann::json;

struct Options {
  std::string graph;
  bool json = false, dot = false, mask = false;
  int64_t seq_len_q = -1, seq_len_kv = -1;
};

std::string dims_text(json const& list) {
  std::string text;
  for (json const& v : list) text += (text.empty() ? "" : ",") + v.dump();
  return "[" + text + "]";
}

std::string name_or(json const& value, char const* otherwise) {
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::string tensor_text(json const& t) {
  std::string text = fmt::format("{:<10} {:<18} strides {}", name_or(t.at("data_type"), "?"), dims_text(t.at("dim")),
                                 dims_text(t.at("stride")));
  if (t.at("uid_assigned")) text += fmt::format("  uid {}", t.at("uid").get<int64_t>());
  if (t.at("is_virtual")) text += "  virtual";
  if (!t.at("pass_by_value").is_null())
    text += "  value " + t.at("pass_by_value").at("value").dump();
  else if (t.at("is_pass_by_value"))
    text += "  by value";
  return text;
}

std::string ports_text(json const& graph, json const& ports) {
  std::string text;
  for (auto const& [port, reference] : ports.items()) {
    if (reference.is_null()) continue;
    std::string const key = reference.is_number() ? reference.dump() : reference.get<std::string>();
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", port,
                        graph.at("tensors").at(key).at("name").get<std::string>());
  }
  return text;
}

void print_table(json const& graph) {
  fmt::print("graph '{}'\n\ntensors\n", graph.at("context").at("name").get<std::string>());
  for (json const& t : graph.at("tensors"))
    fmt::print("  {:<20} {}\n", t.at("name").get<std::string>(), tensor_text(t));
  fmt::print("\noperations\n");
  for (json const& n : graph.at("nodes")) {
    fmt::print("  {:<20} {} ({}) -> {}\n", n.at("name").get<std::string>(), n.at("tag").get<std::string>(),
               ports_text(graph, n.at("inputs")), ports_text(graph, n.at("outputs")));
    for (auto const& [key, value] : n.items()) {
      bool const attribute = key != "name" && key != "tag" && key != "inputs" && key != "outputs";
      if (attribute && !value.is_null()) fmt::print("  {:<20}   {} = {}\n", "", key, value.dump());
    }
  }
}

/// The graph's mask for every attention node in turn.
int print_masks(fusednn::graph::Graph const& graph, Options const& options) {
  int printed = 0;
  json const description = description_of(graph);
  for (json const& node : description.at("nodes")) {
    if (node.at("tag") != "SDPA") continue;
    std::string const name = node.at("name");
    std::string text;
    check(graph.print_mask_ext(name, text, options.seq_len_q, options.seq_len_kv));
    fmt::print("{}\n{}\n", name, text);
    ++printed;
  }
  if (printed == 0) throw Failure(exit_invalid, "the graph has no attention node");
  return exit_ok;
}

int show(Options const& options) {
  fusednn::graph::Graph graph = load_graph(options.graph);
  fusednn::error_t const outcome = graph.validate();
  if (options.mask) {
    check(outcome);
    return print_masks(graph, options);
  }
  if (options.json)
    fmt::print("{}", graph.to_json_ext());
  else if (options.dot)
    fmt::print("{}", graph.to_dot_ext());
  else
    print_table(description_of(graph));
  if (outcome.is_bad())
    fmt::print(stderr, "fusednn: shown as declared, since it is not valid:\n{}\n", outcome.get_message());
  return exit_code_of(outcome.get_code());
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("show", "A graph with all that validation infers");
  command->add_option("graph", options->graph, "Graph as JSON text; - for standard input")->required();
  CLI::Option* json = command->add_flag("--json", options->json, "As graph text");
  CLI::Option* dot = command->add_flag("--dot", options->dot, "As a Graphviz document");
  CLI::Option* mask =
      command->add_flag("--mask", options->mask, "The mask of each attention node, '1' visible, '.' masked");
  json->excludes(dot)->excludes(mask);
  dot->excludes(mask);
  command->add_option("--seq-len-q", options->seq_len_q, "Live queries, for --mask with a padding mask")->needs(mask);
  command->add_option("--seq-len-kv", options->seq_len_kv, "Live keys, likewise")->needs(mask);
  command->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace tool
