#include "ir/canonical.h"

#include "base/hash.h"
#include "ir/op_graph.h"

#include <algorithm>
#include <numeric>

namespace fusednn::ir {

namespace {

class Bytes {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) Bytes& add(T value) {
    text_.append(reinterpret_cast<char const*>(&value), sizeof(T));
    return *this;
  }
  Bytes& add(std::string_view text) {
    add(uint64_t{text.size()});
    text_ += text;
    return *this;
  }
  Bytes& add(std::vector<int64_t> const& list) {
    add(uint64_t{list.size()});
    for (int64_t v : list) add(v);
    return *this;
  }
  Bytes& add(std::monostate) { return *this; }
  std::string take() { return std::move(text_); }
  uint64_t hash() const { return Hasher().add(std::string_view(text_)).digest(); }

 private:
  std::string text_;
};

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

void describe(Bytes& out, Node const& node) {
  out.add(node.op).add(node.compute);
  std::vector<std::pair<std::string, AttrValue> const*> set;
  for (auto const& attr : node.attrs.all()) {
    auto const* list = std::get_if<std::vector<int64_t>>(&attr.second);
    bool const unset = std::holds_alternative<std::monostate>(attr.second) || (list && list->empty());
    if (!unset) set.push_back(&attr);
  }
  std::sort(set.begin(), set.end(), [](auto* a, auto* b) { return a->first < b->first; });
  out.add(uint64_t{set.size()});
  for (auto const* attr : set) {
    out.add(std::string_view(attr->first)).add(uint64_t{attr->second.index()});
    std::visit([&](auto const& v) { out.add(v); }, attr->second);
  }
}

void describe(Bytes& out, Tensor const& t, bool with_shape) {
  out.add(t.dtype).add(t.is_virtual).add(t.pass_by_value).add(t.compile_time_constant);
  out.add(t.value.has_value());
  if (t.value) out.add(t.value->type).add(t.value->bits);
  out.add(t.reordering).add(t.alignment).add(t.vector_count).add(t.vector_dimension);
  out.add(uint64_t{t.dims.size()});
  if (with_shape) out.add(t.dims).add(t.strides);
}

void describe(Bytes& out, Context const& c, bool defaults_matter) {
  out.add(c.dynamic_shape).add(c.override_shape).add(c.allow_tf32).add(c.deterministic).add(c.batch_invariant);
  out.add(c.workspace_limit).add(c.sm_count).add(c.sm_version);
  if (defaults_matter) out.add(c.io_type).add(c.intermediate_type).add(c.compute_type);
}

/// Nodes and tensors get labels that say where in the graph they stand. Labels start from what an element is
/// by itself and take in what lies before it and after it, sweep by sweep, until no two more elements are
/// told apart (the refinement of Weisfeiler and Leman). Of elements still alike one is then marked and the
/// sweeps go on.
class Labels {
 public:
  explicit Labels(Graph const& graph)
      : graph_(graph),
        node_(graph.nodes.size()),
        tensor_(graph.tensors.size()),
        up_(tensor_.size()),
        down_(tensor_.size()),
        ragged_users_(tensor_.size()),
        depth_(node_.size()) {
    for (size_t n = 0; n < node_.size(); ++n) {
      Bytes bytes;
      describe(bytes, graph.nodes[n]);
      node_[n] = bytes.hash();
    }
    for (size_t t = 0; t < tensor_.size(); ++t) {
      Bytes bytes;
      describe(bytes, graph.tensors[t], !graph.context.dynamic_shape);
      tensor_[t] = bytes.hash();
      TensorId const offsets = graph.tensors[t].ragged_offset;
      if (offsets != no_tensor) ragged_users_[static_cast<size_t>(offsets)].push_back(t);
    }
    order_nodes();
    split();
  }

  size_t component_count() const { return components_.size(); }

  /// Nodes of a component, each after those it depends on, in an order that labels alone decide.
  std::vector<size_t> ordered(size_t component) {
    Component const& c = components_[component];
    while (true) {
      refine(c);
      uint64_t* alike = first_alike(c);
      if (!alike) break;
      *alike = mix(*alike, 1);
    }
    std::vector<size_t> nodes = c.nodes;
    std::sort(nodes.begin(), nodes.end(),
              [&](size_t a, size_t b) { return std::pair(depth_[a], node_[a]) < std::pair(depth_[b], node_[b]); });
    return nodes;
  }

