#include "serial/document.h"
#include "serial/graph_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace fusednn::serial {
namespace {

using base::Rule;
using nlohmann::json;

/// y = A B + s, with a scalar and explicit uids.
constexpr char good[] = R"({
  "context": {"name": "g", "io_data_type": "FLOAT", "intermediate_data_type": "FLOAT", "compute_data_type": "FLOAT"},
  "json_version": "1.0",
  "nodes": [
    {"tag": "MATMUL", "name": "mm", "inputs": {"A": 1, "B": 2}, "outputs": {"C": "c"}},
    {"tag": "POINTWISE", "name": "add", "mode": "ADD", "inputs": {"IN_0": "c", "IN_1": "s"}, "outputs": {"OUT_0": "y"}}
  ],
  "tensors": {
    "1": {"name": "a", "uid": 1, "uid_assigned": true, "dim": [1, 2, 3], "stride": [6, 3, 1]},
    "2": {"name": "b", "uid": 2, "uid_assigned": true, "dim": [1, 3, 4], "stride": [12, 4, 1]},
    "c": {"is_virtual": true},
    "s": {"dim": [1], "stride": [1], "data_type": "FLOAT", "is_pass_by_value": true,
          "pass_by_value": {"index": 3, "value": 0.5}},
    "y": {}
  }
})";

/// The document above with the value at `pointer` replaced by `value` (taken out where that is empty).
std::string changed(std::string const& pointer, std::string const& value) {
  json document = json::parse(good);
  json::json_pointer const at(pointer);
  if (value.empty())
    document.at(at.parent_pointer()).erase(at.back());
  else
    document[at] = json::parse(value);
  return document.dump();
}

struct Case {
  char const* pointer;
  char const* value;
  Rule rule;
  std::vector<char const*> message;  ///< parts
};

std::vector<Case> const cases = {
    {"/json_version", "\"2.0\"", Rule::json_version, {"json_version", "2.0"}},
    {"/json_version", "1", Rule::json_type, {"json_version", "found 1", "string"}},
    {"/nodes", "", Rule::json_missing_key, {"graph.nodes"}},
    {"/tensors", "", Rule::json_missing_key, {"graph.tensors"}},
    {"/nodes", "{}", Rule::json_type, {"graph.nodes", "list"}},
    {"/nodes/0", "7", Rule::json_type, {"nodes[0]", "7", "object"}},
    {"/tensors", "[]", Rule::json_type, {"tensors", "object"}},
    {"/tensors/y", "3", Rule::json_type, {"tensors.y", "3", "object"}},
    {"/surplus", "1", Rule::json_unknown_key, {"graph.surplus", "1"}},
    {"/context", "[]", Rule::json_type, {"context", "object"}},
    {"/context/name", "5", Rule::json_type, {"context.name", "5", "string"}},
    {"/context/io_data_type",
     "\"FLOAT99\"",
     Rule::json_unknown_name,
     {"context.io_data_type", "FLOAT99", "DataType_t"}},
    {"/context/io_data_type", "3", Rule::json_type, {"context.io_data_type", "3"}},
    {"/context/sm_count", "2147483648", Rule::json_type, {"context.sm_count", "2147483648"}},
    {"/context/is_dynamic_shape_enabled", "1", Rule::json_type, {"is_dynamic_shape_enabled", "true or false"}},
    {"/context/surplus", "true", Rule::json_unknown_key, {"context.surplus"}},
    {"/nodes/0/tag", "", Rule::json_missing_key, {"nodes[0].tag"}},
    {"/nodes/0/tag", "5", Rule::json_type, {"nodes[0].tag", "5"}},
    {"/nodes/0/tag", "\"WARP_DRIVE\"", Rule::json_operation, {"nodes[0].tag", "WARP_DRIVE"}},
    {"/nodes/0/tag", "\"\"", Rule::json_operation, {"nodes[0].tag"}},
    {"/nodes/0/surplus", "[1]", Rule::json_unknown_key, {"nodes[0].surplus", "a list of 1"}},
    {"/nodes/0/padding_value", "\"much\"", Rule::json_type, {"nodes[0].padding_value", "much", "number"}},
    {"/nodes/1/mode", "\"FROBNICATE\"", Rule::json_unknown_name, {"nodes[1].mode", "FROBNICATE", "PointwiseMode_t"}},
    {"/nodes/1/axis", "1.5", Rule::json_type, {"nodes[1].axis", "1.5", "integer"}},
    {"/nodes/0/inputs", "[1, 2]", Rule::json_type, {"nodes[0].inputs", "object"}},
    {"/nodes/0/inputs/D", "1", Rule::json_unknown_port, {"nodes[0].inputs.D"}},
    {"/nodes/0/outputs/0", "\"y\"", Rule::json_unknown_port, {"nodes[0].outputs.0"}},
    {"/nodes/0/inputs/A", "99", Rule::json_unknown_tensor, {"nodes[0].inputs.A", "99"}},
    {"/nodes/0/inputs/A", "\"zz\"", Rule::json_unknown_tensor, {"nodes[0].inputs.A", "zz"}},
    {"/nodes/0/inputs/A", "true", Rule::json_type, {"nodes[0].inputs.A", "name or uid"}},
    {"/nodes/1/outputs/OUT_0", "\"c\"", Rule::json_shared_tensor, {"tensor 'c'", "nodes[0]", "nodes[1]"}},
    {"/nodes/0/inputs/B", "\"c\"", Rule::json_shared_tensor, {"tensor 'c'", "nodes[0]", "reads and writes"}},
    {"/tensors/y/dim", "[1, \"2\"]", Rule::json_type, {"tensors.y.dim", "list of integers"}},
    {"/tensors/y/dim", "4", Rule::json_type, {"tensors.y.dim", "4"}},
    {"/tensors/y/stride", "[[1]]", Rule::json_type, {"tensors.y.stride"}},
    {"/tensors/y/dim", "[1.0]", Rule::json_type, {"tensors.y.dim"}},
    {"/tensors/y/uid", "\"1\"", Rule::json_type, {"tensors.y.uid"}},
    {"/tensors/y/name", "[]", Rule::json_type, {"tensors.y.name"}},
    {"/tensors/y/reordering_type", "\"ZIGZAG\"", Rule::json_unknown_name, {"tensors.y.reordering_type", "ZIGZAG"}},
    {"/tensors/y/alignment", "\"big\"", Rule::json_type, {"tensors.y.alignment"}},
    {"/tensors/y/surplus", "0", Rule::json_unknown_key, {"tensors.y.surplus"}},
    {"/tensors/y/ragged_offset", "\"zz\"", Rule::json_unknown_tensor, {"tensors.y.ragged_offset", "zz"}},
    {"/tensors/y/ragged_offset", "\"y\"", Rule::json_ragged_offset, {"tensor 'y'"}},
    {"/tensors/s/pass_by_value", "0.5", Rule::json_type, {"tensors.s.pass_by_value", "object"}},
    {"/tensors/s/pass_by_value/index", "6", Rule::json_type, {"pass_by_value.index", "6"}},
    {"/tensors/s/pass_by_value/value", "null", Rule::json_missing_key, {"pass_by_value.value"}},
    {"/tensors/s/pass_by_value/value", "\"3F80\"", Rule::json_scalar, {"pass_by_value.value", "3F80", "FLOAT"}},
    {"/tensors/s/pass_by_value/value", "1e39", Rule::json_scalar, {"pass_by_value.value", "1e+39"}},
};

