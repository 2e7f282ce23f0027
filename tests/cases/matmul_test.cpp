#include "support/graph_run.h"

#include <algorithm>
#include <cmath>

// Matmul: empty dims, odd sizes with epilogues, softmax behind it, full float32.

namespace fusednn::testing {
namespace {

using graph::Matmul_attributes;
using graph::Pointwise_attributes;
using graph::Reduction_attributes;
using Mode = PointwiseMode_t;

Pointwise_attributes mode(Mode m) { return Pointwise_attributes().set_mode(m); }

/// y = A B + bias + residual, the last where asked for.
struct Linear {
  Linear(int64_t m, int64_t k, int64_t n, bool with_residual, DataType_t io = DataType_t::FLOAT) : g(make_graph(io)) {
    a = input(g, "a", {1, m, k});
    b = input(g, "b", {1, k, n});
    bias = input(g, "bias", {1, 1, n});
    y = g.pointwise(g.matmul(a, b, Matmul_attributes()), bias, mode(Mode::ADD));
    if (with_residual) y = g.pointwise(y, residual = input(g, "residual", {1, m, n}), mode(Mode::ADD));
    output(y, "y");
  }
  Graph g;
  TensorPtr a, b, bias, residual, y;
};

TEST(EmptyMatmul, GivesTheBiasOrNothing) {
  for (auto [m, k, n] : {std::array<int64_t, 3>{0, 8, 4}, {4, 8, 0}, {4, 0, 4}, {0, 0, 0}, {1, 0, 1}}) {
    Linear l(m, k, n, false);
    GraphRun run(l.g);
    Values const bias = random_values(static_cast<size_t>(n), 1);
    run.set(l.bias, bias);
    for (PlanOutcome const& plan : run.run()) {
      ASSERT_EQ(plan[l.y].size(), static_cast<size_t>(m * n));
      if (k != 0) continue;
      for (size_t i = 0; i < plan[l.y].size(); ++i)
        EXPECT_EQ(plan[l.y][i], static_cast<double>(static_cast<float>(bias[i % static_cast<size_t>(n)]))) << plan.name;
    }
  }
}

TEST(MatmulEpilogue, BiasAndResidualOnOddSizes) {
  std::vector<std::pair<int64_t, int64_t>> sizes = {{100, 256}};
  for (int64_t m : {1, 15, 16, 17, 33, 99})
    for (int64_t n : {255, 257}) sizes.emplace_back(m, n);
  for (auto [m, n] : sizes) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
    Linear l(m, 256, n, true);
    GraphRun run(l.g);
    run.run();
  }
}

TEST(MatmulEpilogue, OddSizesInNarrowTypesAndOddLayouts) {
  for (DataType_t io : {DataType_t::HALF, DataType_t::BFLOAT16, DataType_t::DOUBLE}) {
    Graph g = make_graph(io, io == DataType_t::DOUBLE ? io : DataType_t::FLOAT,
                         io == DataType_t::DOUBLE ? io : DataType_t::FLOAT);
    auto a = input(g, "a", {2, 17, 33}, io, {17 * 40, 1, 17});
    auto b = input(g, "b", {1, 33, 19}, io, {0, 23, 1});
    auto c = g.matmul(a, b, Matmul_attributes());
    auto y = output(g.pointwise(c, mode(Mode::GELU_FWD)), "y");
    y->set_dim({2, 17, 19}).set_stride({19, 38, 1});
    GraphRun run(g);
    run.run();
  }
}

TEST(SoftmaxBehindMatmul, RowsSumToOneOnUnalignedWidths) {
  for (int64_t n : {1, 7, 10, 81, 82, 127, 128}) {
    SCOPED_TRACE(n);
    int64_t const m = 16, k = 64;
    Graph g = make_graph(DataType_t::HALF);
    auto a = input(g, "a", {1, m, k}), b = input(g, "b", {1, k, n});
    auto scores = g.matmul(a, b, Matmul_attributes());
    auto reduced = [&](TensorPtr x, ReductionMode_t r) {
      auto y = g.reduction(x, Reduction_attributes().set_mode(r));
      y->set_dim({1, m, 1});
      return y;
    };
    auto exp =
        g.pointwise(g.pointwise(scores, reduced(scores, ReductionMode_t::MAX), mode(Mode::SUB)), mode(Mode::EXP));
    auto y = output(g.pointwise(exp, reduced(exp, ReductionMode_t::ADD), mode(Mode::DIV)), "y");
    GraphRun run(g);
    run.set(a, random_values(volume(a->get_dim()), 1, -2, 2)).set(b, random_values(volume(b->get_dim()), 2, -2, 2));
    for (PlanOutcome const& plan : run.run())
      for (size_t row = 0; row < 16; ++row) {
        double sum = 0;
        for (size_t j = 0; j < size_t(n); ++j) sum += plan[y][row * size_t(n) + j];
        EXPECT_NEAR(sum, 1, 2e-3) << plan.name;
      }
  }
}

TEST(FullFloat32, AProductWithTheIdentityIsExact) {
  for (int64_t n : {1, 8, 33, 64}) {
    Graph g = make_graph();
    auto a = input(g, "a", {1, n, n}), b = input(g, "b", {1, n, n});
    auto c = output(g.matmul(a, b, Matmul_attributes()), "c");
    GraphRun run(g);
    Values identity(size_t(n * n)), x(size_t(n * n), 1 + 0x1p-12);
    for (int64_t i = 0; i < n; ++i) identity[size_t(i * n + i)] = 1;
    for (auto const& [left, right] : {std::pair(identity, x), std::pair(x, identity)}) {
      run.set(a, left).set(b, right);
      for (PlanOutcome const& plan : run.run()) EXPECT_EQ(plan[c], x) << plan.name;
    }
  }
}

TEST(MatmulRows, DoNotDependOnTheOthers) {
  constexpr int64_t k = 256, n = 64;
  for (bool invariant : {true, false}) {
    std::map<std::string, Values> alone;  // by plan
    for (int64_t m : {1, 2, 8, 64})
      for (uint64_t others : {1, 2}) {
        SCOPED_TRACE(std::to_string(m) + " rows, others " + std::to_string(others));
        Linear l(m, k, n, false, DataType_t::BFLOAT16);
        l.g.set_batch_invariant_ext(invariant);
        GraphRun run(l.g);
        Values a = random_values(k, 11), more = random_values(size_t((m - 1) * k), others, -100, 100);
        a.insert(a.end(), more.begin(), more.end());
        run.set(l.a, a).set(l.b, random_values(k * n, 12)).set(l.bias, random_values(n, 13));
        for (PlanOutcome const& plan : run.run()) {
          Values const row(plan[l.y].begin(), plan[l.y].begin() + n);
          // Without the promise of the same bits, sizes may matter; what the other rows hold may not.
          std::string const as = invariant ? plan.name : plan.name + std::to_string(m);
          EXPECT_EQ(row, alone.emplace(as, row).first->second) << plan.name;
        }
      }
  }
}

TEST(WorkspaceLimit, IsKeptByEveryPlanAndLeavesOne) {
  for (int64_t limit : {int64_t(0), int64_t(1) << 20, INT64_MAX}) {
    SCOPED_TRACE(limit);
    Linear l(200, 384, 1536, false, DataType_t::BFLOAT16);
    l.g.set_workspace_limit_ext(limit);
    handle_t handle = nullptr;
    ASSERT_TRUE(create(&handle, Device::CPU).is_good());
    error_t const built = l.g.build(handle, {HeurMode_t::A}, BuildPlanPolicy_t::ALL);
    ASSERT_TRUE(built.is_good()) << built.get_message();
    for (int64_t i = 0; i < l.g.get_execution_plan_count(); ++i) {
      graph::Plan_info info;
      ASSERT_TRUE(l.g.get_plan_info_ext(i, info).is_good());
      EXPECT_TRUE(!info.barred.empty() || info.workspace_bytes <= limit) << info.name << " " << info.workspace_bytes;
    }
    int64_t const operands = 2 * (200 * 384 + 384 * 1536 + 1536 + 200 * 1536);
    EXPECT_LE(l.g.get_workspace_size(), std::min(limit, 2 * operands));
    EXPECT_TRUE(destroy(handle).is_good());
  }
}

TEST(IntegerMatmul, WrapsAndIsExact) {
  Graph g = make_graph(DataType_t::INT8, DataType_t::INT32, DataType_t::INT32);
  auto a = input(g, "a", {1, 3, 70}), b = input(g, "b", {1, 70, 5});
  auto c = output(g.matmul(a, b, Matmul_attributes()), "c");
  c->set_data_type(DataType_t::INT32);
  GraphRun run(g);
  Values const av = random_integers(210, 1, -128, 127), bv = random_integers(350, 2, -128, 127);
  run.set(a, av).set(b, bv);
  Values expected(15);
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 5; ++j)
      for (size_t k = 0; k < 70; ++k) expected[i * 5 + j] += av[i * 70 + k] * bv[k * 5 + j];
  for (PlanOutcome const& plan : run.run()) EXPECT_EQ(plan[c], expected) << plan.name;
}

}  // namespace
}  // namespace fusednn::testing