 private:
  struct Component {
    std::vector<size_t> nodes;  ///< in topological order
    std::vector<size_t> tensors;
  };

  template <class F>
  static void for_ports(std::vector<TensorId> const& ids, F&& f) {
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids[i] != no_tensor) f(i, static_cast<size_t>(ids[i]));
  }

  void order_nodes() {
    std::vector<bool> ordered(node_.size());
    for (int n : topological_order(graph_)) {
      order_.push_back(static_cast<size_t>(n));
      ordered[static_cast<size_t>(n)] = true;
    }
    // A draft may hold cycles; it has a key all the same.
    for (size_t n = 0; n < ordered.size(); ++n)
      if (!ordered[n]) order_.push_back(n);
    std::vector<size_t> depth(tensor_.size());
    for (size_t n : order_) {
      for_ports(graph_.nodes[n].inputs, [&](size_t, size_t t) { depth_[n] = std::max(depth_[n], depth[t]); });
      for_ports(graph_.nodes[n].outputs, [&](size_t, size_t t) { depth[t] = depth_[n] + 1; });
    }
  }

  /// Parts that share no tensor are labelled one by one: they may be alike without being interchangeable.
  void split() {
    std::vector<size_t> root(node_.size() + tensor_.size());
    std::iota(root.begin(), root.end(), size_t(0));
    auto find = [&](size_t x) {
      while (root[x] != x) x = root[x] = root[root[x]];
      return x;
    };
    std::vector<bool> used(tensor_.size());
    auto join = [&](size_t element, size_t t) {
      used[t] = true;
      root[find(element)] = find(node_.size() + t);
    };
    for (size_t n = 0; n < node_.size(); ++n)
      for (auto const* ids : {&graph_.nodes[n].inputs, &graph_.nodes[n].outputs})
        for_ports(*ids, [&](size_t, size_t t) { join(n, t); });
    for (size_t t = 0; t < tensor_.size(); ++t) {
      // A chain of ragged offsets ends where it comes back on itself.
      for (size_t at = t; used[t];) {
        TensorId const offsets = graph_.tensors[at].ragged_offset;
        if (offsets == no_tensor || find(node_.size() + at) == find(node_.size() + static_cast<size_t>(offsets))) break;
        join(node_.size() + at, static_cast<size_t>(offsets));
        at = static_cast<size_t>(offsets);
      }
    }
    std::vector<size_t> index(root.size(), SIZE_MAX);
    auto component = [&](size_t element) -> Component& {
      size_t& i = index[find(element)];
      if (i == SIZE_MAX) {
        i = components_.size();
        components_.emplace_back();
      }
      return components_[i];
    };
    for (size_t n : order_) component(n).nodes.push_back(n);
    for (size_t t = 0; t < tensor_.size(); ++t)
      if (used[t]) component(node_.size() + t).tensors.push_back(t);
  }

  void refine(Component const& c) {
    size_t distinct = 0;
    while (true) {
      size_t const now = sweep(c);
      if (now <= distinct) return;
      distinct = now;
    }
  }

  /// From the inputs down and back up; returns how many labels there are.
  size_t sweep(Component const& c) {
    for (size_t t : c.tensors) {
      TensorId const offsets = graph_.tensors[t].ragged_offset;
      up_[t] = mix(tensor_[t], offsets == no_tensor ? 0 : tensor_[static_cast<size_t>(offsets)]);
      down_[t] = 0;
      for (size_t user : ragged_users_[t]) down_[t] += mix(tensor_[user], 2);
    }
    for (size_t n : c.nodes) {
      uint64_t label = node_[n];
      for_ports(graph_.nodes[n].inputs, [&](size_t port, size_t t) { label = mix(mix(label, port), up_[t]); });
      for_ports(graph_.nodes[n].outputs, [&](size_t port, size_t t) { up_[t] = mix(mix(up_[t], port), label); });
      node_[n] = label;
    }
    for (size_t i = c.nodes.size(); i-- > 0;) {
      size_t const n = c.nodes[i];
      uint64_t label = node_[n];
      for_ports(graph_.nodes[n].outputs,
                [&](size_t port, size_t t) { label = mix(mix(label, port), mix(tensor_[t], down_[t])); });
      for_ports(graph_.nodes[n].inputs, [&](size_t port, size_t t) { down_[t] += mix(label, port); });
      node_[n] = label;
    }
    for (size_t t : c.tensors) tensor_[t] = mix(up_[t], down_[t]);
    return count_labels(c);
  }

