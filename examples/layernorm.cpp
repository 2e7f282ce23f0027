// Layer normalisation of bfloat16 rows that keeps mean and inverse deviation for a backward pass.
//   layernorm           runs it on random data and compares with the reference
//   layernorm --json    prints the graph: the text of graphs/layernorm.json

#include "common/example.h"
#include "common/host_tensor.h"

namespace fe = fusednn;
using examples::HostTensor;
using fe::DataType_t;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;

constexpr int64_t rows = 300, width = 768;
enum Uid : int64_t { X, SCALE, BIAS, Y, MEAN, INV_VARIANCE };

Graph make_graph() {
  Graph graph;
  graph.set_name("layernorm")
      .set_io_data_type(DataType_t::BFLOAT16)
      .set_intermediate_data_type(DataType_t::FLOAT)
      .set_compute_data_type(DataType_t::FLOAT);
  auto x = graph.tensor(
      Tensor_attributes().set_name("x").set_uid(X).set_dim({1, rows, width}).set_stride({rows * width, width, 1}));
  // The dims of scale and bias say what is normalised: here each row over its columns.
  const auto per_column =
      Tensor_attributes().set_dim({1, 1, width}).set_stride({width, width, 1}).set_data_type(DataType_t::FLOAT);
  auto scale = graph.tensor(Tensor_attributes(per_column).set_name("scale").set_uid(SCALE));
  auto bias = graph.tensor(Tensor_attributes(per_column).set_name("bias").set_uid(BIAS));
  auto [y, mean, inv_variance] = graph.layernorm(x, scale, bias,
                                                 fe::graph::Layernorm_attributes()
                                                     .set_name("norm")
                                                     .set_forward_phase(fe::NormFwdPhase_t::TRAINING)
                                                     .set_epsilon(1e-5f));
  y->set_name("y").set_uid(Y).set_output(true);
  mean->set_name("mean").set_uid(MEAN).set_output(true).set_data_type(DataType_t::FLOAT);
  inv_variance->set_name("inv_variance").set_uid(INV_VARIANCE).set_output(true).set_data_type(DataType_t::FLOAT);
  return graph;
}

int run() {
  examples::Handle handle(fe::Device::CPU);
  Graph graph = make_graph();
  examples::check(graph.build(handle, {fe::HeurMode_t::A}));

  HostTensor x(DataType_t::BFLOAT16, rows * width), y(DataType_t::BFLOAT16, rows * width);
  HostTensor scale(DataType_t::FLOAT, width), bias(DataType_t::FLOAT, width);
  HostTensor mean(DataType_t::FLOAT, rows), inv_variance(DataType_t::FLOAT, rows);
  HostTensor workspace(DataType_t::UINT8, graph.get_workspace_size());
  // A mean far from zero, where a variance taken in one pass would lose its digits.
  x.fill_random(1, 99.0f, 101.0f);
  scale.fill_random(2, 0.5f, 1.5f);
  bias.fill_random(3, -1.0f, 1.0f);

  std::unordered_map<int64_t, void*> pack{{X, x.data()}, {SCALE, scale.data()}, {BIAS, bias.data()},
                                          {Y, y.data()}, {MEAN, mean.data()},   {INV_VARIANCE, inv_variance.data()}};
  examples::check(graph.execute(handle, pack, workspace.data()));
  std::printf("mean[0] = %.4f, 1/deviation[0] = %.4f\n", mean.load()[0], inv_variance.load()[0]);
  return examples::compare_with_reference(handle, graph, pack, workspace.data());
}

int main(int argc, char** argv) { return examples::graph_program(argc, argv, make_graph, run); }
