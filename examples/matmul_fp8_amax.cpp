// A quantised linear layer: fp8 operands, their scales, bias and relu, the largest magnitude of the result
// for the next scale, and the result itself scaled into fp8.
//   matmul_fp8_amax           runs it on random data and compares with the reference
//   matmul_fp8_amax --json    prints the graph: the text of graphs/matmul_fp8_amax.json

#include "common/example.h"
#include "common/host_tensor.h"

#include <random>

namespace fe = fusednn;
using examples::HostTensor;
using fe::DataType_t;
using fe::PointwiseMode_t;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;

constexpr int64_t m = 160, k = 256, n = 96;
enum Uid : int64_t { A, B, SCALE_A, SCALE_B, BIAS, SCALE_Y, Y, AMAX };

Graph make_graph() {
  Graph graph;
  graph.set_name("matmul_fp8_amax")
      .set_io_data_type(DataType_t::FLOAT)
      .set_intermediate_data_type(DataType_t::FLOAT)
      .set_compute_data_type(DataType_t::FLOAT);
  const auto fp8 = Tensor_attributes().set_data_type(DataType_t::FP8_E4M3);
  auto a = graph.tensor(Tensor_attributes(fp8).set_name("a").set_uid(A).set_dim({1, m, k}).set_stride({m * k, k, 1}));
  auto b = graph.tensor(Tensor_attributes(fp8).set_name("b").set_uid(B).set_dim({1, k, n}).set_stride({k * n, 1, k}));
  auto bias = graph.tensor(Tensor_attributes().set_name("bias").set_uid(BIAS).set_dim({1, 1, n}).set_stride({n, n, 1}));

  const auto one = Tensor_attributes().set_dim({1, 1, 1}).set_stride({1, 1, 1});
  auto scale_a = graph.tensor(Tensor_attributes(one).set_name("scale_a").set_uid(SCALE_A));
  auto scale_b = graph.tensor(Tensor_attributes(one).set_name("scale_b").set_uid(SCALE_B));
  auto scale_y = graph.tensor(Tensor_attributes(one).set_name("scale_y").set_uid(SCALE_Y));

  const auto mode = [](const char* name, PointwiseMode_t value) {
    return fe::graph::Pointwise_attributes().set_name(name).set_mode(value);
  };
  auto product = graph.matmul(a, b, fe::graph::Matmul_attributes().set_name("matmul"));
  auto scaled = graph.pointwise(product, scale_a, mode("times_scale_a", PointwiseMode_t::MUL));
  scaled = graph.pointwise(scaled, scale_b, mode("times_scale_b", PointwiseMode_t::MUL));
  auto sum = graph.pointwise(scaled, bias, mode("add", PointwiseMode_t::ADD));
  auto positive = graph.pointwise(sum, mode("relu", PointwiseMode_t::RELU_FWD));

  auto amax =
      graph.reduction(positive, fe::graph::Reduction_attributes().set_name("amax").set_mode(fe::ReductionMode_t::AMAX));
  amax->set_name("largest").set_uid(AMAX).set_output(true).set_dim({1, 1, 1}).set_stride({1, 1, 1});
  auto y = graph.pointwise(positive, scale_y, mode("times_scale_y", PointwiseMode_t::MUL));
  y->set_name("y").set_uid(Y).set_output(true).set_data_type(DataType_t::FP8_E4M3);
  return graph;
}

// Codes of either sign with magnitudes up to 30; NaN lies among the codes from 0x60 on.
void fill_codes(HostTensor& tensor, uint64_t seed) {
  std::mt19937_64 engine(seed);
  auto* codes = static_cast<uint8_t*>(tensor.data());
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const auto bits = static_cast<uint8_t>(engine() >> 56);
    codes[i] = static_cast<uint8_t>((bits & 0x80) | (bits & 0x7f) % 0x60);
  }
}

int run() {
  examples::Handle handle(fe::Device::CPU);
  Graph graph = make_graph();
  examples::check(graph.build(handle, {fe::HeurMode_t::A}));

  HostTensor a(DataType_t::FP8_E4M3, m * k), b(DataType_t::FP8_E4M3, k * n), y(DataType_t::FP8_E4M3, m * n);
  HostTensor bias(DataType_t::FLOAT, n), amax(DataType_t::FLOAT, 1);
  HostTensor workspace(DataType_t::UINT8, graph.get_workspace_size());
  fill_codes(a, 1);
  fill_codes(b, 2);
  bias.fill_random(3, -1.0f, 1.0f);
  alignas(16) float scale_a = 0.25f;
  alignas(16) float scale_b = 0.125f;
  alignas(16) float scale_y = 8.0f;

  std::unordered_map<int64_t, void*> pack{{A, a.data()},       {B, b.data()},       {BIAS, bias.data()},
                                          {SCALE_A, &scale_a}, {SCALE_B, &scale_b}, {SCALE_Y, &scale_y},
                                          {Y, y.data()},       {AMAX, amax.data()}};
  examples::check(graph.execute(handle, pack, workspace.data()));
  std::printf("largest magnitude %.4f: the next scale_y is %.4f\n", amax.load()[0], 448.0f / amax.load()[0]);
  return examples::compare_with_reference(handle, graph, pack, workspace.data());
}

int main(int argc, char** argv) { return examples::graph_program(argc, argv, make_graph, run); }
