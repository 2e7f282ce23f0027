#include <fusednn.h>

#include <benchmark/benchmark.h>
#include <dnnl.h>

#include <random>
#include <stdexcept>
#include <vector>

// A float32 matmul with bias and GELU as one graph, beside oneDNN's plain product of the same matrices: what the
// epilogue costs. Run with --benchmark_enable_random_interleaving=true, so that both meet the same machine.

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::Pointwise_attributes;
using fe::graph::Tensor_attributes;

std::vector<float> random(int64_t n) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = normal(engine);
  return values;
}

struct Problem {
  explicit Problem(int64_t size) : n(size), a(random(n * n)), b(random(n * n)), bias(random(n)), c(a.size()) {}
  int64_t n;
  std::vector<float> a, b, bias, c;
};

void count(benchmark::State& state, int64_t n) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * double(n) * double(n) * double(n), benchmark::Counter::kIsIterationInvariantRate);
}

void MatmulBiasGelu(benchmark::State& state) {
  Problem p(state.range(0));
  fe::handle_t handle = nullptr;
  Graph graph;
  graph.set_io_data_type(fe::DataType_t::FLOAT)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  auto matrix = [&] {
    return graph.tensor(Tensor_attributes().set_dim({1, p.n, p.n}).set_stride({p.n * p.n, p.n, 1}));
  };
  auto a = matrix(), b = matrix();
  auto bias = graph.tensor(Tensor_attributes().set_dim({1, 1, p.n}).set_stride({p.n, p.n, 1}));
  auto sum = graph.pointwise(graph.matmul(a, b, {}), bias, Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
  auto y = graph.pointwise(sum, Pointwise_attributes().set_mode(fe::PointwiseMode_t::GELU_FWD));
  y->set_output(true);
  if (fe::create(&handle, fe::Device::CPU).is_bad() || graph.build(handle, {fe::HeurMode_t::A}).is_bad())
    throw std::runtime_error("the graph does not build");
  std::vector<char> workspace(static_cast<size_t>(graph.get_workspace_size()));
  std::unordered_map<Graph::tensor_ptr, void*> pack = {
      {a, p.a.data()}, {b, p.b.data()}, {bias, p.bias.data()}, {y, p.c.data()}};
  for (auto _ : state)
    if (graph.execute(handle, pack, workspace.data()).is_bad()) state.SkipWithError("failed");
  count(state, p.n);
  (void)fe::destroy(handle);
}

void PlainOneDnn(benchmark::State& state) {
  Problem p(state.range(0));
  for (auto _ : state) dnnl_sgemm('N', 'N', p.n, p.n, p.n, 1, p.a.data(), p.n, p.b.data(), p.n, 0, p.c.data(), p.n);
  count(state, p.n);
}

BENCHMARK(MatmulBiasGelu)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(PlainOneDnn)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
