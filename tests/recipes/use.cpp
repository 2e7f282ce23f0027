// Uses what the recipes of CONTRIBUTING.md add: a pointwise mode, an operation and an engine.

#include <fusednn.h>

#include <cstdio>
#include <limits>
#include <unordered_map>
#include <vector>

namespace fe = fusednn;
using fe::graph::Graph, fe::graph::Pointwise_attributes, fe::graph::Tensor_attributes;
using Values = std::vector<float>;

namespace {

int failures = 0;

void expect(bool holds, char const* what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what);
  failures += holds ? 0 : 1;
}
void expect(fe::error_t const& error, char const* what) {
  expect(error.is_good(), what);
  if (error.is_bad()) std::printf("%s\n", error.get_message().c_str());
}

/// Builds every plan of a graph with one input X and one output Y, both [2, 3], and holds each to the
/// reference and to the values expected.
void expect_all_plans(fe::handle_t handle, Graph& graph, char const* what, Values const& expected) {
  expect(graph.build(handle, {fe::HeurMode_t::A}, fe::BuildPlanPolicy_t::ALL), what);
  Values in{1, -2, 3, 0.5f, 0, -4};
  std::vector<char> workspace(static_cast<size_t>(graph.get_workspace_size()) + 64);
  for (int64_t plan = 0; plan < graph.get_execution_plan_count(); ++plan) {
    Values out(6, std::numeric_limits<float>::quiet_NaN());
    std::unordered_map<int64_t, void*> pack{{1, in.data()}, {2, out.data()}};
    fe::graph::Check_report report;
    expect(graph.check_ext(handle, pack, workspace.data(), report, plan), "the plan runs");
    expect(report.matches && report.elements == 6, "the plan meets the reference");
    expect(out == expected, "the values are right");
  }
}

Tensor_attributes tensor(int64_t uid) {
  return Tensor_attributes().set_uid(uid).set_dim({2, 3}).set_stride({3, 1}).set_data_type(fe::DataType_t::FLOAT);
}

Graph pointwise_graph(fe::PointwiseMode_t mode) {
  Graph graph;
  graph.set_compute_data_type(fe::DataType_t::FLOAT).set_io_data_type(fe::DataType_t::FLOAT);
  auto y = graph.pointwise(graph.tensor(tensor(1)), Pointwise_attributes().set_mode(mode).set_name("p"));
  y->set_output(true).set_uid(2);
  return graph;
}

}  // namespace

int main() {
  fe::handle_t handle = nullptr;
  expect(fe::create(&handle, fe::Device::CPU), "a handle");

  Graph square = pointwise_graph(fe::PointwiseMode_t::SQUARE_ext);
  expect_all_plans(handle, square, "the mode builds", {1, 4, 9, 0.25f, 0, 16});
  expect(square.to_json_ext().find("\"SQUARE_ext\"") != std::string::npos, "JSON spells the mode");

  Graph cumsum;
  cumsum.set_compute_data_type(fe::DataType_t::FLOAT).set_io_data_type(fe::DataType_t::FLOAT);
  auto const attributes = fe::graph::Cumsum_attributes_ext().set_axis(1).set_name("c");
  cumsum.cumsum_ext(cumsum.tensor(tensor(1)), attributes)->set_output(true).set_uid(2);
  expect_all_plans(handle, cumsum, "the operation builds", {1, -1, 2, 0.5f, 0.5f, -3.5f});
  Graph read;
  expect(read.from_json_ext(cumsum.to_json_ext()), "the operation's JSON can be read back");
  expect(read.validate(), "what was read is valid");
  expect(read.key() == cumsum.key(), "what was read is the same graph");
  Graph bad;
  bad.set_compute_data_type(fe::DataType_t::FLOAT).set_io_data_type(fe::DataType_t::FLOAT);
  bad.cumsum_ext(bad.tensor(tensor(1)), fe::graph::Cumsum_attributes_ext().set_axis(2).set_name("c"))->set_output(true);
  fe::error_t const refused = bad.validate();
  expect(refused.is_bad() && refused.get_message().find("cumsum_axis") != std::string::npos, "its rule fires");

  Graph copy = pointwise_graph(fe::PointwiseMode_t::IDENTITY);
  expect_all_plans(handle, copy, "every engine takes the copy", {1, -2, 3, 0.5f, 0, -4});
  expect(copy.select_engine_ext("cpu.copy"), "the engine can be selected");
  fe::error_t const unfit = square.select_engine_ext("cpu.copy");
  expect(unfit.get_message().find("copy_pattern") != std::string::npos, "the engine says what it refuses");

  expect(fe::destroy(handle), "the handle goes");
  return failures;
}
