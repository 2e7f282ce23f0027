// Causal attention with grouped heads in bfloat16; the scores never reach memory.
//   sdpa_causal           runs it on random data and compares with the reference
//   sdpa_causal --json    prints the graph: the text of graphs/sdpa_causal.json

#include "common/example.h"
#include "common/host_tensor.h"

#include <cmath>

namespace fe = fusednn;
using examples::HostTensor;
using fe::DataType_t;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;

constexpr int64_t batch = 2, query_heads = 8, kv_heads = 2, length = 192, width = 64;
enum Uid : int64_t { Q, K, V, O, STATS };

// Dims are always batch, head, row, column; the strides say that heads of one row lie side by side in memory.
Tensor_attributes heads_in_rows(const char* name, Uid uid, int64_t heads) {
  return Tensor_attributes()
      .set_name(name)
      .set_uid(uid)
      .set_dim({batch, heads, length, width})
      .set_stride({length * heads * width, width, heads * width, 1});
}

Graph make_graph() {
  Graph graph;
  graph.set_name("sdpa_causal")
      .set_io_data_type(DataType_t::BFLOAT16)
      .set_intermediate_data_type(DataType_t::FLOAT)
      .set_compute_data_type(DataType_t::FLOAT);
  auto q = graph.tensor(heads_in_rows("q", Q, query_heads));
  auto k = graph.tensor(heads_in_rows("k", K, kv_heads));
  auto v = graph.tensor(heads_in_rows("v", V, kv_heads));
  auto [o, stats] = graph.sdpa(q, k, v,
                               fe::graph::SDPA_attributes()
                                   .set_name("attention")
                                   .set_causal_mask(true)
                                   .set_generate_stats(true)
                                   .set_attn_scale(1.0f / std::sqrt(static_cast<float>(width))));
  o->set_name("o").set_uid(O).set_output(true);
  o->set_stride({length * query_heads * width, width, query_heads * width, 1});
  stats->set_name("stats").set_uid(STATS).set_output(true).set_data_type(DataType_t::FLOAT);
  return graph;
}

int run() {
  examples::Handle handle(fe::Device::CPU);
  Graph graph = make_graph();
  examples::check(graph.build(handle, {fe::HeurMode_t::A}));

  constexpr int64_t rows = batch * length;
  HostTensor q(DataType_t::BFLOAT16, rows * query_heads * width), o(DataType_t::BFLOAT16, q.elements());
  HostTensor k(DataType_t::BFLOAT16, rows * kv_heads * width), v(DataType_t::BFLOAT16, k.elements());
  HostTensor stats(DataType_t::FLOAT, rows * query_heads);
  HostTensor workspace(DataType_t::UINT8, graph.get_workspace_size());
  q.fill_random(1, -2.0f, 2.0f);
  k.fill_random(2, -2.0f, 2.0f);
  v.fill_random(3, -1.0f, 1.0f);

  std::unordered_map<int64_t, void*> pack{
      {Q, q.data()}, {K, k.data()}, {V, v.data()}, {O, o.data()}, {STATS, stats.data()}};
  examples::check(graph.execute(handle, pack, workspace.data()));
  // The first row sees the first key alone, so that it copies the first value.
  std::printf("o[0][0][0][0] = %.4f, v[0][0][0][0] = %.4f\n", o.load()[0], v.load()[0]);
  return examples::compare_with_reference(handle, graph, pack, workspace.data());
}

int main(int argc, char** argv) { return examples::graph_program(argc, argv, make_graph, run); }
