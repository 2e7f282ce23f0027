// Y = gelu(X * W + bias) as one graph: the first half of a transformer's feed-forward layer.
//   matmul_bias_gelu           runs it on random data and compares with the reference
//   matmul_bias_gelu --json    prints the graph: the text of graphs/matmul_bias_gelu.json

#include "common/example.h"
#include "common/host_tensor.h"

namespace fe = fusednn;
using examples::HostTensor;
using fe::DataType_t;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;

constexpr int64_t m = 200, k = 384, n = 1536;
enum Uid : int64_t { X, W, BIAS, Y };

Graph make_graph() {
  Graph graph;
  graph.set_name("matmul_bias_gelu")
      .set_io_data_type(DataType_t::FLOAT)
      .set_intermediate_data_type(DataType_t::FLOAT)
      .set_compute_data_type(DataType_t::FLOAT);
  auto x = graph.tensor(Tensor_attributes().set_name("x").set_uid(X).set_dim({1, m, k}).set_stride({m * k, k, 1}));
  // The strides say that w lies in memory as [n, k], as frameworks keep the weights of a linear layer.
  auto w = graph.tensor(Tensor_attributes().set_name("w").set_uid(W).set_dim({1, k, n}).set_stride({k * n, 1, k}));
  auto bias = graph.tensor(Tensor_attributes().set_name("bias").set_uid(BIAS).set_dim({1, 1, n}).set_stride({n, n, 1}));

  auto product = graph.matmul(x, w, fe::graph::Matmul_attributes().set_name("matmul"));
  auto sum = graph.pointwise(product, bias,
                             fe::graph::Pointwise_attributes().set_name("add").set_mode(fe::PointwiseMode_t::ADD));
  auto y =
      graph.pointwise(sum, fe::graph::Pointwise_attributes().set_name("gelu").set_mode(fe::PointwiseMode_t::GELU_FWD));
  y->set_name("y").set_uid(Y).set_output(true);
  return graph;
}

int run() {
  examples::Handle handle(fe::Device::CPU);
  Graph graph = make_graph();
  examples::check(graph.build(handle, {fe::HeurMode_t::A}));

  HostTensor x(DataType_t::FLOAT, m * k), w(DataType_t::FLOAT, k * n), bias(DataType_t::FLOAT, n);
  HostTensor y(DataType_t::FLOAT, m * n), workspace(DataType_t::UINT8, graph.get_workspace_size());
  x.fill_random(1, -1.0f, 1.0f);
  w.fill_random(2, -0.2f, 0.2f);
  bias.fill_random(3, -1.0f, 1.0f);

  std::unordered_map<int64_t, void*> pack{{X, x.data()}, {W, w.data()}, {BIAS, bias.data()}, {Y, y.data()}};
  examples::check(graph.execute(handle, pack, workspace.data()));
  std::printf("y[0][0..2] = %.6f %.6f %.6f\n", y.load()[0], y.load()[1], y.load()[2]);
  return examples::compare_with_reference(handle, graph, pack, workspace.data());
}

int main(int argc, char** argv) { return examples::graph_program(argc, argv, make_graph, run); }
