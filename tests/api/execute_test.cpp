#include <fusednn.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::Pointwise_attributes;
using fe::graph::Tensor_attributes;

/// y = x0 + x1 + ... ; `count` bound tensors of n elements.
struct Sum {
  Sum(int count, int64_t n) {
    graph.set_io_data_type(fe::DataType_t::FLOAT)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    Graph::tensor_ptr sum;
    for (int i = 0; i + 1 < count; ++i) {
      auto x = graph.tensor(
          Tensor_attributes().set_dim({n}).set_stride({1}).set_uid(i).set_name("x" + std::to_string(i)));
      sum = sum ? graph.pointwise(sum, x, Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD)) : x;
      inputs.push_back(std::vector<float>(static_cast<size_t>(n), float(i + 1)));
    }
    sum->set_output(true).set_uid(count - 1);
    EXPECT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
    fe::error_t e = graph.build(handle, {fe::HeurMode_t::A}, fe::BuildPlanPolicy_t::ALL);
    EXPECT_TRUE(e.is_good()) << e.get_message();
    for (size_t i = 0; i < inputs.size(); ++i) pack[static_cast<int64_t>(i)] = inputs[i].data();
    output.assign(static_cast<size_t>(n), NAN);
    pack[count - 1] = output.data();
    workspace.resize(static_cast<size_t>(graph.get_workspace_size()));
  }
  ~Sum() { EXPECT_TRUE(fe::destroy(handle).is_good()); }

  Graph graph;
  fe::handle_t handle = nullptr;
  std::vector<std::vector<float>> inputs;
  std::vector<float> output;
  std::unordered_map<int64_t, void*> pack;
  std::vector<char> workspace;
};

TEST(Execute, ReportsWhatTheVariantPackLacks) {
  Sum sum(3, 4);
  auto expect = [&](char const* tensor) {
    fe::error_t e = sum.graph.execute(sum.handle, sum.pack, sum.workspace.data());
    EXPECT_EQ(e.get_code(), fe::error_code_t::INVALID_VARIANT_PACK);
    EXPECT_NE(e.get_message().find(tensor), std::string::npos) << e.get_message();
  };
  void* x0 = sum.pack[0];
  sum.pack.erase(0);
  expect("'x0'");
  sum.pack[0] = nullptr;
  expect("'x0'");
  sum.pack[0] = static_cast<char*>(x0) + 1;
  expect("'x0'");
  sum.pack[0] = x0;
  EXPECT_TRUE(sum.graph.execute(sum.handle, sum.pack, sum.workspace.data()).is_good());
  void* pointers[] = {x0};
  EXPECT_EQ(sum.graph.execute(sum.handle, pointers, 1, nullptr).get_code(),
            fe::error_code_t::INVALID_VARIANT_PACK);
  EXPECT_EQ(sum.graph.execute(sum.handle, static_cast<void**>(nullptr), 3, nullptr).get_code(),
            fe::error_code_t::INVALID_VARIANT_PACK);
  EXPECT_TRUE(fe::get_device(sum.handle, nullptr, nullptr).is_good());
  EXPECT_TRUE(fe::get_stream(sum.handle, nullptr).is_good());
  EXPECT_EQ(sum.graph.execute(nullptr, sum.pack, nullptr).get_code(), fe::error_code_t::HANDLE_ERROR);
}

TEST(Execute, NeedsABuiltPlan) {
  Graph g;
  std::unordered_map<int64_t, void*> pack;
  fe::handle_t handle;
  ASSERT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
  EXPECT_EQ(g.execute(handle, pack, nullptr).get_code(), fe::error_code_t::GRAPH_EXECUTION_FAILED);
  EXPECT_EQ(g.create_execution_plans({fe::HeurMode_t::A}).get_code(),
            fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED);
  Sum sum(3, 4);
  EXPECT_EQ(sum.graph.execute_plan_at_index(sum.handle, sum.pack, sum.workspace.data(), 1000).get_code(),
            fe::error_code_t::INVALID_VALUE);
  EXPECT_TRUE(fe::destroy(handle).is_good());
}

TEST(Execute, PacksMayBeSharedByGraphs) {
  Sum two(3, 4), three(4, 4);
  std::vector<float> other(4, NAN);
  three.pack[99] = other.data();
  three.pack[100] = nullptr;
  ASSERT_TRUE(two.graph.execute(two.handle, three.pack, two.workspace.data()).is_good());
  ASSERT_TRUE(three.graph.execute(three.handle, three.pack, three.workspace.data()).is_good());
  EXPECT_EQ(three.inputs[2][0], 3) << "uid 2 is an output of one graph and an input of the other";
  EXPECT_EQ(three.output[0], 6);
  EXPECT_TRUE(std::isnan(other[0])) << "what no graph knows is not touched";
}