  size_t count_labels(Component const& c) {
    sorted_.clear();
    for (size_t n : c.nodes) sorted_.push_back(&node_[n]);
    for (size_t t : c.tensors) sorted_.push_back(&tensor_[t]);
    std::sort(sorted_.begin(), sorted_.end(), [](uint64_t* a, uint64_t* b) { return *a < *b; });
    size_t distinct = sorted_.empty() ? 0 : 1;
    for (size_t i = 1; i < sorted_.size(); ++i) distinct += *sorted_[i - 1] != *sorted_[i];
    return distinct;
  }

  /// Of the labels that several elements have, the least, at one of them; null where all differ.
  uint64_t* first_alike(Component const& c) {
    count_labels(c);
    for (size_t i = 1; i < sorted_.size(); ++i)
      if (*sorted_[i - 1] == *sorted_[i]) return sorted_[i];
    return nullptr;
  }

  Graph const& graph_;
  std::vector<uint64_t> node_, tensor_;  ///< labels
  std::vector<uint64_t> up_, down_;      ///< per tensor, of the sweep under way
  std::vector<std::vector<size_t>> ragged_users_;
  std::vector<size_t> depth_;  ///< per node: operations on the longest way to it
  std::vector<size_t> order_;
  std::vector<Component> components_;
  std::vector<uint64_t*> sorted_;
};

/// Bytes of the nodes in this order; tensors are numbered, and described, where they are first met.
std::string encode(Graph const& graph, std::vector<size_t> const& nodes, std::vector<int64_t>& number) {
  Bytes out;
  int64_t next = 0;
  auto add_tensor = [&](auto&& self, TensorId id) -> void {
    if (id == no_tensor) return void(out.add(int64_t(-1)));
    int64_t& n = number[static_cast<size_t>(id)];
    bool const fresh = n < 0;
    if (fresh) n = next++;
    out.add(n);
    if (!fresh) return;
    describe(out, graph.tensor(id), !graph.context.dynamic_shape);
    self(self, graph.tensor(id).ragged_offset);
  };
  for (size_t n : nodes) {
    Node const& node = graph.nodes[n];
    describe(out, node);
    for (auto const* ids : {&node.inputs, &node.outputs}) {
      size_t count = ids->size();
      while (count > 0 && (*ids)[count - 1] == no_tensor) --count;
      out.add(uint64_t{count});
      for (size_t i = 0; i < count; ++i) add_tensor(add_tensor, (*ids)[i]);
    }
  }
  return out.take();
}

/// Whether some type is still to come from the graph's defaults.
bool has_unset_types(Graph const& graph) {
  auto unset = [](auto type) { return type == DataType_t::NOT_SET; };
  return std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](Tensor const& t) { return unset(t.dtype); }) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](Node const& n) { return unset(n.compute); });
}

}  // namespace

std::string canonical_form(Graph const& graph) {
  Labels labels(graph);
  std::vector<int64_t> number(graph.tensors.size(), -1);
  std::vector<std::string> parts;
  for (size_t i = 0; i < labels.component_count(); ++i) parts.push_back(encode(graph, labels.ordered(i), number));
  std::sort(parts.begin(), parts.end());
  Bytes form;
  describe(form, graph.context, has_unset_types(graph));
  for (std::string const& part : parts) form.add(std::string_view(part));
  return form.take();
}

uint64_t canonical_key(Graph const& graph) { return Hasher().add(std::string_view(canonical_form(graph))).digest(); }

}  // namespace fusednn::ir
