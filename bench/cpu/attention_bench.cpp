#include <fusednn.h>

#include <benchmark/benchmark.h>

#include <cstring>
#include <deque>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(FUSEDNN_HAVE_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

// Attention on the CPU: rate, workspace, and how far the process grew while it ran, which must be linear in
// the sequence length. ProductsInMemory is the peer: the two matrix products of each head by oneDNN, scores
// written out and no softmax.

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::SDPA_attributes;
using fe::graph::Tensor_attributes;

struct Shape {
  int64_t b, h, h_kv, s_q, s_kv, d;
  /// Multiply-adds count twice.
  double operations() const { return 4. * double(b * h * s_q) * double(s_kv * d); }
};

enum class Mask { none, causal, lengths };

std::vector<float> random_floats(int64_t count) {
  std::mt19937 generator(static_cast<unsigned>(count));
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = normal(generator);
  return values;
}

/// One built graph; operands lie in memory as [batch, length, head, width], as projections leave them.
class Attention {
 public:
  Attention(Shape const& n, fe::DataType_t type, Mask mask) : type_(type) {
    graph_.set_io_data_type(type)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    SDPA_attributes attributes;
    attributes.set_attn_scale(0.125f);
    if (mask == Mask::causal) attributes.set_causal_mask_bottom_right(true);
    if (mask == Mask::lengths) {
      attributes.set_padding_mask(true);
      attributes.set_seq_len_q(lengths(4, n.b, n.s_q)).set_seq_len_kv(lengths(5, n.b, n.s_kv));
    }
    auto q = operand(1, {n.b, n.h, n.s_q, n.d}), k = operand(2, {n.b, n.h_kv, n.s_kv, n.d}),
         v = operand(3, {n.b, n.h_kv, n.s_kv, n.d});
    graph_.sdpa(q, k, v, attributes)[0]->set_output(true).set_uid(6);
    pack_[6] = bytes(static_cast<size_t>(n.b * n.h * n.s_q * n.d) * 4);
    if (fe::create(&handle_, fe::Device::CPU).is_bad() || graph_.build(handle_, {fe::HeurMode_t::A}).is_bad())
      throw std::runtime_error("the graph does not build");
    workspace_ = bytes(static_cast<size_t>(graph_.get_workspace_size()));
  }
  Attention(Attention const&) = delete;
  Attention& operator=(Attention const&) = delete;
  ~Attention() { (void)fe::destroy(handle_); }

  bool run() { return graph_.execute(handle_, pack_, workspace_).is_good(); }
  int64_t workspace_bytes() const { return graph_.get_workspace_size(); }

 private:
  void* bytes(size_t count) { return memory_.emplace_back(count).data(); }

  /// A float's upper half is the bfloat16 next to it.
  Graph::tensor_ptr operand(int64_t uid, std::vector<int64_t> const& dims) {
    int64_t const h = dims[1], s = dims[2], d = dims[3];
    std::vector<float> const values = random_floats(dims[0] * h * s * d);
    size_t const size = type_ == fe::DataType_t::FLOAT ? 4 : 2;
    auto* data = static_cast<char*>(pack_[uid] = bytes(values.size() * size));
    for (size_t i = 0; i < values.size(); ++i)
      std::memcpy(data + i * size, reinterpret_cast<char const*>(&values[i]) + 4 - size, size);
    return graph_.tensor(Tensor_attributes().set_uid(uid).set_dim(dims).set_stride({s * h * d, d, h * d, 1}));
  }

  Graph::tensor_ptr lengths(int64_t uid, int64_t b, int64_t length) {
    auto* data = static_cast<int32_t*>(pack_[uid] = bytes(static_cast<size_t>(b) * sizeof(int32_t)));
    std::fill_n(data, b, static_cast<int32_t>(length));
    return graph_.tensor(Tensor_attributes()
                             .set_uid(uid)
                             .set_data_type(fe::DataType_t::INT32)
                             .set_dim({b, 1, 1, 1})
                             .set_stride({1, 1, 1, 1}));
  }

