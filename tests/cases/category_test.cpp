#include "support/attention_graph.h"

#include <functional>

// Graphs that are right but that nothing may run, and graphs that are wrong: callers must be able to tell
// them apart.

namespace fusednn::testing {
namespace {

using graph::Concatenate_attributes;
using graph::Layernorm_attributes;
using graph::Matmul_attributes;
using graph::Pointwise_attributes;
using graph::Reduction_attributes;
using graph::Reshape_attributes;
using graph::Rmsnorm_attributes;
using graph::SDPA_attributes;
using graph::Slice_attributes;
using graph::Transpose_attributes;
using Mode = PointwiseMode_t;

using Build = std::function<TensorPtr(Graph&)>;

Pointwise_attributes mode(Mode m) { return Pointwise_attributes().set_mode(m).set_name("node"); }

Build matmul(Dims a, Dims b) {
  return [=](Graph& g) { return g.matmul(input(g, "a", a), input(g, "b", b), Matmul_attributes().set_name("node")); };
}
Build pointwise(Dims a, Dims b) {
  return [=](Graph& g) { return g.pointwise(input(g, "a", a), input(g, "b", b), mode(Mode::ADD)); };
}
Build unary(Pointwise_attributes attributes) {
  return [=](Graph& g) { return g.pointwise(input(g, "a", {2, 3}), attributes); };
}
Build reduction(Dims y, ReductionMode_t m = ReductionMode_t::ADD) {
  return [=](Graph& g) {
    auto out = g.reduction(input(g, "a", {2, 3}), Reduction_attributes().set_name("node").set_mode(m));
    out->set_dim(y);
    return out;
  };
}
Build reshape(Dims y) {
  return [=](Graph& g) { return g.reshape(input(g, "a", {2, 3}), Reshape_attributes().set_name("node").set_dim(y)); };
}
Build transpose(Dims p) {
  return [=](Graph& g) {
    return g.transpose(input(g, "a", {2, 3}), Transpose_attributes().set_name("node").set_permutation(p));
  };
}
Build slice(std::vector<std::pair<int64_t, int64_t>> s) {
  return [=](Graph& g) { return g.slice(input(g, "a", {2, 3}), Slice_attributes().set_name("node").set_slices(s)); };
}
Build concatenate(Dims second, int64_t axis) {
  return [=](Graph& g) {
    return g.concatenate({input(g, "a", {2, 3}), input(g, "b", second)},
                         Concatenate_attributes().set_name("node").set_axis(axis));
  };
}
Build layernorm(Dims scale) {
  return [=](Graph& g) {
    return g.layernorm(
        input(g, "a", {2, 3}), input(g, "b", scale), input(g, "c", {1, 3}),
        Layernorm_attributes().set_name("node").set_epsilon(1e-5f).set_forward_phase(NormFwdPhase_t::INFERENCE))[0];
  };
}
Build rmsnorm(NormFwdPhase_t phase) {
  return [=](Graph& g) {
    return g.rmsnorm(input(g, "a", {2, 3}), input(g, "b", {1, 3}),
                     Rmsnorm_attributes().set_name("node").set_epsilon(1e-5f).set_forward_phase(phase))[0];
  };
}
Build sdpa(Dims k, SDPA_attributes attributes = {}) {
  return [=](Graph& g) {
    SDPA_attributes named = attributes;
    return g.sdpa(input(g, "a", {1, 4, 3, 8}), input(g, "b", k), input(g, "c", k), named.set_name("node"))[0];
  };
}

struct Case {
  char const* name;
  Build build;
};

// Each runs; with every engine barred it must be 'unsupported'.
std::vector<Case> const legal = {
    {"matmul", matmul({1, 2, 3}, {1, 3, 4})},
    {"batched matmul", matmul({5, 2, 3}, {1, 3, 4})},
    {"empty matmul", matmul({1, 2, 0}, {1, 0, 4})},
    {"add", pointwise({2, 3}, {2, 3})},
    {"broadcast add", pointwise({2, 3}, {1, 3})},
    {"exp", unary(mode(Mode::EXP))},
    {"index", unary(mode(Mode::GEN_INDEX).set_axis(1))},
    {"sum", reduction({2, 1})},
    {"no reduction", reduction({2, 3})},
    {"norm2", reduction({1, 1}, ReductionMode_t::NORM2)},
    {"reshape", reshape({3, 2})},
    {"transpose", transpose({1, 0})},
    {"slice", slice({{0, 1}, {1, 3}})},
    {"empty slice", slice({{1, 1}, {1, 3}})},
    {"concatenate", concatenate({4, 3}, 0)},
    {"layernorm", layernorm({1, 3})},
    {"rmsnorm", rmsnorm(NormFwdPhase_t::INFERENCE)},
    {"attention", sdpa({1, 4, 5, 8})},
    {"grouped attention", sdpa({1, 2, 5, 8})},
    {"band", sdpa({1, 4, 5, 8}, SDPA_attributes().set_diagonal_band_left_bound(2))},
};

// Each holds one mistake of the caller's.
std::vector<Case> const malformed = {
    {"inner dims", matmul({1, 2, 3}, {1, 4, 4})},
    {"ranks", matmul({2, 3}, {3, 4})},
    {"batches", matmul({2, 2, 3}, {3, 3, 4})},
    {"no broadcast", pointwise({2, 3}, {3, 2})},
    {"no mode", unary(Pointwise_attributes().set_name("node"))},
    {"another mode's parameter", unary(mode(Mode::EXP).set_elu_alpha(2))},
    {"one input too few", unary(mode(Mode::ADD))},
    {"no axis", unary(mode(Mode::GEN_INDEX))},
    {"reduction to other dims", reduction({2, 2})},
    {"no reduction mode", reduction({2, 1}, ReductionMode_t::NOT_SET)},
    {"reshape to another volume", reshape({7})},
    {"negative dim", reshape({-2, -3})},
    {"no permutation", transpose({0, 0})},
    {"slice beyond the end", slice({{0, 3}, {0, 3}})},
    {"slice of another rank", slice({{0, 1}})},
    {"concatenate across", concatenate({4, 4}, 0)},
    {"concatenate beyond the rank", concatenate({2, 3}, 2)},
    {"scale dims", layernorm({1, 2})},
    {"no phase", rmsnorm(NormFwdPhase_t::NOT_SET)},
    {"heads", sdpa({1, 3, 5, 8})},
};

/// Builds the graph under a mask of engines and returns what went wrong.
error_t build_with(Graph& g, bool bar_engines) {
  handle_t handle = nullptr;
  if (error_t e = create_handle(&handle); e.is_bad()) return e;
  error_t e = g.build_operation_graph(handle);
  if (e.is_good()) e = g.create_execution_plans({HeurMode_t::A});
  if (e.is_good()) {
    if (bar_engines) g.deselect_engines({"eng"});
    e = g.check_support();
  }
  if (e.is_good()) e = g.build_plans();
  EXPECT_TRUE(destroy(handle).is_good());
  return e;
}

Graph declared(Case const& c) {
  Graph g = make_graph();
  output(c.build(g), "result");
  return g;
}

TEST(Category, LegalGraphsRunAndAreUnsupportedOnlyWithoutEngines) {
  ASSERT_EQ(legal.size(), 20u);
  for (Case const& c : legal) {
    SCOPED_TRACE(c.name);
    Graph g = declared(c);
    GraphRun(g).run();
    error_t const e = build_with(g, true);
    EXPECT_EQ(e.get_code(), error_code_t::GRAPH_NOT_SUPPORTED);
    EXPECT_EQ(e.get_message().rfind("unsupported:", 0), 0u) << e.get_message();
    EXPECT_NE(e.get_message().find("deselected"), std::string::npos) << e.get_message();
  }
}

TEST(Category, MalformedGraphsAreInvalidAndSayWhere) {
  ASSERT_EQ(malformed.size(), 20u);
  for (Case const& c : malformed) {
    SCOPED_TRACE(c.name);
    Graph g = declared(c);
    error_t const e = build_with(g, false);
    EXPECT_TRUE(e.is_bad());
    EXPECT_NE(e.get_code(), error_code_t::GRAPH_NOT_SUPPORTED);
    EXPECT_EQ(e.get_message().rfind("invalid:", 0), 0u) << e.get_message();
    EXPECT_TRUE(e.get_message().find("'node'") != std::string::npos ||
                e.get_message().find("'result'") != std::string::npos)
        << e.get_message();
    EXPECT_NE(e.get_message().find("rule:"), std::string::npos) << e.get_message();
    EXPECT_EQ(build_with(g, true).get_message(), e.get_message()) << "engines have no part in it";
  }
}

TEST(Category, AFailedGraphsTextFailsInTheSameWay) {
  for (auto const* list : {&legal, &malformed})
    for (Case const& c : *list) {
      SCOPED_TRACE(c.name);
      Graph g = declared(c), again;
      error_t const read = again.from_json_ext(g.to_json_ext());
      ASSERT_TRUE(read.is_good()) << read.get_message();
      error_t const first = build_with(g, list == &legal), second = build_with(again, list == &legal);
      EXPECT_EQ(first.get_message(), second.get_message());
      EXPECT_TRUE(first.get_code() == second.get_code());
    }
}

}  // namespace
}  // namespace fusednn::testing
