#include "support/graph_run.h"

#include <cmath>

// Pointwise nodes: broadcast, long chains, and what NaN does.

namespace fusednn::testing {
namespace {

using graph::Pointwise_attributes;
using graph::Reduction_attributes;
using Mode = PointwiseMode_t;

Pointwise_attributes mode(Mode m) { return Pointwise_attributes().set_mode(m); }

TEST(Broadcast, AColumnARowOrAScalarIsAddedAlongTheOtherAxes) {
  struct Case {
    Dims dims, strides;
    Values b, sum;
  };
  for (Case const& c :
       {Case{{1, 2, 1}, {2, 1, 1}, {10, 20}, {11, 12, 23, 24}}, Case{{1, 1, 2}, {2, 2, 1}, {10, 20}, {11, 22, 13, 24}},
        Case{{1, 1, 1}, {1, 1, 1}, {10}, {11, 12, 13, 14}}, Case{{1, 2, 1}, {2, 1, 7}, {10, 20}, {11, 12, 23, 24}}})
    for (bool broadcast_first : {false, true}) {
      Graph g = make_graph();
      auto a = input(g, "a", {1, 2, 2}, DataType_t::FLOAT, {4, 2, 1});
      auto b = input(g, "b", c.dims, DataType_t::FLOAT, c.strides);
      auto y = output(broadcast_first ? g.pointwise(b, a, mode(Mode::ADD)) : g.pointwise(a, b, mode(Mode::ADD)), "y");
      GraphRun run(g);
      EXPECT_EQ(y->get_dim(), (Dims{1, 2, 2}));
      run.set(a, {1, 2, 3, 4}).set(b, c.b);
      for (PlanOutcome const& plan : run.run()) EXPECT_EQ(plan[y], c.sum) << plan.name;
    }
}

TEST(Broadcast, StridesOfEveryOperandAreObeyed) {
  // Gaps, permuted axes, an input read with stride 0, odd strides on dims of 1.
  Graph g = make_graph();
  auto a = input(g, "a", {2, 3, 4}, DataType_t::FLOAT, {40, 12, 3});
  auto b = input(g, "b", {2, 3, 4}, DataType_t::FLOAT, {1, 2, 6});
  auto c = input(g, "c", {2, 3, 4}, DataType_t::FLOAT, {0, 1, 0});
  auto d = input(g, "d", {1, 1, 4}, DataType_t::FLOAT, {17, 5, 2});
  auto sum = g.pointwise(g.pointwise(a, b, mode(Mode::ADD)), c, mode(Mode::MUL));
  auto y = output(g.pointwise(sum, d, mode(Mode::SUB)), "y");
  y->set_dim({2, 3, 4}).set_stride({3, 7, 25});
  GraphRun run(g);
  Values const av = random_values(24, 1), bv = random_values(24, 2), dv = random_values(4, 3);
  Values cv;
  for (size_t i = 0; i < 24; ++i) cv.push_back(0.25 * double(i / 4 % 3) - 1);
  run.set(a, av).set(b, bv).set(c, cv).set(d, dv);
  Values expected;
  for (size_t i = 0; i < 24; ++i) expected.push_back((av[i] + bv[i]) * cv[i] - dv[i % 4]);
  for (PlanOutcome const& plan : run.run()) expect_near(plan[y], expected, 0, 1e-6);
}

TEST(LongChains, SixtySumsOfTheTwoBefore) {
  Graph g = make_graph();
  TensorPtr x = input(g, "x0", {1, 1, 1}), y = input(g, "y0", {1, 1, 1});
  TensorPtr const x0 = x, y0 = y;
  for (int i = 0; i < 60; ++i) {
    auto s = g.pointwise(x, y, mode(Mode::ADD));
    x = y;
    y = s;
  }
  output(y, "sum");
  GraphRun run(g);
  run.set(x0, {1}).set(y0, {1});
  for (PlanOutcome const& plan : run.run()) expect_near(plan[y], {4052739537881.0}, 2e-7);
}

TEST(LongChains, AnyNumberOfNodesRuns) {
  for (int nodes : {49, 50, 51, 200, 1000}) {
    Graph g = make_graph();
    auto x = input(g, "x", {3});
    TensorPtr t = x;
    for (int i = 0; i < nodes; ++i) t = g.pointwise(t, x, mode(Mode::ADD));
    output(t, "t");
    GraphRun run(g);
    run.set(x, {0.125, -1, 0});
    for (PlanOutcome const& plan : run.run()) EXPECT_EQ(plan[t], (Values{0.125 * (nodes + 1), -1.0 * (nodes + 1), 0}));
  }
}

TEST(LongChains, EveryStepMayBeAnOutput) {
  Graph g = make_graph();
  auto x = input(g, "x", {5});
  std::vector<TensorPtr> steps;
  TensorPtr t = x;
  for (int i = 0; i < 60; ++i) steps.push_back(t = output(g.pointwise(t, x, mode(Mode::ADD)), "t" + std::to_string(i)));
  GraphRun run(g);
  run.set(x, {1, 2, 3, 4, 5});
  for (PlanOutcome const& plan : run.run())
    for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(plan[steps[i]][4], 5.0 * double(i + 2));
}

Values const specials = {NAN, INFINITY, -INFINITY, -0.0, 1, -2};

TEST(NotANumber, IsKeptByReluLeakyReluAndClamp) {
  Graph g = make_graph();
  auto x = input(g, "x", {6});
  auto relu = output(g.pointwise(x, mode(Mode::RELU_FWD)), "relu");
  auto leaky = output(g.pointwise(x, mode(Mode::RELU_FWD).set_relu_lower_clip_slope(0.5f)), "leaky");
  auto clamp = output(g.pointwise(x, mode(Mode::RELU_FWD).set_relu_lower_clip(-1).set_relu_upper_clip(0.5f)), "clamp");
  GraphRun run(g);
  run.set(x, specials);
  for (PlanOutcome const& plan : run.run()) {
    SCOPED_TRACE(plan.name);
    expect_near(plan[relu], {NAN, INFINITY, 0, 0, 1, 0}, 0);
    expect_near(plan[leaky], {NAN, INFINITY, -INFINITY, 0, 1, -1}, 0);
    expect_near(plan[clamp], {NAN, 0.5, -1, 0, 0.5, -1}, 0);
  }
}

TEST(NotANumber, IsKeptByMaxAndMinFromEitherSide) {
  Graph g = make_graph();
  auto a = input(g, "a", {6}), b = input(g, "b", {6});
  auto max = output(g.pointwise(a, b, mode(Mode::MAX)), "max"), min = output(g.pointwise(a, b, mode(Mode::MIN)), "min");
  GraphRun run(g);
  run.set(a, specials).set(b, {1, NAN, 2, 0, NAN, INFINITY});
  for (PlanOutcome const& plan : run.run()) {
    SCOPED_TRACE(plan.name);
    expect_near(plan[max], {NAN, NAN, 2, 0, NAN, INFINITY}, 0);
    expect_near(plan[min], {NAN, NAN, -INFINITY, 0, NAN, -2}, 0);
  }
}

TEST(NotANumber, IsKeptByReductionsWhereverItLies) {
  for (size_t length : {1u, 7u, 16u, 33u, 100u})
    for (size_t at : {size_t(0), length / 2, length - 1}) {
      Graph g = make_graph();
      auto x = input(g, "x", {2, static_cast<int64_t>(length)});
      std::vector<TensorPtr> results;
      for (auto m : {ReductionMode_t::MAX, ReductionMode_t::MIN, ReductionMode_t::AMAX, ReductionMode_t::ADD}) {
        auto y = output(g.reduction(x, Reduction_attributes().set_mode(m)), "y" + std::to_string(results.size()));
        y->set_dim({2, 1});
        results.push_back(y);
      }
      GraphRun run(g);
      Values values = random_values(2 * length, 1);
      values[at] = NAN;
      run.set(x, values);
      for (PlanOutcome const& plan : run.run())
        for (TensorPtr const& y : results) {
          EXPECT_TRUE(std::isnan(plan[y][0]))
              << plan.name << " " << y->get_name() << ", NaN at " << at << " of " << length;
          EXPECT_TRUE(std::isfinite(plan[y][1])) << plan.name << " " << y->get_name();
        }
    }
}

/// scale = amax == 0 ? 1 : min(448 / amax, largest), q = x * scale in FP8_E4M3.
struct Quantise {
  Quantise() {
    x = input(g, "x", {4, 32});
    amax = output(g.reduction(x, Reduction_attributes().set_mode(ReductionMode_t::AMAX)), "amax");
    amax->set_dim({4, 1}).set_stride({1, 1});
    auto constant = [&](float v) { return g.tensor(v, graph::ScalarType::COMPILE_TIME_CONST); };
    auto limited = g.pointwise(g.pointwise(constant(448), amax, mode(Mode::DIV)), constant(3.0e38f), mode(Mode::MIN));
    auto is_zero = g.pointwise(amax, constant(0), mode(Mode::CMP_EQ));
    scale = output(g.pointwise(constant(1), limited, is_zero, mode(Mode::BINARY_SELECT)), "scale");
    q = output(g.pointwise(x, scale, mode(Mode::MUL)), "q");
    q->set_data_type(DataType_t::FP8_E4M3);
  }
  Graph g = make_graph();
  TensorPtr x, amax, scale, q;
};

TEST(AmaxOfLittle, GivesFiniteScalesAndNoNotANumber) {
  Quantise quantise;
  GraphRun run(quantise.g);
  Values values(128);
  values[40] = 1e-40;
  values[70] = -1e-37;
  values[100] = 3;
  run.set(quantise.x, values);
  for (PlanOutcome const& plan : run.run()) {
    SCOPED_TRACE(plan.name);
    expect_near(plan[quantise.amax], {0, 1e-40, 1e-37, 3}, 1e-5);
    EXPECT_EQ(plan[quantise.scale][0], 1);
    for (double scale : plan[quantise.scale]) EXPECT_TRUE(std::isfinite(scale));
    for (size_t i = 0; i < 128; ++i) {
      ASSERT_TRUE(std::isfinite(plan[quantise.q][i]));
      double const scale = plan[quantise.scale][i / 32], step = 32;  // between the largest values of E4M3
      EXPECT_LE(std::fabs(plan[quantise.q][i] / scale - values[i]), step / 2 / scale) << i;
    }
    EXPECT_EQ(plan[quantise.q][100], 448);
  }
}

}  // namespace
}  // namespace fusednn::testing
