#include "passes/loop_program.h"

#include "passes/graph_builder.h"

namespace {

using namespace fusednn;
using ir::Dims;
using ir::TensorId;
using passes::LoopProgram;
using passes::LoopValue;
using tests::Builder;
using Op = LoopValue::Op;

bool loops(ir::OpGraph const& graph, std::span<int const> nodes) {
  return passes::is_loop_program(graph, nodes, -1) || nodes.size() == 1;
}

std::vector<LoopProgram> programs(Builder& b) {
  ir::OpGraphPtr const graph = b.build();
  passes::Partition const p = passes::partition(*graph, loops, 64);
  std::vector<LoopProgram> all;
  for (passes::Region const& r : p.regions) all.push_back(passes::loop_program(*graph, p, r, -1));
  return all;
}

int count(LoopProgram const& p, Op op, bool per_row) {
  int n = 0;
  for (LoopValue const& v : p.values) n += v.op == op && v.per_row == per_row;
  return n;
}

TEST(LoopProgram, SoftmaxIsOneProgramOverRows) {
  Builder b;
  TensorId x = b.input({4, 10});
  TensorId e = b.exp(b.binary(PointwiseMode_t::SUB, x, b.reduce(ReductionMode_t::MAX, x, {4, 1})));
  TensorId y = b.binary(PointwiseMode_t::DIV, e, b.reduce(ReductionMode_t::ADD, e, {4, 1}));
  b.output(y);
  auto p = programs(b);
  ASSERT_EQ(p.size(), 1u);
  EXPECT_EQ(p[0].space, (Dims{4, 10}));
  EXPECT_EQ(p[0].row_axes, (std::vector<bool>{false, true}));
  EXPECT_EQ(count(p[0], Op::load, false), 1);
  EXPECT_EQ(count(p[0], Op::reduce, true), 2);
  EXPECT_EQ(count(p[0], Op::pointwise, false), 3);
  ASSERT_EQ(p[0].stores.size(), 1u);
  EXPECT_EQ(p[0].stores[0].strides, (Dims{10, 1}));
}

TEST(LoopProgram, PerRowArithmeticIsDoneOncePerRow) {
  Builder b;
  TensorId x = b.input({4, 10});
  TensorId scale = b.unary(PointwiseMode_t::RECIPROCAL, b.reduce(ReductionMode_t::AMAX, x, {4, 1}));
  TensorId y = b.binary(PointwiseMode_t::MUL, x, scale);
  b.output(scale);
  b.output(y);
  auto p = programs(b);
  ASSERT_EQ(p.size(), 1u);
  EXPECT_EQ(count(p[0], Op::pointwise, true), 1);
  EXPECT_EQ(count(p[0], Op::pointwise, false), 1);
  EXPECT_EQ(p[0].stores[0].strides, (Dims{1, 0}));
}

TEST(LoopProgram, AReductionOverOtherAxesIsTerminal) {
  Builder b;
  TensorId x = b.exp(b.input({4, 10}));
  TensorId columns = b.reduce(ReductionMode_t::ADD, x, {1, 10}), all = b.reduce(ReductionMode_t::AMAX, x, {1, 1});
  b.output(x);
  b.output(columns);
  b.output(all);
  auto p = programs(b);
  ASSERT_EQ(p.size(), 1u);
  EXPECT_EQ(p[0].row_axes, (std::vector<bool>{false, false}));
  for (LoopValue const& v : p[0].values) EXPECT_EQ(v.op == Op::reduce, v.terminal);
  EXPECT_EQ(p[0].stores[1].strides, (Dims{0, 1}));
  EXPECT_EQ(p[0].stores[2].strides, (Dims{0, 0}));
}

TEST(LoopProgram, ReductionsOverDifferentAxesInARowSplit) {
  Builder b;
  TensorId x = b.input({4, 10});
  TensorId centred = b.binary(PointwiseMode_t::SUB, x, b.reduce(ReductionMode_t::AVG, x, {4, 1}));
  TensorId y = b.binary(PointwiseMode_t::SUB, centred, b.reduce(ReductionMode_t::AVG, centred, {1, 10}));
  b.output(y);
  EXPECT_EQ(programs(b).size(), 2u);
}

TEST(LoopProgram, AStoredBroadcastOperandIsAProgramOfItsOwn) {
  Builder b;
  TensorId bias = b.exp(b.input({1, 10}));
  TensorId y = b.add(b.input({4, 10}), bias);
  b.output(bias);
  b.output(y);
  EXPECT_EQ(programs(b).size(), 2u);
}

TEST(LoopProgram, ANarrowVirtualTensorIsRounded) {
  Builder b;
  TensorId t = b.exp(b.input({6}));
  b.graph.tensor(t).dtype = DataType_t::BFLOAT16;
  TensorId y = b.exp(t);
  b.output(y);
  auto p = programs(b);
  ASSERT_EQ(p.size(), 1u);
  EXPECT_EQ(count(p[0], Op::round, false), 1);
}

}  // namespace
