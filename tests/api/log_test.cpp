#include <fusednn.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

// What the library tells of its decisions. The level is read when something first asks for it, so this program sets
// it before it calls anything.

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;

bool const level_is_set = setenv("FUSEDNN_LOG", "3", 1) == 0;

struct Heard {
  Heard() { fe::set_log_callback_ext(&Heard::hear, this); }
  ~Heard() { fe::set_log_callback_ext(nullptr, nullptr); }
  static void hear(int level, char const* line, void* self) {
    static_cast<Heard*>(self)->lines.push_back(std::to_string(level) + " " + line);
  }
  int count(std::string const& part) const {
    int n = 0;
    for (std::string const& line : lines) n += line.find(part) != std::string::npos;
    return n;
  }
  std::vector<std::string> lines;
};

Graph relu_graph() {
  Graph graph;
  graph.set_io_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  auto x = graph.tensor(Tensor_attributes().set_name("x").set_dim({2, 3}).set_stride({3, 1}));
  auto attributes = fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD);
  graph.pointwise(x, attributes)->set_output(true);
  return graph;
}

TEST(Log, TellsCandidatesVerdictsAndPlans) {
  ASSERT_TRUE(level_is_set);
  Heard heard;
  fe::handle_t handle;
  ASSERT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
  Graph graph = relu_graph();
  graph.set_sm_count(4);
  ASSERT_TRUE(graph.validate().is_good());
  ASSERT_TRUE(graph.build_operation_graph(handle).is_good());
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  int const plans = static_cast<int>(graph.get_execution_plan_count());
  EXPECT_EQ(heard.count("2 plan "), plans);
  EXPECT_EQ(heard.count("2 sm_count = 4 has no effect on cpu"), 1);
  graph.deselect_engines({"eng0"});
  EXPECT_GE(heard.count("is barred"), 1);
  std::string const first = heard.lines.empty() ? "" : heard.lines.back();
  EXPECT_NE(first.find("eng0"), std::string::npos) << first;
  Graph other = relu_graph();
  ASSERT_TRUE(other.build(handle, {fe::HeurMode_t::A}).is_good());
  EXPECT_EQ(heard.count("2 built POINTWISE_eng"), 1);
  EXPECT_GE(heard.count("3   "), 1) << "a step";
  EXPECT_TRUE(fe::destroy(handle).is_good());
}

TEST(Log, TellsErrorsAsTheyAreReported) {
  Heard heard;
  Graph graph;
  fe::error_t const error = graph.validate();
  ASSERT_TRUE(error.is_bad());
  ASSERT_EQ(heard.lines.size(), 1u);
  EXPECT_EQ(heard.lines[0], "1 " + error.get_message());
}

}  // namespace
