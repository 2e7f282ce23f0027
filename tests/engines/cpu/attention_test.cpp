#include "engines/cpu/attention_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace fusednn::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLowest = std::numeric_limits<float>::lowest();

TEST(Attention, SizesAroundTheTiles) {
  for (int64_t s : {1, 2, 15, 16, 17, 63, 64, 65, 130}) {
    for (int64_t d : {1, 7, 16, 33, 64, 80}) {
      SCOPED_TRACE(std::to_string(s) + " keys, width " + std::to_string(d));
      AttentionCase(1, 2, std::max<int64_t>(1, 70 - s), s, d).verify();
    }
  }
}

TEST(Attention, QueryAndValueWidthsDiffer) {
  AttentionCase(2, 4, 4, 4, 19, 70, 24, 40).verify();
  AttentionCase(2, 4, 4, 4, 19, 70, 40, 3).verify();
}

TEST(Attention, KeyAndValueHeadsAreSharedIndependently) {
  for (auto [hq, hk, hv] : {std::array<int64_t, 3>{8, 2, 2}, {8, 1, 8}, {8, 4, 2}, {8, 2, 4}, {12, 4, 6}, {6, 1, 1}}) {
    SCOPED_TRACE(::testing::Message() << hq << " heads over " << hk << " and " << hv);
    AttentionCase c(2, hq, hk, hv, 13, 70, 16, 16);
    c.right_bound = 0;
    c.bottom_right = true;
    c.verify();
  }
}

TEST(Attention, EveryStorageType) {
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::DOUBLE, DataType_t::HALF, DataType_t::BFLOAT16,
                          DataType_t::FP8_E4M3, DataType_t::FP8_E5M2}) {
    SCOPED_TRACE(::testing::Message() << "type " << int(type));
    AttentionCase(1, 2, 2, 2, 21, 85, 20, 36, type).verify();
  }
}

TEST(Attention, MixedStorageTypes) {
  AttentionCase c(1, 2, 2, 1, 21, 85, 32, 32);
  c.k = Tensor::packed(DataType_t::BFLOAT16, c.k.dims);
  c.v = Tensor::packed(DataType_t::HALF, c.v.dims);
  c.o = Tensor::packed(DataType_t::DOUBLE, c.o.dims);
  c.k.fill_normal(4);
  c.v.fill_normal(5);
  c.set_bias(DataType_t::HALF, {1, 2, 21, 85}, [](auto const& at) { return double(at[3] % 5) - 2; });
  c.verify();
}

TEST(Attention, AllStridesAreObeyed) {
  std::mt19937 generator(7);
  auto draw = [&](Tensor const& t) {
    std::array<int, 4> order{0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), generator);
    return Tensor::packed(t.type, t.dims, order, int64_t(generator() % 3));
  };
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    DataType_t const type = round % 2 != 0 ? DataType_t::FLOAT : DataType_t::BFLOAT16;
    AttentionCase c(2, 4, 2, 1, 9, 1 + int64_t(generator() % 70), 16, 1 + int64_t(generator() % 33), type);
    for (Tensor* t : {&c.q, &c.k, &c.v, &c.o, &c.stats}) *t = draw(*t);
    c.q.fill_normal(1);
    c.k.fill_normal(2);
    c.v.fill_normal(3);
    c.bias.emplace(draw(Tensor::packed(DataType_t::FLOAT, {2, 4, 9, c.k.dims[2]})));
    c.bias->fill_normal(4);
    c.right_bound = 20;
    c.verify();
  }
}

TEST(Attention, InputsMayRepeatThroughStrideZero) {
  AttentionCase c(2, 3, 11, 70, 16);
  c.k = Tensor(DataType_t::FLOAT, c.k.dims, {0, 0, 16, 1});
  c.v = Tensor(DataType_t::FLOAT, c.v.dims, {0, 16, 0, 1});
  c.q = Tensor(DataType_t::FLOAT, c.q.dims, {16, 0, 0, 1});
  for (Tensor* t : {&c.q, &c.k, &c.v}) t->fill_normal(8);
  c.verify();
}

