#include "support/attention_graph.h"

#include <cmath>
#include <limits>
#include <numeric>

// Attention on every plan: values that hurt, what a row must not see, layouts, and sizes at the edges.

namespace fusednn::testing {
namespace {

using graph::SDPA_attributes;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Values counting(size_t count) {
  Values values(count);
  std::iota(values.begin(), values.end(), 0.);
  return values;
}

/// 0 where row i sees key j, -inf elsewhere.
template <class Visible>
Values mask_of(int64_t rows, int64_t keys, Visible&& visible) {
  Values mask;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < keys; ++j) mask.push_back(visible(i, j) ? 0 : -inf);
  return mask;
}

/// What each plan writes to O and Stats, as bytes.
std::vector<std::vector<std::byte>> bits(AttentionGraph const& a, GraphRun& run) {
  std::vector<std::vector<std::byte>> all;
  for (PlanOutcome const& plan : run.run()) {
    all.push_back(plan.bytes.at(a.o));
    all.push_back(plan.bytes.at(a.stats));
  }
  return all;
}

TEST(Attention, AKeyThatNoRowSeesMayHoldAnything) {
  AttentionGraph a({.s_q = 2, .s_kv = 2, .d = 4}, {}, DataType_t::FLOAT, BiasInput{{1, 1, 1, 2}});
  GraphRun run(a.graph);
  run.set(a.bias, {0, -inf}).set(a.q, counting(8));
  for (TensorPtr const& operand : {a.k, a.v}) {
    run.set(a.k, counting(8)).set(a.v, counting(8));
    auto const clean = bits(a, run);
    for (double value : {1e10, nan, inf}) {
      SCOPED_TRACE(operand->get_name() + " holds " + std::to_string(value));
      Values poisoned = counting(8);
      poisoned[4] = value;
      run.set(operand, poisoned);
      EXPECT_EQ(bits(a, run), clean);
      for (PlanOutcome const& plan : run.run()) expect_near(plan[a.o], {0, 1, 2, 3, 0, 1, 2, 3}, 0);
    }
  }
}

TEST(Attention, ABiasOfMinusInfinityMasksAsABandDoes) {
  for (DataType_t io : {DataType_t::FLOAT, DataType_t::BFLOAT16}) {
    AttentionSizes const sizes{.h = 2, .s_q = 6, .s_kv = 10, .d = 8};
    AttentionGraph by_band(sizes, SDPA_attributes().set_causal_mask(true), io);
    AttentionGraph by_bias(sizes, {}, io, BiasInput{{1, 1, 6, 10}});
    GraphRun band_run(by_band.graph), bias_run(by_bias.graph);
    bias_run.set(by_bias.bias, mask_of(6, 10, [](int64_t i, int64_t j) { return j <= i && i < 5; }));
    auto const band = band_run.run(), bias = bias_run.run();
    ASSERT_EQ(band.size(), bias.size());
    for (size_t plan = 0; plan < band.size(); ++plan) {
      SCOPED_TRACE(band[plan].name);
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t i = 0; i < 6; ++i)
          for (int64_t c = 0; c < 8; ++c) {
            size_t const at = static_cast<size_t>((h * 6 + i) * 8 + c);
            EXPECT_EQ(bias[plan][by_bias.o][at], i < 5 ? band[plan][by_band.o][at] : 0);
          }
      EXPECT_EQ(bias[plan][by_bias.stats][5], -inf);
    }
    bias_run.set(by_bias.bias, Values(60, -inf));
    for (PlanOutcome const& plan : bias_run.run()) {
      EXPECT_EQ(plan[by_bias.o], Values(96, 0));
      EXPECT_EQ(plan[by_bias.stats], Values(12, -inf));
    }
  }
}

