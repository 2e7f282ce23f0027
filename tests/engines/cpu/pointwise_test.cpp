// Every mode's loops, in every lane type and operand variant, against the formulas of the pointwise table.

#include "engines/cpu/isa_levels.h"
#include "engines/cpu/kernels/pointwise_index.h"

#include "base/enum_names.h"
#include "base/numeric.h"
#include "ops/pointwise_table.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace fusednn::engines::cpu {
namespace {

using Real = long double;

template <class T>
std::vector<T> values() {
  std::mt19937 random(3);
  std::vector<T> all;
  if constexpr (std::is_floating_point_v<T>) {
    T const inf = std::numeric_limits<T>::infinity();
    all = {T(0),   T(-0.0), T(1),  T(-1),   inf,     -inf,    std::numeric_limits<T>::quiet_NaN(),
           T(2.5), T(-5),   T(88), T(-103), T(3e18), T(-3e18)};
    std::normal_distribution<double> normal(0, 2);
    for (int i = 0; i < 60; ++i) all.push_back(static_cast<T>(normal(random)));
  } else {
    all = {0, 1, -1, 7, -7, 2147483647, -2147483647 - 1, 46341, -46341};
    for (int i = 0; i < 60; ++i) all.push_back(static_cast<T>(random()) >> (i % 31));
  }
  return all;
}

class Pointwise : public EveryLevel {
 protected:
  template <class T>
  void check(DataType_t compute, int lane) {
    std::vector<T> const v = values<T>();
    size_t const n = v.size();
    for (int m = 1; m <= kPointwiseCount; ++m) {
      auto const mode = static_cast<PointwiseMode_t>(m);
      ops::PointwiseRow const& row = ops::row(mode);
      auto const& loops = table().pointwise[lane][pointwise_index(mode)];
      if (compute == DataType_t::INT32 && !row.integer) {
        EXPECT_EQ(loops[0], nullptr) << base::to_string(mode);
        continue;
      }
      ASSERT_NE(loops[0], nullptr) << base::to_string(mode);
      math::PointwiseParams<T> params;
      params.relu_upper_clip =
          std::is_integral_v<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();
      ops::PointwiseParams<Real> exact_params;
      exact_params.relu_upper_clip = std::numeric_limits<Real>::infinity();
      if constexpr (std::is_floating_point_v<T>) {
        exact_params.swish_beta = params.swish_beta = T(1.25);
        exact_params.elu_alpha = params.elu_alpha = T(0.5);
        exact_params.softplus_beta = params.softplus_beta = T(0.75);
        exact_params.relu_lower_clip = params.relu_lower_clip = T(0.25);
        exact_params.relu_lower_clip_slope = params.relu_slope = T(0.125);
      }
      auto const fns = row.fns<Real>();
      Real const unit = static_cast<Real>(type_info(compute)->limits.unit_roundoff);
      Real const step = std::is_integral_v<T> ? 0 : static_cast<Real>(type_info(compute)->limits.min_subnormal);
      bool const derivative = base::to_string(mode).ends_with("BWD");
      auto const judge = [&](T got, T a, T b, T c) {
        if (derivative && std::isinf(static_cast<double>(a)))
          return;  // Inf times an underflow depends on where that begins
        Real exact = fns.value(exact_params, a, b, c);
        if constexpr (std::is_integral_v<T>) {
          T const wrapped =
              std::isnan(exact) ? T(0) : static_cast<T>(static_cast<uint32_t>(static_cast<int64_t>(exact)));
          ASSERT_EQ(got, wrapped) << base::to_string(mode) << "(" << a << ", " << b << ", " << c << ")";
        } else {
          exact = std::fabs(exact) > std::numeric_limits<T>::max()
                      ? std::copysign(std::numeric_limits<Real>::infinity(), exact)
                      : exact;
          Real const bound = row.ulps * (unit * fns.magnitude(exact_params, a, b, c) + step) + unit * std::fabs(exact);
          bool const right = std::isnan(exact)   ? std::isnan(got)
                             : std::isinf(exact) ? got == exact
                                                 : got == exact || std::fabs(got - exact) <= bound;
          ASSERT_TRUE(right) << base::to_string(mode) << "(" << a << ", " << b << ", " << c << ") = " << got
                             << ", exact " << exact;
        }
      };
      std::vector<T> b(n), c(n), y(n), first(n, T(0)), second(n, T(0));
      for (size_t shift = 0; shift < (row.arity == 1 ? 1 : n); ++shift) {
        for (size_t i = 0; i < n; ++i) b[i] = v[(i + shift) % n], c[i] = v[(i + 2 * shift) % n];
        loops[0](y.data(), v.data(), b.data(), c.data(), static_cast<int64_t>(n), &params);
        if (loops[1]) {
          loops[1](first.data(), &v[shift], b.data(), nullptr, static_cast<int64_t>(n), &params);
          loops[2](second.data(), v.data(), &v[shift], nullptr, static_cast<int64_t>(n), &params);
        }
        for (size_t i = 0; i < n; ++i) {
          judge(y[i], v[i], b[i], c[i]);
          if (loops[1]) judge(first[i], v[shift], b[i], c[i]), judge(second[i], v[i], v[shift], c[i]);
        }
      }
      b = v;  // an operand may be the output
      loops[0](b.data(), b.data(), b.data(), b.data(), static_cast<int64_t>(n), &params);
      for (size_t i = 0; i < n; ++i) judge(b[i], v[i], v[i], v[i]);
    }
  }
};

TEST_P(Pointwise, FloatModesFollowTheTable) { check<float>(DataType_t::FLOAT, 0); }
TEST_P(Pointwise, DoubleModesFollowTheTable) { check<double>(DataType_t::DOUBLE, 1); }
TEST_P(Pointwise, IntegerModesFollowTheTable) { check<int32_t>(DataType_t::INT32, 2); }

FUSEDNN_EVERY_LEVEL(Pointwise);

}  // namespace
}  // namespace fusednn::engines::cpu
