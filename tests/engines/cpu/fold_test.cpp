#include "engines/cpu/isa_levels.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace fusednn::engines::cpu {
namespace {

class FoldLoops : public EveryLevel {
 protected:
  template <class T>
  T run(Fold fold, std::vector<T> const& x) {
    int const lane = std::is_same_v<T, float> ? 0 : std::is_same_v<T, double> ? 1 : 2;
    int const f = static_cast<int>(fold);
    T acc = static_cast<T>(table().fold_start[lane][f]);
    table().fold_run[lane][f](&acc, x.data(), static_cast<int64_t>(x.size()));
    // By lanes: one accumulator per column of a 1-column matrix, then of two halves joined.
    T lanes[2] = {static_cast<T>(table().fold_start[lane][f]), static_cast<T>(table().fold_start[lane][f])};
    for (size_t i = 0; i < x.size(); ++i) table().fold_lanes[lane][f](&lanes[i % 2], &x[i], 1);
    table().join_lanes[lane][f](&lanes[0], &lanes[1], 1);
    if constexpr (std::is_integral_v<T>)
      EXPECT_EQ(acc, lanes[0]);
    else
      EXPECT_TRUE((std::isnan(acc) && std::isnan(lanes[0])) || std::fabs(acc - lanes[0]) <= 1e-4 * std::fabs(acc) ||
                  acc == lanes[0])
          << acc << " against " << lanes[0];
    return acc;
  }
};

TEST_P(FoldLoops, SumsAndProducts) {
  for (size_t n : {0, 1, 5, 63, 64, 65, 200, 1000}) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal(1, 0.01f);
    std::vector<float> x(n);
    double sum = 0, absolute = 0, square = 0, product = 1;
    for (size_t i = 0; i < n; ++i) {
      x[i] = normal(random) * (i % 3 == 1 ? -1.0f : 1.0f);
      sum += x[i], absolute += std::fabs(x[i]), square += double(x[i]) * x[i], product *= x[i];
    }
    EXPECT_NEAR(run(Fold::ADD, x), sum, 1e-6 * absolute);
    EXPECT_NEAR(run(Fold::ABS_ADD, x), absolute, 1e-6 * absolute);
    EXPECT_NEAR(run(Fold::SQUARE_ADD, x), square, 1e-6 * absolute);
    EXPECT_NEAR(run(Fold::MUL, x), product, 1e-4 * std::fabs(product));
    std::vector<double> const wide(x.begin(), x.end());
    EXPECT_NEAR(run(Fold::ADD, wide), sum, 1e-13 * (absolute + 1));
  }
}

TEST_P(FoldLoops, ExtremesKeepNaNWhereverItStands) {
  float const nan = std::nanf("");
  for (size_t n : {1, 40, 64, 65, 300}) {
    for (size_t at = 0; at < n; ++at) {
      std::vector<float> x(n, -2.0f);
      x[at] = 3.0f;
      EXPECT_EQ(run(Fold::MAX, x), 3.0f);
      x[at] = -3.0f;
      EXPECT_EQ(run(Fold::MIN, x), -3.0f);
      EXPECT_EQ(run(Fold::ABS_MAX, x), 3.0f);
      x[at] = nan;
      EXPECT_TRUE(std::isnan(run(Fold::MAX, x)) && std::isnan(run(Fold::MIN, x)) && std::isnan(run(Fold::ABS_MAX, x)));
    }
  }
}

TEST_P(FoldLoops, EmptyRunsLeaveTheIdentity) {
  float const inf = std::numeric_limits<float>::infinity();
  std::vector<float> const none;
  EXPECT_EQ(run(Fold::ADD, none), 0);
  EXPECT_EQ(run(Fold::MUL, none), 1);
  EXPECT_EQ(run(Fold::MUL_NON_ZERO, none), 1);
  EXPECT_EQ(run(Fold::MAX, none), -inf);
  EXPECT_EQ(run(Fold::MIN, none), inf);
  EXPECT_EQ(run(Fold::ABS_MAX, none), 0);
  std::vector<int32_t> const no_ints;
  EXPECT_EQ(run(Fold::MAX, no_ints), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(run(Fold::MIN, no_ints), std::numeric_limits<int32_t>::max());
}

TEST_P(FoldLoops, IntegersWrapExactly) {
  std::mt19937 random(9);
  std::vector<int32_t> x(1000);
  uint32_t sum = 0, product = 1, square = 0;
  for (int32_t& v : x) {
    v = static_cast<int32_t>(random());
    uint32_t const u = static_cast<uint32_t>(v);
    sum += u, square += u * u, product *= v == 0 ? 1 : u;
  }
  EXPECT_EQ(run(Fold::ADD, x), static_cast<int32_t>(sum));
  EXPECT_EQ(run(Fold::SQUARE_ADD, x), static_cast<int32_t>(square));
  EXPECT_EQ(run(Fold::MUL_NON_ZERO, x), static_cast<int32_t>(product));
  x[500] = 0;
  EXPECT_EQ(run(Fold::MUL, x), 0);
}

TEST_P(FoldLoops, MomentsHoldFarFromZeroAndNearTheLimit) {
  std::vector<float> far(1000), huge(8, 1e30f);
  for (size_t i = 0; i < far.size(); ++i) far[i] = 1e6f + static_cast<float>(i % 2);
  int64_t const n = static_cast<int64_t>(far.size());
  double const mean = table().sum[0](far.data(), 0, n) / 1000;
  EXPECT_DOUBLE_EQ(mean, 1e6 + 0.5);
  EXPECT_DOUBLE_EQ(table().square_sum[0](far.data(), mean, n) / 1000, 0.25);
  EXPECT_NEAR(table().square_sum[0](huge.data(), 0, 8), 8e60, 1e54);
}

FUSEDNN_EVERY_LEVEL(FoldLoops);

}  // namespace
}  // namespace fusednn::engines::cpu
