#include "serial/graph_json.h"

#include "ir/canonical.h"
#include "serial/row_graphs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fusednn::serial {
namespace {

using nlohmann::json;

ir::Graph read(std::string const& text) {
  auto graph = from_json(text);
  EXPECT_TRUE(graph.ok()) << base::join(graph.errors()) << "\n" << text;
  return graph.ok() ? graph.value() : ir::Graph();
}

void expect_round_trip(ir::Graph const& graph) {
  std::string const text = to_json(graph);
  ir::Graph const back = read(text);
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(ir::canonical_form(back), ir::canonical_form(graph)) << text;
}

TEST(GraphJson, EveryRowComesBack) {
  ASSERT_FALSE(tests::public_rows().empty());
  for (ops::OpRow const* row : tests::public_rows())
    for (int variant = 0; variant < 4; ++variant) {
      ir::Graph const graph = tests::full_graph(*row, variant);
      expect_round_trip(graph);
      ir::Node const back = read(to_json(graph)).nodes.at(0);
      EXPECT_EQ(back.op, row->kind);
      EXPECT_EQ(back.inputs.size(), graph.nodes[0].inputs.size());
      for (ops::Attr const& a : row->attrs) {
        ASSERT_NE(back.attrs.find(a.name), nullptr) << row->tag << "." << a.name;
        EXPECT_EQ(*back.attrs.find(a.name), *graph.nodes[0].attrs.find(a.name)) << row->tag << "." << a.name;
      }
    }
}

TEST(GraphJson, UnsetAttributesAreNullAndStayUnset) {
  for (ops::OpRow const* row : tests::public_rows()) {
    ir::Graph graph = tests::full_graph(*row);
    graph.nodes[0].attrs = {};
    graph.nodes[0].compute = DataType_t::NOT_SET;
    expect_round_trip(graph);
    json const node = json::parse(to_json(graph)).at("nodes").at(0);
    EXPECT_TRUE(node.at("compute_data_type").is_null());
    for (ops::Attr const& a : row->attrs)
      EXPECT_TRUE(node.at(std::string(a.name)).is_null()) << row->tag << "." << a.name;
    EXPECT_TRUE(read(to_json(graph)).nodes.at(0).attrs.all().empty()) << row->tag;
  }
}

TEST(GraphJson, OptionalPortsMayBeAbsent) {
  for (ops::OpRow const* row : tests::public_rows())
    for (size_t port = 0; port < row->inputs.size(); ++port) {
      ir::Graph graph = tests::full_graph(*row);
      graph.nodes[0].inputs[port] = ir::no_tensor;
      expect_round_trip(graph);
      EXPECT_EQ(read(to_json(graph)).nodes.at(0).input(port), ir::no_tensor);
    }
}

TEST(GraphJson, EveryAttributeAndPortIsInTextAndKey) {
  auto expect_alive = [](ir::Graph const& base, ir::Graph const& changed, std::string const& what) {
    EXPECT_NE(to_json(changed), to_json(base)) << what;
    EXPECT_NE(ir::canonical_key(changed), ir::canonical_key(base)) << what;
    EXPECT_EQ(ir::canonical_key(read(to_json(changed))), ir::canonical_key(changed)) << what;
  };
  for (ops::OpRow const* row : tests::public_rows()) {
    ir::Graph const base = tests::full_graph(*row);
    std::string const tag(row->tag);
    for (ops::Attr const& a : row->attrs) {
      ir::Graph other = base, unset = base;
      other.nodes[0].attrs.set(a.name, tests::sample_value(a, 1));
      unset.nodes[0].attrs.set(a.name, {});
      expect_alive(base, other, fmt::format("{}.{}", tag, a.name));
      expect_alive(base, unset, fmt::format("{}.{} unset", tag, a.name));
    }
    for (auto ports : {&ir::Node::inputs, &ir::Node::outputs})
      for (size_t i = 0; i < (base.nodes[0].*ports).size(); ++i) {
        ir::Graph absent = base;
        (absent.nodes[0].*ports)[i] = ir::no_tensor;
        expect_alive(base, absent, fmt::format("{} without port {}", tag, i));
      }
  }
}

TEST(GraphJson, SpellsTensorsAndAttributesAsCudnnFrontendDoes) {
  ir::Graph graph = tests::full_graph(ops::row(ir::OpKind::matmul));
  graph.tensors[0].uid = 7;
  graph.tensors[1].pass_by_value = true;
  graph.tensors[1].value = graph::Scalar_value(0.5f);
  json const text = json::parse(to_json(graph));
  EXPECT_EQ(text.at("json_version"), "1.0");
  EXPECT_EQ(text.at("nodes")[0].at("inputs").at("A"), 7);
  EXPECT_EQ(text.at("nodes")[0].at("inputs").at("B"), "inB");
  EXPECT_EQ(text.at("tensors").at("7"),
            json::parse(R"({"name": "inA", "uid": 7, "uid_assigned": true, "data_type": "HALF", "dim": [2, 3, 4],
                            "stride": [12, 4, 1], "is_virtual": false, "is_pass_by_value": false,
                            "pass_by_value": null, "reordering_type": "NONE"})"));
  EXPECT_EQ(text.at("tensors").at("inB").at("pass_by_value"), json::parse(R"({"index": 3, "value": 0.5})"));
  EXPECT_EQ(text.at("context").at("compute_data_type"), "FLOAT");
  EXPECT_TRUE(text.at("context").at("io_data_type").is_null());
}

TEST(GraphJson, CarriesEveryFieldOfContextAndTensor) {
  ir::Graph graph = tests::full_graph(ops::row(ir::OpKind::matmul));
  ir::Context& c = graph.context;
  c = {"g\xc3\xa4", DataType_t::HALF, DataType_t::BFLOAT16, DataType_t::INT32, true, true, true, true, true, 0, 3, 90};
  ir::Tensor& t = graph.tensors[0];
  t.uid = -5;
  t.reordering = TensorReordering_t::F8_128x4;
  t.alignment = 128;
  t.vector_count = 4;
  t.vector_dimension = 1;
  t.is_virtual = true;
  ir::Tensor& scalar = graph.tensors[1];
  scalar.pass_by_value = scalar.compile_time_constant = true;
  scalar.value = graph::Scalar_value(INT64_MIN);
  t.ragged_offset = graph.add(tests::sample_tensor("offsets"));
  expect_round_trip(graph);
  ir::Graph const back = read(to_json(graph));
  EXPECT_EQ(back.context.name, c.name);
  EXPECT_EQ(back.context.sm_version, 90);
  EXPECT_EQ(back.context.workspace_limit, 0);
  EXPECT_EQ(back.tensors[0].uid, -5);
  EXPECT_EQ(back.tensors[0].ragged_offset, t.ragged_offset);
  EXPECT_EQ(back.tensors[0].vector_dimension, 1);
  EXPECT_TRUE(back.tensors[1].compile_time_constant);
  EXPECT_EQ(back.tensors[1].value, scalar.value);
}

TEST(GraphJson, TensorsThatShareANameOrUidStayApart) {
  ops::OpRow const& row = ops::row(ir::OpKind::pointwise);
  ir::Graph graph = tests::full_graph(row);
  for (ir::Tensor& t : graph.tensors) t.name = "same";
  graph.tensors[3].name = "same#2";
  for (int i = 0; i < 12; ++i) graph.add(tests::sample_tensor("same"));
  graph.add(tests::sample_tensor(""));
  graph.add(tests::sample_tensor("7")), graph.add(tests::sample_tensor("\xff")),
      graph.add(tests::sample_tensor("\xfe"));
  ir::Tensor numbered = tests::sample_tensor("same");
  numbered.uid = 7;
  graph.add(numbered), graph.add(numbered);
  EXPECT_EQ(json::parse(to_json(graph)).at("tensors").size(), graph.tensors.size());
  expect_round_trip(graph);
  ir::Graph const back = read(to_json(graph));
  EXPECT_EQ(back.nodes[0].inputs, graph.nodes[0].inputs);
  EXPECT_EQ(back.nodes[0].outputs, graph.nodes[0].outputs);
  EXPECT_EQ(back.tensors[2].name, "same");
}

TEST(GraphJson, FieldsWithADefaultMayBeLeftOut) {
  ir::Graph const graph = read(R"({"nodes": [{"tag": "MATMUL", "inputs": {"A": "a", "B": 2}, "outputs": {"C": "c"}}],
                                   "tensors": {"a": {"dim": [1, 2, 3], "stride": [6, 3, 1]}, "2": {"uid": 2}, "c": {}}})");
  EXPECT_EQ(graph.tensors[0].name, "a");
  EXPECT_EQ(graph.tensors[1].uid, 2);
  EXPECT_FALSE(graph.tensors[2].uid);
  EXPECT_EQ(graph.nodes[0].inputs, (std::vector<ir::TensorId>{0, 1}));
  EXPECT_EQ(graph.tensors[2].dtype, DataType_t::NOT_SET);
}

TEST(GraphJson, RealAttributesAreReadFromNumbersAndHexDigits) {
  for (char const* value : {"0.125", "\"3E000000\""}) {
    ir::Graph graph = tests::full_graph(ops::row(ir::OpKind::matmul));
    json text = json::parse(to_json(graph));
    text["nodes"][0]["padding_value"] = json::parse(value);
    EXPECT_EQ(read(text.dump()).nodes[0].attrs.get<double>("padding_value"), 0.125);
  }
}

}  // namespace
}  // namespace fusednn::serial
