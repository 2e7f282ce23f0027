#include "support/test_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::Pointwise_attributes;
using fe::graph::Tensor_attributes;
using fe::testing::DeviceMemory;

DeviceMemory on_device(fe::handle_t handle, std::vector<float> const& values) {
  DeviceMemory memory(handle, values.size() * sizeof(float));
  memory.write(values.data(), values.size() * sizeof(float));
  return memory;
}

std::vector<float> floats(DeviceMemory const& memory, size_t count) {
  std::vector<float> values(count);
  memory.read(values.data(), count * sizeof(float));
  return values;
}

/// y = x0 + x1 + ... ; `count` bound tensors of n elements.
struct Sum {
  Sum(int count, int64_t n) {
    graph.set_io_data_type(fe::DataType_t::FLOAT)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    Graph::tensor_ptr sum;
    for (int i = 0; i + 1 < count; ++i) {
      auto x = graph.tensor(Tensor_attributes()
                                .set_dim({n})
                                .set_stride({1})
                                .set_uid(i)
                                .set_name("x" + std::to_string(i))
                                .set_alignment(sizeof(float)));
      sum = sum ? graph.pointwise(sum, x, Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD)) : x;
    }
    sum->set_output(true).set_uid(count - 1).set_alignment(sizeof(float));
    EXPECT_TRUE(fe::testing::create_handle(&handle).is_good());
    fe::error_t e = graph.build(handle, {fe::HeurMode_t::A}, fe::BuildPlanPolicy_t::ALL);
    EXPECT_TRUE(e.is_good()) << e.get_message();
    if (!fe::testing::can_execute()) return;
    for (int i = 0; i < count; ++i) {
      memory.push_back(
          on_device(handle, std::vector<float>(static_cast<size_t>(n), i + 1 < count ? float(i + 1) : NAN)));
      pack[i] = memory.back().data();
    }
    workspace.emplace_back(handle, static_cast<size_t>(graph.get_workspace_size()));
  }
  ~Sum() {
    memory.clear();
    workspace.clear();
    EXPECT_TRUE(fe::destroy(handle).is_good());
  }

  Graph graph;
  fe::handle_t handle = nullptr;
  std::vector<DeviceMemory> memory;  ///< of each bound tensor
  std::unordered_map<int64_t, void*> pack;
  std::vector<DeviceMemory> workspace;
};

class Execute : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fe::testing::can_execute()) GTEST_SKIP() << "there is no device to execute on";
  }
};

