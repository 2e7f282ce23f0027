#include "rules/firing.h"

// Rules of single operations, attention apart.

namespace fusednn::tests {

namespace {

using base::Rule;
using ir::OpKind;

template <class Enum>
ir::AttrValue number(Enum value) {
  return static_cast<int64_t>(value);
}

/// A case with inputs of these dims.
RowCase case_of(OpKind op, std::map<std::string, Dims> const& inputs, std::map<std::string, ir::AttrValue> attrs,
                std::map<std::string, OutputCase> outputs) {
  RowCase c;
  c.op = op;
  for (auto const& [name, dims] : inputs) c.inputs[name].dims = dims;
  c.attrs = std::move(attrs);
  c.outputs = std::move(outputs);
  return c;
}

std::function<std::string()> refused(RowCase c) {
  return [c] { return refusal(c); };
}

RowCase matmul(Dims a, Dims b) { return case_of(OpKind::matmul, {{"A", a}, {"B", b}}, {}, {{"C", {}}}); }

RowCase with_overrides() {
  RowCase c = matmul({1, 2, 3}, {1, 3, 4});
  c.inputs["K_override"].dims = {1, 1, 1};
  return c;
}

RowCase with_padding(double value) {
  RowCase c = matmul({1, 2, 3}, {1, 3, 4});
  c.attrs["padding_value"] = value;
  return c;
}

RowCase pointwise(PointwiseMode_t mode, std::vector<Dims> const& inputs,
                  std::map<std::string, ir::AttrValue> attrs = {}) {
  RowCase c = case_of(OpKind::pointwise, {}, std::move(attrs), {{"OUT_0", {}}});
  for (size_t i = 0; i < inputs.size(); ++i) c.inputs["IN_" + std::to_string(i)].dims = inputs[i];
  c.attrs["mode"] = number(mode);
  return c;
}

RowCase in_integers(RowCase c) {
  c.compute = DataType_t::INT32;
  return c;
}

RowCase reduction(ReductionMode_t mode, Dims x, Dims y) {
  return case_of(OpKind::reduction, {{"X", x}}, {{"mode", number(mode)}}, {{"Y", {y}}});
}

RowCase reshape(Dims x, std::map<std::string, ir::AttrValue> attrs, Dims y = {}) {
  return case_of(OpKind::reshape, {{"X", x}}, std::move(attrs), {{"Y", {y}}});
}

RowCase slice(Dims x, Dims slices, Dims steps = {}) {
  return case_of(OpKind::slice, {{"X", x}}, {{"slices", slices}, {"slice_strides", steps}}, {{"Y", {}}});
}

RowCase concatenate(Dims a, Dims b, int64_t axis) {
  return case_of(OpKind::concatenate, {{"0", a}, {"1", b}}, {{"axis", axis}}, {{"Y", {}}});
}

RowCase in_place_at(int64_t index) {
  RowCase c = concatenate({2}, {3}, 0);
  c.attrs["in_place_index"] = index;
  return c;
}

RowCase norm(Dims x, Dims scale, Dims bias, Dims epsilon = {1}, NormFwdPhase_t phase = NormFwdPhase_t::INFERENCE) {
  return case_of(OpKind::layernorm, {{"X", x}, {"SCALE", scale}, {"BIAS", bias}, {"EPSILON", epsilon}},
                 {{"forward_phase", number(phase)}}, {{"Y", {}}});
}

RowCase with_mean(RowCase c) {
  c.outputs["MEAN"] = {};
  return c;
}

/// A reshape whose output has strides that its attribute denies.
std::string reshape_with_two_strides() {
  ir::Graph draft = draft_of(reshape({2, 3}, {{"dim", Dims{6}}, {"stride", Dims{2}}}, {6}));
  draft.tensors[1].strides = {1};
  return refusal(draft);
}

}  // namespace

std::vector<Firing> operation_firings() {
  using P = PointwiseMode_t;
  using M = ReductionMode_t;
  return {
      {Rule::matmul_rank, {"'node'", "'A'", "rank 2"}, refused(matmul({4, 8}, {8, 4}))},
      {Rule::matmul_inner_dim, {"'node'", "'A'", "dim[2] = 8", "dim[1] = 7"}, refused(matmul({1, 4, 8}, {1, 7, 4}))},
      {Rule::matmul_batch, {"'node'", "'A'", "dim[0] = 2", "3"}, refused(matmul({2, 4, 8}, {3, 8, 4}))},
      {Rule::matmul_override_unsupported, {"'node'", "'K_override'"}, refused(with_overrides())},
      {Rule::matmul_override_unsupported, {"'node'", "padding_value is 1.5"}, refused(with_padding(1.5))},
      {Rule::pointwise_mode, {"'node'", "NOT_SET"}, refused(pointwise(P::NOT_SET, {{2}}))},
      {Rule::pointwise_arity, {"'node'", "2 inputs", "EXP", "1"}, refused(pointwise(P::EXP, {{2}, {2}}))},
      {Rule::pointwise_arity, {"'node'", "1 inputs", "ADD", "2"}, refused(pointwise(P::ADD, {{2}}))},
      {Rule::pointwise_broadcast,
       {"'node'", "tensor 'IN_1': dims [3,2]", "'IN_0' are [2,3]"},
       refused(pointwise(P::ADD, {{2, 3}, {3, 2}}))},
      {Rule::pointwise_broadcast,
       {"'node'", "tensor 'IN_0': dims [2,3]", "'IN_1' are [1,2,3]", "one rank"},
       refused(pointwise(P::ADD, {{2, 3}, {1, 2, 3}}))},
      {Rule::pointwise_broadcast,
       {"'node'", "tensor 'IN_2': dims [4]", "'IN_0' are [2]", "'IN_1' are [2]"},
       refused(pointwise(P::BINARY_SELECT, {{2}, {2}, {4}}))},
      {Rule::pointwise_axis, {"'node'", "not set"}, refused(pointwise(P::GEN_INDEX, {{2, 3}}))},
      {Rule::pointwise_axis,
       {"'node'", "axis 2", "rank 2"},
       refused(pointwise(P::GEN_INDEX, {{2, 3}}, {{"axis", int64_t(2)}}))},
      {Rule::pointwise_parameter,
       {"'node'", "'elu_alpha'", "EXP"},
       refused(pointwise(P::EXP, {{2}}, {{"elu_alpha", 2.0}}))},
      {Rule::pointwise_clip_order,
       {"'node'", "lower 2", "upper 1"},
       refused(pointwise(P::RELU_FWD, {{2}}, {{"relu_lower_clip", 2.0}, {"relu_upper_clip", 1.0}}))},
      {Rule::integer_compute, {"'node'", "EXP"}, refused(in_integers(pointwise(P::EXP, {{2}})))},
      {Rule::integer_compute, {"'node'", "AVG"}, refused(in_integers(reduction(M::AVG, {2}, {1})))},
      {Rule::integer_compute, {"'node'"}, refused(in_integers(norm({2, 3}, {1, 3}, {1, 3})))},
      {Rule::reduction_mode, {"'node'", "NOT_SET"}, refused(reduction(M::NOT_SET, {2}, {1}))},
      {Rule::reduction_dims, {"'node'", "'Y'", "[2]", "[4]"}, refused(reduction(M::ADD, {4}, {2}))},
      {Rule::reduction_dims, {"'node'", "'Y'", "[1]", "[4,2]"}, refused(reduction(M::ADD, {4, 2}, {1}))},
      {Rule::reshape_volume, {"'node'", "'Y'", "[5]", "[2,3]"}, refused(reshape({2, 3}, {{"dim", Dims{5}}}))},
      {Rule::reshape_stride, {"'node'", "'Y'", "[2]", "[1]"}, reshape_with_two_strides},
      {Rule::reshape_view,
       {"'node'", "'Y'", "[1,3]", "[3,1]"},
       refused(reshape({2, 3}, {{"dim", Dims{3, 2}}, {"stride", Dims{1, 3}}}))},
      {Rule::node_output_dims, {"'node'", "'Y'", "cannot be inferred"}, refused(reshape({2, 3}, {}))},
      {Rule::node_output_dims, {"'node'", "'Y'", "[3,2]", "[6]"}, refused(reshape({2, 3}, {{"dim", Dims{6}}}, {3, 2}))},
      {Rule::transpose_permutation,
       {"'node'", "'X'", "[0,0]", "rank 2"},
       refused(case_of(OpKind::transpose, {{"X", {2, 3}}}, {{"permutation", Dims{0, 0}}}, {{"Y", {}}}))},
      {Rule::slice_rank, {"'node'", "'X'", "1 ranges", "rank 2"}, refused(slice({2, 3}, {0, 1}))},
      {Rule::slice_rank, {"'node'", "'X'", "1 steps", "rank 2"}, refused(slice({2, 3}, {0, 1, 0, 3}, {2}))},
      {Rule::slice_range,
       {"'node'", "'X'", "axis 1", "from 2 to 4", "dim[1] = 3"},
       refused(slice({2, 3}, {0, 1, 2, 4}))},
      {Rule::slice_range, {"'node'", "'X'", "from 2 to 1"}, refused(slice({2, 3}, {2, 1, 0, 3}))},
      {Rule::slice_range, {"'node'", "'X'", "from -1"}, refused(slice({2, 3}, {-1, 1, 0, 3}))},
      {Rule::slice_range, {"'node'", "'X'", "steps of 0"}, refused(slice({2, 3}, {0, 1, 0, 3}, {1, 0}))},
      {Rule::concatenate_axis, {"'node'", "axis 1", "rank 1"}, refused(concatenate({2}, {3}, 1))},
      {Rule::concatenate_axis, {"'node'", "axis -1", "rank 1", "counts from 0"}, refused(concatenate({2}, {3}, -1))},
      {Rule::concatenate_dims, {"'node'", "'1'", "[2,4]", "[2,3]"}, refused(concatenate({2, 3}, {2, 4}, 0))},
      {Rule::concatenate_dims, {"'node'", "'1'", "[2]", "[2,3]"}, refused(concatenate({2, 3}, {2}, 0))},
      {Rule::concatenate_in_place, {"'node'", "in_place_index 2", "2 inputs"}, refused(in_place_at(2))},
      {Rule::norm_phase, {"'node'", "NOT_SET"}, refused(norm({2, 3}, {1, 3}, {1, 3}, {1}, NormFwdPhase_t::NOT_SET))},
      {Rule::norm_scale_dims, {"'node'", "'SCALE'", "[1,2]", "[2,3]"}, refused(norm({2, 3}, {1, 2}, {1, 2}))},
      {Rule::norm_scale_dims, {"'node'", "'SCALE'", "[3]", "[2,3]"}, refused(norm({2, 3}, {3}, {3}))},
      {Rule::norm_bias_dims, {"'node'", "'BIAS'", "[1,1]", "[1,3]"}, refused(norm({2, 3}, {1, 3}, {1, 1}))},
      {Rule::norm_epsilon, {"'node'", "'EPSILON'", "[2]"}, refused(norm({2, 3}, {1, 3}, {1, 3}, {2}))},
      {Rule::norm_statistics, {"'node'", "'MEAN'", "INFERENCE"}, refused(with_mean(norm({2, 3}, {1, 3}, {1, 3})))},
      {Rule::norm_statistics,
       {"'node'", "not given", "TRAINING"},
       refused(norm({2, 3}, {1, 3}, {1, 3}, {1}, NormFwdPhase_t::TRAINING))},
  };
}

}  // namespace fusednn::tests
