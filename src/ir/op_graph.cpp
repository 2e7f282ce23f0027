#include "ir/op_graph.h"

#include <algorithm>

namespace fusednn::ir {

namespace {

std::vector<int> producers(Graph const& graph) {
  std::vector<int> producer(graph.tensors.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (TensorId t : graph.nodes[n].outputs)
      if (t != no_tensor) producer[static_cast<size_t>(t)] = static_cast<int>(n);
  return producer;
}

}  // namespace

OpGraph::OpGraph(Graph graph)
    : graph_(std::move(graph)), producer_(producers(graph_)), consumers_(graph_.tensors.size()) {
  for (size_t n = 0; n < graph_.nodes.size(); ++n)
    for (TensorId t : graph_.nodes[n].inputs) {
      if (t == no_tensor) continue;
      auto& list = consumers_[static_cast<size_t>(t)];
      if (list.empty() || list.back() != static_cast<int>(n)) list.push_back(static_cast<int>(n));
    }
  std::vector<bool> used(graph_.tensors.size());
  for (size_t t = 0; t < used.size(); ++t) {
    used[t] = used[t] || producer_[t] >= 0 || !consumers_[t].empty();
    TensorId offsets = graph_.tensors[t].ragged_offset;
    if (used[t] && offsets != no_tensor) used[static_cast<size_t>(offsets)] = true;
  }
  for (size_t t = 0; t < used.size(); ++t) {
    Tensor const& tensor = graph_.tensors[t];
    if (producer_[t] >= 0) {
      if (!tensor.is_virtual) outputs_.push_back(static_cast<TensorId>(t));
    } else if (used[t] && !tensor.compile_time_constant) {
      inputs_.push_back(static_cast<TensorId>(t));
    }
  }
}

std::vector<int> topological_order(Graph const& graph) {
  std::vector<int> producer = producers(graph);
  std::vector<int> waiting(graph.nodes.size(), 0);
  std::vector<std::vector<int>> readers(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (TensorId t : graph.nodes[n].inputs)
      if (t != no_tensor && producer[static_cast<size_t>(t)] >= 0) {
        readers[static_cast<size_t>(producer[static_cast<size_t>(t)])].push_back(static_cast<int>(n));
        ++waiting[n];
      }
  std::vector<int> heap;  // smallest index first keeps the given order
  auto later = std::greater<int>();
  for (size_t n = 0; n < waiting.size(); ++n)
    if (!waiting[n]) heap.push_back(static_cast<int>(n));
  std::make_heap(heap.begin(), heap.end(), later);
  std::vector<int> order;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    int n = heap.back();
    heap.pop_back();
    order.push_back(n);
    for (int r : readers[static_cast<size_t>(n)])
      if (--waiting[static_cast<size_t>(r)] == 0) {
        heap.push_back(r);
        std::push_heap(heap.begin(), heap.end(), later);
      }
  }
  return order;
}

}  // namespace fusednn::ir