TEST(Attention, BiasOfEveryBroadcastShapeEqualsItsFullForm) {
  constexpr int64_t b = 2, h = 4, sq = 33, skv = 70;
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::BFLOAT16}) {
    for (int shape = 0; shape < 16; ++shape) {
      std::array<int64_t, 4> const dims{shape & 1 ? b : 1, shape & 2 ? h : 1, shape & 4 ? sq : 1, shape & 8 ? skv : 1};
      SCOPED_TRACE(::testing::Message() << "bias shape " << dims[0] << "," << dims[1] << "," << dims[2] << ","
                                        << dims[3]);
      for (int64_t hk : {h, int64_t{1}}) {
        AttentionCase c(b, h, hk, hk, sq, skv, 16, 16);
        c.set_bias(type, dims, [](auto const& at) {
          int64_t const mix = at[0] * 7 + at[1] * 3 + at[2] * 5 + at[3];
          return mix % 11 == 4 ? -kInf : double(mix % 9) / 4;
        });
        c.verify();
        c.run();
        auto const narrow = c.o.bytes();
        Tensor full = Tensor::packed(type, {b, h, sq, skv});
        full.fill([&](auto const& at) {
          std::array<int64_t, 4> from{};
          for (size_t i = 0; i < 4; ++i) from[i] = dims[i] == 1 ? 0 : at[i];
          return c.bias->get(from);
        });
        c.bias = std::move(full);
        c.run();
        EXPECT_EQ(c.o.bytes(), narrow);
      }
    }
  }
}

TEST(Attention, LogitsFarFromZero) {
  for (double level : {-1e4, -90.0, 1e4, 3e30}) {
    SCOPED_TRACE(level);
    AttentionCase c(1, 2, 9, 130, 8);
    c.q.fill([](auto const&) { return 1.0; });
    c.k.fill([&](auto const& at) { return level / 4 * (1 + 1e-5 * double(at[2])); });
    c.verify();
  }
}

TEST(Attention, OneHugeScoreWherever) {
  for (int64_t huge : {0, 63, 64, 100, 129}) {
    SCOPED_TRACE(huge);
    AttentionCase c(1, 1, 9, 130, 8);
    c.k.fill([&](auto const& at) { return at[2] == huge ? 1e4 : 0.1 * double(at[2] % 7); });
    c.verify();
  }
}

TEST(Attention, WeightsDownToTheSubnormals) {
  AttentionCase c(1, 1, 1, 5, 1);
  c.scale = 1;
  c.q.fill([](auto const&) { return 1.0; });
  c.k.fill([](auto const& at) { return std::array{0.0, -87.0, -95.0, -103.0, -110.0}[size_t(at[2])]; });
  c.v.fill([](auto const& at) { return at[2] == 0 ? 0.0 : at[2] == 2 ? 3e38 : 0.0; });
  c.verify();
  EXPECT_GT(c.o.get({0, 0, 0, 0}), 1e-4);
}

TEST(Attention, EqualScoresGiveTheMeanOfV) {
  AttentionCase c(1, 1, 3, 128, 4);
  c.k.fill([](auto const&) { return 0.25; });
  c.v.fill([](auto const& at) { return double(at[2]); });
  c.run();
  for (int64_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(float(c.o.get({0, 0, i, 1})), 63.5f);
}

TEST(Attention, LowestFiniteBiasIsNoMask) {
  AttentionCase c(1, 1, 4, 70, 8);
  c.q.fill([](auto const&) { return 0.0; });
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::BFLOAT16}) {
    double const lowest = type == DataType_t::FLOAT ? kLowest : -0x1.fep127;
    c.set_bias(type, {1, 1, 1, 1}, [&](auto const&) { return lowest; });
    for (bool base_2 : {false, true}) {
      c.stats_base_2 = base_2;
      c.run();
      double mean = 0;
      for (int64_t j = 0; j < 70; ++j) mean += c.v.get({0, 0, j, 3}) / 70;
      EXPECT_NEAR(c.o.get({0, 0, 2, 3}), mean, 1e-6);
      EXPECT_EQ(c.stats.get({0, 0, 2, 0}),
                base_2 ? -kInf : lowest);  // log2 of e^lowest is below float's range
    }
  }
}