TEST(GraphErrors, TheUnchangedDocumentIsRight) {
  auto const graph = from_json(good);
  EXPECT_TRUE(graph.ok()) << base::join(graph.errors());
}

void expect_error(std::string const& text, Rule rule, std::vector<char const*> const& parts) {
  auto const graph = from_json(text);
  ASSERT_FALSE(graph.ok()) << "no " << base::row(rule).id << " in\n" << text.substr(0, 2000);
  std::string const message = base::join(graph.errors());
  bool found = false;
  for (base::Error const& e : graph.errors()) found = found || e.rule == rule;
  EXPECT_TRUE(found) << "no " << base::row(rule).id << " in\n" << message;
  for (char const* part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << " not in\n" << message;
}

TEST(GraphErrors, NamePlaceValueAndRule) {
  for (Case const& c : cases) {
    SCOPED_TRACE(fmt::format("{} = {}", c.pointer, c.value));
    expect_error(changed(c.pointer, c.value), c.rule, c.message);
  }
}

TEST(GraphErrors, TextThatIsNoDocument) {
  for (char const* text :
       {"", " ", "{", "{\"a\" 1}", "[1,]", "nul", "{} {}", "{'a': 1}", "\"\xff\"", "\"\\ud800\"", "01", "NaN"})
    expect_error(text, Rule::json_syntax, {});
  expect_error("{\n  \"nodes\": [1,\n}", Rule::json_syntax, {"line 3"});
  expect_error("[]", Rule::json_type, {"graph", "a list of 0", "object"});
  expect_error("null", Rule::json_type, {"null"});
}

TEST(GraphErrors, NumbersThatDoNotFitAreNotRounded) {
  auto with = [](std::string_view part, std::string_view other) {
    std::string text = good;
    return text.replace(text.find(part), part.size(), other);
  };
  expect_error(with("[1, 2, 3]", "[9223372036854775808]"), Rule::json_number,
               {"tensors.1.dim[0]", "9223372036854775808"});
  expect_error(with("[1, 2, 3]", "[1, 99999999999999999999999, 3]"), Rule::json_number,
               {"tensors.1.dim[1]", "99999999999999999999999"});
  expect_error(with("0.5", "1e999"), Rule::json_number, {"1e999"});
}

TEST(GraphErrors, KeysGivenTwice) {
  std::string text = good;
  text.replace(text.find("\"y\": {}"), 7, "\"y\": {}, \"c\": {}");
  expect_error(text, Rule::json_duplicate_key, {"tensors", "'c'"});
}

TEST(GraphErrors, DepthAndSizeAreLimited) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  expect_error(nested(max_depth), Rule::json_type, {});
  expect_error(nested(max_depth + 1), Rule::json_depth, {"65"});
  expect_error(std::string(5000000, '['), Rule::json_depth, {});
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  expect_error(deep, Rule::json_depth, {"a.a.a.a ... 58 levels ... a.a: depth 65"});
  expect_error("{\"context\": " + std::string(70, '['), Rule::json_depth,
               {"context[0][0][0] ... 58 levels ... [0][0]: depth"});
  expect_error("{\"" + std::string(1000, 'k') + "\": 1e999}", Rule::json_number, {});
  expect_error(std::string(max_text_bytes + 1, ' '), Rule::json_size, {"67108865"});
}