  fe::DataType_t type_;
  Graph graph_;
  fe::handle_t handle_ = nullptr;
  std::deque<std::vector<char>> memory_;
  std::unordered_map<int64_t, void*> pack_;
  void* workspace_ = nullptr;
};

/// A figure of /proc/self/status, in bytes.
double process_memory(std::string const& key) {
  std::ifstream status("/proc/self/status");
  double kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == key + ":") status >> kilobytes;
  return kilobytes * 1024;
}

/// From here on the peak counts anew.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

void rate(benchmark::State& state, double operations) {
  state.counters["operations"] =
      benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void run(benchmark::State& state, Shape const& shape, fe::DataType_t type, Mask mask) {
  Attention attention(shape, type, mask);
  double const resident = process_memory("VmRSS");
  reset_peak();
  for (auto _ : state)
    if (!attention.run()) state.SkipWithError("failed");
  rate(state, shape.operations() * (mask == Mask::causal ? 0.5 : 1));
  state.counters["workspace_bytes"] = static_cast<double>(attention.workspace_bytes());
  state.counters["growth_bytes"] = process_memory("VmHWM") - resident;
  state.counters["kv_bytes"] =
      benchmark::Counter(double(shape.b * shape.h_kv * shape.s_kv * shape.d) * (type == fe::DataType_t::FLOAT ? 8 : 4),
                         benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void Encoder(benchmark::State& state) {
  run(state, {12, 12, 12, state.range(0), state.range(0), 32}, fe::DataType_t::FLOAT, Mask::lengths);
}
void Prefill(benchmark::State& state) {
  run(state, {1, 8, 8, state.range(0), state.range(0), 64}, fe::DataType_t::FLOAT, Mask::none);
}
void CausalPrefill(benchmark::State& state) {
  run(state, {1, 8, 8, state.range(0), state.range(0), 64}, fe::DataType_t::FLOAT, Mask::causal);
}
void NarrowPrefill(benchmark::State& state) {
  run(state, {1, 8, 8, state.range(0), state.range(0), 64}, fe::DataType_t::BFLOAT16, Mask::none);
}
void Decode(benchmark::State& state) {
  run(state, {1, 32, state.range(0), 1, 4096, 128}, fe::DataType_t::FLOAT, Mask::causal);
}
BENCHMARK(Encoder)->Arg(32)->Arg(64)->Arg(128)->UseRealTime();
BENCHMARK(Prefill)->RangeMultiplier(2)->Range(512, 8192)->UseRealTime();
BENCHMARK(CausalPrefill)->Arg(1024)->Arg(4096)->UseRealTime();
BENCHMARK(NarrowPrefill)->Arg(1024)->Arg(4096)->UseRealTime();
BENCHMARK(Decode)->Arg(8)->Arg(32)->UseRealTime();

#if defined(FUSEDNN_HAVE_ONEDNN)
void ProductsInMemory(benchmark::State& state) {
  Shape const n{1, 8, 8, state.range(0), state.range(0), 64};
  auto q = random_floats(n.s_q * n.d), k = random_floats(n.s_kv * n.d), v = random_floats(n.s_kv * n.d);
  std::vector<float> scores(static_cast<size_t>(n.s_q * n.s_kv)), o(q.size());
  for (auto _ : state)
    for (int64_t head = 0; head < n.h; ++head) {
      dnnl_sgemm('N', 'T', n.s_q, n.s_kv, n.d, 0.125f, q.data(), n.d, k.data(), n.d, 0, scores.data(), n.s_kv);
      dnnl_sgemm('N', 'N', n.s_q, n.d, n.s_kv, 1, scores.data(), n.s_kv, v.data(), n.d, 0, o.data(), n.d);
    }
  rate(state, n.operations());
}
BENCHMARK(ProductsInMemory)->RangeMultiplier(2)->Range(512, 4096)->UseRealTime();
#endif

}  // namespace
