#include <fusednn.h>

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace fusednn {
namespace {

using graph::Graph;
using graph::Tensor_attributes;

constexpr int64_t kRows = 48, kDepth = 64, kColumns = 33;

/// One thread's own operands of y = A B + bias.
struct Operands {
  Operands(unsigned seed, int64_t workspace_bytes) : workspace(static_cast<size_t>(workspace_bytes)) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (auto* operand : {&a, &b, &bias})
      for (float& x : *operand) x = normal(generator);
  }

  std::vector<float> execute(Graph const& graph, handle_t handle, int64_t plan) {
    std::vector<float> y(size_t(kRows * kColumns), -1);
    std::unordered_map<int64_t, void*> pack{{0, a.data()}, {1, b.data()}, {2, bias.data()}, {3, y.data()}};
    if (graph.execute_plan_at_index(handle, pack, workspace.data(), plan).is_bad()) y.clear();
    return y;
  }

  std::vector<float> a = std::vector<float>(size_t(kRows * kDepth)), b = std::vector<float>(size_t(kDepth * kColumns)),
                     bias = std::vector<float>(size_t(kColumns));
  std::vector<char> workspace;
};

TEST(MatmulThreads, OnePlanServesManyThreads) {
  Graph graph;
  graph.set_io_data_type(DataType_t::FLOAT)
      .set_intermediate_data_type(DataType_t::FLOAT)
      .set_compute_data_type(DataType_t::FLOAT);
  auto matrix = [&](int64_t uid, int64_t rows, int64_t columns) {
    return graph.tensor(
        Tensor_attributes().set_uid(uid).set_dim({1, rows, columns}).set_stride({rows * columns, columns, 1}));
  };
  auto product = graph.matmul(matrix(0, kRows, kDepth), matrix(1, kDepth, kColumns), graph::Matmul_attributes());
  auto y =
      graph.pointwise(product, matrix(2, 1, kColumns), graph::Pointwise_attributes().set_mode(PointwiseMode_t::ADD));
  y->set_output(true).set_uid(3);
  handle_t handle = nullptr;
  ASSERT_TRUE(create(&handle, Device::CPU).is_good());
  ASSERT_TRUE(graph.build(handle, {HeurMode_t::A}, BuildPlanPolicy_t::ALL).is_good());
  for (int64_t plan = 0; plan < graph.get_execution_plan_count(); ++plan) {
    int64_t const bytes = graph.get_workspace_size_plan_at_index(plan);
    constexpr unsigned threads = 8;
    std::vector<std::vector<float>> expected;
    for (unsigned t = 0; t < threads; ++t) expected.push_back(Operands(t, bytes).execute(graph, handle, plan));
    std::vector<int> wrong(threads);
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        handle_t own = nullptr;
        if (create(&own, Device::CPU).is_bad()) return void(wrong[t] = -1);
        Operands operands(t, bytes);
        for (int i = 0; i < 20; ++i) wrong[t] += operands.execute(graph, own, plan) != expected[t];
        if (destroy(own).is_bad()) wrong[t] = -2;
      });
    for (std::thread& thread : team) thread.join();
    for (unsigned t = 0; t < threads; ++t) {
      EXPECT_FALSE(expected[t].empty());
      EXPECT_EQ(wrong[t], 0) << "plan " << plan << ", thread " << t;
    }
  }
  EXPECT_TRUE(destroy(handle).is_good());
}

}  // namespace
}  // namespace fusednn
