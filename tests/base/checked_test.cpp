#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

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
  using Factors = std::vector<int64_t>;
  EXPECT_EQ(checked_product(Factors{}), 1);
  EXPECT_EQ(checked_product(Factors{3, 5, 7}), 105);
  EXPECT_EQ(checked_product(Factors{big, 2}), std::nullopt);
  EXPECT_EQ(checked_product(Factors{big, 2, 0}), 0) << "an empty tensor has no elements, whatever its other dims";
}

TEST(Checked, ProductAndSum) {
  EXPECT_EQ(checked_mul_add(3, 5, -1), 14);
  EXPECT_EQ(checked_mul_add(1, big, 0), big);
  EXPECT_EQ(checked_mul_add(1, big, 1), std::nullopt);
  EXPECT_EQ(checked_mul_add(2, big, low), std::nullopt) << "the product alone must fit";
}

}  // namespace
}  // namespace fusednn
