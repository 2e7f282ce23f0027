#include <fusednn.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::Matmul_attributes;
using fe::graph::Pointwise_attributes;
using fe::graph::Tensor_attributes;

struct Handle {
  Handle() { EXPECT_TRUE(fe::create(&handle, fe::Device::CPU).is_good()); }
  ~Handle() { EXPECT_TRUE(fe::destroy(handle).is_good()); }
  fe::handle_t handle = nullptr;
};

/// relu(A B + bias), M x K x N.
struct Linear {
  Linear(int64_t m, int64_t k, int64_t n) {
    graph.set_io_data_type(fe::DataType_t::FLOAT)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    a = graph.tensor(Tensor_attributes().set_name("A").set_dim({1, m, k}).set_stride({m * k, k, 1}));
    b = graph.tensor(Tensor_attributes().set_name("B").set_dim({1, k, n}).set_stride({k * n, n, 1}));
    bias = graph.tensor(Tensor_attributes().set_name("bias").set_dim({1, 1, n}).set_stride({n, n, 1}));
    auto c = graph.matmul(a, b, Matmul_attributes().set_name("mm"));
    auto d = graph.pointwise(c, bias, Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
    y = graph.pointwise(d, Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));
    y->set_output(true).set_name("Y");
  }
  Graph graph;
  Graph::tensor_ptr a, b, bias, y;
};

TEST(Lifecycle, MatmulBiasReluRunsOnEveryPlan) {
  int64_t const m = 3, k = 5, n = 4;
  Linear linear(m, k, n);
  Handle h;
  fe::error_t e = linear.graph.build(h.handle, {fe::HeurMode_t::A}, fe::BuildPlanPolicy_t::ALL);
  ASSERT_TRUE(e.is_good()) << e.get_message();
  EXPECT_EQ(linear.y->get_dim(), (std::vector<int64_t>{1, m, n}));
  std::vector<float> a(15), b(20), bias(4);
  for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 5) - 2;
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = float(i) - 1;
  ASSERT_GT(linear.graph.get_execution_plan_count(), 0);
  for (int64_t plan = 0; plan < linear.graph.get_execution_plan_count(); ++plan) {
    std::vector<float> y(12, NAN);
    std::vector<char> workspace(static_cast<size_t>(linear.graph.get_workspace_size_plan_at_index(plan)));
    std::unordered_map<Graph::tensor_ptr, void*> pack = {
        {linear.a, a.data()}, {linear.b, b.data()}, {linear.bias, bias.data()}, {linear.y, y.data()}};
    e = linear.graph.execute_plan_at_index(h.handle, pack, workspace.data(), plan);
    ASSERT_TRUE(e.is_good()) << e.get_message();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = bias[size_t(j)];
        for (int64_t l = 0; l < k; ++l) sum += a[size_t(i * k + l)] * b[size_t(l * n + j)];
        EXPECT_EQ(y[size_t(i * n + j)], std::max(sum, 0.0f)) << "plan " << plan;
      }
  }
}

TEST(Lifecycle, ErrorsNameNodeTensorValueAndRule) {
  Linear linear(3, 5, 4);
  linear.b->set_dim({1, 6, 4});
  fe::error_t e = linear.graph.validate();
  EXPECT_EQ(e.get_code(), fe::error_code_t::INVALID_VALUE);
  for (char const* part : {"mm", "'A'", "5", "6", "matmul_inner_dim"})
    EXPECT_NE(e.get_message().find(part), std::string::npos) << part << " not in: " << e.get_message();
  linear.b->set_dim({1, 5, 4});
  EXPECT_TRUE(linear.graph.validate().is_good());
}

TEST(Lifecycle, ACudaHandleWithoutADriverSaysWhatWasTried) {
  fe::handle_t handle = nullptr;
  fe::error_t const e = fe::create(&handle, fe::Device::CUDA);
  if (e.is_good()) {
    EXPECT_TRUE(fe::destroy(handle).is_good());
    GTEST_SKIP() << "this machine has a CUDA driver";
  }
  EXPECT_EQ(e.get_code(), fe::error_code_t::HANDLE_ERROR);
  EXPECT_NE(e.get_message().find("libcuda.so.1"), std::string::npos) << e.get_message();
  ASSERT_TRUE(fe::create(&handle).is_good()) << "AUTO falls back to the CPU";
  EXPECT_TRUE(fe::destroy(handle).is_good());
}

}  // namespace