/// The good document with a node of another kind for the first.
std::string with_node(json node, char const* output) {
  json document = json::parse(good);
  node["outputs"][output] = "c";
  document["nodes"][0] = std::move(node);
  return document.dump();
}

TEST(GraphErrors, AVariadicPortLeavesNoGap) {
  auto with_inputs = [](char const* inputs) {
    return with_node({{"tag", "CONCATENATE"}, {"axis", 0}, {"inputs", json::parse(inputs)}}, "Y");
  };
  EXPECT_TRUE(from_json(with_inputs(R"({"0": 1, "1": 2})")).ok());
  expect_error(with_inputs(R"({"0": 1, "2": 2})"), Rule::json_unknown_port, {"inputs.2"});
  expect_error(with_inputs(R"({"1048575": 2})"), Rule::json_unknown_port, {"inputs.1048575"});
  expect_error(with_inputs(R"({"-1": 2})"), Rule::json_unknown_port, {"inputs.-1"});
  expect_error(with_inputs(R"({"01": 1, "1": 2})"), Rule::json_unknown_port, {"inputs.01"});
}

TEST(GraphErrors, PairsAreListsOfTwo) {
  auto with_slices = [](char const* slices) {
    return with_node({{"tag", "SLICE"}, {"slices", json::parse(slices)}, {"inputs", {{"X", 1}}}}, "Y");
  };
  auto const graph = from_json(with_slices("[[0, 1], [1, 2]]"));
  ASSERT_TRUE(graph.ok()) << base::join(graph.errors());
  EXPECT_EQ(graph.value().nodes[0].attrs.get<ir::Dims>("slices"), (ir::Dims{0, 1, 1, 2}));
  for (char const* slices : {"[0, 1, 1, 2]", "[[0, 1, 1]]", "[[0], [1]]", "[[0, 1.5]]", "{}"})
    expect_error(with_slices(slices), Rule::json_type, {"nodes[0].slices", "pairs"});
}

TEST(GraphErrors, AllAreListed) {
  json document = json::parse(good);
  document["tensors"]["y"]["dim"] = "x";
  document["nodes"][0]["tag"] = "NOPE";
  document["nodes"][1]["mode"] = "NOPE";
  EXPECT_EQ(from_json(document.dump()).errors().size(), 3u);
}

TEST(GraphErrors, WhatFollowsFromAnErrorIsNotTold) {
  for (char const* text :
       {"null", "[]", R"({"tensors": {"x": null}, "nodes": []})", R"({"tensors": {}, "nodes": [null]})"})
    EXPECT_EQ(from_json(text).errors().size(), 1u) << base::join(from_json(text).errors());
  for (char const* tensors : {"", "null", "7"}) {
    base::Result<ir::Graph> const graph = from_json(changed("/tensors", tensors));
    EXPECT_EQ(graph.errors().size(), 1u) << base::join(graph.errors());
  }
  expect_error(changed("/tensors", "null"), Rule::json_missing_key, {"graph.tensors: is null"});
}

TEST(GraphErrors, EveryRuleOfGraphTextIsFiredHere) {
  std::set<std::string> fired = {"json_size", "json_syntax", "json_depth", "json_number", "json_duplicate_key"};
  for (Case const& c : cases) fired.emplace(base::row(c.rule).id);
  for (base::RuleRow const& row : base::rule_table)
    EXPECT_TRUE(!row.id.starts_with("json_") || fired.count(std::string(row.id))) << row.id;
}

}  // namespace
}  // namespace fusednn::serial
