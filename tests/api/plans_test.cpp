#include <fusednn.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::Plan_info;
using fe::graph::Pointwise_attributes;
using fe::graph::Tensor_attributes;

class Plans : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
    graph.set_io_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
    auto x = graph.tensor(Tensor_attributes().set_name("x").set_dim({4, 4}).set_stride({4, 1}));
    graph.pointwise(x, Pointwise_attributes().set_mode(fe::PointwiseMode_t::EXP))->set_output(true);
    ASSERT_TRUE(graph.validate().is_good());
    ASSERT_TRUE(graph.build_operation_graph(handle).is_good());
  }
  void TearDown() override { EXPECT_TRUE(fe::destroy(handle).is_good()); }

  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
      all.emplace_back();
      EXPECT_TRUE(graph.get_plan_name_at_index(i, all.back()).is_good());
    }
    return all;
  }

  fe::handle_t handle = nullptr;
  Graph graph;
};

TEST_F(Plans, OrderIsStableAndModesAddNoRepetition) {
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  std::vector<std::string> const first = names();
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}).is_good());
  EXPECT_EQ(names(), first);
  Graph again = graph;
  ASSERT_TRUE(again.build_operation_graph(handle).is_good());
  ASSERT_TRUE(again.create_execution_plans({fe::HeurMode_t::A}).is_good());
  std::string name;
  for (size_t i = 0; i < first.size(); ++i) {
    ASSERT_TRUE(again.get_plan_name_at_index(static_cast<int64_t>(i), name).is_good());
    EXPECT_EQ(name, first[i]);
  }
}

TEST_F(Plans, FallbackHoldsGenericPlansAlone) {
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::FALLBACK}).is_good());
  for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
    std::vector<fe::BehaviorNote_t> notes;
    ASSERT_TRUE(graph.get_behavior_notes_for_plan_at_index(i, notes).is_good());
    EXPECT_NE(std::find(notes.begin(), notes.end(), fe::BehaviorNote_t::SLOW_ext), notes.end());
  }
}

TEST_F(Plans, SelectedEngineIsTheOneThatRuns) {
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  ASSERT_TRUE(graph.select_engine_ext("cpu.reference").is_good());
  ASSERT_TRUE(graph.build_plans().is_good());
  Plan_info info;
  ASSERT_TRUE(graph.get_plan_info_ext(-1, info).is_good());
  EXPECT_EQ(info.engine, "cpu.reference");
  EXPECT_TRUE(info.built);
  EXPECT_FALSE(info.steps.empty());
  EXPECT_EQ(graph.select_engine_ext("cpu.nonsense").get_code(), fe::error_code_t::INVALID_VALUE);
}

TEST_F(Plans, FiltersBarAndSayWhy) {
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  graph.deselect_engines({"eng"});
  fe::error_t e = graph.check_support();
  EXPECT_EQ(e.get_code(), fe::error_code_t::GRAPH_NOT_SUPPORTED);
  EXPECT_NE(e.get_message().find("deselected"), std::string::npos) << e.get_message();
  EXPECT_TRUE(graph.build_plans().is_bad());
}

TEST_F(Plans, TheChosenPlanIsKnownByIndexAndItsEngineByName) {
  EXPECT_EQ(graph.get_chosen_plan_index_ext(), -1);
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  EXPECT_EQ(graph.get_chosen_plan_index_ext(), -1) << "nothing is built yet";
  ASSERT_TRUE(graph.build_plans(fe::BuildPlanPolicy_t::ALL).is_good());
  EXPECT_EQ(graph.get_chosen_plan_index_ext(), 0);
  for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
    ASSERT_TRUE(graph.build_plan_at_index(i).is_good());
    EXPECT_EQ(graph.get_chosen_plan_index_ext(), i);
    Plan_info chosen, at_index;
    ASSERT_TRUE(graph.get_plan_info_ext(-1, chosen).is_good());
    ASSERT_TRUE(graph.get_plan_info_ext(i, at_index).is_good());
    EXPECT_EQ(chosen.index, i);
    EXPECT_EQ(at_index.index, i);
    EXPECT_EQ(chosen.name, at_index.name);
    std::string engine;
    ASSERT_TRUE(graph.get_engine_name_ext(chosen.engine_id, engine).is_good());
    EXPECT_EQ(engine, chosen.engine);
    EXPECT_NE(chosen.name.find("eng" + std::to_string(chosen.engine_id)), std::string::npos) << chosen.name;
  }
  graph.deselect_engines({"eng"});
  EXPECT_EQ(graph.get_chosen_plan_index_ext(), -1) << "the chosen one is barred";
}

TEST_F(Plans, EnginesAreDeselectedByNameToo) {
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  graph.deselect_engines({"cpu.reference"});
  bool seen = false;
  for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
    Plan_info info;
    ASSERT_TRUE(graph.get_plan_info_ext(i, info).is_good());
    EXPECT_EQ(info.engine == "cpu.reference", !info.barred.empty()) << info.name;
    seen = seen || info.engine == "cpu.reference";
  }
  EXPECT_TRUE(seen);
}

TEST_F(Plans, AModeIsNeeded) {
  fe::error_t const e = graph.create_execution_plans({});
  EXPECT_EQ(e.get_code(), fe::error_code_t::INVALID_VALUE) << e.get_message();
  EXPECT_EQ(graph.get_execution_plan_count(), 0);
}

TEST_F(Plans, NotesFilter) {
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  graph.deselect_behavior_notes({fe::BehaviorNote_t::SLOW_ext})
      .deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
  for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
    Plan_info info;
    ASSERT_TRUE(graph.get_plan_info_ext(i, info).is_good());
    bool const slow = std::count(info.behavior_notes.begin(), info.behavior_notes.end(), fe::BehaviorNote_t::SLOW_ext);
    EXPECT_EQ(slow, !info.barred.empty()) << info.name;
  }
}

TEST_F(Plans, WorkspaceLimitOfZeroLeavesAPlan) {
  ASSERT_TRUE(graph.create_execution_plans({fe::HeurMode_t::A}).is_good());
  graph.deselect_workspace_greater_than(0);
  ASSERT_TRUE(graph.build_plans(fe::BuildPlanPolicy_t::ALL, true).is_good());
  EXPECT_EQ(graph.get_workspace_size(), 0);
}

TEST_F(Plans, HandPickedPlansAreExactOrFail) {
  int64_t count = 0;
  ASSERT_TRUE(graph.get_engine_count(count).is_good());
  ASSERT_GT(count, 0);
  for (int64_t id = 0; id < count; ++id) {
    std::vector<fe::Knob> knobs;
    ASSERT_TRUE(graph.get_knobs_for_engine(id, knobs).is_good());
    EXPECT_TRUE(graph.create_execution_plan(id, {}).is_good());
    EXPECT_EQ(graph.create_execution_plan(id, {{fe::KnobType_t::SPECFILT, 1}}).get_code(),
              fe::error_code_t::INVALID_VALUE);
  }
  EXPECT_EQ(graph.create_execution_plan(count, {}).get_code(), fe::error_code_t::INVALID_VALUE);
  std::vector<fe::Knob> knobs;
  EXPECT_EQ(graph.get_knobs_for_engine(-1, knobs).get_code(), fe::error_code_t::INVALID_VALUE);
}

}  // namespace