TEST_F(Execute, ReportsWhatTheVariantPackLacks) {
  Sum sum(3, 4);
  auto expect = [&](char const* tensor) {
    fe::error_t e = sum.graph.execute(sum.handle, sum.pack, sum.workspace[0].data());
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
  EXPECT_TRUE(sum.graph.execute(sum.handle, sum.pack, sum.workspace[0].data()).is_good());
  void* pointers[] = {x0};
  EXPECT_EQ(sum.graph.execute(sum.handle, pointers, 1, nullptr).get_code(), fe::error_code_t::INVALID_VARIANT_PACK);
  EXPECT_EQ(sum.graph.execute(sum.handle, static_cast<void**>(nullptr), 3, nullptr).get_code(),
            fe::error_code_t::INVALID_VARIANT_PACK);
  EXPECT_TRUE(fe::get_device(sum.handle, nullptr, nullptr).is_good());
  EXPECT_TRUE(fe::get_stream(sum.handle, nullptr).is_good());
  EXPECT_EQ(sum.graph.execute(nullptr, sum.pack, nullptr).get_code(), fe::error_code_t::HANDLE_ERROR);
}

TEST_F(Execute, NeedsABuiltPlan) {
  Graph g;
  std::unordered_map<int64_t, void*> pack;
  fe::handle_t handle;
  ASSERT_TRUE(fe::testing::create_handle(&handle).is_good());
  EXPECT_EQ(g.execute(handle, pack, nullptr).get_code(), fe::error_code_t::GRAPH_EXECUTION_FAILED);
  EXPECT_EQ(g.create_execution_plans({fe::HeurMode_t::A}).get_code(),
            fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED);
  Sum sum(3, 4);
  EXPECT_EQ(sum.graph.execute_plan_at_index(sum.handle, sum.pack, sum.workspace[0].data(), 1000).get_code(),
            fe::error_code_t::INVALID_VALUE);
  EXPECT_TRUE(fe::destroy(handle).is_good());
}

TEST_F(Execute, PacksMayBeSharedByGraphs) {
  Sum two(3, 4), three(4, 4);
  DeviceMemory const other = on_device(three.handle, std::vector<float>(4, NAN));
  three.pack[99] = other.data();
  three.pack[100] = nullptr;
  ASSERT_TRUE(two.graph.execute(two.handle, three.pack, two.workspace[0].data()).is_good());
  ASSERT_TRUE(fe::synchronize_ext(two.handle).is_good());
  ASSERT_TRUE(three.graph.execute(three.handle, three.pack, three.workspace[0].data()).is_good());
  EXPECT_EQ(floats(three.memory[2], 4)[0], 3) << "uid 2 is an output of one graph and an input of the other";
  EXPECT_EQ(floats(three.memory[3], 4)[0], 6);
  EXPECT_TRUE(std::isnan(floats(other, 4)[0])) << "what no graph knows is not touched";
}

TEST_F(Execute, InputsMayBeTheSameMemory) {
  Sum sum(3, 1000);
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  sum.memory[0] = on_device(sum.handle, values);
  sum.pack[0] = sum.pack[1] = sum.memory[0].data();
  for (int64_t plan = 0; plan < sum.graph.get_execution_plan_count(); ++plan) {
    sum.memory[2] = on_device(sum.handle, std::vector<float>(1000, NAN));
    sum.pack[2] = sum.memory[2].data();
    ASSERT_TRUE(sum.graph.execute_plan_at_index(sum.handle, sum.pack, sum.workspace[0].data(), plan).is_good());
    std::vector<float> const output = floats(sum.memory[2], 1000);
    for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(output[i], float(2 * i)) << "plan " << plan;
  }
}

TEST_F(Execute, AnOutputMayOverlapInputsWhereThePlanSaysSo) {
  int safe = 0;
  Sum sum(3, 1000);
  std::vector<float> start(1001);
  std::iota(start.begin(), start.end(), 0.0f);
  for (int64_t plan = 0; plan < sum.graph.get_execution_plan_count(); ++plan) {
    std::vector<fe::BehaviorNote_t> notes;
    ASSERT_TRUE(sum.graph.get_behavior_notes_for_plan_at_index(plan, notes).is_good());
    if (!std::count(notes.begin(), notes.end(), fe::BehaviorNote_t::IN_PLACE_SAFE_ext)) continue;
    ++safe;
    // y lies one element behind x0, so that each element is read after its neighbour could have been
    // overwritten.
    DeviceMemory const memory = on_device(sum.handle, start);
    std::unordered_map<int64_t, void*> pack = sum.pack;
    pack[0] = memory.data();
    pack[2] = static_cast<float*>(memory.data()) + 1;
    ASSERT_TRUE(sum.graph.execute_plan_at_index(sum.handle, pack, sum.workspace[0].data(), plan).is_good());
    std::vector<float> const found = floats(memory, 1001);
    for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(found[i + 1], float(i + 2)) << "plan " << plan;
  }
  fe::Device device = fe::Device::CPU;
  ASSERT_TRUE(fe::get_device(sum.handle, &device, nullptr).is_good());
  if (device == fe::Device::CPU) {
    EXPECT_GT(safe, 0);
  }
}

TEST_F(Execute, AConcatenationMayFindAnInputInPlace) {
  for (int64_t place : {0, 1}) {
    Graph g;
    g.set_io_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
    auto input = [&](int64_t rows, int64_t uid) {
      return g.tensor(
          Tensor_attributes().set_dim({2, rows, 3}).set_stride({15, 3, 1}).set_uid(uid).set_alignment(sizeof(float)));
    };
    auto y = g.concatenate({input(2, 0), input(3, 1)},
                           fe::graph::Concatenate_attributes().set_axis(1).set_in_place_index(place));
    y->set_output(true).set_uid(2);
    fe::handle_t handle;
    ASSERT_TRUE(fe::testing::create_handle(&handle).is_good());
    fe::error_t const built = g.build(handle, {fe::HeurMode_t::A}, fe::BuildPlanPolicy_t::ALL);
    ASSERT_TRUE(built.is_good()) << built.get_message();
    for (int64_t plan = 0; plan < g.get_execution_plan_count(); ++plan) {
      std::vector<float> all(30), other(30);
      for (size_t i = 0; i < 30; ++i) all[i] = float(i);
      // The other input's values are where they belong too, so the result is 0, 1, 2, ...
      size_t const moved = place == 0 ? 6 : 0, rows = place == 0 ? 9 : 6;
      for (size_t b = 0; b < 2; ++b)
        for (size_t i = 0; i < rows; ++i) std::swap(other[15 * b + i], all[15 * b + moved + i]);
      DeviceMemory const device_all = on_device(handle, all), device_other = on_device(handle, other);
      float* const first = static_cast<float*>(device_all.data());
      std::unordered_map<int64_t, void*> pack = {
          {place, place == 0 ? first : first + 6}, {1 - place, device_other.data()}, {2, first}};
      DeviceMemory const workspace(handle, static_cast<size_t>(g.get_workspace_size_plan_at_index(plan)));
      ASSERT_TRUE(g.execute_plan_at_index(handle, pack, workspace.data(), plan).is_good());
      std::vector<float> const found = floats(device_all, 30);
      for (size_t i = 0; i < 30; ++i) EXPECT_EQ(found[i], float(i)) << "in place " << place << ", plan " << plan;
    }
    EXPECT_TRUE(fe::destroy(handle).is_good());
  }
}

TEST_F(Execute, OnePlanServesManyThreads) {
  Sum sum(4, 1000);
  for (int64_t plan = 0; plan < sum.graph.get_execution_plan_count(); ++plan) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        fe::handle_t handle;
        if (fe::testing::create_handle(&handle).is_bad()) return void(++wrong);
        {
          DeviceMemory const in = on_device(handle, std::vector<float>(1000, float(t)));
          DeviceMemory out = on_device(handle, std::vector<float>(1000, NAN));
          DeviceMemory const workspace(handle, static_cast<size_t>(sum.graph.get_workspace_size_plan_at_index(plan)));
          std::unordered_map<int64_t, void*> pack = sum.pack;
          pack[0] = in.data();
          pack[3] = out.data();
          for (int i = 0; i < 20; ++i) {
            std::vector<float> values(1000, NAN);
            out.write(values.data(), values.size() * sizeof(float));
            if (sum.graph.execute_plan_at_index(handle, pack, workspace.data(), plan).is_bad()) ++wrong;
            out.read(values.data(), values.size() * sizeof(float));
            for (float v : values) wrong += v != float(t + 5);
          }
        }
        if (fe::destroy(handle).is_bad()) ++wrong;
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0) << "plan " << plan;
  }
}

}  // namespace
