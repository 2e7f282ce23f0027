// The float loops of every mode with a continuous value against long double, over every exponent.

#include "engines/cpu/isa_levels.h"
#include "engines/cpu/kernels/pointwise_index.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace fusednn::engines::cpu {
namespace {

using Real = long double;
using Params = math::PointwiseParams<float>;
using Function = std::function<Real(Real)>;

Real ulp(Real exact) {
  if (!std::isfinite(exact)) return 1;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::ldexp(1.0L, std::max(exponent, -125) - 24);
}

std::vector<float> sweep() {
  std::vector<float> all = {0.0f, -0.0f};
  constexpr int per_exponent = 500;
  for (int exponent = -149; exponent < 128; ++exponent) {
    for (int i = 0; i < per_exponent; ++i) {
      float const x = static_cast<float>(std::ldexp(1.0 + (i + 0.37) / per_exponent, exponent));
      if (!std::isfinite(x)) continue;
      all.push_back(x);
      all.push_back(-x);
    }
  }
  return all;
}

struct Case {
  char const* name;
  PointwiseMode_t mode;
  Function exact;
  float bound;  // ulp
  Params params = {};
};

Real normal_cdf(Real x) { return std::erfc(-x * std::sqrt(0.5L)) / 2; }
Real gelu_exponent(Real x) { return 2 * std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x); }
Real softplus(Real x, Real beta) {
  return (std::max(beta * x, 0.0L) + std::log1p(std::exp(-std::fabs(beta * x)))) / beta;
}

// x * sigmoid(w) without Inf / Inf
Real gate(Real x, Real w) { return w < 0 ? x * std::exp(w) / (1 + std::exp(w)) : x / (1 + std::exp(-w)); }

std::vector<Case> const& cases() {
  using M = PointwiseMode_t;
  static std::vector<Case> const all = {
      {"exp", M::EXP, [](Real x) { return std::exp(x); }, 1.5f},
      {"log", M::LOG, [](Real x) { return std::log(x); }, 1.5f},
      {"sqrt", M::SQRT, [](Real x) { return std::sqrt(x); }, 0.51f},
      {"rsqrt", M::RSQRT, [](Real x) { return 1 / std::sqrt(x); }, 2},
      {"reciprocal", M::RECIPROCAL, [](Real x) { return 1 / x; }, 0.51f},
      {"erf", M::ERF, [](Real x) { return std::erf(x); }, 2},
      {"tanh", M::TANH_FWD, [](Real x) { return std::tanh(x); }, 3},
      {"sigmoid", M::SIGMOID_FWD, [](Real x) { return gate(1, x); }, 3},
      {"elu", M::ELU_FWD, [](Real x) { return x > 0 ? x : std::expm1(x); }, 3},
      {"elu_alpha", M::ELU_FWD, [](Real x) { return x > 0 ? x : 0.3f * std::expm1(x); }, 3, {.elu_alpha = 0.3f}},
      {"gelu", M::GELU_FWD, [](Real x) { return x * normal_cdf(x); }, 4.5f},
      {"gelu_tanh", M::GELU_APPROX_TANH_FWD, [](Real x) { return gate(x, gelu_exponent(x)); }, 4},
      {"swish", M::SWISH_FWD, [](Real x) { return gate(x, x); }, 3},
      {"swish_beta", M::SWISH_FWD, [](Real x) { return gate(x, 1.7f * x); }, 4, {.swish_beta = 1.7f}},
      {"softplus", M::SOFTPLUS_FWD, [](Real x) { return softplus(x, 1); }, 4},
      {"softplus_beta", M::SOFTPLUS_FWD, [](Real x) { return softplus(x, 0.7f); }, 4, {.softplus_beta = 0.7f}},
      {"sin", M::SIN, [](Real x) { return std::sin(x); }, 1},
      {"cos", M::COS, [](Real x) { return std::cos(x); }, 1},
      {"tan", M::TAN, [](Real x) { return std::tan(x); }, 1.5f},
  };
  return all;
}

class Elementary : public EveryLevel {};

TEST_P(Elementary, ErrorStaysBelowItsBoundEverywhere) {
  std::vector<float> const x = sweep();
  std::vector<float> y(x.size());
  for (Case const& c : cases()) {
    auto const loop = table().pointwise[0][pointwise_index(c.mode)][0];
    std::fill(y.begin(), y.end(), std::nanf(""));
    loop(y.data(), x.data(), nullptr, nullptr, static_cast<int64_t>(x.size()), &c.params);
    Real worst = 0;
    float where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      Real const exact = c.exact(x[i]);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(y[i])) << c.name << "(" << x[i] << ") = " << y[i];
        continue;
      }
      if (std::fabs(exact) > FLT_MAX) {
        ASSERT_TRUE(std::isinf(y[i]) || std::fabs(exact) < FLT_MAX * 1.000001L)
            << c.name << "(" << x[i] << ") = " << y[i];
        ASSERT_EQ(std::signbit(y[i]), std::signbit(exact)) << c.name << "(" << x[i] << ")";
        continue;
      }
      Real const error = std::fabs(y[i] - exact) / ulp(exact);
      if (!(error <= worst)) worst = error, where = x[i];
    }
    EXPECT_LE(worst, c.bound) << c.name << " at " << where;
    RecordProperty(c.name, std::to_string(static_cast<double>(worst)));
  }
}

