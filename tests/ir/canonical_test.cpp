#include "ir/canonical.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <ostream>
#include <random>
#include <set>

namespace fusednn::ir {
namespace {

/// A form that is printed as its size: the bytes tell a reader nothing.
struct Form {
  std::string bytes;
  auto operator<=>(Form const&) const = default;
  friend std::ostream& operator<<(std::ostream& out, Form const& f) { return out << f.bytes.size() << " bytes"; }
};

Form form_of(Graph const& graph) { return {canonical_form(graph)}; }

TensorId add_tensor(Graph& graph, bool is_virtual = false) {
  Tensor t;
  t.name = "t" + std::to_string(graph.tensors.size());
  t.dtype = DataType_t::FLOAT;
  t.dims = {2, 3};
  t.strides = {3, 1};
  t.is_virtual = is_virtual;
  return graph.add(std::move(t));
}

TensorId add_node(Graph& graph, std::vector<TensorId> inputs, PointwiseMode_t mode = PointwiseMode_t::ADD) {
  TensorId const y = add_tensor(graph, true);
  Node node;
  node.op = OpKind::pointwise;
  node.name = "n" + std::to_string(graph.nodes.size());
  node.compute = DataType_t::FLOAT;
  node.inputs = std::move(inputs);
  node.outputs = {y};
  node.attrs.set("mode", static_cast<int64_t>(mode));
  graph.nodes.push_back(std::move(node));
  return y;
}

/// The same graph with tensors and nodes in another order, and other names and uids.
Graph shuffled(Graph const& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TensorId> place(graph.tensors.size());
  std::iota(place.begin(), place.end(), 0);
  std::shuffle(place.begin(), place.end(), random);
  auto moved = [&](TensorId t) { return t == no_tensor ? t : place[static_cast<size_t>(t)]; };
  Graph out;
  out.context = graph.context;
  out.context.name = "other";
  out.tensors.resize(graph.tensors.size());
  for (size_t t = 0; t < place.size(); ++t) {
    Tensor& to = out.tensor(place[t]);
    to = graph.tensors[t];
    to.name = std::to_string(random());
    to.uid = static_cast<int64_t>(random());
    to.ragged_offset = moved(to.ragged_offset);
  }
  out.nodes = graph.nodes;
  for (Node& n : out.nodes) {
    n.name = std::to_string(random());
    for (auto* ids : {&n.inputs, &n.outputs})
      for (TensorId& t : *ids) t = moved(t);
  }
  std::shuffle(out.nodes.begin(), out.nodes.end(), random);
  return out;
}

Graph random_graph(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto below = [&](size_t n) { return random() % n; };
  Graph graph;
  for (size_t i = 0, n = 1 + below(4); i < n; ++i) add_tensor(graph);
  for (size_t i = 0, n = 1 + below(12); i < n; ++i) {
    std::vector<TensorId> inputs(1 + below(3));
    for (TensorId& t : inputs) t = static_cast<TensorId>(below(graph.tensors.size()));
    constexpr PointwiseMode_t modes[] = {PointwiseMode_t::ADD, PointwiseMode_t::MUL, PointwiseMode_t::BINARY_SELECT};
    add_node(graph, inputs, modes[below(3)]);
  }
  if (below(3) == 0) graph.tensors[0].ragged_offset = add_tensor(graph);
  return graph;
}

TEST(Canonical, OrderNamesAndUidsDoNotMatter) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Graph const graph = random_graph(seed);
    Form const form = form_of(graph);
    for (uint64_t again = 0; again < 4; ++again) {
      Graph const other = shuffled(graph, 1000 * seed + again);
      ASSERT_EQ(form_of(other), form) << "seed " << seed;
      ASSERT_EQ(canonical_key(other), canonical_key(graph));
    }
  }
}