TEST(Attention, TheLowestFiniteBiasIsNoMask) {
  AttentionGraph a({.s_q = 3, .s_kv = 40, .d = 4}, {}, DataType_t::FLOAT, BiasInput{{1, 1, 1, 40}});
  GraphRun run(a.graph);
  run.set(a.q, Values(12, 0)).set(a.v, counting(160));
  run.set(a.bias, Values(40, std::numeric_limits<float>::lowest()));
  // Stats lie within an error of the end of the range, where no bound exists.
  for (PlanOutcome const& plan : run.run({.most_undetermined = 3})) {
    SCOPED_TRACE(plan.name);
    for (size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(static_cast<float>(plan[a.o][4 * i]), 78);
  }
}

TEST(Attention, ABiasKeepsItsOwnType) {
  AttentionSizes const sizes{.b = 2, .h = 4, .s_q = 32, .s_kv = 32, .d = 16};
  for (DataType_t declared : {DataType_t::FLOAT, DataType_t::NOT_SET}) {
    AttentionGraph a(sizes, {}, DataType_t::HALF, BiasInput{{1, 1, 32, 32}, declared});
    GraphRun run(a.graph);
    EXPECT_EQ(a.bias->get_data_type(), declared == DataType_t::FLOAT ? DataType_t::FLOAT : DataType_t::HALF);
    run.set(a.bias, mask_of(32, 32, [](int64_t i, int64_t j) { return j <= i; }));
    for (PlanOutcome const& plan : run.run())
      for (double x : plan[a.o]) ASSERT_TRUE(std::isfinite(x)) << plan.name;
  }
}

TEST(Attention, ABooleanIsNoBias) {
  AttentionGraph a({.h = 2, .s_q = 16, .s_kv = 16, .d = 64}, {}, DataType_t::FLOAT,
                   BiasInput{{1, 1, 16, 16}, DataType_t::BOOLEAN});
  error_t const e = a.graph.validate();
  EXPECT_EQ(e.get_code(), error_code_t::INVALID_VALUE);
  EXPECT_NE(e.get_message().find("'bias'"), std::string::npos) << e.get_message();
}

TEST(Attention, ABiasOfEveryBroadcastShapeEqualsItsFullForm) {
  constexpr int64_t n = 4, s = 32;
  AttentionSizes const sizes{.b = n, .h = n, .s_q = s, .s_kv = s, .d = 16};
  for (int shape = 0; shape < 16; ++shape) {
    Dims const dims{shape & 1 ? n : 1, shape & 2 ? n : 1, shape & 4 ? s : 1, shape & 8 ? s : 1};
    SCOPED_TRACE(::testing::PrintToString(dims));
    AttentionGraph narrow(sizes, {}, DataType_t::BFLOAT16, BiasInput{dims, DataType_t::FLOAT});
    AttentionGraph full(sizes, {}, DataType_t::BFLOAT16, BiasInput{{n, n, s, s}, DataType_t::FLOAT});
    Values bias = random_values(volume(dims), 7, -2, 2), all;
    for (size_t i = 0; i < bias.size(); i += 5) bias[i] = -inf;
    for (int64_t b = 0; b < n; ++b)
      for (int64_t h = 0; h < n; ++h)
        for (int64_t i = 0; i < s; ++i)
          for (int64_t j = 0; j < s; ++j) {
            int64_t at = dims[0] == 1 ? 0 : b;
            at = at * dims[1] + (dims[1] == 1 ? 0 : h);
            at = at * dims[2] + (dims[2] == 1 ? 0 : i);
            all.push_back(bias[static_cast<size_t>(at * dims[3] + (dims[3] == 1 ? 0 : j))]);
          }
    GraphRun narrow_run(narrow.graph), full_run(full.graph);
    narrow_run.set(narrow.bias, bias);
    full_run.set(full.bias, all);
    EXPECT_EQ(bits(narrow, narrow_run), bits(full, full_run));
  }
}

TEST(Attention, BiasesAcrossTileEdges) {
  for (auto [s_q, s_kv] : {std::pair<int64_t, int64_t>{16, 128}, {17, 128}, {16, 129}, {17, 129}, {33, 257}})
    for (int64_t b : {1, 2}) {
      AttentionGraph a({.b = 2, .s_q = s_q, .s_kv = s_kv, .d = 64}, {}, DataType_t::FLOAT,
                       BiasInput{{b, 1, s_q, s_kv}});
      GraphRun(a.graph).run();
    }
}

TEST(Attention, StatsOfEveryHeadAreWritten) {
  for (int64_t heads : {1, 2, 4, 8})
    for (int64_t s_q : {1, 2}) {
      AttentionGraph a({.h = 8, .s_q = s_q, .s_kv = 37, .d = 16, .h_k = heads, .h_v = heads}, {}, DataType_t::BFLOAT16);
      GraphRun(a.graph).run();
    }
}

TEST(Attention, HeadsOfKeysAndValuesAreSharedIndependently) {
  AttentionGraph a({.b = 2, .h = 12, .s_q = 5, .s_kv = 70, .d = 8, .h_k = 4, .h_v = 6, .d_v = 24});
  GraphRun(a.graph).run();
}

TEST(Attention, DecodeWithACausalMaskAndGroupedHeads) {
  AttentionSizes const sizes{.h = 8, .s_q = 1, .s_kv = 50, .d = 32, .h_k = 2, .h_v = 2};
  AttentionGraph top_left(sizes, SDPA_attributes().set_causal_mask(true));
  AttentionGraph bottom_right(sizes, SDPA_attributes().set_causal_mask_bottom_right(true));
  AttentionGraph open(sizes);
  GraphRun top_left_run(top_left.graph), bottom_right_run(bottom_right.graph), open_run(open.graph);
  Values const v = random_integers(2 * 50 * 32, 3, -4, 4);
  for (PlanOutcome const& plan : top_left_run.set(top_left.v, v).run())
    for (size_t h = 0; h < 8; ++h)
      for (size_t c = 0; c < 32; ++c) EXPECT_EQ(plan[top_left.o][h * 32 + c], v[h / 4 * 50 * 32 + c]);
  EXPECT_EQ(bits(bottom_right, bottom_right_run), bits(open, open_run));
}

TEST(Attention, ManyBatchesAndHeads) {
  for (auto [b, h] : {std::pair<int64_t, int64_t>{65536, 1}, {70000, 1}, {1, 65536}, {300, 300}}) {
    SCOPED_TRACE(::testing::Message() << b << " batches, " << h << " heads");
    AttentionGraph a({.b = b, .h = h, .s_q = 1, .s_kv = 2, .d = 8}, {}, DataType_t::HALF);
    GraphRun(a.graph).run();
  }
}

TEST(Attention, WideHeadsOfEightBitTypes) {
  for (int64_t d : {128, 192, 256, 264}) {
    AttentionGraph a({.h = 4, .s_q = 40, .s_kv = 128, .d = d, .h_k = 1, .h_v = 1},
                     SDPA_attributes().set_attn_scale(0.0625f), DataType_t::FP8_E4M3);
    GraphRun(a.graph).run();
  }
}

TEST(Attention, EveryStorageType) {
  for (DataType_t io : {DataType_t::FLOAT, DataType_t::DOUBLE, DataType_t::HALF, DataType_t::BFLOAT16,
                        DataType_t::FP8_E4M3, DataType_t::FP8_E5M2}) {
    AttentionGraph a({.b = 2, .h = 2, .s_q = 21, .s_kv = 85, .d = 20}, SDPA_attributes().set_causal_mask(true), io);
    GraphRun(a.graph).run();
  }
}

TEST(Attention, DoubleComputesInDouble) {
  AttentionGraph a({.s_q = 21, .s_kv = 85, .d = 20}, {}, DataType_t::DOUBLE);
  a.graph.set_compute_data_type(DataType_t::DOUBLE);
  GraphRun(a.graph).run();
}

TEST(Attention, LengthsWithNothingLive) {
  AttentionGraph a({.b = 4, .h = 2, .s_q = 9, .s_kv = 70, .d = 8}, SDPA_attributes().set_causal_mask_bottom_right(true),
                   DataType_t::FLOAT, {}, true);
  GraphRun run(a.graph);
  run.set(a.len_q, {9, 0, 4, 9}).set(a.len_kv, {70, 64, 0, 5});
  Values k = random_values(4 * 2 * 70 * 8, 5), v = random_values(4 * 2 * 70 * 8, 6);
  auto const clean = bits(a, run.set(a.k, k).set(a.v, v));
  for (size_t h = 0; h < 2; ++h)
    for (size_t j = 5; j < 70; ++j)
      for (size_t c = 0; c < 8; ++c) k[((3 * 2 + h) * 70 + j) * 8 + c] = v[((3 * 2 + h) * 70 + j) * 8 + c] = nan;
  EXPECT_EQ(bits(a, run.set(a.k, k).set(a.v, v)), clean);
}

TEST(Attention, EmptyDims) {
  for (auto const& sizes : {AttentionSizes{.b = 0}, AttentionSizes{.s_q = 0}, AttentionSizes{.s_kv = 0},
                            AttentionSizes{.h = 0}, AttentionSizes{.d = 0}}) {
    AttentionGraph a(sizes);
    GraphRun(a.graph).run();
  }
}

TEST(Attention, AScaleMayBeAValueOrATensor) {
  AttentionSizes const sizes{.h = 2, .s_q = 9, .s_kv = 30, .d = 16};
  AttentionGraph by_value(sizes, SDPA_attributes().set_attn_scale(0.3f));
  GraphRun value_run(by_value.graph);
  auto const expected = bits(by_value, value_run);
  Graph graph = make_graph();
  auto scale = input(graph, "scale", {1, 1, 1, 1});
  auto q = input(graph, "q", {1, 2, 9, 16}), k = input(graph, "k", {1, 2, 30, 16}),
       v = input(graph, "v", {1, 2, 30, 16});
  auto [o, stats] = graph.sdpa(q, k, v, SDPA_attributes().set_attn_scale(scale).set_generate_stats(true));
  output(o, "o");
  output(stats, "stats");
  GraphRun run(graph);
  run.set(scale, {0.3f});
  // The inputs of the other graph, which come first there.
  run.set(q, random_values(288, 1)).set(k, random_values(960, 2)).set(v, random_values(960, 3));
  std::vector<std::vector<std::byte>> found;
  for (PlanOutcome const& plan : run.run()) {
    found.push_back(plan.bytes.at(o));
    found.push_back(plan.bytes.at(stats));
  }
  EXPECT_EQ(found, expected);
}

TEST(Attention, AnyLayoutOfOperandsAndResults) {
  Dims const q_dims{2, 4, 9, 16}, k_dims{2, 2, 70, 16};
  std::vector<Dims> const orders{{0, 1, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}};
  for (Dims const& order : orders)
    for (DataType_t io : {DataType_t::FLOAT, DataType_t::HALF}) {
      SCOPED_TRACE(::testing::PrintToString(order));
      Graph graph = make_graph(io);
      Dims gaps = packed(k_dims, order);
      for (int64_t& stride : gaps) stride *= 3;
      auto q = input(graph, "q", q_dims, io, packed(q_dims, order));
      auto k = input(graph, "k", k_dims, io, gaps);
      auto v = input(graph, "v", k_dims, io, packed(k_dims, order));
      auto [o, stats] = graph.sdpa(q, k, v, SDPA_attributes().set_causal_mask(true).set_generate_stats(true));
      output(o, "o")->set_dim(q_dims).set_stride(packed(q_dims, order));
      output(stats, "stats")->set_dim({2, 4, 9, 1}).set_stride({180, 40, 4, 3});
      GraphRun(graph).run();
    }
}

// Q, K and V are slices of one tensor, and heads are split and joined by reshapes and transposes.
TEST(Attention, BetweenProjectionsAndViews) {
  constexpr int64_t b = 2, s = 10, h = 3, d = 8;
  Graph graph = make_graph();
  auto x = input(graph, "x", {b, s, h * d}), w = input(graph, "w", {1, h * d, 3 * h * d});
  auto qkv = graph.matmul(x, w, graph::Matmul_attributes());
  auto part = [&](int64_t i) {
    auto slice = graph.slice(qkv, graph::Slice_attributes().set_slices({{0, b}, {0, s}, {i * h * d, (i + 1) * h * d}}));
    auto heads = graph.reshape(slice, graph::Reshape_attributes().set_dim({b, s, h, d}));
    return graph.transpose(heads, graph::Transpose_attributes().set_permutation({0, 2, 1, 3}));
  };
  auto bias = input(graph, "bias", {b, 1, 1, s});
  auto [o, stats] = graph.sdpa(part(0), part(1), part(2),
                               SDPA_attributes().set_attn_scale(0.35f).set_bias(bias).set_generate_stats(false));
  EXPECT_EQ(stats, nullptr);
  auto joined = graph.transpose(o, graph::Transpose_attributes().set_permutation({0, 2, 1, 3}));
  auto rows = graph.reshape(joined, graph::Reshape_attributes().set_dim({b, s, h * d}));
  auto w_out = input(graph, "w_out", {1, h * d, h * d});
  output(graph.pointwise(graph.matmul(rows, w_out, graph::Matmul_attributes()), x,
                         graph::Pointwise_attributes().set_mode(PointwiseMode_t::ADD)),
         "y");
  GraphRun(graph).run();
}

TEST(Attention, ARowDoesNotDependOnItsBatch) {
  std::map<std::string, std::vector<double>> alone;
  for (int64_t b : {1, 2, 8, 64}) {
    AttentionGraph a({.b = b, .h = 4, .s_q = 1, .s_kv = 100, .d = 16, .h_k = 2, .h_v = 2}, {}, DataType_t::HALF);
    a.graph.set_batch_invariant_ext(true);
    GraphRun run(a.graph);
    auto fill = [&](size_t each, uint64_t seed) {
      Values values = random_values(each, seed), others = random_values(each * size_t(b - 1), seed + size_t(b));
      values.insert(values.end(), others.begin(), others.end());
      return values;
    };
    run.set(a.q, fill(64, 11)).set(a.k, fill(3200, 12)).set(a.v, fill(3200, 13));
    for (PlanOutcome const& plan : run.run()) {
      Values row(plan[a.o].begin(), plan[a.o].begin() + 64);
      if (b == 1) alone[plan.name] = row;
      EXPECT_EQ(row, alone.at(plan.name)) << plan.name << " with " << b << " batches";
    }
  }
}

}  // namespace
}  // namespace fusednn::testing
