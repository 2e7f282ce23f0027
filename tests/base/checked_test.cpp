#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace fusednn {
namespace {

constexpr int64_t big = std::numeric_limits<int64_t>::max();
constexpr int64_t low = std::numeric_limits<int64_t>::min();

TEST(Checked, SumsStopAtTheEdge) {
  EXPECT_EQ(checked_add(big - 1, 1), big);
  EXPECT_EQ(checked_add(big, 1), std::nullopt);
  EXPECT_EQ(checked_add(low, -1), std::nullopt);
}

TEST(Checked, ProductsStopAtTheEdge) {
  EXPECT_EQ(checked_mul(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checked_mul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul(low, -1), std::nullopt);
}

TEST(Checked, ProductOfManyFactors) {
  EXPECT_EQ(checked_product({}), 1);
  EXPECT_EQ(checked_product({3, 5, 7}), 105);
  EXPECT_EQ(checked_product({big, 2}), std::nullopt);
  EXPECT_EQ(checked_product({big, 2, 0}), 0) << "an empty tensor has no elements, whatever its other dims";
}

TEST(Checked, RoundsUpToAMultiple) {
  EXPECT_EQ(checked_round_up(0, 64), 0);
  EXPECT_EQ(checked_round_up(1, 64), 64);
  EXPECT_EQ(checked_round_up(64, 64), 64);
  EXPECT_EQ(checked_round_up(-65, 64), -64);
  EXPECT_EQ(checked_round_up(big, 64), std::nullopt);
}

}  // namespace
}  // namespace fusednn