/// A matmul with a constant, a runtime scalar, ragged offsets, every kind of attribute, and two pointwise nodes.
Graph rich_graph() {
  Graph graph;
  TensorId const a = add_tensor(graph), b = add_tensor(graph), c = add_tensor(graph), offsets = add_tensor(graph);
  graph.tensor(a).ragged_offset = offsets;
  graph.tensor(c).pass_by_value = true;
  graph.tensor(c).value = graph::Scalar_value(2.0f);
  TensorId const x = add_node(graph, {a, b});
  graph.nodes[0].attrs.set("on", true);
  graph.nodes[0].attrs.set("list", std::vector<int64_t>{1, 2});
  graph.nodes[0].attrs.set("real", 0.5);
  add_node(graph, {x, c}, PointwiseMode_t::SUB);
  return graph;
}

TEST(Canonical, EverySingleChangeMatters) {
  std::vector<std::pair<char const*, std::function<void(Graph&)>>> const changes = {
      {"dim", [](Graph& g) { g.tensors[0].dims[1] = 4; }},
      {"rank",
       [](Graph& g) {
         g.tensors[0].dims = {2, 3, 1};
       }},
      {"stride", [](Graph& g) { g.tensors[0].strides[0] = 4; }},
      {"dims and strides trade places", [](Graph& g) { std::swap(g.tensors[0].dims, g.tensors[0].strides); }},
      {"dtype", [](Graph& g) { g.tensors[1].dtype = DataType_t::HALF; }},
      {"dtype of a virtual tensor", [](Graph& g) { g.tensors[4].dtype = DataType_t::HALF; }},
      {"virtual", [](Graph& g) { g.tensors[4].is_virtual = false; }},
      {"output", [](Graph& g) { g.tensors[5].is_virtual = false; }},
      {"by value", [](Graph& g) { g.tensors[1].pass_by_value = true; }},
      {"constant", [](Graph& g) { g.tensors[2].compile_time_constant = true; }},
      {"value", [](Graph& g) { g.tensors[2].value = graph::Scalar_value(2.5f); }},
      {"sign of zero", [](Graph& g) { g.tensors[2].value = graph::Scalar_value(-0.0f); }},
      {"zero", [](Graph& g) { g.tensors[2].value = graph::Scalar_value(0.0f); }},
      {"no value", [](Graph& g) { g.tensors[2].value.reset(); }},
      {"type of value", [](Graph& g) { g.tensors[2].value->type = DataType_t::INT32; }},
      {"reordering", [](Graph& g) { g.tensors[0].reordering = TensorReordering_t::INT8x32; }},
      {"alignment", [](Graph& g) { g.tensors[0].alignment = 8; }},
      {"vector count", [](Graph& g) { g.tensors[0].vector_count = 4; }},
      {"vector dimension", [](Graph& g) { g.tensors[0].vector_dimension = 1; }},
      {"no ragged offsets", [](Graph& g) { g.tensors[0].ragged_offset = no_tensor; }},
      {"other ragged offsets", [](Graph& g) { g.tensors[0].ragged_offset = 1; }},
      {"alignment of the offsets", [](Graph& g) { g.tensors[3].alignment = 4; }},
      {"operation", [](Graph& g) { g.nodes[0].op = OpKind::matmul; }},
      {"compute type", [](Graph& g) { g.nodes[0].compute = DataType_t::DOUBLE; }},
      {"mode", [](Graph& g) { g.nodes[0].attrs.set("mode", int64_t(7)); }},
      {"boolean attribute", [](Graph& g) { g.nodes[0].attrs.set("on", false); }},
      {"unset attribute", [](Graph& g) { g.nodes[0].attrs.set("on", {}); }},
      {"another attribute", [](Graph& g) { g.nodes[0].attrs.set("off", true); }},
      {"list attribute", [](Graph& g) { g.nodes[0].attrs.set("list", std::vector<int64_t>{2, 1}); }},
      {"longer list", [](Graph& g) { g.nodes[0].attrs.set("list", std::vector<int64_t>{1, 2, 0}); }},
      {"real attribute", [](Graph& g) { g.nodes[0].attrs.set("real", 0.25); }},
      {"type of attribute", [](Graph& g) { g.nodes[0].attrs.set("real", std::bit_cast<int64_t>(0.5)); }},
      {"attribute moves to the next node",
       [](Graph& g) { g.nodes[0].attrs.set("on", {}), g.nodes[1].attrs.set("on", true); }},
      {"ports trade places", [](Graph& g) { std::swap(g.nodes[0].inputs[0], g.nodes[0].inputs[1]); }},
      {"one tensor twice", [](Graph& g) { g.nodes[0].inputs[1] = 0; }},
      {"port left out", [](Graph& g) { g.nodes[0].inputs.insert(g.nodes[0].inputs.begin(), no_tensor); }},
      {"input more", [](Graph& g) { g.nodes[1].inputs.push_back(1); }},
      {"input less", [](Graph& g) { g.nodes[0].inputs.pop_back(); }},
      {"second output", [](Graph& g) { g.nodes[1].outputs.push_back(add_tensor(g)); }},
      {"node more", [](Graph& g) { add_node(g, {5}); }},
      {"node twice", [](Graph& g) { add_node(g, {0, 1}); }},
      {"node less", [](Graph& g) { g.nodes.pop_back(); }},
      {"dynamic", [](Graph& g) { g.context.dynamic_shape = true; }},
      {"override", [](Graph& g) { g.context.override_shape = true; }},
      {"tf32", [](Graph& g) { g.context.allow_tf32 = true; }},
      {"deterministic", [](Graph& g) { g.context.deterministic = true; }},
      {"batch invariant", [](Graph& g) { g.context.batch_invariant = true; }},
      {"workspace limit", [](Graph& g) { g.context.workspace_limit = 0; }},
      {"sm count", [](Graph& g) { g.context.sm_count = 7; }},
      {"sm version", [](Graph& g) { g.context.sm_version = 90; }},
  };
  std::set<Form> forms = {form_of(rich_graph())};
  for (auto const& [what, change] : changes) {
    Graph graph = rich_graph();
    change(graph);
    EXPECT_TRUE(forms.insert(form_of(graph)).second) << what;
  }
}

