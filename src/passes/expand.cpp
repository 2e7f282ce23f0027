#include "passes/expand.h"

#include "ops/row.h"
#include "ops/validate.h"

#include <fmt/format.h>

#include <cstring>

namespace fusednn::passes {

namespace {

using ir::Dims;
using ir::no_tensor;
using ir::OpKind;
using ir::TensorId;

/// Ports and outputs of the composite rows.
enum NormIn { X, SCALE, BIAS, EPSILON };
enum SdpaIn { Q, K, V, ATTN_SCALE, SDPA_BIAS, LENGTH_Q, LENGTH_KV };

/// Appends primitive nodes to the graph that replaces a composite node. Dims and strides are left to
/// inference, but for those that it cannot know.
class Expansion {
 public:
  Expansion(ir::Graph& graph, ir::Node const& node) : graph_(graph), node_(node) {}

  void run() {
    switch (node_.op) {
      case OpKind::layernorm:
        return layernorm();
      case OpKind::rmsnorm:
        return rmsnorm();
      default:
        return sdpa();
    }
  }

 private:
  ir::Tensor const& tensor(TensorId id) const { return graph_.tensor(id); }

  /// A virtual tensor; dims may be left to inference.
  TensorId temporary(char const* name, DataType_t dtype, Dims dims = {}) {
    ir::Tensor t;
    t.name = fmt::format("{}::{}", node_.name, name);
    t.dtype = dtype;
    t.dims = std::move(dims);
    t.is_virtual = true;
    return graph_.add(std::move(t));
  }

  ir::Node& append(OpKind op, TensorId result, DataType_t compute, std::vector<TensorId> inputs) {
    ir::Node n;
    n.op = op;
    n.name = tensor(result).name;
    n.compute = compute;
    n.inputs = std::move(inputs);
    n.outputs = {result};
    graph_.nodes.push_back(std::move(n));
    return graph_.nodes.back();
  }

  TensorId pointwise(PointwiseMode_t mode, TensorId result, DataType_t compute, std::vector<TensorId> inputs) {
    append(OpKind::pointwise, result, compute, std::move(inputs)).attrs.set("mode", static_cast<int64_t>(mode));
    return result;
  }

  TensorId reshape(TensorId from, char const* name, Dims dims) {
    TensorId const to = temporary(name, tensor(from).dtype, std::move(dims));
    append(OpKind::reshape, to, node_.compute, {from});
    return to;
  }

  /// A tensor of one element in a form that broadcasts against any rank.
  TensorId scalar(TensorId id, char const* name) { return tensor(id).dims == Dims{1} ? id : reshape(id, name, {1}); }

  // Norms

  /// 1 / sqrt(mean of squares + epsilon), in DOUBLE, also written to the statistics output where there is
  /// one.
  TensorId inverse_deviation(TensorId differences, Dims const& statistics, TensorId output) {
    DataType_t const wide = DataType_t::DOUBLE;
    TensorId const squares =
        pointwise(PointwiseMode_t::MUL, temporary("squares", wide), wide, {differences, differences});
    TensorId const variance = average(squares, "variance", statistics);
    TensorId const sum = pointwise(PointwiseMode_t::ADD, temporary("variance_epsilon", wide), wide,
                                   {variance, scalar(node_.inputs[EPSILON], "epsilon")});
    TensorId const inverse = pointwise(PointwiseMode_t::RSQRT, temporary("inverse", wide), wide, {sum});
    if (output != no_tensor) pointwise(PointwiseMode_t::IDENTITY, output, wide, {inverse});
    return inverse;
  }

  TensorId average(TensorId of, char const* name, Dims const& statistics) {
    TensorId const result = temporary(name, DataType_t::DOUBLE, statistics);
    append(OpKind::reduction, result, DataType_t::DOUBLE, {of})
        .attrs.set("mode", static_cast<int64_t>(ReductionMode_t::AVG));
    return result;
  }

  Dims statistics_dims() const {
    Dims dims = tensor(node_.inputs[X]).dims;
    Dims const& scale = tensor(node_.inputs[SCALE]).dims;
    for (size_t i = 0; i < dims.size(); ++i)
      if (scale[i] != 1) dims[i] = 1;
    return dims;
  }

  void scale_and_bias(TensorId differences, TensorId inverse) {
    DataType_t const compute = node_.compute;
    TensorId const normal =
        pointwise(PointwiseMode_t::MUL, temporary("normal", compute), DataType_t::DOUBLE, {differences, inverse});
    TensorId const y = node_.outputs[0], scale = node_.inputs[SCALE], bias = node_.input(BIAS);
    if (bias == no_tensor) {
      pointwise(PointwiseMode_t::MUL, y, compute, {normal, scale});
      return;
    }
    TensorId const scaled = pointwise(PointwiseMode_t::MUL, temporary("scaled", compute), compute, {normal, scale});
    pointwise(PointwiseMode_t::ADD, y, compute, {scaled, bias});
  }

