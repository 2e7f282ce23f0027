#include "codegen/loop_kernel.h"

#include "jit/compiler.h"
#include "passes/graph_builder.h"

#include <numeric>

namespace {

using namespace fusednn;
using codegen::LoopKernel;
using codegen::LoopKernels;
using ir::Dims;
using ir::OpKind;
using ir::TensorId;
using tests::Builder;

bool loops(ir::OpGraph const& graph, std::span<int const> nodes) {
  return passes::is_loop_program(graph, nodes, -1) || nodes.size() == 1;
}

/// Kernels of every region; `ok` is cleared where a region has no schedule.
std::vector<LoopKernel> kernels_of(Builder& b, std::string const& arch = "sm_90a") {
  ir::OpGraphPtr const graph = b.build();
  std::vector<LoopKernel> all;
  passes::Partition const p = passes::partition(*graph, loops, 64);
  for (passes::Region const& r : p.regions) {
    passes::LoopProgram const program = passes::loop_program(*graph, p, r, -1);
    EXPECT_TRUE(codegen::has_loop_kernel(*graph, program));
    LoopKernels const k = codegen::write_loop_kernels(*graph, p, program, {arch, 132});
    all.insert(all.end(), k.kernels.begin(), k.kernels.end());
  }
  return all;
}

void set_type(Builder& b, TensorId t, DataType_t type) { b.graph.tensor(t).dtype = type; }

Builder softmax(int64_t rows, int64_t columns, DataType_t type) {
  Builder b;
  TensorId const x = b.input({rows, columns});
  TensorId const e = b.exp(b.binary(PointwiseMode_t::SUB, x, b.reduce(ReductionMode_t::MAX, x, {rows, 1})));
  TensorId const y = b.binary(PointwiseMode_t::DIV, e, b.reduce(ReductionMode_t::ADD, e, {rows, 1}));
  b.output(y);
  set_type(b, x, type);
  set_type(b, y, type);
  return b;
}

Builder layer_norm(int64_t rows, int64_t columns, DataType_t type) {
  Builder b;
  TensorId const x = b.input({rows, columns});
  set_type(b, x, type);
  ir::Node n;
  n.op = OpKind::layernorm;
  n.name = "norm";
  n.inputs = {x, b.input({1, columns}), b.input({1, columns}), b.input({1, 1})};
  n.attrs.set("forward_phase", static_cast<int64_t>(NormFwdPhase_t::TRAINING));
  for (char const* name : {"y", "mean", "inverse"}) {
    ir::Tensor t;
    t.name = name;
    n.outputs.push_back(b.graph.add(t));
  }
  b.graph.nodes.push_back(n);
  return b;
}

TEST(LoopKernel, ASoftmaxRowStaysInRegisters) {
  Builder b = softmax(8192, 32768, DataType_t::BFLOAT16);
  auto const k = kernels_of(b);
  ASSERT_EQ(k.size(), 1u);
  EXPECT_NE(k[0].description.find("row in registers"), std::string::npos) << k[0].description;
  EXPECT_EQ(k[0].grid_x, 8192u);
  EXPECT_EQ(k[0].operands.size(), 2u);
}

TEST(LoopKernel, WhatOnlyTheLastWalkReadsIsLoadedThere) {
  Builder b = layer_norm(64, 4096, DataType_t::BFLOAT16);
  std::string const text = kernels_of(b)[0].source.text;
  for (char const* scale_and_bias : {"load_run<Float>(l", "float l"})
    EXPECT_NE(text.find(scale_and_bias, text.find("rsqrt")), std::string::npos) << text;
}

TEST(LoopKernel, ALongRowIsReadAgain) {
  Builder b = softmax(4, 1 << 20, DataType_t::FLOAT);
  auto const k = kernels_of(b);
  ASSERT_EQ(k.size(), 1u);
  EXPECT_EQ(k[0].description.find("row in registers"), std::string::npos) << k[0].description;
}

TEST(LoopKernel, OneTextServesManyShapes) {
  Builder a = softmax(8192, 4096, DataType_t::BFLOAT16), c = softmax(77, 4096, DataType_t::BFLOAT16);
  EXPECT_EQ(kernels_of(a)[0].source.text, kernels_of(c)[0].source.text);
}

TEST(LoopKernel, PacketsWhereStridesAllowThem) {
  auto text = [](Dims const& dims, Dims const& strides) {
    Builder b;
    TensorId const x = b.input(dims);
    b.graph.tensor(x).strides = strides;
    set_type(b, x, DataType_t::BFLOAT16);
    TensorId const y = b.exp(x);
    b.output(y);
    set_type(b, y, DataType_t::BFLOAT16);
    return kernels_of(b)[0].source.text;
  };
  EXPECT_NE(text({64, 64}, {64, 1}).find("load_run<Bf16>"), std::string::npos);
  EXPECT_NE(text({64, 64}, {72, 1}).find("load_run<Bf16>"), std::string::npos);
  EXPECT_EQ(text({64, 64}, {65, 1}).find("load_run<Bf16>"), std::string::npos);
  EXPECT_EQ(text({64, 63}, {64, 1}).find("load_run<Bf16>"), std::string::npos);
}

TEST(LoopKernel, PacketsNeedTheAlignmentOfTheMemoryBeneathAView) {
  for (int64_t alignment : {4, 16}) {
    Builder b;
    TensorId const x = b.input({64, 2, 64});
    b.graph.tensor(x).alignment = alignment;
    ir::AttrSet attrs;
    attrs.set("slices", Dims{0, 64, 0, 1, 0, 64});
    attrs.set("slice_strides", Dims{1, 1, 1});
    b.output(b.exp(b.node(OpKind::slice, {x}, attrs)));
    std::string const text = kernels_of(b)[0].source.text;
    EXPECT_EQ(text.find("load_run<Float>") != std::string::npos, alignment == 16) << text;
  }
}

TEST(LoopKernel, ScalarsOfTheHostAreArguments) {
  Builder b;
  TensorId const x = b.input({64, 64}), s = b.input({1, 1}), c = b.input({1, 1});
  b.graph.tensor(s).pass_by_value = true;
  set_type(b, s, DataType_t::HALF);
  b.graph.tensor(c).value = graph::Scalar_value(3.0f);
  b.output(b.add(b.binary(PointwiseMode_t::MUL, x, s), c));
  auto const k = kernels_of(b);
  ASSERT_EQ(k.size(), 1u);
  using Kind = codegen::KernelOperand::Kind;
  ASSERT_EQ(k[0].operands.size(), 4u);
  EXPECT_EQ(k[0].operands[1].kind, Kind::scalar);
  EXPECT_EQ(k[0].operands[1].tensor, s);
  EXPECT_EQ(k[0].operands[1].bytes, 2);
  EXPECT_EQ(k[0].operands[2].kind, Kind::scalar);
  EXPECT_EQ(k[0].operands[2].bytes, 4);
  EXPECT_EQ(k[0].operands[3].kind, Kind::tensor);
  EXPECT_NE(k[0].source.text.find("Half::Raw const p1, Float::Raw const p2, "), std::string::npos) << k[0].source.text;
  EXPECT_NE(k[0].source.text.find("Half::load<float>(p1)"), std::string::npos) << k[0].source.text;
}

TEST(LoopKernel, AFullReductionIsSplitAndJoined) {
  Builder b;
  TensorId const x = b.input({16384, 4096});
  b.output(b.reduce(ReductionMode_t::AMAX, x, {1, 1}));
  auto const k = kernels_of(b);
  ASSERT_EQ(k.size(), 2u);
  EXPECT_GE(k[0].grid_y, 132u);
  EXPECT_EQ(k[1].grid_x, 1u);
}

TEST(LoopKernel, HowARowIsReducedDoesNotDependOnTheOthers) {
  for (int64_t columns : {int64_t(256), int64_t(40000), int64_t(1) << 20}) {
    std::vector<uint32_t> splits;
    for (int64_t rows : {1, 3, 700}) {
      Builder b;
      b.graph.context.batch_invariant = true;
      TensorId const x = b.input({rows, columns});
      b.graph.tensor(x).strides = {1, rows};
      b.output(b.reduce(ReductionMode_t::ADD, x, {rows, 1}));
      auto const k = kernels_of(b);
      splits.push_back(k[0].grid_y);
      EXPECT_NE(k[0].description.find("rows"), std::string::npos) << k[0].description;
    }
    EXPECT_EQ(splits, std::vector<uint32_t>(3, splits[0])) << columns;
  }
}

TEST(LoopKernel, AColumnSumWalksRowsSideBySide) {
  Builder b;
  TensorId const x = b.input({16384, 4096});
  b.output(b.reduce(ReductionMode_t::ADD, x, {1, 4096}));
  auto const k = kernels_of(b);
  ASSERT_EQ(k.size(), 2u);
  EXPECT_EQ(k[0].block_x, 256u);
  EXPECT_GE(k[0].grid_x * k[0].grid_y, 2 * 132u);
}

TEST(LoopKernel, LargeTensorsHaveWideIndices) {
  Builder b;
  TensorId const x = b.input({3, 1 << 30});
  b.output(b.exp(x));
  EXPECT_NE(kernels_of(b)[0].source.text.find("using Index = long long"), std::string::npos);
}

TEST(LoopKernel, AnEmptyTensorNeedsNoKernel) {
  Builder b;
  b.output(b.exp(b.input({0, 8})));
  EXPECT_TRUE(kernels_of(b).empty());
}

/// Every kind of kernel, every storage type, through the run-time compiler for several architectures.
TEST(LoopKernel, CompilesForEveryArchitecture) {
  jit::CompilerSettings settings;
  jit::Compiler compiler(settings);
  std::vector<Builder> graphs;
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::DOUBLE, DataType_t::HALF, DataType_t::BFLOAT16,
                          DataType_t::FP8_E4M3, DataType_t::FP8_E5M2, DataType_t::INT8, DataType_t::UINT8,
                          DataType_t::INT32, DataType_t::INT64, DataType_t::BOOLEAN})
    graphs.push_back(softmax(64, 4096, type));
  graphs.push_back(layer_norm(64, 4096, DataType_t::BFLOAT16));
  graphs.push_back(layer_norm(64, 1 << 20, DataType_t::FLOAT));
  for (int mode = 1; mode <= static_cast<int>(ReductionMode_t::MUL_NO_ZEROS); ++mode)
    for (Dims const& dims : {Dims{1, 4096}, Dims{64, 1}, Dims{1, 1}}) {
      graphs.emplace_back();
      Builder& b = graphs.back();
      TensorId const x = b.input({64, 4096});
      b.output(b.reduce(static_cast<ReductionMode_t>(mode), x, dims));
    }
  std::vector<LoopKernel> kernels;
  for (std::string const arch : {"sm_80", "sm_90a"})
    for (Builder& b : graphs)
      for (LoopKernel& k : kernels_of(b, arch)) kernels.push_back(std::move(k));
  std::vector<codegen::KernelSource const*> sources;
  for (LoopKernel const& k : kernels) sources.push_back(&k.source);
  auto const answers = compiler.get(sources);
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i] && answers[i].error().message.find("NVRTC") != std::string::npos && i == 0)
      GTEST_SKIP() << "no run-time compiler here: " << answers[i].error().message;
    ASSERT_TRUE(answers[i].ok()) << base::join(answers[i].errors()) << "\n" << kernels[i].source.text;
  }
}

}  // namespace
