#pragma once

#include "support/graph_run.h"

#include <optional>

namespace fusednn::testing {

/// Sizes of an attention problem; one head of keys and values per head of queries unless told otherwise.
struct AttentionSizes {
  int64_t b = 1, h = 1, s_q = 2, s_kv = 2, d = 4;
  int64_t h_k = h, h_v = h, d_v = d;
};

struct BiasInput {
  Dims dims;
  DataType_t dtype = DataType_t::FLOAT;
};

/// A graph of one attention node "att" with inputs q, k, v and, where asked for, bias, len_q and len_kv, and
/// the outputs o and stats.
struct AttentionGraph {
  explicit AttentionGraph(AttentionSizes const& n, graph::SDPA_attributes attributes = {},
                          DataType_t io = DataType_t::FLOAT, std::optional<BiasInput> bias_input = {},
                          bool lengths = false)
      : graph(make_graph(io)) {
    q = input(graph, "q", {n.b, n.h, n.s_q, n.d});
    k = input(graph, "k", {n.b, n.h_k, n.s_kv, n.d});
    v = input(graph, "v", {n.b, n.h_v, n.s_kv, n.d_v});
    if (bias_input) attributes.set_bias(bias = input(graph, "bias", bias_input->dims, bias_input->dtype));
    if (lengths) {
      attributes.set_padding_mask(true);
      attributes.set_seq_len_q(len_q = input(graph, "len_q", {n.b, 1, 1, 1}, DataType_t::INT32));
      attributes.set_seq_len_kv(len_kv = input(graph, "len_kv", {n.b, 1, 1, 1}, DataType_t::INT32));
    }
    auto [out, log_sum] = graph.sdpa(q, k, v, attributes.set_name("att").set_generate_stats(true));
    o = output(out, "o");
    stats = output(log_sum, "stats");
  }

  Graph graph;
  TensorPtr q, k, v, bias, len_q, len_kv, o, stats;
};

}  // namespace fusednn::testing
