#include "codegen/attention_kernel.h"
#include "codegen/matmul_kernel.h"
#include "compile_all.h"
#include "passes/graph_builder.h"

namespace {

using namespace fusednn;
using codegen::KernelOperand;
using codegen::LoopKernel;
using codegen::LoopKernels;
using ir::Dims;
using ir::OpKind;
using ir::TensorId;
using tests::Builder;
using tests::compile_all;

bool is_anchor(OpKind op) { return op == OpKind::matmul || op == OpKind::sdpa; }

int anchor_of(ir::OpGraph const& graph, std::span<int const> nodes) {
  for (int n : nodes)
    if (is_anchor(graph.nodes()[static_cast<size_t>(n)].op)) return n;
  return -1;
}

bool fits(ir::OpGraph const& graph, std::span<int const> nodes) {
  if (nodes.size() == 1) return true;
  int const anchor = anchor_of(graph, nodes);
  for (int n : nodes)
    if (n != anchor && graph.nodes()[static_cast<size_t>(n)].op != OpKind::pointwise) return false;
  return anchor == nodes.front() && passes::is_loop_program(graph, nodes, anchor);
}

/// The kernel of the graph's only region.
LoopKernels kernels_of(Builder& b, std::string const& arch = "sm_90a") {
  ir::OpGraphPtr const graph = b.build();
  passes::Partition const p = passes::partition(*graph, fits, 64);
  EXPECT_EQ(p.regions.size(), 1u);
  int const anchor = anchor_of(*graph, p.regions[0].nodes);
  passes::LoopProgram const program = passes::loop_program(*graph, p, p.regions[0], anchor);
  if (graph->nodes()[static_cast<size_t>(anchor)].op == OpKind::matmul) {
    EXPECT_TRUE(codegen::has_generic_matmul(*graph, program));
    return codegen::write_generic_matmul(*graph, p, program, {arch, 132});
  }
  EXPECT_TRUE(codegen::has_generic_attention(*graph, program));
  return codegen::write_generic_attention(*graph, p, program, {arch, 132});
}

LoopKernel kernel_of(Builder& b, std::string const& arch = "sm_90a") {
  LoopKernels k = kernels_of(b, arch);
  EXPECT_EQ(k.kernels.size(), 1u);
  return k.kernels.at(0);
}

void set_type(Builder& b, TensorId t, DataType_t type) { b.graph.tensor(t).dtype = type; }

DataType_t const every_type[] = {DataType_t::FLOAT,    DataType_t::DOUBLE,   DataType_t::HALF,   DataType_t::BFLOAT16,
                                 DataType_t::FP8_E4M3, DataType_t::FP8_E5M2, DataType_t::INT8,   DataType_t::UINT8,
                                 DataType_t::INT32,    DataType_t::INT64,    DataType_t::BOOLEAN};

Builder product(Dims const& a, Dims const& b_dims, DataType_t type, DataType_t compute = DataType_t::FLOAT) {
  Builder b;
  b.graph.context.compute_type = compute;
  TensorId const x = b.input(a), y = b.input(b_dims), c = b.matmul(x, y);
  b.output(c);
  for (TensorId t : {x, y, c}) set_type(b, t, type);
  return b;
}

/// A bias along N, a scale by value, an activation, a residual in another type and layout, two results.
Builder product_with_epilogue(DataType_t type) {
  Builder b;
  TensorId const x = b.input({2, 3, 100, 70}), y = b.input({1, 3, 70, 90});
  TensorId const bias = b.input({1, 1, 1, 90}), scale = b.input({1, 1, 1, 1}), residual = b.input({2, 3, 100, 90});
  b.graph.tensor(y).strides = {0, 70 * 90, 1, 70};
  b.graph.tensor(scale).pass_by_value = true;
  b.graph.tensor(residual).strides = {27000, 9000, 1, 100};
  set_type(b, residual, DataType_t::BFLOAT16);
  TensorId const c = b.matmul(x, y), sum = b.add(b.binary(PointwiseMode_t::MUL, c, scale), bias);
  TensorId const act = b.unary(PointwiseMode_t::GELU_FWD, sum), last = b.add(act, residual);
  for (TensorId t : {x, y, c, last}) set_type(b, t, type);
  b.output(sum);
  b.output(last);
  return b;
}

struct AttentionOptions {
  int64_t heads = 4, k_heads = 2, v_heads = 1, queries = 77, keys = 130, depth = 80, width = 48;
  DataType_t type = DataType_t::BFLOAT16, compute = DataType_t::FLOAT;
  bool bias = false, padding = false, stats = false, log2 = false, causal = false, bottom_right = false;
  bool scale_by_value = false, scale_in_memory = false, epilogue = false;
};

Builder attention(AttentionOptions const& o) {
  Builder b;
  b.graph.context.compute_type = o.compute;
  ir::Node n;
  n.op = OpKind::sdpa;
  n.name = "attention";
  n.inputs = {b.input({2, o.heads, o.queries, o.depth}),
              b.input({2, o.k_heads, o.keys, o.depth}),
              b.input({2, o.v_heads, o.keys, o.width}),
              ir::no_tensor,
              ir::no_tensor,
              ir::no_tensor,
              ir::no_tensor};
  for (size_t i = 0; i < 3; ++i) set_type(b, n.inputs[i], o.type);
  if (o.scale_by_value || o.scale_in_memory) {
    n.inputs[3] = b.input({1, 1, 1, 1});
    b.graph.tensor(n.inputs[3]).pass_by_value = o.scale_by_value;
  } else {
    n.attrs.set("attn_scale_value", 0.125);
  }
  if (o.bias) n.inputs[4] = b.input({1, o.heads, o.queries, o.keys});
  if (o.padding)
    for (size_t i : {size_t{5}, size_t{6}}) {
      n.inputs[i] = b.input({2, 1, 1, 1});
      set_type(b, n.inputs[i], i == 5 ? DataType_t::INT32 : DataType_t::INT64);
    }
  n.attrs.set("padding_mask", o.padding);
  n.attrs.set("generate_stats", o.stats);
  n.attrs.set("stats_use_log2", o.log2);
  if (o.causal) n.attrs.set("right_bound", int64_t{0});
  if (o.bottom_right) n.attrs.set("diagonal_alignment", static_cast<int64_t>(DiagonalAlignment_t::BOTTOM_RIGHT));
  for (int i = 0; i < (o.stats ? 2 : 1); ++i) {
    ir::Tensor t;
    t.name = i ? "stats" : "o";
    t.is_virtual = o.epilogue && i == 0;
    if (i == 0) t.dtype = o.type;
    n.outputs.push_back(b.graph.add(t));
  }
  TensorId const out = n.outputs[0];
  b.graph.nodes.push_back(n);
  if (o.epilogue) b.output(b.binary(PointwiseMode_t::MUL, out, b.input({2, o.heads, o.queries, o.width})));
  return b;
}

TEST(GenericMatmul, OperandsComeInTheOrderOfTheArguments) {
  Builder b = product_with_epilogue(DataType_t::HALF);
  LoopKernel const k = kernel_of(b);
  ASSERT_EQ(k.operands.size(), 7u);
  EXPECT_EQ(k.operands[2].kind, KernelOperand::Kind::scalar);
  EXPECT_EQ(k.operands[2].bytes, 4);
  EXPECT_NE(k.source.text.find("const __grid_constant__ Float::Raw p2, "), std::string::npos) << k.source.text;
  EXPECT_EQ(k.grid_x, 2u * 3 * 2 * 2);
}

TEST(GenericMatmul, OneTextServesManyShapes) {
  Builder a = product({2, 65, 40}, {2, 40, 30}, DataType_t::HALF),
          c = product({5, 17, 3}, {5, 3, 99}, DataType_t::HALF);
  EXPECT_EQ(kernel_of(a).source.text, kernel_of(c).source.text);
}

TEST(GenericMatmul, AnEmptyProductNeedsNoKernelAndAnEmptySumDoes) {
  Builder none = product({2, 0, 40}, {2, 40, 30}, DataType_t::FLOAT),
          zeros = product({2, 3, 0}, {2, 0, 5}, DataType_t::FLOAT);
  EXPECT_TRUE(kernels_of(none).kernels.empty());
  EXPECT_EQ(kernels_of(zeros).kernels.size(), 1u);
}

TEST(GenericMatmul, LargeTensorsHaveWideIndices) {
  Builder b = product({3, 1 << 20, 1 << 10}, {1, 1 << 10, 8}, DataType_t::HALF);
  EXPECT_NE(kernel_of(b).source.text.find("using Index = long long"), std::string::npos);
}

TEST(GenericMatmul, ManyBatchesAreOneGrid) {
  Builder b = product({100000, 3, 4}, {100000, 4, 5}, DataType_t::FLOAT);
  LoopKernel const k = kernel_of(b);
  EXPECT_EQ(k.grid_x, 100000u);
  EXPECT_EQ(k.grid_y, 1u);
}

TEST(GenericMatmul, CompilesForEveryArchitecture) {
  std::vector<Builder> graphs;
  for (DataType_t type : every_type) graphs.push_back(product({2, 70, 33}, {1, 33, 90}, type));
  graphs.push_back(product({2, 70, 33}, {1, 33, 90}, DataType_t::DOUBLE, DataType_t::DOUBLE));
  graphs.push_back(product({2, 70, 33}, {1, 33, 90}, DataType_t::INT8, DataType_t::INT32));
  graphs.push_back(product({3, 1 << 20, 1 << 10}, {1, 1 << 10, 8}, DataType_t::HALF));
  graphs.push_back(product_with_epilogue(DataType_t::HALF));
  graphs.push_back(product_with_epilogue(DataType_t::FP8_E4M3));
  compile_all([&](std::string const& arch) {
    std::vector<LoopKernel> kernels;
    for (Builder& b : graphs) kernels.push_back(kernel_of(b, arch));
    return kernels;
  });
}

TEST(GenericAttention, NothingIsLaunchedForNoRows) {
  Builder b = attention({.queries = 0});
  EXPECT_TRUE(kernels_of(b).kernels.empty());
  Builder no_keys = attention({.keys = 0});
  EXPECT_EQ(kernels_of(no_keys).kernels.size(), 1u);
}

TEST(GenericAttention, StatsAreWrittenEvenWhereHeadsHaveNoWidth) {
  Builder b = attention({.width = 0, .stats = true});
  EXPECT_EQ(kernels_of(b).kernels.size(), 1u);
}

TEST(GenericAttention, WideHeadsTakeSeveralBlocks) {
  Builder b = attention({.width = 300});
  EXPECT_EQ(kernel_of(b).grid_x, 2u * 4 * 3 * 3);
}

TEST(GenericAttention, CompilesForEveryArchitecture) {
  std::vector<Builder> graphs;
  for (DataType_t type : {DataType_t::FLOAT, DataType_t::DOUBLE, DataType_t::HALF, DataType_t::BFLOAT16,
                          DataType_t::FP8_E4M3, DataType_t::FP8_E5M2})
    graphs.push_back(attention({.type = type, .bias = true, .stats = true}));
  graphs.push_back(attention({}));
  graphs.push_back(attention({.compute = DataType_t::DOUBLE, .bias = true, .stats = true, .log2 = true}));
  graphs.push_back(attention({.padding = true, .causal = true, .bottom_right = true, .scale_by_value = true}));
  graphs.push_back(attention({.padding = true, .stats = true, .log2 = true, .scale_in_memory = true}));
  graphs.push_back(attention({.causal = true, .epilogue = true}));
  graphs.push_back(attention({.queries = 1 << 14, .keys = 1 << 14, .bias = true}));
  compile_all([&](std::string const& arch) {
    std::vector<LoopKernel> kernels;
    for (Builder& b : graphs) kernels.push_back(kernel_of(b, arch));
    return kernels;
  });
}

}  // namespace
