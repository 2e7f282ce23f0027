#include "support/graph_run.h"

#include <cmath>

// Norms: values at the edge of a type, large means, odd shapes, and what follows a norm.

namespace fusednn::testing {
namespace {

using graph::Layernorm_attributes;
using graph::Pointwise_attributes;
using graph::Rmsnorm_attributes;

struct Norm {
  Norm(Dims const& x_dims, Dims const& scale_dims, DataType_t io, float epsilon, Dims const& strides = {})
      : g(make_graph(io)) {
    x = input(g, "x", x_dims, io, strides);
    scale = input(g, "scale", scale_dims, DataType_t::FLOAT);
    bias = input(g, "bias", scale_dims, DataType_t::FLOAT);
    auto out = g.layernorm(
        x, scale, bias,
        Layernorm_attributes().set_name("ln").set_epsilon(epsilon).set_forward_phase(NormFwdPhase_t::TRAINING));
    y = output(out[0], "y");
    mean = output(out[1], "mean");
    inverse = output(out[2], "inverse");
    auto rms = g.rmsnorm(
        x, scale,
        Rmsnorm_attributes().set_name("rms").set_epsilon(epsilon).set_forward_phase(NormFwdPhase_t::INFERENCE));
    z = output(rms[0], "z");
  }
  Graph g;
  TensorPtr x, scale, bias, y, mean, inverse, z;
};

/// Layer norm of one row in double.
Values layer_norm(Values const& x, double epsilon) {
  double mean = 0, variance = 0;
  for (double v : x) mean += v / double(x.size());
  for (double v : x) variance += (v - mean) * (v - mean) / double(x.size());
  Values y;
  for (double v : x) y.push_back((v - mean) / std::sqrt(variance + epsilon));
  return y;
}

TEST(NormOfLargeValues, HalfDoesNotOverflowItsSquares) {
  Norm norm({1, 64}, {1, 64}, DataType_t::HALF, 1e-6f);
  GraphRun run(norm.g);
  Values x(64);
  for (size_t i = 0; i < 64; ++i) x[i] = i % 2 ? -8000 : 8000;
  x[10] = 4000;
  run.set(norm.x, x).set(norm.scale, Values(64, 1)).set(norm.bias, Values(64, 0));
  Values expected;
  for (double v : x) expected.push_back(v / std::sqrt((63 * 64e6 + 16e6) / 64));
  for (PlanOutcome const& plan : run.run()) {
    SCOPED_TRACE(plan.name);
    expect_near(plan[norm.z], expected, 0x1p-10);
    EXPECT_NEAR(plan[norm.z][0], 1, 0.01);
    EXPECT_NEAR(plan[norm.z][10], 0.5, 0.01);
    expect_near(plan[norm.y], layer_norm(x, 1e-6), 0x1p-10, 1e-3);
  }
}

TEST(NormOfLargeValues, FloatDoesNotOverflowItsSquares) {
  for (double size : {1e30, 1e-30, 3e38, 1e19, 1e20}) {
    SCOPED_TRACE(size);
    Norm norm({1, 8}, {1, 8}, DataType_t::FLOAT, 1e-5f);
    GraphRun run(norm.g);
    Values x = {1, -1, 0.5, 0.5, -1, 1, -1, -0.5};
    for (double& v : x) v = double(float(v * size));
    run.set(norm.x, x).set(norm.scale, Values(8, 1)).set(norm.bias, Values(8, 0));
    for (PlanOutcome const& plan : run.run()) expect_near(plan[norm.y], layer_norm(x, 1e-5), 1e-5, 1e-30);
  }
}

TEST(NormOfLargeMeans, KeepsTheSpread) {
  for (double mean : {1.0, 1e2, 1e4, 1e6}) {
    SCOPED_TRACE(mean);
    Norm norm({2, 768}, {1, 768}, DataType_t::FLOAT, 1e-5f);
    GraphRun run(norm.g);
    Values x = random_values(1536, 3, -2, 2);
    for (double& v : x) v = double(float(mean + v));
    run.set(norm.x, x).set(norm.scale, Values(768, 1)).set(norm.bias, Values(768, 0));
    for (PlanOutcome const& plan : run.run())
      for (size_t row : {0u, 1u}) {
        Values const part(x.begin() + long(row * 768), x.begin() + long(row * 768 + 768));
        Values const found(plan[norm.y].begin() + long(row * 768), plan[norm.y].begin() + long(row * 768 + 768));
        // The mean is rounded to FLOAT once: half of its last place, over a spread of about 1.
        expect_near(found, layer_norm(part, 1e-5), 1e-4, 1e-4 + mean * 0x1p-24);
      }
  }
}

TEST(NormShapes, EqualDimsOnesAndEveryLayout) {
  for (Dims const& strides : {packed({4, 4, 4, 4}), packed({4, 4, 4, 4}, {0, 2, 3, 1}), Dims{81, 20, 5, 1}})
    for (Dims const& scale : {Dims{1, 4, 4, 4}, Dims{1, 4, 1, 1}, Dims{1, 1, 1, 4}, Dims{1, 1, 4, 4}}) {
      Norm norm({4, 4, 4, 4}, scale, DataType_t::HALF, 1e-3f, strides);
      GraphRun run(norm.g);
      EXPECT_EQ(norm.mean->get_dim(), (Dims{4, scale[1] == 4 ? 1 : 4, scale[2] == 4 ? 1 : 4, scale[3] == 4 ? 1 : 4}));
      run.run();
    }
}

TEST(NormShapes, OneElementGivesTheBiasAndNoVariance) {
  Norm norm({1, 1, 1, 1}, {1, 1, 1, 1}, DataType_t::HALF, 1e-3f);
  GraphRun run(norm.g);
  run.set(norm.bias, {0.75}).set(norm.x, {3});
  for (PlanOutcome const& plan : run.run()) {
    EXPECT_EQ(plan[norm.y], Values{0.75}) << plan.name;
    EXPECT_EQ(plan[norm.mean], Values{3}) << plan.name;
    expect_near(plan[norm.inverse], {1 / std::sqrt(double(1e-3f))}, 1e-6);
  }
}

TEST(NormShapes, AnyRowCountAndWidth) {
  for (int64_t rows : {0, 1, 3, 1000})
    for (int64_t width : {1, 2, 15, 16, 17, 100}) {
      Norm norm({rows, width}, {1, width}, DataType_t::BFLOAT16, 1e-3f);
      GraphRun run(norm.g);
      run.run();
    }
}

TEST(NormThenMultiply, RunsOnEveryPlan) {
  Graph g = make_graph(DataType_t::HALF);
  auto x = input(g, "x", {6, 20, 1, 1}), m = input(g, "m", {6, 20, 1, 1});
  auto scale = input(g, "scale", {1, 20, 1, 1}, DataType_t::FLOAT),
       bias = input(g, "bias", {1, 20, 1, 1}, DataType_t::FLOAT);
  auto [y, mean, inverse] = g.layernorm(
      x, scale, bias, Layernorm_attributes().set_epsilon(1e-5f).set_forward_phase(NormFwdPhase_t::TRAINING));
  output(mean, "mean");
  output(inverse, "inverse");
  EXPECT_EQ(mean->get_data_type(), DataType_t::NOT_SET);
  auto z = output(g.pointwise(y, m, Pointwise_attributes().set_mode(PointwiseMode_t::MUL)), "z");
  GraphRun run(g);
  EXPECT_EQ(mean->get_data_type(), DataType_t::FLOAT);
  EXPECT_EQ(z->get_data_type(), DataType_t::HALF);
  run.run();
}

}  // namespace
}  // namespace fusednn::testing
