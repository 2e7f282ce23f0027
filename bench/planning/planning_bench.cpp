#include <fusednn.h>

#include <benchmark/benchmark.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// What it costs to plan a graph for a GPU, stage by stage, where the kernels are compiled already: no device is needed,
// and nothing is compiled while the time runs. FUSEDNN_CACHE_DIR names a folder that keeps kernels between runs.

namespace {

namespace fe = fusednn;
using fe::DataType_t;
using fe::PointwiseMode_t;
using fe::ReductionMode_t;
using fe::graph::Graph;
using Tensor = Graph::tensor_ptr;
using Dims = std::vector<int64_t>;

struct Draft {
  Graph graph;

  Draft() {
    graph.set_io_data_type(DataType_t::BFLOAT16)
        .set_intermediate_data_type(DataType_t::FLOAT)
        .set_compute_data_type(DataType_t::FLOAT);
  }
  Tensor input(Dims const& dims) {
    Dims strides(dims.size(), 1);
    for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
    return graph.tensor(fe::graph::Tensor_attributes().set_dim(dims).set_stride(strides));
  }
  template <class... Operands>
  Tensor apply(PointwiseMode_t mode, Operands const&... operands) {
    return graph.pointwise(operands..., fe::graph::Pointwise_attributes().set_mode(mode));
  }
  Tensor reduce(ReductionMode_t mode, Tensor const& x, Dims const& dims) {
    Tensor y = graph.reduction(x, fe::graph::Reduction_attributes().set_mode(mode));
    y->set_dim(dims);
    return y;
  }
  Tensor linear(Tensor const& x, int64_t k, int64_t n) {
    Tensor y = graph.matmul(x, input({1, k, n}), fe::graph::Matmul_attributes());
    return apply(PointwiseMode_t::ADD, y, input({1, 1, n}));
  }
};

void add_gelu_mul(Draft& d) {
  Tensor const x = d.apply(PointwiseMode_t::ADD, d.input({16384, 4096}), d.input({16384, 4096}));
  d.apply(PointwiseMode_t::MUL, d.apply(PointwiseMode_t::GELU_FWD, x), d.input({16384, 4096}))->set_output(true);
}
void layernorm(Draft& d) {
  fe::graph::Layernorm_attributes attributes;
  attributes.set_forward_phase(fe::NormFwdPhase_t::TRAINING).set_epsilon(d.graph.tensor(1e-5f));
  for (Tensor const& t : d.graph.layernorm(d.input({16384, 4096}), d.input({1, 4096}), d.input({1, 4096}), attributes))
    t->set_output(true);
}
void softmax(Draft& d) {
  Tensor const x = d.input({8192, 32768});
  Tensor const e =
      d.apply(PointwiseMode_t::EXP, d.apply(PointwiseMode_t::SUB, x, d.reduce(ReductionMode_t::MAX, x, {8192, 1})));
  d.apply(PointwiseMode_t::DIV, e, d.reduce(ReductionMode_t::ADD, e, {8192, 1}))->set_output(true);
}
void column_sum(Draft& d) { d.reduce(ReductionMode_t::ADD, d.input({16384, 4096}), {1, 4096})->set_output(true); }
void two_linears(Draft& d) {
  Tensor const x = d.apply(PointwiseMode_t::GELU_FWD, d.linear(d.input({1, 512, 384}), 384, 1536));
  d.linear(x, 1536, 384)->set_output(true);
}
void chain_of_12(Draft& d) {
  Tensor x = d.input({1024, 1024});
  for (int i = 0; i < 12; ++i) x = i % 2 ? d.apply(PointwiseMode_t::TANH_FWD, x) : d.apply(PointwiseMode_t::ADD, x, x);
  x->set_output(true);
}

void check(fe::error_t const& e) {
  if (e.is_bad()) throw std::runtime_error(e.get_message());
}

enum Stage { validate, lower, list, build };

void stages(benchmark::State& state, void (*draw)(Draft&), Stage timed) {
  fe::handle_t handle = nullptr;
  check(fe::create_for_arch_ext(&handle, "sm_90a"));
  auto run = [&](bool pauses) {
    Draft d;
    draw(d);
    for (Stage stage : {validate, lower, list, build}) {
      if (pauses && stage == timed) state.ResumeTiming();
      check(stage == validate ? d.graph.validate()
            : stage == lower  ? d.graph.build_operation_graph(handle)
            : stage == list   ? d.graph.create_execution_plans({fe::HeurMode_t::A})
                              : d.graph.build_plans(handle));
      if (pauses && stage == timed) return state.PauseTiming();
    }
  };
  run(false);
  for (auto _ : state) {
    state.PauseTiming();
    run(true);
    state.ResumeTiming();
  }
  check(fe::destroy(handle));
}

struct {
  char const* name;
  void (*draw)(Draft&);
} const graphs[] = {{"add_gelu_mul", add_gelu_mul}, {"layernorm", layernorm},     {"softmax", softmax},
                    {"column_sum", column_sum},     {"two_linears", two_linears}, {"chain_of_12", chain_of_12}};

bool const registered = [] {
  for (auto const& g : graphs)
    for (auto [name, stage] : {std::pair("validate", validate), {"lower", lower}, {"list", list}, {"build", build}})
      benchmark::RegisterBenchmark((std::string(g.name) + "/" + name).c_str(), stages, g.draw, stage)
          ->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