TEST(Attention, StatsToBaseTwo) {
  AttentionCase c(2, 2, 9, 70, 8);
  c.stats_base_2 = true;
  c.verify();
}

TEST(Attention, StatsAreOptional) {
  AttentionCase c(2, 2, 9, 70, 8);
  c.with_stats = false;
  c.verify();
}

TEST(Attention, EmptyDims) {
  for (auto [b, h, sq, skv, d] : {std::array<int64_t, 5>{0, 2, 3, 4, 5},
                                  {2, 2, 0, 4, 5},
                                  {2, 0, 3, 4, 5},
                                  {2, 2, 3, 0, 5},
                                  {2, 2, 3, 4, 0},
                                  {0, 0, 0, 0, 0}}) {
    SCOPED_TRACE(::testing::Message() << b << "," << h << "," << sq << "," << skv << "," << d);
    AttentionCase(b, h, h, h, sq, skv, d, d).verify();
  }
  AttentionCase(2, 2, 2, 2, 3, 70, 0, 5).verify();
  AttentionCase(2, 2, 2, 2, 3, 70, 5, 0).verify();
}

TEST(Attention, ScaleIsApplied) {
  for (double scale : {0.0, -1.5, 1e-3, 8.0}) {
    SCOPED_TRACE(scale);
    AttentionCase c(1, 2, 9, 70, 8);
    c.scale = scale;
    c.verify();
  }
}

TEST(Attention, ThreadsAndScratchContentsDoNotChangeABit) {
  AttentionCase c(3, 4, 2, 2, 70, 150, 16, 24, DataType_t::HALF);
  c.right_bound = 3;
  c.set_bias(DataType_t::FLOAT, {1, 4, 70, 150}, [](auto const& at) { return double((at[2] + at[3]) % 3); });
  c.run(1, std::byte{0});
  auto const o = c.o.bytes(), stats = c.stats.bytes();
  for (int threads : {1, 2, 5}) {
    for (std::byte fill : {std::byte{0}, std::byte{0xff}, std::byte{0x7f}}) {
      c.run(threads, fill);
      EXPECT_EQ(c.o.bytes(), o);
      EXPECT_EQ(c.stats.bytes(), stats);
    }
  }
}

TEST(Attention, LargeTasksWithRowsFarApart) {
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::DOUBLE}) {
    AttentionCase c(1, 2, 1, 1, 150, 140, 16, 16, type);
    for (Tensor* t : {&c.k, &c.v}) {
      *t = Tensor(type, t->dims, {140 * 600, 140 * 600, 600, 1});
      t->fill_normal(9);
    }
    c.verify();
    c.right_bound = 0;
    c.left_bound = 70;
    c.verify();
  }
}

TEST(Attention, ARowsBitsDoNotDependOnItsNeighbours) {
  constexpr int64_t sq = 150, skv = 200, d = 24;
  AttentionCase whole(1, 4, 2, 2, sq, skv, d, d);
  whole.bottom_right = true;
  whole.right_bound = 0;
  whole.run();
  for (int64_t first : {0, 1, 37, 149}) {
    for (int64_t rows : {1, 2, 8, 64}) {
      if (first + rows > sq) continue;
      AttentionCase part(1, 4, 2, 2, rows, skv, d, d);
      part.q.fill([&](auto const& at) { return whole.q.get({0, at[1], at[2] + first, at[3]}); });
      part.bottom_right = true;
      part.right_bound = first - (sq - rows);
      part.run();
      part.o.for_each([&](auto const& at) {
        ASSERT_EQ(part.o.get(at), whole.o.get({0, at[1], at[2] + first, at[3]})) << first << " " << rows;
      });
    }
  }
}

TEST(Attention, ScratchDoesNotGrowWithTheSequence) {
  auto bytes = [](int64_t s) {
    AttentionProblem p;
    p.b = p.hq = p.hk = p.hv = 1;
    p.sq = p.skv = s;
    p.dqk = p.dv = 64;
    p.k.type = p.v.type = cpu::Storage::BF16;
    return cpu::attention_scratch_bytes(p, 1);
  };
  EXPECT_EQ(bytes(1 << 10), bytes(int64_t(1) << 40));
  EXPECT_LT(bytes(1 << 10), 200000u);
}