// Derivatives pass through zero, where a relative bound means nothing: the error is measured against the
// largest term.
TEST_P(Elementary, DerivativesStayCloseToTheirTerms) {
  struct Derivative {
    char const* name;
    PointwiseMode_t mode;
    Function exact;
    Function scale;
    Params params = {};
  };
  Real const c = 1 / std::sqrt(2 * std::acos(-1.0L));
  auto const density = [c](Real x) { return c * std::exp(-x * x / 2); };
  auto const slope = [](Real x) { return 2 * std::sqrt(2 / std::acos(-1.0L)) * (1 + 3 * 0.044715L * x * x); };
  using M = PointwiseMode_t;
  std::vector<Derivative> const all = {
      {"tanh_bwd", M::TANH_BWD, [](Real x) { return std::pow(1 / std::cosh(x), 2.0L); },
       [](Real x) { return std::pow(1 / std::cosh(x), 2.0L); }},
      {"sigmoid_bwd", M::SIGMOID_BWD, [](Real x) { return gate(1, x) * gate(1, -x); },
       [](Real x) { return gate(1, x) * gate(1, -x); }},
      {"elu_bwd", M::ELU_BWD, [](Real x) { return x > 0 ? 1 : std::exp(x); },
       [](Real x) { return x > 0 ? 1 : std::exp(x); }},
      {"softplus_bwd",
       M::SOFTPLUS_BWD,
       [](Real x) { return gate(1, 0.7f * x); },
       [](Real x) { return gate(1, 0.7f * x); },
       {.softplus_beta = 0.7f}},
      {"swish_bwd",
       M::SWISH_BWD,
       [](Real x) { return gate(1, 1.7f * x) * (1 + 1.7f * x * gate(1, -1.7f * x)); },
       [](Real x) { return gate(1, 1.7f * x) * (1 + std::fabs(1.7f * x) * gate(1, -1.7f * x)); },
       {.swish_beta = 1.7f}},
      {"gelu_bwd", M::GELU_BWD, [=](Real x) { return normal_cdf(x) + x * density(x); },
       [=](Real x) { return normal_cdf(x) + std::fabs(x) * density(x); }},
      {"gelu_tanh_bwd", M::GELU_APPROX_TANH_BWD,
       [=](Real x) { return gate(1, gelu_exponent(x)) * (1 + x * gate(1, -gelu_exponent(x)) * slope(x)); },
       [=](Real x) { return gate(1, gelu_exponent(x)) * (1 + std::fabs(x) * gate(1, -gelu_exponent(x)) * slope(x)); }},
  };
  std::vector<float> x = sweep();
  std::erase_if(x, [](float v) { return std::fabs(v) > 1e4f; });
  std::vector<float> const dy(x.size(), 1.0f);
  std::vector<float> y(x.size());
  for (Derivative const& d : all) {
    auto const loop = table().pointwise[0][pointwise_index(d.mode)][0];
    loop(y.data(), dy.data(), x.data(), nullptr, static_cast<int64_t>(x.size()), &d.params);
    Real worst = 0;
    float where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      Real const error = std::fabs(y[i] - d.exact(x[i])) / ulp(d.scale(x[i]));
      if (!(error <= worst)) worst = error, where = x[i];
    }
    EXPECT_LE(worst, 6) << d.name << " at " << where;
  }
}

TEST_P(Elementary, SpecialValues) {
  float const inf = std::numeric_limits<float>::infinity();
  float const nan = std::nanf("");
  struct Special {
    PointwiseMode_t mode;
    float x, y;
  };
  using M = PointwiseMode_t;
  std::vector<Special> const all = {
      {M::EXP, inf, inf},
      {M::EXP, -inf, 0},
      {M::EXP, 0, 1},
      {M::LOG, inf, inf},
      {M::LOG, 0, -inf},
      {M::LOG, -0.0f, -inf},
      {M::LOG, -1, nan},
      {M::LOG, -inf, nan},
      {M::LOG, 1, 0},
      {M::ERF, inf, 1},
      {M::ERF, -inf, -1},
      {M::TANH_FWD, inf, 1},
      {M::TANH_FWD, -inf, -1},
      {M::SIGMOID_FWD, inf, 1},
      {M::SIGMOID_FWD, -inf, 0},
      {M::SOFTPLUS_FWD, inf, inf},
      {M::SOFTPLUS_FWD, -inf, 0},
      {M::ELU_FWD, inf, inf},
      {M::ELU_FWD, -inf, -1},
      {M::SWISH_FWD, inf, inf},
      {M::GELU_FWD, inf, inf},
      {M::GELU_APPROX_TANH_FWD, inf, inf},
      {M::RELU_FWD, -inf, 0},
      {M::RSQRT, 0, inf},
      {M::SQRT, -1, nan},
      {M::CEIL, -0.5f, -0.0f},
      {M::FLOOR, -0.5f, -1},
      {M::ABS, -inf, inf},
  };
  Params params;
  params.relu_upper_clip = inf;
  for (Special const& s : all) {
    for (int64_t n : {1, 37}) {  // the scalar end of a loop, and its vector body
      std::vector<float> const x(n, s.x);
      std::vector<float> y(n, -123.0f);
      table().pointwise[0][pointwise_index(s.mode)][0](y.data(), x.data(), nullptr, nullptr, n, &params);
      for (float got : y) {
        if (std::isnan(s.y))
          EXPECT_TRUE(std::isnan(got)) << static_cast<int>(s.mode) << "(" << s.x << ") = " << got;
        else
          EXPECT_EQ(got, s.y) << static_cast<int>(s.mode) << "(" << s.x << ")";
      }
    }
  }
}

FUSEDNN_EVERY_LEVEL(Elementary);

}  // namespace
}  // namespace fusednn::engines::cpu
