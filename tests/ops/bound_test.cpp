#include "ops/golden.h"
#include "ops/row.h"
#include "ops/validate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

// The bound itself. Each data operand in turn gets an error, as a tensor rounded to HALF has one. Moving the
// operand within that error must keep every result within its bound (the bound holds), and moving it twice as
// far, in the direction that hurts most, must break the bound in some case (the bound means something).

namespace fusednn::tests {
namespace {

using ops::RefTensor;

/// A case at the level of its row's reference: operands with bounds, by port. What is not finite and no mask
/// becomes a number, since nothing can be said of how far NaN moves.
class RowRun {
 public:
  explicit RowRun(RowCase const& c) {
    auto graph = ops::validate(draft_of(c));
    EXPECT_TRUE(graph) << base::join(graph.errors());
    graph_ = *graph;
    for (ir::TensorId id : node().inputs) {
      RefTensor<double> t;
      if (id != ir::no_tensor) {
        ir::Tensor const& tensor = graph_->tensor(id);
        t.resize(tensor.dims);
        t.value = c.inputs.at(tensor.name).values;
        for (double& v : t.value) {
          bool const masks = tensor.name == "Bias" && std::isinf(v);
          v = std::isfinite(v) || masks ? ops::round_value(tensor.dtype, v) : 0.75;
        }
      }
      operands.push_back(std::move(t));
    }
  }

  ir::Node const& node() const { return graph_->nodes()[0]; }
  ops::OpRow const& row() const { return ops::row(node().op); }

  /// Values and bounds of all outputs in one list.
  RefTensor<double> run() {
    std::vector<RefTensor<double>> results(node().outputs.size());
    ops::RefNode<double> n{graph_->graph(), node(), {}, {}};
    for (size_t i = 0; i < operands.size(); ++i)
      n.in.push_back(node().inputs[i] == ir::no_tensor ? nullptr : &operands[i]);
    for (size_t i = 0; i < results.size(); ++i) {
      ir::TensorId const id = node().outputs[i];
      if (id != ir::no_tensor) results[i].resize(graph_->tensor(id).dims);
      n.out.push_back(id == ir::no_tensor ? nullptr : &results[i]);
    }
    row().reference.in_double(n);
    RefTensor<double> all;
    for (RefTensor<double> const& r : results) {
      all.value.insert(all.value.end(), r.value.begin(), r.value.end());
      all.bound.insert(all.bound.end(), r.bound.begin(), r.bound.end());
    }
    return all;
  }

  std::vector<RefTensor<double>> operands;

