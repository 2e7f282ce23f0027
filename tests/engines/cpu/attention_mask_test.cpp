#include "engines/cpu/attention_case.h"

#include <cmath>
#include <limits>

namespace fusednn::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kFree = AttentionProblem::unbounded;

std::vector<int64_t> const kBounds{kFree, -3, -1, 0, 1, 2, 4, 9};

AttentionCase banded(int64_t sq, int64_t skv, int64_t left, int64_t right, bool bottom_right) {
  AttentionCase c(1, 1, sq, skv, 4);
  c.left_bound = left;
  c.right_bound = right;
  c.bottom_right = bottom_right;
  return c;
}

std::string text(AttentionCase const& c) {
  return ::testing::PrintToString(c.q.dims[2]) + "x" + ::testing::PrintToString(c.k.dims[2]) + " left " +
         ::testing::PrintToString(c.left_bound) + " right " + ::testing::PrintToString(c.right_bound) +
         (c.bottom_right ? " bottom-right" : "");
}

TEST(AttentionMask, EveryBandOfEverySmallShape) {
  for (int64_t sq = 0; sq <= 5; ++sq) {
    for (int64_t skv = 0; skv <= 5; ++skv) {
      for (int64_t left : kBounds) {
        for (int64_t right : kBounds) {
          for (bool bottom_right : {false, true}) {
            AttentionCase c = banded(sq, skv, left, right, bottom_right);
            SCOPED_TRACE(text(c));
            c.run();
            c.check();
            if (::testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(AttentionMask, BandsAcrossTiles) {
  for (auto [sq, skv] : {std::array<int64_t, 2>{65, 130}, {130, 65}, {70, 70}, {1, 200}, {200, 1}}) {
    for (int64_t left : {kFree, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{100}}) {
      for (int64_t right : {kFree, int64_t{-70}, int64_t{0}, int64_t{1}, int64_t{64}}) {
        for (bool bottom_right : {false, true}) {
          AttentionCase c = banded(sq, skv, left, right, bottom_right);
          SCOPED_TRACE(text(c));
          c.verify();
        }
      }
    }
  }
}

TEST(AttentionMask, BoundsAtTheEndsOfTheirType) {
  for (int64_t left : {INT64_MIN, INT64_MAX - 1}) {
    for (int64_t right : {INT64_MIN, INT64_MAX - 1}) banded(3, 70, left, right, false).verify();
  }
}

TEST(AttentionMask, CausalConventions) {
  auto last_seen = [](int64_t sq, int64_t skv, bool bottom_right, int64_t i) {
    AttentionCase c(1, 1, sq, skv, 8);
    c.right_bound = 0;
    c.bottom_right = bottom_right;
    c.k.fill([](auto const&) { return 0.0; });
    c.v.fill([](auto const& at) { return double(int64_t(1) << at[2]); });
    c.run();
    double const sum = c.o.get({0, 0, i, 0});
    for (int64_t n = 0; n <= skv; ++n) {
      double const mean = n == 0 ? 0 : (std::ldexp(1, int(n)) - 1) / double(n);
      if (std::fabs(sum - mean) < 1e-5) return n - 1;
    }
    return int64_t{-2};
  };
  EXPECT_EQ(last_seen(2, 5, false, 0), 0);
  EXPECT_EQ(last_seen(2, 5, false, 1), 1);
  EXPECT_EQ(last_seen(2, 5, true, 0), 3);
  EXPECT_EQ(last_seen(2, 5, true, 1), 4);
  EXPECT_EQ(last_seen(5, 2, true, 2), -1);
  EXPECT_EQ(last_seen(5, 2, true, 3), 0);
  EXPECT_EQ(last_seen(1, 5, false, 0), 0);
  EXPECT_EQ(last_seen(1, 5, true, 0), 4);
  EXPECT_EQ(last_seen(5, 1, true, 3), -1);
  EXPECT_EQ(last_seen(5, 1, true, 4), 0);
}

TEST(AttentionMask, RowsWithoutKeysAreZero) {
  AttentionCase c(1, 2, 5, 2, 8);
  c.right_bound = 0;
  c.bottom_right = true;
  c.verify();
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t d = 0; d < 8; ++d) EXPECT_EQ(c.o.get({0, 1, i, d}), 0);
    EXPECT_EQ(c.stats.get({0, 1, i, 0}), -kInf);
  }
}

TEST(AttentionMask, BiasOfMinusInfinityMasksAsABandDoes) {
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::BFLOAT16}) {
    AttentionCase causal(1, 2, 70, 90, 8, type), biased(1, 2, 70, 90, 8, type);
    causal.right_bound = 0;
    causal.verify();
    biased.set_bias(DataType_t::FLOAT, {1, 1, 70, 90}, [](auto const& at) { return at[3] <= at[2] ? 0 : -kInf; });
    biased.verify();
    EXPECT_EQ(causal.o.bytes(), biased.o.bytes());
    EXPECT_EQ(causal.stats.bytes(), biased.stats.bytes());
    biased.set_bias(DataType_t::FLOAT, {1, 1, 1, 1}, [](auto const&) { return -kInf; });
    biased.verify();
  }
}

TEST(AttentionMask, SequenceLengths) {
  for (DataType_t type : {DataType_t::INT32, DataType_t::INT64}) {
    for (bool bottom_right : {false, true}) {
      for (int64_t right : {kFree, int64_t{0}, int64_t{5}}) {
        AttentionCase c(6, 4, 2, 1, 9, 70, 8, 8);
        c.set_lengths({9, 5, 0, 9, 1, 7}, {70, 64, 30, 0, 1, 65}, type);
        c.right_bound = right;
        c.bottom_right = bottom_right;
        c.left_bound = right == 5 ? 8 : kFree;
        c.verify();
      }
    }
  }
  AttentionCase keys_only(2, 1, 9, 70, 8);
  keys_only.set_lengths({}, {3, 69});
  keys_only.verify();
  AttentionCase beyond(2, 1, 9, 70, 8);
  beyond.set_lengths({100, -4}, {1000, -1});
  beyond.verify();
}

/// What lies at `poisoned` in K or V does not change a bit of O and Stats.
void expect_no_leak(AttentionCase& c, Tensor AttentionCase::*operand, std::array<int64_t, 4> const& poisoned) {
  for (cpu::KernelTable const* level : levels()) {
    c.run_on(*level);
    auto const o = c.o.bytes(), stats = c.stats.bytes();
    double const clean = (c.*operand).get(poisoned);
    for (double value : {kNaN, kInf, -kInf, 1e10}) {
      SCOPED_TRACE(::testing::Message() << value << " on " << level->name);
      (c.*operand).set(poisoned, value);
      c.run_on(*level);
      EXPECT_EQ(c.o.bytes(), o);
      EXPECT_EQ(c.stats.bytes(), stats);
    }
    (c.*operand).set(poisoned, clean);
  }
}

TEST(AttentionMask, WhatNoRowSeesDoesNotLeak) {
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::BFLOAT16}) {
    AttentionCase by_bias(1, 1, 2, 2, 4, type);
    by_bias.set_bias(DataType_t::FLOAT, {1, 1, 1, 2}, [](auto const& at) { return at[3] == 0 ? 0 : -kInf; });
    AttentionCase by_length(2, 2, 20, 70, 16, type);
    by_length.set_lengths({}, {37, 66});
    AttentionCase by_band(1, 1, 3, 70, 16, type);
    by_band.left_bound = 2;
    by_band.right_bound = 40;
    by_band.bottom_right = true;
    for (auto operand : {&AttentionCase::k, &AttentionCase::v}) {
      expect_no_leak(by_bias, operand, {0, 0, 1, 0});
      for (int64_t key : {37, 40, 64, 69}) expect_no_leak(by_length, operand, {0, 1, key, 5});
      for (int64_t key : {0, 64, 65}) expect_no_leak(by_band, operand, {0, 0, key, 15});
    }
  }
}

TEST(AttentionMask, DeadQueryRowsDoNotLeak) {
  AttentionCase c(2, 2, 20, 70, 16);
  c.set_lengths({13, 20}, {70, 70});
  for (int64_t row : {13, 19}) expect_no_leak(c, &AttentionCase::q, {0, 1, row, 3});
}

TEST(AttentionMask, WhatOneRowSeesReachesThatRowAlone) {
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::HALF}) {
    for (bool by_bias : {false, true}) {
      for (auto operand : {&AttentionCase::k, &AttentionCase::v}) {
        for (double value : {kNaN, kInf}) {
          SCOPED_TRACE(::testing::Message() << "bias " << by_bias << " value " << value);
          AttentionCase c(1, 2, 70, 70, 16, type);
          if (by_bias) {
            c.set_bias(DataType_t::FLOAT, {1, 1, 70, 70}, [](auto const& at) { return at[3] <= at[2] ? 0 : -kInf; });
          } else {
            c.right_bound = 0;
          }
          c.q.fill([](auto const& at) { return 0.1 + 0.01 * double(at[3]); });
          c.run();
          Tensor const before = Tensor(std::move(c.o));
          c.o = Tensor::packed(type, before.dims);
          for (int64_t key : {33, 66}) (c.*operand).set({0, 1, key, 9}, value);
          c.verify();
          for (int64_t i = 0; i < 70; ++i) {
            for (int64_t h = 0; h < 2; ++h) {
              EXPECT_EQ(std::isfinite(c.o.get({0, h, i, 9})), h == 0 || i < 33) << "row " << i;
              if (h == 0 || i < 33) {
                EXPECT_EQ(c.o.get({0, h, i, 9}), before.get({0, h, i, 9})) << "row " << i;
              }
            }
          }
        }
      }
    }
  }
}

