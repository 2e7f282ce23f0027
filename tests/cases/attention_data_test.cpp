#include "support/attention_graph.h"

#include <algorithm>
#include <cmath>

// Attention on data that hurts: what is masked by lengths or by a band, rows that see nothing however the
// mask comes in, scores far from 0.

namespace fusednn::testing {
namespace {

using graph::Pointwise_attributes;
using graph::SDPA_attributes;

constexpr double inf = INFINITY;

Values counting(size_t n) {
  Values v(n);
  for (size_t i = 0; i < n; ++i) v[i] = double(i);
  return v;
}

// Key 1 is dead to every row by its length.
TEST(DeadKeys, WhatTheyHoldNeverMatters) {
  for (DataType_t io : {DataType_t::FLOAT, DataType_t::HALF, DataType_t::BFLOAT16})
    for (bool causal : {false, true}) {
      SDPA_attributes attributes;
      attributes.set_causal_mask_bottom_right(causal);
      if (!causal) attributes.set_diagonal_alignment(DiagonalAlignment_t::TOP_LEFT);
      AttentionGraph a({.s_q = 1, .s_kv = 2, .d = 4}, attributes, io, {}, true);
      GraphRun run(a.graph);
      run.set(a.len_q, {1}).set(a.len_kv, {1});
      run.set(a.q, counting(4)).set(a.k, counting(8)).set(a.v, counting(8));
      std::vector<PlanOutcome> const clean = run.run();
      for (PlanOutcome const& plan : clean) EXPECT_EQ(plan[a.o], (Values{0, 1, 2, 3})) << plan.name;
      for (TensorPtr const& tensor : {a.k, a.v})
        for (double poison : {6e4, double(NAN), inf, -inf}) {
          Values values = counting(8);
          std::fill(values.begin() + 4, values.end(), poison);
          run.set(a.k, counting(8)).set(a.v, counting(8)).set(tensor, values);
          std::vector<PlanOutcome> const dirty = run.run();
          for (size_t i = 0; i < clean.size(); ++i)
            EXPECT_TRUE(clean[i].bytes == dirty[i].bytes)
                << clean[i].name << ": " << tensor->get_name() << " " << poison;
        }
    }
}

// A key that some rows see: what K holds there must not reach the others on any plan; V only on plans that
// say so.
TEST(DeadKeys, KeysMaskedForOneRowDoNotReachIt) {
  AttentionGraph a({.s_q = 3, .s_kv = 3, .d = 4}, SDPA_attributes().set_causal_mask(true));
  GraphRun run(a.graph);
  run.run();
  Values const k = random_values(12, 7);
  run.set(a.k, k);
  std::vector<PlanOutcome> const clean = run.run();
  for (double poison : {double(NAN), inf, 1e30}) {
    Values values = k;
    std::fill(values.begin() + 8, values.end(), poison);
    run.set(a.k, values);
    // Rows that do see key 2 overflow or are NaN: what they hold is the reference's business.
    std::vector<PlanOutcome> const dirty = run.run({.most_undetermined = 5});
    for (size_t i = 0; i < clean.size(); ++i)
      for (size_t j = 0; j < 8; ++j) EXPECT_EQ(clean[i][a.o][j], dirty[i][a.o][j]) << clean[i].name << " " << poison;
  }
}

/// Lower triangle for rows 0..4, nothing for row 5, of [1, 1, 6, 10].
Values triangle_and_nothing(double on, double off) {
  Values mask;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 10; ++j) mask.push_back(i < 5 && j <= i ? on : off);
  return mask;
}

TEST(RowsThatSeeNothing, AreZeroInEveryFormOfMask) {
  for (DataType_t io : {DataType_t::FLOAT, DataType_t::BFLOAT16}) {
    AttentionGraph additive({.h = 2, .s_q = 6, .s_kv = 10, .d = 8}, {}, io,
                            BiasInput{{1, 1, 6, 10}, DataType_t::FLOAT});

    Graph boolean = make_graph(io);
    auto q = input(boolean, "q", {1, 2, 6, 8}), k = input(boolean, "k", {1, 2, 10, 8}),
         v = input(boolean, "v", {1, 2, 10, 8});
    auto mask = input(boolean, "mask", {1, 1, 6, 10}, DataType_t::BOOLEAN);
    auto constant = [&](float value) { return boolean.tensor(value, graph::ScalarType::COMPILE_TIME_CONST); };
    auto bias = boolean.pointwise(constant(0), constant(-INFINITY), mask,
                                  Pointwise_attributes().set_mode(PointwiseMode_t::BINARY_SELECT));
    auto [o, stats] = boolean.sdpa(q, k, v, SDPA_attributes().set_bias(bias).set_generate_stats(true));
    output(o, "o");
    output(stats, "stats");

    for (bool all : {false, true}) {
      GraphRun first(additive.graph), second(boolean);
      first.set(additive.bias, all ? Values(60, -inf) : triangle_and_nothing(0, -inf));
      second.set(mask, all ? Values(60, 0) : triangle_and_nothing(1, 0));
      Values const qv = random_values(96, 1, -3, 3), kv = random_values(160, 2, -3, 3), vv = random_values(160, 3);
      first.set(additive.q, qv).set(additive.k, kv).set(additive.v, vv);
      second.set(q, qv).set(k, kv).set(v, vv);
      std::vector<PlanOutcome> const a = first.run(), b = second.run();
      if (!can_execute()) continue;
      ASSERT_FALSE(a.empty() || b.empty());
      for (auto const* plan : {&a.front(), &a.back()})
        for (size_t head = 0; head < 2; ++head)
          for (size_t i = all ? 0 : 5; i < 6; ++i) {
            EXPECT_EQ((*plan)[additive.stats][head * 6 + i], -inf) << plan->name;
            for (size_t c = 0; c < 8; ++c) EXPECT_EQ((*plan)[additive.o][(head * 6 + i) * 8 + c], 0) << plan->name;
          }
      // The same engine gives the same bits, whichever way the mask came in.
      EXPECT_TRUE(a.back().bytes.at(additive.o) == b.back().bytes.at(o)) << a.back().name << " and " << b.back().name;
      EXPECT_TRUE(a.back().bytes.at(additive.stats) == b.back().bytes.at(stats));
    }
  }
}

TEST(Scores, VeryNegativeOrHugeOnesAreWithinBounds) {
  for (double level : {-300.0, -100.0, 0.0, 100.0})
    for (int64_t s_kv : {1, 64, 65, 127, 129}) {
      AttentionGraph a({.h = 2, .s_q = 3, .s_kv = s_kv, .d = 64});
      GraphRun run(a.graph);
      Values q = random_values(volume(a.q->get_dim()), 1, -0.1, 0.1),
             k = random_values(volume(a.k->get_dim()), 2, -0.1, 0.1);
      for (size_t i = 0; i < q.size(); i += 64) q[i] = 10;
      for (size_t i = 0; i < k.size(); i += 64) k[i] = level / 10;
      run.set(a.q, q).set(a.k, k);
      run.run();
    }
}

TEST(Lengths, EachBatchHasItsOwnIncludingNone) {
  for (bool causal : {false, true}) {
    AttentionGraph a({.b = 4, .h = 2, .s_q = 5, .s_kv = 6, .d = 8},
                     causal ? SDPA_attributes().set_causal_mask_bottom_right(true) : SDPA_attributes(),
                     DataType_t::FLOAT, {}, true);
    GraphRun run(a.graph);
    run.set(a.len_q, {5, 0, 3, 1}).set(a.len_kv, {6, 4, 0, 2});
    for (PlanOutcome const& plan : run.run()) {
      for (size_t b : {1u, 2u})
        for (size_t i = 0; i < 80; ++i) EXPECT_EQ(plan[a.o][b * 80 + i], 0) << plan.name;
      EXPECT_EQ(plan[a.stats][3 * 10 + 1], -inf) << "a row beyond its length";
      EXPECT_TRUE(std::isfinite(plan[a.stats][3 * 10])) << plan.name;
    }
  }
}

}  // namespace
}  // namespace fusednn::testing