 private:
  ir::OpGraphPtr graph_;
};

constexpr double half_error = 0x1p-11;

/// Directions in which moving each element of the operand moves result `o` up.
Values directions(RowRun& run, RefTensor<double>& operand, size_t o) {
  Values signs;
  double const centre = run.run().value[o];
  for (double& v : operand.value) {
    double const kept = v;
    if (std::isfinite(v)) v += half_error * std::fabs(v) / 16;
    double const moved = run.run().value[o];
    signs.push_back(moved > centre ? 1 : moved < centre ? -1 : 0);
    v = kept;
  }
  return signs;
}

struct Reach {
  double within = 0;  ///< furthest move over bound, operand within its error
  double beyond = 0;  ///< likewise, operand twice as far
};

/// Tries all operand errors of one port against some elements of the results.
Reach reach(RowRun& run, size_t port) {
  Reach reach;
  RefTensor<double>& operand = run.operands[port];
  Values const kept = operand.value;
  auto error = [&](size_t i) { return std::isfinite(kept[i]) ? half_error * std::fabs(kept[i]) : 0.0; };
  for (size_t i = 0; i < operand.size(); ++i) operand.bound[i] = error(i);
  RefTensor<double> const result = run.run();
  size_t const stride = std::max<size_t>(result.value.size() / 12, 1);
  for (size_t o = 0; o < result.value.size(); o += stride) {
    if (!std::isfinite(result.value[o]) || !std::isfinite(result.bound[o])) continue;
    Values const signs = directions(run, operand, o);
    auto move = [&](double errors, double side) {
      for (size_t i = 0; i < kept.size(); ++i) operand.value[i] = kept[i] + errors * side * signs[i] * error(i);
      RefTensor<double> const moved = run.run();
      operand.value = kept;
      return moved;
    };
    for (double side : {1.0, -1.0}) {
      RefTensor<double> const near = move(1, side);
      for (size_t i = 0; i < near.value.size(); ++i)
        if (std::isfinite(result.bound[i]) && result.bound[i] > 0)
          reach.within = std::max(reach.within, std::fabs(near.value[i] - result.value[i]) / result.bound[i]);
      if (result.bound[o] > 0)
        reach.beyond = std::max(reach.beyond, std::fabs(move(2, side).value[o] - result.value[o]) / result.bound[o]);
    }
  }
  std::fill(operand.bound.begin(), operand.bound.end(), 0.0);
  return reach;
}

/// Operands whose error cannot show: what only masks, and what is compared, indexed or selected by, where the
/// result is undetermined or does not move.
bool only_selects(std::string const& kind, std::string const& port) {
  if (kind == "live_key_matmul" && port == "Bias") return true;
  if (kind == "pointwise RELU_BWD" && port == "IN_1") return true;
  for (char const* mode : {"CMP_", "LOGICAL_", "GEN_INDEX", "FLOOR", "CEIL", "MOD"})
    if (kind.find(std::string("pointwise ") + mode) == 0) return true;
  return kind == "pointwise BINARY_SELECT" && port == "IN_2";
}

TEST(Bound, HoldsForAnOperandsErrorAndBreaksForTwice) {
  std::map<std::string, Reach> furthest;
  std::map<std::string, int> tried;
  for (Golden const& g : goldens()) {
    if (g.node.compute != DataType_t::DOUBLE) continue;
    RowCase const c = in_float(g.node);
    std::string const kind = g.node.op == ir::OpKind::masked_softmax    ? "masked_softmax"
                             : g.node.op == ir::OpKind::live_key_matmul ? "live_key_matmul"
                                                                        : kind_of(c);
    if (++tried[kind] > 24) continue;
    RowRun run(c);
    if (run.row().moves_data) continue;
    for (size_t port = 0; port < run.operands.size(); ++port) {
      ops::Port const& p = *run.row().input_port(port);
      if (run.node().inputs[port] == ir::no_tensor || p.role != ops::PortRole::data) continue;
      Reach const r = reach(run, port);
      EXPECT_LE(r.within, 1) << kind << ": " << g.name << ", " << p.name;
      Reach& best = furthest[fmt::format("{}, {}", kind, p.name)];
      best.within = std::max(best.within, r.within);
      best.beyond = std::max(best.beyond, r.beyond);
    }
  }
  for (auto const& [name, r] : furthest) {
    size_t const comma = name.find(", ");
    if (only_selects(name.substr(0, comma), name.substr(comma + 2))) continue;
    EXPECT_GT(r.beyond, 1) << name << ": twice the error moves no result beyond " << r.beyond << " of its bound";
  }
}

// An operation's own error: what an engine in FLOAT may add is bounded by a few roundings of the terms, so
// that an engine that computes in HALF is found out.
TEST(Bound, IsFarBelowWhatHalfPrecisionWouldAdd) {
  for (Golden const& g : goldens()) {
    // The bound of a norm grows with the mean over the spread, as what FLOAT can hold of the data shrinks.
    if (g.node.compute != DataType_t::DOUBLE || g.name == "layernorm far from 0") continue;
    RowRun run(in_float(g.node));
    RefTensor<double> const result = run.run();
    for (size_t i = 0; i < result.value.size(); ++i) {
      double const v = std::fabs(result.value[i]);
      if (!std::isfinite(v) || v < 0.25) continue;
      EXPECT_LT(result.bound[i], 0x1p-14 * v) << kind_of(g.node) << ": " << g.name << " " << i;
    }
  }
}

}  // namespace
}  // namespace fusednn::tests