TEST(AttentionMask, NotANumberInABiasStaysInItsRow) {
  AttentionCase c(1, 1, 20, 70, 8);
  c.set_bias(DataType_t::FLOAT, {1, 1, 20, 70}, [](auto const& at) { return at[2] == 4 && at[3] == 50 ? kNaN : 0.5; });
  c.verify();
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(c.o.get({0, 0, i, 0})), i == 4);
  c.right_bound = 10;  // hides key 50 from row 4
  c.verify();
  EXPECT_FALSE(std::isnan(c.o.get({0, 0, 4, 0})));
}

TEST(AttentionMask, DecodeWithGroupedHeads) {
  for (int64_t heads : {1, 2, 4, 8}) {
    for (bool bottom_right : {false, true}) {
      AttentionCase c(1, 8, heads, heads, 1, 50, 32, 32, DataType_t::BFLOAT16);
      c.bottom_right = bottom_right;
      c.right_bound = 0;
      c.verify();
      if (!bottom_right) {
        EXPECT_EQ(c.o.get({0, 5, 0, 7}), c.v.get({0, 5 * heads / 8, 0, 7}));
      }
      auto const causal = c.o.bytes();
      c.right_bound = kFree;
      c.verify();
      if (bottom_right) {
        EXPECT_EQ(c.o.bytes(), causal);
      }
    }
  }
}

TEST(AttentionMask, BiasAcrossTileEdges) {
  for (auto [sq, skv] : {std::array<int64_t, 2>{16, 128}, {17, 128}, {16, 129}, {17, 129}, {33, 257}}) {
    for (int64_t b : {1, 2}) {
      AttentionCase c(2, 2, sq, skv, 64);
      c.set_bias(DataType_t::FLOAT, {b, 1, sq, skv},
                 [](auto const& at) { return (at[2] * 3 + at[3]) % 5 == 0 ? -kInf : 0.0; });
      c.verify();
    }
  }
}

}  // namespace
}  // namespace fusednn::testing