TEST(Attention, ManyBatchesAndHeads) {
  for (auto [b, h] : {std::array<int64_t, 2>{65535, 1}, {65536, 1}, {70000, 1}, {1, 65536}, {300, 300}}) {
    SCOPED_TRACE(::testing::Message() << b << " batches, " << h << " heads");
    AttentionCase c(b, h, 1, 2, 8, DataType_t::HALF);
    c.run(2);
    c.check();
  }
}

// Offsets beyond 32 bits in every operand: batches and rows lie 2^31 elements apart, only touched pages are
// backed.
TEST(Attention, OffsetsBeyondThirtyTwoBits) {
  constexpr int64_t apart = (int64_t(1) << 31) + 64;
  AttentionCase small(2, 1, 2, 2, 8, DataType_t::HALF);
  small.run();
  GuardedBuffer memory[4] = {GuardedBuffer::sparse(size_t(2 * apart * 2)), GuardedBuffer::sparse(size_t(2 * apart * 2)),
                             GuardedBuffer::sparse(size_t(2 * apart * 2)),
                             GuardedBuffer::sparse(size_t(2 * apart * 2))};
  AttentionProblem p = small.problem();
  void* scattered[4];
  Tensor const* const packed[4] = {&small.q, &small.k, &small.v, &small.o};
  auto at = [&](int t, int64_t b, int64_t s, int64_t d) {
    return static_cast<uint16_t*>(memory[t].data()) + b * apart + s * (apart / 2) + d;
  };
  for (int t = 0; t < 4; ++t) {
    scattered[t] = memory[t].data();
    if (t == 3) continue;
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t s = 0; s < 2; ++s) {
        for (int64_t d = 0; d < 8; ++d) *at(t, b, s, d) = round_to<half_t>(packed[t]->get({b, 0, s, d})).bits;
      }
    }
  }
  p.q.data = scattered[0];
  p.k.data = scattered[1];
  p.v.data = scattered[2];
  p.o.data = scattered[3];
  for (int64_t* strides : {p.q.strides, p.k.strides, p.v.strides, p.o.strides}) {
    strides[0] = apart;
    strides[2] = apart / 2;
  }
  GuardedBuffer scratch(cpu::attention_scratch_bytes(p, 1));
  cpu::run_attention(p, scratch.data(), 1);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t s = 0; s < 2; ++s) {
      for (int64_t d = 0; d < 8; ++d) {
        EXPECT_EQ(value_as<double>(half_t::from_bits(*at(3, b, s, d))), small.o.get({b, 0, s, d}));
      }
    }
  }
}

TEST(Attention, BiasRowsBeyondThirtyTwoBits) {
  constexpr int64_t row = int64_t(1) << 27;
  AttentionCase c(1, 1, 40, 8, 8, DataType_t::HALF);
  auto value = [](int64_t i, int64_t j) { return double((3 * i + j) % 17) / 4; };
  c.set_bias(DataType_t::HALF, {1, 1, 40, 8}, [&](auto const& at) { return value(at[2], at[3]); });
  c.run();
  GuardedBuffer memory = GuardedBuffer::sparse(size_t(39 * row + 8) * 2);
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j < 8; ++j) {
      static_cast<uint16_t*>(memory.data())[i * row + j] = round_to<half_t>(value(i, j)).bits;
    }
  }
  Tensor far = Tensor::packed(DataType_t::HALF, c.o.dims);
  AttentionProblem p = c.problem();
  p.bias.data = memory.data();
  p.bias.strides[2] = row;
  p.o = far.operand<cpu::AttentionOutput>();
  GuardedBuffer scratch(cpu::attention_scratch_bytes(p, 1));
  cpu::run_attention(p, scratch.data(), 1);
  EXPECT_EQ(far.bytes(), c.o.bytes());
}

}  // namespace
}  // namespace fusednn::testing
