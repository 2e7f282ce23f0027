#include "passes/partition.h"

#include "ir/layout.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace fusednn::passes {

namespace {

using ir::no_tensor;
using ir::TensorId;

size_t at(TensorId id) { return static_cast<size_t>(id); }

class Partitioner {
 public:
  Partitioner(ir::OpGraph const& graph, Fits const& fits, int64_t alignment)
      : graph_(graph),
        fits_(fits),
        alignment_(alignment),
        alias_(graph.tensors().size()),
        region_of_(graph.nodes().size(), -1) {}

  Partition run() {
    alias_concatenations();
    alias_views();
    for (size_t n = 0; n < graph_.nodes().size(); ++n) place_node(static_cast<int>(n));
    return finish();
  }

 private:
  /// A tensor whose elements lie inside the memory of another one.
  struct Alias {
    TensorId target = no_tensor;
    int concatenate = -1;  ///< the target is this node's output, and the tensor fills input `port` of it
    size_t port = 0;
  };

  ir::Node const& node(int n) const { return graph_.nodes()[static_cast<size_t>(n)]; }
  bool same_type(TensorId a, TensorId b) const { return graph_.tensor(a).dtype == graph_.tensor(b).dtype; }

  /// Producers of a concatenation's inputs may write into the output directly. The last concatenation comes
  /// first, so that one inside another finds its output's place.
  void alias_concatenations() {
    for (int n = static_cast<int>(graph_.nodes().size()); n-- > 0;) {
      if (node(n).op != ir::OpKind::concatenate) continue;
      TensorId const out = node(n).outputs[0];
      for (size_t port = 0; port < node(n).inputs.size(); ++port) {
        TensorId const in = node(n).inputs[port];
        int const writer = graph_.producer(in);
        bool const written_here = writer >= 0 && !is_view(node(writer));
        if (written_here && graph_.tensor(in).is_virtual && same_type(in, out) && alias_[at(in)].target == no_tensor)
          alias_[at(in)] = {out, n, port};
      }
    }
  }