  void layernorm() {
    DataType_t const wide = DataType_t::DOUBLE;
    TensorId const x = node_.inputs[X], mean = average(x, "mean", statistics_dims());
    if (node_.output(1) != no_tensor) pointwise(PointwiseMode_t::IDENTITY, node_.output(1), wide, {mean});
    TensorId const differences = pointwise(PointwiseMode_t::SUB, temporary("differences", wide), wide, {x, mean});
    scale_and_bias(differences, inverse_deviation(differences, statistics_dims(), node_.output(2)));
  }

  void rmsnorm() {
    TensorId const x = node_.inputs[X];
    scale_and_bias(x, inverse_deviation(x, statistics_dims(), node_.output(1)));
  }

  // Attention

  void copy_attributes(ir::Node& to, std::initializer_list<char const*> names) const {
    for (char const* name : names) to.attrs.set(name, *node_.attrs.find(name));
  }

  /// Q K^T. Where K has fewer heads, the heads of Q that share one become a dim along which K is broadcast.
  TensorId scores() {
    DataType_t const compute = node_.compute;
    Dims const q = tensor(node_.inputs[Q]).dims, k = tensor(node_.inputs[K]).dims;
    TensorId const transposed = temporary("k_transposed", tensor(node_.inputs[K]).dtype);
    append(OpKind::transpose, transposed, compute, {node_.inputs[K]}).attrs.set("permutation", Dims{0, 1, 3, 2});
    if (k[1] == q[1] || k[1] == 1) {
      TensorId const result = temporary("scores", compute);
      append(OpKind::matmul, result, compute, {node_.inputs[Q], transposed});
      return result;
    }
    TensorId const grouped_q = reshape(node_.inputs[Q], "q_grouped", {q[0], k[1], q[1] / k[1], q[2], q[3]});
    TensorId const grouped_k = reshape(transposed, "k_grouped", {k[0], k[1], 1, k[3], k[2]});
    TensorId const grouped = temporary("scores_grouped", compute);
    append(OpKind::matmul, grouped, compute, {grouped_q, grouped_k});
    return reshape(grouped, "scores", {q[0], q[1], q[2], k[2]});
  }

  TensorId scaled(TensorId scores) {
    DataType_t const compute = node_.compute;
    TensorId factor = node_.input(ATTN_SCALE);
    if (factor != no_tensor) {
      factor = scalar(factor, "scale");
    } else {
      auto value = node_.attrs.get_if<double>("attn_scale_value");
      if (!value) return scores;
      factor = constant("scale", compute, *value);
    }
    return pointwise(PointwiseMode_t::MUL, temporary("scaled_scores", compute), compute, {scores, factor});
  }

  TensorId constant(char const* name, DataType_t dtype, double value) {
    ir::Tensor t;
    t.name = fmt::format("{}::{}", node_.name, name);
    t.dtype = dtype;
    t.dims = t.strides = {1};
    t.pass_by_value = t.compile_time_constant = true;
    t.value = dtype == DataType_t::DOUBLE ? graph::Scalar_value(value) : graph::Scalar_value(static_cast<float>(value));
    return graph_.add(std::move(t));
  }

  void sdpa() {
    DataType_t const compute = node_.compute;
    std::vector<TensorId> const mask = {node_.input(SDPA_BIAS), node_.input(LENGTH_Q), node_.input(LENGTH_KV)};
    TensorId const s = scaled(scores());
    TensorId const weights = temporary("weights", compute);
    ir::Node& softmax = append(OpKind::masked_softmax, weights, compute, {s, mask[0], mask[1], mask[2]});
    softmax.outputs.push_back(node_.output(1));
    copy_attributes(softmax, {"diagonal_alignment", "left_bound", "right_bound", "stats_use_log2"});
    ir::Node& product = append(OpKind::live_key_matmul, node_.outputs[0], compute,
                               {weights, node_.inputs[V], mask[0], mask[1], mask[2]});
    copy_attributes(product, {"diagonal_alignment", "left_bound", "right_bound"});
  }

  ir::Graph& graph_;
  ir::Node const node_;
};

}  // namespace

bool is_composite(ir::Node const& node) {
  return node.op == OpKind::layernorm || node.op == OpKind::rmsnorm || node.op == OpKind::sdpa;
}

base::Result<ir::OpGraphPtr> expand(ir::OpGraphPtr const& graph, std::function<bool(ir::Node const&)> const& wanted) {
  ir::Graph rewritten = graph->graph();
  rewritten.nodes.clear();
  bool changed = false;
  for (ir::Node const& node : graph->nodes()) {
    if (is_composite(node) && wanted(node)) {
      Expansion(rewritten, node).run();
      changed = true;
    } else {
      rewritten.nodes.push_back(node);
    }
  }
  if (!changed) return graph;
  return ops::validate(std::move(rewritten));
}

}  // namespace fusednn::passes
