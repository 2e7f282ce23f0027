#include <fusednn.h>

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <vector>

// What `execute` costs on the host beyond the kernels: a graph of 16 bound tensors without elements, so that
// every kernel returns at once.

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::Pointwise_attributes;
using fe::graph::Tensor_attributes;

constexpr int tensors = 16;

struct EmptySum {
  EmptySum() {
    graph.set_io_data_type(fe::DataType_t::FLOAT)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    Graph::tensor_ptr sum;
    for (int i = 0; i + 1 < tensors; ++i) {
      auto x = graph.tensor(Tensor_attributes().set_dim({0}).set_stride({1}).set_uid(i));
      sum = sum ? graph.pointwise(sum, x, Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD)) : x;
      by_tensor[x] = &byte;
    }
    sum->set_output(true).set_uid(tensors - 1);
    by_tensor[sum] = &byte;
    if (fe::create(&handle, fe::Device::CPU).is_bad() || graph.build(handle, {fe::HeurMode_t::A}).is_bad())
      throw std::runtime_error("the graph does not build");
    for (int i = 0; i < tensors; ++i) by_uid[i] = sorted[i] = &byte;
    workspace.resize(static_cast<size_t>(graph.get_workspace_size()));
  }
  ~EmptySum() { (void)fe::destroy(handle); }

  Graph graph;
  fe::handle_t handle = nullptr;
  alignas(64) float byte = 0;
  std::unordered_map<int64_t, void*> by_uid;
  std::unordered_map<Graph::tensor_ptr, void*> by_tensor;
  void* sorted[tensors];
  std::vector<char> workspace;
};

template <class Pack>
void execute(benchmark::State& state, Pack EmptySum::*pack) {
  EmptySum sum;
  for (auto _ : state)
    if (sum.graph.execute(sum.handle, sum.*pack, sum.workspace.data()).is_bad()) state.SkipWithError("failed");
}

void ByUid(benchmark::State& state) { execute(state, &EmptySum::by_uid); }
void ByTensor(benchmark::State& state) { execute(state, &EmptySum::by_tensor); }
void BySortedPointers(benchmark::State& state) {
  EmptySum sum;
  for (auto _ : state)
    if (sum.graph.execute(sum.handle, sum.sorted, tensors, sum.workspace.data()).is_bad())
      state.SkipWithError("failed");
}
BENCHMARK(ByUid);
BENCHMARK(ByTensor);
BENCHMARK(BySortedPointers);

}  // namespace