  void alias_views() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      ir::Node const& v = graph_.nodes()[n];
      if (!is_view(v)) continue;
      TensorId const in = v.inputs[0], out = v.outputs[0];
      if (!graph_.tensor(out).is_virtual || !same_type(in, out)) continue;
      if (view_of_output(graph_.graph(), v, view_in_memory(in))) alias_[at(out)].target = in;
    }
  }

  bool aliased_view(int n) const { return is_view(node(n)) && alias_[at(node(n).outputs[0])].target != no_tensor; }

  /// How the elements of a tensor lie in the memory that holds them.
  StridedView view_in_memory(TensorId id) const {
    Alias const& a = alias_[at(id)];
    if (a.target == no_tensor) {
      ir::Tensor const& t = graph_.tensor(id);
      return {0, t.is_virtual ? ir::strides_in_order_of(t.dims, t.strides) : t.strides};
    }
    StridedView const target = view_in_memory(a.target);
    if (a.concatenate >= 0) return slot_of_input(graph_.graph(), node(a.concatenate), a.port, target);
    return *view_of_output(graph_.graph(), node(graph_.producer(id)), target);
  }

  TensorId memory_of(TensorId id) const {
    while (alias_[at(id)].target != no_tensor) id = alias_[at(id)].target;
    return id;
  }

  /// Inputs of a concatenation that its producers have not written in place.
  bool must_copy(int n, size_t port) const {
    Alias const& a = alias_[at(node(n).inputs[port])];
    return a.concatenate != n || a.port != port;
  }

  /// Regions that must have run before the tensor can be read from memory.
  void writers(TensorId id, std::set<int>& regions) const {
    int const n = graph_.producer(id);
    if (n < 0) return;
    if (aliased_view(n)) return writers(node(n).inputs[0], regions);
    if (region_of_[static_cast<size_t>(n)] >= 0) regions.insert(region_of_[static_cast<size_t>(n)]);
    if (node(n).op == ir::OpKind::concatenate)
      for (size_t port = 0; port < node(n).inputs.size(); ++port)
        if (!must_copy(n, port)) writers(node(n).inputs[port], regions);
  }

  bool copies_nothing(int n) const {
    if (node(n).op != ir::OpKind::concatenate) return aliased_view(n);
    for (size_t port = 0; port < node(n).inputs.size(); ++port)
      if (must_copy(n, port)) return false;
    return true;
  }

  /// Regions whose results the node reads through a view or a concatenation: they must lie in memory before.
  std::set<int> read_from_memory(int n) const {
    std::set<int> regions;
    for (TensorId t : node(n).inputs) {
      if (t == no_tensor || graph_.producer(t) < 0) continue;
      ir::Node const& writer = node(graph_.producer(t));
      if (aliased_view(graph_.producer(t)) || writer.op == ir::OpKind::concatenate) writers(t, regions);
    }
    return regions;
  }

  void place_node(int n) {
    if (copies_nothing(n)) return;
    std::set<int> before;    // regions that must have run
    std::set<int> joinable;  // regions that hold an input in registers
    for (TensorId t : node(n).inputs) {
      if (t == no_tensor) continue;
      writers(t, before);
      int const writer = graph_.producer(t);
      if (writer >= 0 && !is_view(node(writer)) && node(writer).op != ir::OpKind::concatenate)
        joinable.insert(region_of_[static_cast<size_t>(writer)]);
    }
    for (int r : read_from_memory(n)) joinable.erase(r);
    int home = -1;
    for (auto r = joinable.rbegin(); r != joinable.rend(); ++r) {
      if (home < 0 ? can_join(*r, n, before) : can_merge(home, *r)) home = home < 0 ? join(*r, n) : merge(home, *r);
    }
    if (home < 0) {
      home = static_cast<int>(regions_.size());
      regions_.push_back({{n}, {}});
    }
    region_of_[static_cast<size_t>(n)] = home;
    before.clear();  // merging has renumbered regions
    for (TensorId t : node(n).inputs)
      if (t != no_tensor) writers(t, before);
    before.erase(home);
    regions_[static_cast<size_t>(home)].before.insert(before.begin(), before.end());
  }

  bool reaches(int from, int to) const {  // whether `to` must run before `from`
    std::vector<int> stack = {from};
    std::set<int> seen;
    while (!stack.empty()) {
      int const r = stack.back();
      stack.pop_back();
      if (r == to) return true;
      if (!seen.insert(r).second) continue;
      for (int b : regions_[static_cast<size_t>(r)].before) stack.push_back(b);
    }
    return false;
  }

  bool can_join(int r, int n, std::set<int> const& before) const {
    for (int b : before)
      if (b != r && reaches(b, r)) return false;
    std::vector<int> nodes = regions_[static_cast<size_t>(r)].nodes;
    nodes.push_back(n);
    return fits_(graph_, nodes);
  }

  int join(int r, int n) {
    regions_[static_cast<size_t>(r)].nodes.push_back(n);
    return r;
  }

  /// Whether two regions can become one: no third region runs between them.
  bool can_merge(int a, int b) const {
    for (auto [x, y] : {std::pair(a, b), std::pair(b, a)})
      for (int n : regions_[static_cast<size_t>(x)].nodes)
        if (read_from_memory(n).contains(y)) return false;
    auto between = [&](int first, int last) {
      for (int r : regions_[static_cast<size_t>(last)].before)
        if (r != first && reaches(r, first)) return true;
      return false;
    };
    return !between(a, b) && !between(b, a) && fits_(graph_, merged_nodes(a, b));
  }

  std::vector<int> merged_nodes(int a, int b) const {
    auto const &x = regions_[static_cast<size_t>(a)].nodes, &y = regions_[static_cast<size_t>(b)].nodes;
    std::vector<int> nodes;
    std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(nodes));
    return nodes;
  }

  int merge(int a, int b) {
    Building& x = regions_[static_cast<size_t>(a)];
    Building& y = regions_[static_cast<size_t>(b)];
    x.nodes = merged_nodes(a, b);
    for (int n : y.nodes) region_of_[static_cast<size_t>(n)] = a;
    x.before.insert(y.before.begin(), y.before.end());
    x.before.erase(a);
    x.before.erase(b);
    y = {};
    for (Building& r : regions_)
      if (r.before.erase(b)) r.before.insert(a);
    x.before.erase(a);
    return a;
  }

  Partition finish() {
    Partition p;
    p.places.resize(graph_.tensors().size());
    for (int r : order()) p.regions.push_back(describe(r));
    place_tensors(p);
    return p;
  }

  std::vector<int> order() const {
    std::vector<int> order;
    std::vector<bool> done(regions_.size());
    auto visit = [&](auto&& self, int r) -> void {
      if (done[static_cast<size_t>(r)]) return;
      done[static_cast<size_t>(r)] = true;
      for (int b : regions_[static_cast<size_t>(r)].before) self(self, b);
      if (!regions_[static_cast<size_t>(r)].nodes.empty()) order.push_back(r);
    };
    for (size_t r = 0; r < regions_.size(); ++r) visit(visit, static_cast<int>(r));
    return order;
  }

  Region describe(int r) const {
    Region region{regions_[static_cast<size_t>(r)].nodes, {}, {}};
    auto add = [](std::vector<TensorId>& list, TensorId t) {
      if (std::find(list.begin(), list.end(), t) == list.end()) list.push_back(t);
    };
    for (int n : region.nodes) {
      for (size_t port = 0; port < node(n).inputs.size(); ++port) {
        TensorId const t = node(n).inputs[port];
        if (t == no_tensor) continue;
        if (node(n).op == ir::OpKind::concatenate && !must_copy(n, port)) continue;
        int const writer = graph_.producer(t);
        if (writer < 0 || region_of_[static_cast<size_t>(writer)] != r) add(region.inputs, t);
      }
      for (TensorId t : node(n).outputs)
        if (t != no_tensor && (!graph_.tensor(t).is_virtual || read_outside(t, r))) add(region.outputs, t);
    }
    return region;
  }

  bool read_outside(TensorId t, int r) const {
    for (int c : graph_.consumers(t))
      if (region_of_[static_cast<size_t>(c)] != r) return true;
    return false;
  }

  void place_tensors(Partition& p) const {
    struct Block {
      TensorId tensor;
      int64_t bytes;
      size_t first, last;  // regions during which it is alive
    };
    std::vector<Block> blocks;
    std::vector<int> block_of(graph_.tensors().size(), -1);
    for (size_t r = 0; r < p.regions.size(); ++r)
      for (auto const* list : {&p.regions[r].inputs, &p.regions[r].outputs})
        for (TensorId t : *list) {
          TensorId const base = memory_of(t);
          Place& place = p.places[at(t)];
          place.base = base;
          place.view = view_in_memory(t);
          place.kind = graph_.tensor(base).is_virtual ? Place::Kind::workspace : Place::Kind::caller;
          if (place.kind == Place::Kind::caller) continue;
          if (int& b = block_of[at(base)]; b < 0) {
            b = static_cast<int>(blocks.size());
            ir::Tensor const& owner = graph_.tensor(base);
            int64_t const bytes = *ir::storage_bytes(owner.dtype, *ir::volume(owner.dims));
            blocks.push_back({base, (bytes + alignment_ - 1) / alignment_ * alignment_, r, r});
          } else {
            blocks[static_cast<size_t>(b)].last = r;
          }
        }
    // Largest first, each at the lowest offset that is free during its life.
    std::vector<size_t> by_size(blocks.size());
    std::iota(by_size.begin(), by_size.end(), size_t(0));
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
    std::vector<int64_t> offset(blocks.size(), 0);
    for (size_t i = 0; i < by_size.size(); ++i) {
      Block const& block = blocks[by_size[i]];
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (size_t k = 0; k < i; ++k) {
        Block const& other = blocks[by_size[k]];
        if (other.first <= block.last && block.first <= other.last)
          taken.emplace_back(offset[by_size[k]], offset[by_size[k]] + other.bytes);
      }
      std::sort(taken.begin(), taken.end());
      int64_t& start = offset[by_size[i]];
      for (auto [from, to] : taken)
        if (start + block.bytes > from) start = std::max(start, to);
      p.workspace_bytes = std::max(p.workspace_bytes, start + block.bytes);
    }
    for (Place& place : p.places)
      if (place.kind == Place::Kind::workspace)
        place.workspace_offset = offset[static_cast<size_t>(block_of[at(place.base)])];
  }

  struct Building {
    std::vector<int> nodes;
    std::set<int> before;  ///< regions that must have run
  };

  ir::OpGraph const& graph_;
  Fits const& fits_;
  int64_t alignment_;
  std::vector<Alias> alias_;    ///< by TensorId
  std::vector<int> region_of_;  ///< by node; -1 for nodes that are addressing alone
  std::vector<Building> regions_;
};

}  // namespace

Partition partition(ir::OpGraph const& graph, Fits const& fits, int64_t alignment) {
  return Partitioner(graph, fits, alignment).run();
}

}  // namespace fusednn::passes
