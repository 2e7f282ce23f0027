#include "passes/partition.h"

#include "passes/graph_builder.h"

#include <gtest/gtest.h>

namespace {

using namespace fusednn;
using ir::Dims;
using ir::OpKind;
using ir::TensorId;
using passes::Place;
using tests::Builder;

/// One matmul per kernel, first in it; pointwise nodes join anything; no other node joins.
bool epilogue_fits(ir::OpGraph const& graph, std::span<int const> nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    OpKind const op = graph.nodes()[static_cast<size_t>(nodes[i])].op;
    if (op != OpKind::pointwise && !(op == OpKind::matmul && i == 0)) return nodes.size() == 1;
  }
  return true;
}

passes::Partition split(ir::OpGraphPtr const& graph) { return passes::partition(*graph, epilogue_fits, 64); }

TEST(Partition, AnEpilogueJoinsItsMatmul) {
  Builder b;
  TensorId y = b.exp(b.add(b.matmul(b.input({1, 4, 8}), b.input({1, 8, 6})), b.input({1, 1, 6})));
  b.output(y);
  auto p = split(b.build());
  ASSERT_EQ(p.regions.size(), 1u);
  EXPECT_EQ(p.regions[0].nodes.size(), 3u);
  EXPECT_EQ(p.regions[0].inputs.size(), 3u);
  EXPECT_EQ(p.regions[0].outputs, std::vector<TensorId>{y});
  EXPECT_EQ(p.workspace_bytes, 0);
}

TEST(Partition, DependentMatmulsMeetInWorkspaceThatIsReused) {
  Builder b;
  TensorId x = b.input({1, 16, 16});
  TensorId t = x;
  for (int i = 0; i < 5; ++i) t = b.exp(b.matmul(t, x));
  b.output(t);
  auto p = split(b.build());
  ASSERT_EQ(p.regions.size(), 5u);
  EXPECT_EQ(p.workspace_bytes, 2 * 16 * 16 * 4);
  for (size_t r = 0; r + 1 < 5; ++r) {
    ASSERT_EQ(p.regions[r].outputs.size(), 1u);
    EXPECT_EQ(p.places[size_t(p.regions[r].outputs[0])].kind, Place::Kind::workspace);
  }
}

TEST(Partition, TwoChainsMergeWhereTheyMeet) {
  Builder b;
  TensorId y = b.add(b.exp(b.input({8})), b.exp(b.input({8})));
  b.output(y);
  auto p = split(b.build());
  ASSERT_EQ(p.regions.size(), 1u);
  EXPECT_EQ(p.regions[0].nodes.size(), 3u);
}

TEST(Partition, NoCycleBetweenRegions) {
  // a = exp(x); c = a a (a matmul reads it); y = a + c must not join a's kernel.
  Builder b;
  TensorId a = b.exp(b.input({1, 4, 4}));
  TensorId y = b.add(a, b.matmul(a, a));
  b.output(y);
  auto p = split(b.build());
  ASSERT_EQ(p.regions.size(), 2u);
  EXPECT_EQ(p.regions[0].nodes, std::vector<int>{0});
  EXPECT_EQ(p.regions[1].nodes, (std::vector<int>{1, 2}));
}

TEST(Partition, ATransposeIsAddressingOnly) {
  Builder b;
  TensorId t = b.transpose(b.exp(b.input({1, 4, 6})), {0, 2, 1});
  TensorId y = b.matmul(t, b.input({1, 4, 3}));
  b.output(y);
  auto p = split(b.build());
  ASSERT_EQ(p.regions.size(), 2u);
  Place const& place = p.places[size_t(t)];
  EXPECT_EQ(place.kind, Place::Kind::workspace);
  EXPECT_EQ(place.view.strides, (Dims{24, 1, 6}));
  EXPECT_EQ(place.workspace_offset, p.places[size_t(p.regions[0].outputs[0])].workspace_offset);
}

TEST(Partition, ATransposedOutputIsCopied) {
  Builder b;
  TensorId t = b.transpose(b.exp(b.input({4, 6})), {1, 0});
  b.output(t);
  auto p = split(b.build());
  ASSERT_EQ(p.regions.size(), 2u);
  EXPECT_EQ(p.regions[1].outputs, std::vector<TensorId>{t});
}

TEST(Partition, ProducersWriteIntoTheConcatenation) {
  Builder b;
  TensorId left = b.exp(b.input({2, 3})), x = b.input({2, 5});
  TensorId y = b.concatenate({left, x, left}, 1);
  b.output(y);
  auto p = split(b.build());
  ASSERT_EQ(p.regions.size(), 2u);
  Place const& place = p.places[size_t(left)];
  EXPECT_EQ(place.kind, Place::Kind::caller);
  EXPECT_EQ(place.base, y);
  EXPECT_EQ(place.view.strides, (Dims{11, 1}));
  // x, and left a second time, are left to copy.
  EXPECT_EQ(p.regions[1].inputs, (std::vector<TensorId>{x, left}));
}

TEST(Partition, ANestedConcatenationNeedsNoCopy) {
  Builder b;
  TensorId inner = b.concatenate({b.exp(b.input({2})), b.exp(b.input({3}))}, 0);
  TensorId y = b.concatenate({b.exp(b.input({4})), inner}, 0);
  b.output(y);
  auto p = split(b.build());
  EXPECT_EQ(p.regions.size(), 3u);
  EXPECT_EQ(p.workspace_bytes, 0);
  int64_t sum = 0;
  for (auto const& r : p.regions) sum += p.places[size_t(r.outputs[0])].view.offset;
  EXPECT_EQ(sum, 0 + 4 + 6);
}

TEST(Partition, ALongChainIsOneRegion) {
  Builder b;
  TensorId t = b.input({1});
  for (int i = 0; i < 1000; ++i) t = b.add(t, t);
  b.output(t);
  EXPECT_EQ(split(b.build()).regions.size(), 1u);
}

}  // namespace
