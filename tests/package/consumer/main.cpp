#include <fusednn.h>

#include <cstdio>
#include <unordered_map>

// A relu of three numbers on the CPU.
int main() {
  fusednn::handle_t handle = nullptr;
  fusednn::graph::Graph graph;
  graph.set_io_data_type(fusednn::DataType_t::FLOAT).set_compute_data_type(fusednn::DataType_t::FLOAT);
  auto const x = graph.tensor(fusednn::graph::Tensor_attributes().set_name("x").set_dim({1, 3}).set_stride({3, 1}));
  auto const y =
      graph.pointwise(x, fusednn::graph::Pointwise_attributes().set_mode(fusednn::PointwiseMode_t::RELU_FWD));
  y->set_output(true);

  float in[3] = {-1, 2, -3}, out[3] = {9, 9, 9};
  std::unordered_map<fusednn::graph::Graph::tensor_ptr, void*> pack{{x, in}, {y, out}};
  fusednn::error_t error = fusednn::create(&handle, fusednn::Device::CPU);
  if (error.is_good()) error = graph.build(handle, {fusednn::HeurMode_t::A});
  if (error.is_good()) error = graph.execute(handle, pack, nullptr);
  if (error.is_bad()) std::printf("%s\n", error.get_message().c_str());
  bool const destroyed = fusednn::destroy(handle).is_good();
  bool const right = out[0] == 0 && out[1] == 2 && out[2] == 0;
  std::printf("%g %g %g\n", out[0], out[1], out[2]);
  return error.is_good() && destroyed && right ? 0 : 1;
}
