#include "gpu/samples.h"

namespace fusednn::testing {

namespace {

using graph::Pointwise_attributes;

constexpr DataType_t bf16 = DataType_t::BFLOAT16;

TensorPtr apply(graph::Graph& g, PointwiseMode_t mode, TensorPtr a, TensorPtr b = nullptr) {
  auto const attributes = Pointwise_attributes().set_mode(mode);
  return b ? g.pointwise(a, b, attributes) : g.pointwise(a, attributes);
}

TensorPtr reduce(graph::Graph& g, ReductionMode_t mode, TensorPtr x, Dims const& dims) {
  TensorPtr y = g.reduction(x, graph::Reduction_attributes().set_mode(mode));
  y->set_dim(dims).set_stride(packed(dims));
  return y;
}

Graph elements() {
  Graph g = make_graph(bf16);
  TensorPtr const x = input(g, "x", {130, 257}), bias = input(g, "bias", {1, 257}), z = input(g, "z", {130, 257});
  TensorPtr const gelu = apply(g, PointwiseMode_t::GELU_APPROX_TANH_FWD, apply(g, PointwiseMode_t::ADD, x, bias));
  output(apply(g, PointwiseMode_t::MUL, gelu, z), "y");
  return g;
}

Graph softmax() {
  Graph g = make_graph();
  TensorPtr const x = input(g, "x", {70, 1003});
  TensorPtr const shifted = apply(g, PointwiseMode_t::SUB, x, reduce(g, ReductionMode_t::MAX, x, {70, 1}));
  TensorPtr const power = apply(g, PointwiseMode_t::EXP, shifted);
  output(apply(g, PointwiseMode_t::DIV, power, reduce(g, ReductionMode_t::ADD, power, {70, 1})), "y");
  return g;
}

Graph layernorm() {
  Graph g = make_graph(bf16);
  TensorPtr const x = input(g, "x", {300, 768});
  TensorPtr const scale = input(g, "scale", {1, 768}, DataType_t::FLOAT);
  TensorPtr const bias = input(g, "bias", {1, 768}, DataType_t::FLOAT);
  auto const [y, mean, inverse] = g.layernorm(
      x, scale, bias, graph::Layernorm_attributes().set_forward_phase(NormFwdPhase_t::TRAINING).set_epsilon(1e-5f));
  output(y, "y");
  output(mean, "mean")->set_data_type(DataType_t::FLOAT);
  output(inverse, "inverse")->set_data_type(DataType_t::FLOAT);
  return g;
}

/// Long columns, whose sums are split over blocks, and a maximum over everything.
Graph column_sum() {
  Graph g = make_graph();
  TensorPtr const x = input(g, "x", {9001, 66});
  output(reduce(g, ReductionMode_t::ADD, x, {1, 66}), "sum");
  output(reduce(g, ReductionMode_t::AMAX, x, {1, 1}), "amax");
  return g;
}

Graph matmul() {
  Graph g = make_graph(bf16);
  TensorPtr const a = input(g, "a", {2, 65, 72}), b = input(g, "b", {1, 72, 136}), bias = input(g, "bias", {1, 1, 136});
  TensorPtr const sum = apply(g, PointwiseMode_t::ADD, g.matmul(a, b, graph::Matmul_attributes()), bias);
  output(apply(g, PointwiseMode_t::GELU_FWD, sum), "y");
  return g;
}

Graph two_matmuls() {
  Graph g = make_graph(bf16, DataType_t::FLOAT, bf16);
  TensorPtr const x = input(g, "x", {1, 40, 64}), a = input(g, "a", {1, 64, 96}), b = input(g, "b", {1, 96, 56});
  TensorPtr const hidden = apply(g, PointwiseMode_t::RELU_FWD, g.matmul(x, a, graph::Matmul_attributes()));
  output(g.matmul(hidden, b, graph::Matmul_attributes()), "y");
  return g;
}

Graph attention() {
  Graph g = make_graph(bf16);
  TensorPtr const q = input(g, "q", {2, 4, 65, 64}), k = input(g, "k", {2, 2, 65, 64}),
                  v = input(g, "v", {2, 2, 65, 64});
  auto const [o, stats] =
      g.sdpa(q, k, v, graph::SDPA_attributes().set_causal_mask(true).set_attn_scale(0.125f).set_generate_stats(true));
  output(o, "o");
  output(stats, "stats")->set_data_type(DataType_t::FLOAT);
  return g;
}

Graph copies() {
  Graph g = make_graph();
  TensorPtr const x = input(g, "x", {6, 50, 20}), y = input(g, "y", {6, 31, 20});
  TensorPtr const joined = g.concatenate({x, y}, graph::Concatenate_attributes().set_axis(1));
  output(g.transpose(joined, graph::Transpose_attributes().set_permutation({0, 2, 1})), "z");
  return g;
}

}  // namespace

std::vector<Sample> const& samples() {
  static std::vector<Sample> const list = {
      {"elements", elements}, {"softmax", softmax},         {"layernorm", layernorm}, {"column_sum", column_sum},
      {"matmul", matmul},     {"two_matmuls", two_matmuls}, {"attention", attention}, {"copies", copies}};
  return list;
}

}  // namespace fusednn::testing