TEST(Canonical, WhatDoesNotMatterIsLeftOut) {
  std::vector<std::pair<char const*, std::function<void(Graph&)>>> const changes = {
      {"graph name", [](Graph& g) { g.context.name = "x"; }},
      {"node name", [](Graph& g) { g.nodes[0].name = "x"; }},
      {"tensor name", [](Graph& g) { g.tensors[0].name = "x"; }},
      {"uid", [](Graph& g) { g.tensors[0].uid = 0; }},
      {"defaults that nothing takes", [](Graph& g) { g.context.io_type = g.context.compute_type = DataType_t::HALF; }},
      {"tensor that nothing uses", [](Graph& g) { add_tensor(g); }},
      {"absent trailing port", [](Graph& g) { g.nodes[0].inputs.push_back(no_tensor); }},
      {"empty list for an unset attribute", [](Graph& g) { g.nodes[0].attrs.set("none", std::vector<int64_t>()); }},
      {"order of attributes", [](Graph& g) {
         AttrSet reversed;
         auto const& all = g.nodes[0].attrs.all();
         for (size_t i = all.size(); i-- > 0;) reversed.set(all[i].first, all[i].second);
         g.nodes[0].attrs = reversed;
       }},
  };
  Form const form = form_of(rich_graph());
  for (auto const& [what, change] : changes) {
    Graph graph = rich_graph();
    change(graph);
    EXPECT_EQ(form_of(graph), form) << what;
  }
}

TEST(Canonical, DefaultsCountWhereATypeIsUnset) {
  Graph a = rich_graph();
  a.tensors[1].dtype = DataType_t::NOT_SET;
  Graph b = a;
  b.context.io_type = DataType_t::HALF;
  EXPECT_NE(form_of(a), form_of(b));
}

