#include <fusednn.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

namespace fe = fusednn;
using fe::DataType_t;
using fe::PointwiseMode_t;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;
using testing::HasSubstr;

class GraphText : public testing::Test {
 protected:
  GraphText() { EXPECT_TRUE(fe::create(&handle, fe::Device::CPU).is_good()); }
  ~GraphText() override { EXPECT_TRUE(fe::destroy(handle).is_good()); }
  fe::handle_t handle = nullptr;
};

/// y = relu(x w + b) * 2.5, in whatever order and by whatever names.
Graph linear(std::string const& prefix = "", bool other_order = false, float scale = 2.5f) {
  Graph graph;
  graph.set_name(prefix + "linear").set_io_data_type(DataType_t::FLOAT).set_intermediate_data_type(DataType_t::FLOAT);
  graph.set_compute_data_type(DataType_t::FLOAT);
  auto tensor = [&](char const* name, int64_t rows, int64_t columns) {
    return graph.tensor(Tensor_attributes()
                            .set_name(prefix + name)
                            .set_dim({1, rows, columns})
                            .set_stride({rows * columns, columns, 1}));
  };
  auto mode = [](PointwiseMode_t m) { return fe::graph::Pointwise_attributes().set_mode(m); };
  Graph::tensor_ptr b, x, w;
  if (other_order) b = tensor("b", 1, 4);
  x = tensor("x", 2, 3);
  w = tensor("w", 3, 4);
  if (!b) b = tensor("b", 1, 4);
  auto factor = graph.tensor(scale, fe::graph::ScalarType::COMPILE_TIME_CONST);
  auto y = graph.matmul(x, w, fe::graph::Matmul_attributes().set_name(prefix + "mm"));
  y = graph.pointwise(y, b, mode(PointwiseMode_t::ADD));
  y = graph.pointwise(y, mode(PointwiseMode_t::RELU_FWD));
  y = graph.pointwise(y, factor, mode(PointwiseMode_t::MUL).set_name(prefix + "scale"));
  y->set_output(true).set_name(prefix + "y");
  return graph;
}

TEST_F(GraphText, KeyIsTheSameBeforeAndAfterEveryStep) {
  Graph graph = linear();
  size_t const key = graph.key();
  ASSERT_TRUE(graph.validate().is_good());
  EXPECT_EQ(graph.key(), key);
  ASSERT_TRUE(graph.build(handle, {fe::HeurMode_t::A}).is_good());
  EXPECT_EQ(graph.key(), key);
  EXPECT_EQ(linear("other ", true).key(), key);
  EXPECT_NE(linear("", false, 2.0f).key(), key);
  graph.set_deterministic_ext(true);
  EXPECT_NE(graph.key(), key);
}

TEST_F(GraphText, DynamicShapesLeaveTheKeyFreeOfDims) {
  auto key_of = [](int64_t rows, bool dynamic) {
    Graph graph;
    graph.set_io_data_type(DataType_t::FLOAT)
        .set_compute_data_type(DataType_t::FLOAT)
        .set_dynamic_shape_enabled(dynamic);
    auto x = graph.tensor(Tensor_attributes().set_dim({rows, 8}).set_stride({8, 1}));
    graph.pointwise(x, fe::graph::Pointwise_attributes().set_mode(PointwiseMode_t::EXP))->set_output(true);
    return graph.key();
  };
  EXPECT_EQ(key_of(2, true), key_of(3, true));
  EXPECT_NE(key_of(2, false), key_of(3, false));
}

TEST_F(GraphText, InvalidGraphsHaveTextAndKey) {
  Graph graph;
  EXPECT_THAT(graph.to_json_ext(), HasSubstr("\"nodes\": []"));
  EXPECT_EQ(graph.key(), Graph().key());
  EXPECT_THAT(graph.to_dot_ext(), HasSubstr("digraph"));
}

