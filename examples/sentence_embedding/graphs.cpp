#include "graphs.h"

#include <cmath>

namespace examples {
namespace {

namespace fe = fusednn;
using fe::DataType_t;
using fe::graph::Graph;
using fe::graph::Pointwise_attributes;
using fe::graph::Tensor_attributes;

Graph empty_graph(const char* name, DataType_t io) {
  Graph graph;
  graph.set_name(name)
      .set_io_data_type(io)
      .set_intermediate_data_type(DataType_t::FLOAT)
      .set_compute_data_type(DataType_t::FLOAT);
  return graph;
}

Tensor_attributes matrix(const char* name, int64_t uid, int64_t rows, int64_t columns) {
  return Tensor_attributes()
      .set_name(name)
      .set_uid(uid)
      .set_dim({1, rows, columns})
      .set_stride({rows * columns, columns, 1});
}

Tensor_attributes float_row(const char* name, int64_t uid, int64_t columns) {
  return matrix(name, uid, 1, columns).set_data_type(DataType_t::FLOAT);
}

}  // namespace

Graph linear_graph(DataType_t io, int64_t rows, int64_t inputs, int64_t outputs, Activation activation) {
  Graph graph = empty_graph("linear", io);
  auto x = graph.tensor(matrix("x", LinearUid::X, rows, inputs));
  auto weight =
      graph.tensor(matrix("weight", LinearUid::WEIGHT, inputs, outputs).set_stride({inputs * outputs, 1, inputs}));
  auto bias = graph.tensor(float_row("bias", LinearUid::BIAS, outputs));
  auto product = graph.matmul(x, weight, fe::graph::Matmul_attributes().set_name("matmul"));
  auto y =
      graph.pointwise(product, bias, Pointwise_attributes().set_name("add_bias").set_mode(fe::PointwiseMode_t::ADD));
  if (activation == Activation::GELU)
    y = graph.pointwise(y, Pointwise_attributes().set_name("gelu").set_mode(fe::PointwiseMode_t::GELU_FWD));
  y->set_name("y").set_uid(LinearUid::Y).set_output(true);
  return graph;
}

Graph attention_graph(DataType_t io, int64_t batch, int64_t length, int64_t heads, int64_t width) {
  Graph graph = empty_graph("attention", io);
  const auto part = [&](const char* name, int64_t uid, int64_t row_size) {
    return Tensor_attributes()
        .set_name(name)
        .set_uid(uid)
        .set_dim({batch, heads, length, width})
        .set_stride({length * row_size, width, row_size, 1});
  };
  const int64_t packed = 3 * heads * width;
  auto q = graph.tensor(part("q", AttentionUid::Q, packed));
  auto k = graph.tensor(part("k", AttentionUid::K, packed));
  auto v = graph.tensor(part("v", AttentionUid::V, packed));
  auto lengths = graph.tensor(Tensor_attributes()
                                  .set_name("lengths")
                                  .set_uid(AttentionUid::LENGTHS)
                                  .set_dim({batch, 1, 1, 1})
                                  .set_stride({1, 1, 1, 1})
                                  .set_data_type(DataType_t::INT32));
  auto outputs = graph.sdpa(q, k, v,
                            fe::graph::SDPA_attributes()
                                .set_name("attention")
                                .set_attn_scale(1.0f / std::sqrt(static_cast<float>(width)))
                                .set_padding_mask(true)
                                .set_seq_len_q(lengths)
                                .set_seq_len_kv(lengths)
                                .set_generate_stats(false));
  const int64_t row_size = heads * width;
  outputs[0]->set_name("o").set_uid(AttentionUid::O).set_output(true);
  outputs[0]->set_stride({length * row_size, width, row_size, 1});
  return graph;
}

Graph add_norm_graph(DataType_t io, int64_t rows, int64_t width, float epsilon) {
  Graph graph = empty_graph("add_norm", io);
  auto x = graph.tensor(matrix("x", AddNormUid::X, rows, width));
  auto residual = graph.tensor(matrix("residual", AddNormUid::RESIDUAL, rows, width));
  auto scale = graph.tensor(float_row("scale", AddNormUid::SCALE, width));
  auto bias = graph.tensor(float_row("bias", AddNormUid::BIAS, width));
  auto sum = graph.pointwise(x, residual, Pointwise_attributes().set_name("add").set_mode(fe::PointwiseMode_t::ADD));
  auto outputs = graph.layernorm(sum, scale, bias,
                                 fe::graph::Layernorm_attributes()
                                     .set_name("norm")
                                     .set_forward_phase(fe::NormFwdPhase_t::INFERENCE)
                                     .set_epsilon(epsilon));
  outputs[0]->set_name("y").set_uid(AddNormUid::Y).set_output(true);
  return graph;
}

}  // namespace examples
