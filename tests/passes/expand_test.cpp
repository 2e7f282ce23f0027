#include "passes/expand.h"

#include "ops/row_case.h"
#include "ops/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

// A composite and its expansion must agree: each value of the one lies within the sum of both bounds of the
// other's.

namespace fusednn::tests {
namespace {

using ir::OpKind;

bool all(ir::Node const&) { return true; }

void expect_same_values(RowCase const& c) {
  auto graph = ops::validate(draft_of(c));
  ASSERT_TRUE(graph) << base::join(graph.errors());
  auto expanded = passes::expand(*graph, all);
  ASSERT_TRUE(expanded) << base::join(expanded.errors());
  for (ir::Node const& node : (*expanded)->nodes()) EXPECT_FALSE(passes::is_composite(node)) << node.name;
  for (size_t i = 0; i < (*graph)->tensors().size(); ++i)
    EXPECT_EQ((*graph)->tensors()[i].name, (*expanded)->tensors()[i].name) << "ids must stay";
  std::map<std::string, Values> inputs;
  for (auto const& [name, in] : c.inputs) inputs[name] = in.values;
  ReferenceValues const whole = run_reference(**graph, inputs), parts = run_reference(**expanded, inputs);
  ASSERT_EQ(whole.size(), parts.size());
  for (auto const& [name, values] : whole) {
    auto const& other = parts.at(name);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_FALSE(std::isinf(values.bound[i])) << name << " " << i << " is undetermined";
      long double const a = values.value[i], b = other.value[i];
      if (std::isnan(a) || std::isinf(a))
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << name << " " << i << ": " << a << " and " << b;
      else
        EXPECT_LE(std::fabs(a - b), values.bound[i] + other.bound[i]) << name << " " << i << ": " << a << " and " << b;
    }
  }
}

InputCase filled(Dims dims, unsigned seed, double low = -1, double high = 1) {
  return {dims, spread(volume_of(dims), seed, low, high)};
}

RowCase norm(OpKind op, Dims const& x, Dims const& scale, Dims const& epsilon, DataType_t compute, double offset = 0) {
  RowCase c;
  c.op = op;
  c.compute = compute;
  c.inputs = {{"X", filled(x, 1, offset - 1, offset + 1)},
              {"SCALE", filled(scale, 2)},
              {"BIAS", filled(scale, 3)},
              {"EPSILON", {epsilon, {1e-3}}}};
  c.attrs = {{"forward_phase", static_cast<int64_t>(NormFwdPhase_t::TRAINING)}};
  c.outputs = {{"Y", {}}, {"INV_VARIANCE", {}}};
  if (op == OpKind::layernorm) c.outputs["MEAN"] = {};
  return c;
}

TEST(Expand, NormsKeepTheirValues) {
  struct Shape {
    Dims x, scale;
  };
  for (OpKind op : {OpKind::layernorm, OpKind::rmsnorm})
    for (Shape const& s :
         {Shape{{3, 5}, {1, 5}}, Shape{{2, 3, 4}, {1, 3, 4}}, Shape{{2, 3, 4}, {1, 1, 4}}, Shape{{4, 1}, {1, 1}},
          Shape{{2, 3, 4}, {1, 3, 1}}, Shape{{0, 4}, {1, 4}}, Shape{{2, 0}, {1, 0}}})
      for (DataType_t compute : {DataType_t::FLOAT, DataType_t::DOUBLE})
        for (Dims const& epsilon : {Dims{1}, Dims(s.x.size(), 1), Dims{1, 1, 1, 1}}) {
          expect_same_values(norm(op, s.x, s.scale, epsilon, compute));
          RowCase inference = norm(op, s.x, s.scale, epsilon, compute, 1000);
          inference.attrs["forward_phase"] = static_cast<int64_t>(NormFwdPhase_t::INFERENCE);
          inference.outputs = {{"Y", {}}};
          if (op == OpKind::rmsnorm) inference.inputs.erase("BIAS");
          expect_same_values(inference);
        }
}

TEST(Expand, NormsOfTheLargestValuesDoNotOverflow) {
  for (OpKind op : {OpKind::layernorm, OpKind::rmsnorm}) {
    RowCase c = norm(op, {2, 4}, {1, 4}, {1}, DataType_t::FLOAT);
    c.inputs["X"].values = {1e30, -1e30, 5e29, 3e38, 1e-30, 2e-30, -1e-30, 0};
    expect_same_values(c);
  }
}

struct Sizes {
  int64_t b, h, h_k, h_v, s_q, s_kv, d, d_v;
};

RowCase attention(Sizes const& n, DataType_t compute = DataType_t::FLOAT) {
  RowCase c;
  c.op = OpKind::sdpa;
  c.compute = compute;
  c.inputs = {{"Q", filled({n.b, n.h, n.s_q, n.d}, 1, -2, 2)},
              {"K", filled({n.b, n.h_k, n.s_kv, n.d}, 2, -2, 2)},
              {"V", filled({n.b, n.h_v, n.s_kv, n.d_v}, 3)}};
  c.attrs = {{"generate_stats", true}};
  c.outputs = {{"O", {}}, {"Stats", {}}};
  return c;
}

std::vector<RowCase> masks_of(Sizes const& n) {
  std::vector<RowCase> cases;
  auto add = [&](auto&& change) {
    cases.push_back(attention(n));
    change(cases.back());
  };
  add([](RowCase&) {});
  add([](RowCase& c) { c.attrs["attn_scale_value"] = 0.3; });
  add([](RowCase& c) { c.inputs["Attn_scale"] = {{1, 1, 1, 1}, {0.7}}; });
  add([](RowCase& c) { c.attrs["right_bound"] = int64_t(0); });
  add([](RowCase& c) {
    c.attrs["right_bound"] = int64_t(1);
    c.attrs["left_bound"] = int64_t(2);
    c.attrs["diagonal_alignment"] = static_cast<int64_t>(DiagonalAlignment_t::BOTTOM_RIGHT);
    c.attrs["stats_use_log2"] = true;
  });
  add([&](RowCase& c) {
    c.attrs["padding_mask"] = true;
    Values q, kv;
    for (int64_t b = 0; b < n.b; ++b)
      q.push_back(static_cast<double>(b)), kv.push_back(static_cast<double>(n.s_kv - b));
    c.inputs["SEQ_LEN_Q"] = {{n.b, 1, 1, 1}, q, DataType_t::INT32};
    c.inputs["SEQ_LEN_KV"] = {{n.b, 1, 1, 1}, kv, DataType_t::INT64};
    c.attrs["left_bound"] = int64_t(2);
    c.attrs["diagonal_alignment"] = static_cast<int64_t>(DiagonalAlignment_t::BOTTOM_RIGHT);
  });
  for (Dims const& dims :
       {Dims{n.b, n.h, n.s_q, n.s_kv}, Dims{1, 1, n.s_q, n.s_kv}, Dims{n.b, 1, 1, n.s_kv}, Dims{1, n.h, n.s_q, 1}})
    add([&](RowCase& c) {
      c.inputs["Bias"] = filled(dims, 4);
      for (size_t i = 0; i < c.inputs["Bias"].values.size(); i += 3) c.inputs["Bias"].values[i] = -INFINITY;
    });
  return cases;
}

TEST(Expand, AttentionKeepsItsValues) {
  for (Sizes const& n : {Sizes{2, 4, 4, 4, 3, 5, 4, 4}, Sizes{2, 4, 2, 2, 3, 5, 4, 2}, Sizes{1, 6, 1, 3, 5, 2, 3, 4},
                         Sizes{1, 4, 2, 1, 1, 1, 1, 1}, Sizes{2, 2, 1, 2, 0, 3, 2, 2}, Sizes{2, 2, 2, 1, 3, 0, 2, 2}})
    for (RowCase& c : masks_of(n)) {
      expect_same_values(c);
      c.compute = DataType_t::DOUBLE;
      expect_same_values(c);
    }
}

TEST(Expand, NotANumberAtKeysThatNoRowSeesStaysThere) {
  RowCase c = attention({1, 2, 1, 1, 3, 4, 2, 2});
  c.attrs["padding_mask"] = true;
  c.inputs["SEQ_LEN_Q"] = {{1, 1, 1, 1}, {3}, DataType_t::INT32};
  c.inputs["SEQ_LEN_KV"] = {{1, 1, 1, 1}, {3}, DataType_t::INT32};
  ReferenceValues const clean = *reference_of(c);
  for (char const* name : {"K", "V"})
    for (double poison : {double(NAN), double(INFINITY), 1e38}) {
      RowCase dirty = c;
      for (size_t i = 6; i < 8; ++i) dirty.inputs[name].values[i] = poison;
      expect_same_values(dirty);
      EXPECT_EQ((*reference_of(dirty)).at("O").value, clean.at("O").value);
    }
}

TEST(Expand, LeavesNodesAloneThatNobodyAskedFor) {
  auto graph = ops::validate(draft_of(attention({1, 1, 1, 1, 2, 2, 2, 2})));
  ASSERT_TRUE(graph);
  EXPECT_EQ(*passes::expand(*graph, [](ir::Node const& n) { return n.op != OpKind::sdpa; }), *graph);
}

}  // namespace
}  // namespace fusednn::tests