TEST(Execute, InputsMayBeTheSameMemory) {
  Sum sum(3, 1000);
  for (int64_t i = 0; i < 1000; ++i) sum.inputs[0][static_cast<size_t>(i)] = float(i);
  sum.pack[1] = sum.pack[0];
  for (int64_t plan = 0; plan < sum.graph.get_execution_plan_count(); ++plan) {
    std::fill(sum.output.begin(), sum.output.end(), NAN);
    ASSERT_TRUE(sum.graph.execute_plan_at_index(sum.handle, sum.pack, sum.workspace.data(), plan).is_good());
    for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(sum.output[i], float(2 * i)) << "plan " << plan;
  }
}

TEST(Execute, AnOutputMayOverlapInputsWhereThePlanSaysSo) {
  int safe = 0;
  Sum sum(3, 1000);
  for (int64_t plan = 0; plan < sum.graph.get_execution_plan_count(); ++plan) {
    std::vector<fe::BehaviorNote_t> notes;
    ASSERT_TRUE(sum.graph.get_behavior_notes_for_plan_at_index(plan, notes).is_good());
    if (!std::count(notes.begin(), notes.end(), fe::BehaviorNote_t::IN_PLACE_SAFE_ext)) continue;
    ++safe;
    // y lies one element behind x0, so that each element is read after its neighbour could have been overwritten.
    std::vector<float> memory(1001);
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = float(i);
    std::unordered_map<int64_t, void*> pack = {{0, memory.data()}, {1, sum.inputs[1].data()}, {2, memory.data() + 1}};
    ASSERT_TRUE(sum.graph.execute_plan_at_index(sum.handle, pack, sum.workspace.data(), plan).is_good());
    for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(memory[i + 1], float(i + 2)) << "plan " << plan;
  }
  EXPECT_GT(safe, 0);
}

TEST(Execute, AConcatenationMayFindAnInputInPlace) {
  for (int64_t place : {0, 1}) {
    Graph g;
    g.set_io_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
    auto input = [&](int64_t rows, int64_t uid) {
      return g.tensor(Tensor_attributes().set_dim({2, rows, 3}).set_stride({15, 3, 1}).set_uid(uid));
    };
    auto y = g.concatenate({input(2, 0), input(3, 1)},
                           fe::graph::Concatenate_attributes().set_axis(1).set_in_place_index(place));
    y->set_output(true).set_uid(2);
    fe::handle_t handle;
    ASSERT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
    fe::error_t const built = g.build(handle, {fe::HeurMode_t::A}, fe::BuildPlanPolicy_t::ALL);
    ASSERT_TRUE(built.is_good()) << built.get_message();
    for (int64_t plan = 0; plan < g.get_execution_plan_count(); ++plan) {
      std::vector<float> all(30), other(30);
      for (size_t i = 0; i < 30; ++i) all[i] = float(i);
      float* const parts[2] = {all.data(), all.data() + 6};
      // The other input's values are where they belong too, so the result is 0, 1, 2, ...
      size_t const moved = place == 0 ? 6 : 0, rows = place == 0 ? 9 : 6;
      for (size_t b = 0; b < 2; ++b)
        for (size_t i = 0; i < rows; ++i) std::swap(other[15 * b + i], all[15 * b + moved + i]);
      std::unordered_map<int64_t, void*> pack = {{place, parts[place]}, {1 - place, other.data()}, {2, all.data()}};
      std::vector<char> workspace(static_cast<size_t>(g.get_workspace_size_plan_at_index(plan)));
      ASSERT_TRUE(g.execute_plan_at_index(handle, pack, workspace.data(), plan).is_good());
      for (size_t i = 0; i < 30; ++i) EXPECT_EQ(all[i], float(i)) << "in place " << place << ", plan " << plan;
    }
    EXPECT_TRUE(fe::destroy(handle).is_good());
  }
}

TEST(Execute, OnePlanServesManyThreads) {
  Sum sum(4, 1000);
  for (int64_t plan = 0; plan < sum.graph.get_execution_plan_count(); ++plan) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        fe::handle_t handle;
        if (fe::create(&handle, fe::Device::CPU).is_bad()) return void(++wrong);
        std::vector<float> in(1000, float(t)), out(1000);
        std::vector<char> workspace(static_cast<size_t>(sum.graph.get_workspace_size_plan_at_index(plan)));
        std::unordered_map<int64_t, void*> pack = sum.pack;
        pack[0] = in.data();
        pack[3] = out.data();
        for (int i = 0; i < 20; ++i) {
          std::fill(out.begin(), out.end(), NAN);
          if (sum.graph.execute_plan_at_index(handle, pack, workspace.data(), plan).is_bad()) ++wrong;
          for (float v : out) wrong += v != float(t + 5);
        }
        if (fe::destroy(handle).is_bad()) ++wrong;
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0) << "plan " << plan;
  }
}

}  // namespace
