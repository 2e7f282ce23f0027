#include "support/attention_graph.h"

#include <cmath>
#include <optional>

// Masks of attention: what a band, an alignment and lengths let a row see, and what must not reach it.

namespace fusednn::testing {
namespace {

using graph::SDPA_attributes;

constexpr double inf = INFINITY;

struct Band {
  int64_t s_q, s_kv;
  std::optional<int64_t> left, right;
  DiagonalAlignment_t alignment;
};

std::vector<Band> small_bands() {
  std::vector<Band> bands;
  for (auto [s_q, s_kv] : {std::pair<int64_t, int64_t>{2, 5}, {5, 2}, {1, 5}, {5, 1}, {4, 4}})
    for (std::optional<int64_t> left : {std::optional<int64_t>(), std::optional<int64_t>(1), std::optional<int64_t>(3)})
      for (std::optional<int64_t> right :
           {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(2)})
        for (auto alignment : {DiagonalAlignment_t::TOP_LEFT, DiagonalAlignment_t::BOTTOM_RIGHT})
          if (left || right || alignment == DiagonalAlignment_t::TOP_LEFT)
            bands.push_back({s_q, s_kv, left, right, alignment});
  return bands;
}

SDPA_attributes attributes_of(Band const& band) {
  SDPA_attributes a;
  a.set_diagonal_alignment(band.alignment);
  if (band.left) a.set_diagonal_band_left_bound(*band.left);
  if (band.right) a.set_diagonal_band_right_bound(*band.right);
  return a;
}

/// The band as the API's documentation words it.
std::string expected_mask(Band const& band) {
  std::string text;
  int64_t const offset = band.alignment == DiagonalAlignment_t::BOTTOM_RIGHT ? band.s_kv - band.s_q : 0;
  for (int64_t i = 0; i < band.s_q; ++i) {
    for (int64_t j = 0; j < band.s_kv; ++j) {
      bool const left = !band.left || j > i + offset - *band.left, right = !band.right || j <= i + offset + *band.right;
      text += left && right ? '1' : '.';
    }
    text += '\n';
  }
  return text;
}

// With Q = 0 each visible key weighs the same, and with V the identity a row of O shows which keys those are.
void expect_band(Band const& band) {
  AttentionGraph a({.s_q = band.s_q, .s_kv = band.s_kv, .d_v = band.s_kv}, attributes_of(band));
  GraphRun run(a.graph);
  std::string mask;
  ASSERT_TRUE(a.graph.print_mask_ext("att", mask).is_good());
  EXPECT_EQ(mask, expected_mask(band));
  Values identity(volume(a.v->get_dim()));
  for (int64_t j = 0; j < band.s_kv; ++j) identity[static_cast<size_t>(j * band.s_kv + j)] = 1;
  run.set(a.q, Values(volume(a.q->get_dim()))).set(a.v, identity);
  for (PlanOutcome const& plan : run.run()) {
    SCOPED_TRACE(plan.name);
    std::string seen;
    for (int64_t i = 0; i < band.s_q; ++i) {
      int64_t live = 0;
      for (int64_t j = 0; j < band.s_kv; ++j) {
        bool const visible = plan[a.o][static_cast<size_t>(i * band.s_kv + j)] > 0;
        live += visible;
        seen += visible ? '1' : '.';
      }
      seen += '\n';
      double const stats = plan[a.stats][static_cast<size_t>(i)];
      if (live == 0)
        EXPECT_EQ(stats, -inf);
      else
        EXPECT_NEAR(stats, std::log(static_cast<double>(live)), 1e-6);
    }
    EXPECT_EQ(seen, mask);
  }
}

TEST(AttentionMask, PrintedMaskIsWhatEveryPlanComputes) {
  for (Band const& band : small_bands()) {
    SCOPED_TRACE(expected_mask(band));
    expect_band(band);
  }
}

TEST(AttentionMask, CausalWithARightBoundIsWhatBothAllow) {
  auto mask_of = [](SDPA_attributes attributes) {
    AttentionGraph a({.s_q = 6, .s_kv = 6}, attributes);
    std::string mask;
    EXPECT_TRUE(a.graph.validate().is_good());
    EXPECT_TRUE(a.graph.print_mask_ext("att", mask).is_good());
    return mask;
  };
  Band const causal = {6, 6, 3, 0, DiagonalAlignment_t::TOP_LEFT}, wide = {6, 6, 3, 4, DiagonalAlignment_t::TOP_LEFT};
  auto left = [] { return SDPA_attributes().set_diagonal_band_left_bound(3); };
  EXPECT_EQ(mask_of(left().set_causal_mask(true).set_diagonal_band_right_bound(4)), expected_mask(causal));
  EXPECT_EQ(mask_of(left().set_diagonal_band_right_bound(4).set_causal_mask(true)), expected_mask(causal));
  EXPECT_EQ(mask_of(left().set_diagonal_band_right_bound(4).set_causal_mask(false)), expected_mask(wide));
  EXPECT_EQ(mask_of(left().set_causal_mask(true).set_causal_mask(false)),
            expected_mask({6, 6, 3, std::nullopt, DiagonalAlignment_t::TOP_LEFT}));
}

}  // namespace
}  // namespace fusednn::testing