TEST(Canonical, DynamicShapesLeaveOutDimsAndStridesButNotRanks) {
  Graph a = rich_graph();
  a.context.dynamic_shape = true;
  Graph b = a;
  b.tensors[0].dims = {7, 8};
  b.tensors[0].strides = {8, 1};
  EXPECT_EQ(form_of(a), form_of(b));
  b.tensors[0].dims = {7, 8, 9};
  EXPECT_NE(form_of(a), form_of(b));
}

TEST(Canonical, OneInputTwiceIsNotTwoInputs) {
  Graph same, different;
  TensorId x = add_tensor(same);
  add_node(same, {x, x});
  x = add_tensor(different);
  add_node(different, {x, add_tensor(different)});
  EXPECT_NE(form_of(same), form_of(different));
}

/// Sums of neighbours on rings: every node looks like every other from where it stands.
Graph rings(std::vector<size_t> const& sizes, bool joined = false) {
  Graph graph;
  std::vector<TensorId> sums;
  for (size_t size : sizes) {
    std::vector<TensorId> corners;
    for (size_t i = 0; i < size; ++i) corners.push_back(add_tensor(graph));
    for (size_t i = 0; i < size; ++i) sums.push_back(add_node(graph, {corners[i], corners[(i + 1) % size]}));
  }
  if (joined)
    for (size_t i = 1; i < sums.size(); ++i) sums[i] = add_node(graph, {sums[i - 1], sums[i]});
  return graph;
}

TEST(Canonical, RegularGraphs) {
  EXPECT_NE(form_of(rings({6})), form_of(rings({3, 3})));
  EXPECT_NE(form_of(rings({3, 4})), form_of(rings({7})));
  EXPECT_NE(form_of(rings({6}, true)), form_of(rings({3, 3}, true)));
  EXPECT_EQ(form_of(rings({3, 4})), form_of(rings({4, 3})));
  for (auto const& graph : {rings({6}), rings({3, 3}), rings({3, 4, 5}), rings({3, 4}, true), rings({1, 1, 2})})
    for (uint64_t seed = 0; seed < 30; ++seed) ASSERT_EQ(form_of(shuffled(graph, seed)), form_of(graph)) << seed;
}

TEST(Canonical, InterchangeableBranches) {
  Graph graph;
  TensorId const x = add_tensor(graph);
  for (int i = 0; i < 40; ++i) add_node(graph, {add_node(graph, {x}, PointwiseMode_t::EXP)}, PointwiseMode_t::NEG);
  for (uint64_t seed = 0; seed < 5; ++seed) EXPECT_EQ(form_of(shuffled(graph, seed)), form_of(graph));
  Graph one_less = graph;
  one_less.nodes.pop_back();
  EXPECT_NE(form_of(one_less), form_of(graph));
}

TEST(Canonical, DraftsThatAreNotGraphsHaveAKey) {
  Graph loop;
  add_tensor(loop, true);
  add_node(loop, {0}), add_node(loop, {1});
  loop.nodes[0].inputs = {2};
  loop.tensors[0].ragged_offset = 0;
  loop.nodes[1].inputs.push_back(0);
  EXPECT_FALSE(canonical_form(loop).empty());
  loop.nodes[1].outputs = loop.nodes[0].outputs;
  EXPECT_FALSE(canonical_form(loop).empty());
  EXPECT_FALSE(canonical_form(Graph()).empty());
}

Graph chain(int length) {
  Graph graph;
  TensorId x = add_tensor(graph);
  for (int i = 0; i < length; ++i) x = add_node(graph, {x, add_tensor(graph)});
  return graph;
}

TEST(Canonical, LongChainsAreFast) {
  Graph const graph = chain(1000);
  EXPECT_EQ(form_of(shuffled(graph, 1)), form_of(graph));
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    auto const start = std::chrono::steady_clock::now();
    canonical_key(graph);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("microseconds", static_cast<int>(1e6 * best));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(best, 0.05);
#endif
}

}  // namespace
}  // namespace fusednn::ir