TEST_F(GraphText, IsAsDeclaredBeforeValidateAndCompletedAfterIt) {
  Graph graph = linear();
  auto output_of = [&] { return nlohmann::json::parse(graph.to_json_ext()).at("tensors").at("y"); };
  EXPECT_EQ(output_of().at("dim"), nlohmann::json::array());
  EXPECT_TRUE(output_of().at("data_type").is_null());
  ASSERT_TRUE(graph.validate().is_good());
  EXPECT_EQ(output_of().at("dim"), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(output_of().at("data_type"), "FLOAT");
}

TEST_F(GraphText, AGraphThatWasReadGivesTheSameResults) {
  Graph graph = linear(), copy;
  ASSERT_TRUE(graph.validate().is_good());
  std::string const text = graph.to_json_ext();
  fe::error_t e = copy.from_json_ext(text);
  ASSERT_TRUE(e.is_good()) << e.get_message();
  EXPECT_EQ(copy.key(), graph.key());
  ASSERT_TRUE(copy.validate().is_good());
  EXPECT_EQ(copy.to_json_ext(), text);

  std::vector<float> x(6), w(12), b(4);
  for (size_t i = 0; i < 12; ++i) w[i] = float(i % 5) - 2;
  for (size_t i = 0; i < 6; ++i) x[i] = float(i) - 2;
  std::vector<std::vector<float>> results;
  for (Graph* g : {&graph, &copy}) {
    e = g->build(handle, {fe::HeurMode_t::A});
    ASSERT_TRUE(e.is_good()) << e.get_message();
    std::vector<float>& y = results.emplace_back(8, -1.0f);
    std::unordered_map<Graph::tensor_ptr, void*> pack;
    for (auto const& t : g->inputs_ext())
      pack[t] = t->get_name() == "x" ? x.data() : t->get_name() == "w" ? w.data() : b.data();
    pack[g->outputs_ext().at(0)] = y.data();
    std::vector<char> workspace(static_cast<size_t>(g->get_workspace_size()));
    ASSERT_TRUE(g->execute(handle, pack, workspace.data()).is_good());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_GT(results[0][0] + results[0][7], 0.0f);
}

TEST_F(GraphText, TextThatCannotBeReadLeavesTheGraphAlone) {
  Graph graph = linear();
  size_t const key = graph.key();
  fe::error_t const e = graph.from_json_ext("{\"nodes\": 3}");
  EXPECT_EQ(e.get_code(), fe::error_code_t::UNSUPPORTED_GRAPH_FORMAT);
  EXPECT_THAT(e.get_message(), HasSubstr("graph.nodes"));
  EXPECT_EQ(graph.key(), key);
  EXPECT_EQ(graph.from_json_ext(R"({"nodes": [{"tag": "CONV_FPROP"}], "tensors": {}})").get_code(),
            fe::error_code_t::GRAPH_NOT_SUPPORTED);
}

TEST_F(GraphText, ExplainTellsWhatIsKnownAtEachStep) {
  Graph graph = linear();
  EXPECT_THAT(graph.explain_ext(), HasSubstr("build_operation_graph()"));
  ASSERT_TRUE(graph.build_operation_graph(handle).is_good());
  EXPECT_THAT(graph.explain_ext(), HasSubstr("cpu.reference"));
  EXPECT_THAT(graph.explain_ext(), HasSubstr("create_execution_plans()"));
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  EXPECT_THAT(graph.explain_ext(), HasSubstr("not built"));
  ASSERT_TRUE(graph.build_plans().is_good());
  std::string name;
  ASSERT_TRUE(graph.get_plan_name(name).is_good());
  EXPECT_THAT(graph.explain_ext(), HasSubstr("*  0 " + name));
  graph.deselect_engines({"MATMUL"});
  EXPECT_THAT(graph.explain_ext(), HasSubstr("barred: engines MATMUL are deselected"));
}

TEST_F(GraphText, ExplainSpeaksToMachines) {
  Graph graph = linear();
  auto explained = [&] { return nlohmann::json::parse(graph.explain_ext(true)); };
  EXPECT_TRUE(explained().at("valid"));
  EXPECT_FALSE(explained().contains("plans"));
  ASSERT_TRUE(graph.build(handle, {fe::HeurMode_t::A}, fe::BuildPlanPolicy_t::ALL).is_good());
  nlohmann::json const known = explained();
  EXPECT_EQ(known.at("device"), "cpu");
  EXPECT_EQ(known.at("operations").size(), 4u);
  bool reference = false;
  for (auto const& e : known.at("engines"))
    reference = reference || (e.at("engine") == "cpu.reference" && e.at("configs") == 1);
  EXPECT_TRUE(reference) << known.dump(2);
  ASSERT_EQ(known.at("plans").size(), static_cast<size_t>(graph.get_execution_plan_count()));
  int64_t chosen = 0;
  for (auto const& p : known.at("plans")) {
    chosen += p.at("chosen").get<bool>();
    EXPECT_TRUE(p.at("built")) << p;
    EXPECT_FALSE(p.at("steps").empty());
    EXPECT_GE(p.at("workspace_bytes"), 0);
  }
  EXPECT_EQ(chosen, 1);
}

TEST_F(GraphText, ExplainListsWhatIsWrong) {
  Graph graph = linear();
  graph.set_compute_data_type(DataType_t::NOT_SET);
  EXPECT_THAT(graph.explain_ext(), HasSubstr("node_no_compute_type"));
  auto const known = nlohmann::json::parse(graph.explain_ext(true));
  EXPECT_FALSE(known.at("valid"));
  EXPECT_EQ(known.at("errors").size(), 4u);
}

}  // namespace
