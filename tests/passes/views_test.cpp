#include "passes/views.h"

#include "ir/layout.h"

#include <gtest/gtest.h>

namespace {

using fusednn::ir::Dims;
using fusednn::passes::reshaped_strides;

/// Offsets in row-major order of the indices.
std::vector<int64_t> offsets(Dims const& dims, Dims const& strides) {
  std::vector<int64_t> all = {0};
  for (size_t i = 0; i < dims.size(); ++i) {
    std::vector<int64_t> next;
    for (int64_t o : all)
      for (int64_t k = 0; k < dims[i]; ++k) next.push_back(o + k * strides[i]);
    all = std::move(next);
  }
  return all;
}

TEST(Views, ReshapedStridesVisitTheSameElements) {
  struct Case {
    Dims from, strides, to;
  };
  Case const cases[] = {
      {{2, 3, 4}, {12, 4, 1}, {6, 4}},     {{2, 3, 4}, {12, 4, 1}, {24}},     {{24}, {1}, {2, 3, 4}},
      {{2, 12}, {100, 1}, {2, 3, 4}},      {{2, 3, 4}, {100, 4, 1}, {2, 12}}, {{4, 6}, {1, 4}, {2, 2, 3, 2}},
      {{5, 1, 7}, {7, 99, 1}, {1, 35, 1}}, {{3, 8}, {16, 2}, {3, 2, 4}},      {{1}, {1}, {1, 1, 1}},
      {{2, 6}, {0, 1}, {2, 2, 3}},
  };
  for (Case const& c : cases) {
    auto strides = reshaped_strides(c.from, c.strides, c.to);
    ASSERT_TRUE(strides) << ::testing::PrintToString(c.to);
    EXPECT_EQ(offsets(c.to, *strides), offsets(c.from, c.strides)) << ::testing::PrintToString(c.to);
  }
}

TEST(Views, SomeReshapesHaveNoStrides) {
  EXPECT_FALSE(reshaped_strides({2, 3}, {1, 2}, {6}));
  EXPECT_FALSE(reshaped_strides({2, 6}, {100, 1}, {4, 3}));
  EXPECT_FALSE(reshaped_strides({4, 3}, {10, 1}, {6, 2}));
}

TEST(Views, EmptyTensorsReshapeToAnything) { EXPECT_TRUE(reshaped_strides({0, 3}, {5, 1}, {7, 0})); }

}  // namespace
