#include "rules/firing.h"

// Rules of tensors, and of graphs and nodes whatever their operation is.

namespace fusednn::tests {

namespace {

using base::Rule;
using ir::OpKind;

/// y = exp(x) as a draft, changed by `change`.
template <class Change>
std::function<std::string()> changed(Change change) {
  return [change] {
    RowCase c;
    c.inputs = {{"IN_0", {{2, 3}, {}}}};
    c.outputs = {{"OUT_0", {}}};
    c.attrs = {{"mode", static_cast<int64_t>(PointwiseMode_t::EXP)}};
    ir::Graph graph = draft_of(c);
    change(graph, graph.tensors[0], graph.tensors[1]);
    return refusal(graph);
  };
}

using G = ir::Graph&;
using T = ir::Tensor&;

}  // namespace

std::vector<Firing> tensor_firings() {
  std::vector<std::string> const in = {"'IN_0'"}, out = {"'node'", "'OUT_0'"};
  auto with = [](std::vector<std::string> names, std::string value) { return names.push_back(value), names; };
  return {
      {Rule::graph_empty, {}, [] { return refusal(ir::Graph()); }},
      {Rule::graph_cycle, {"'node'"}, changed([](G g, T, T) { g.nodes[0].outputs[0] = g.nodes[0].inputs[0]; })},
      {Rule::graph_two_writers, {"'second'", "'OUT_0'", "'node'"}, changed([](G g, T, T) {
         g.nodes.push_back(g.nodes[0]);
         g.nodes[1].name = "second";
       })},
      {Rule::graph_duplicate_uid, {"'OUT_0'", "'IN_0'", "7"}, changed([](G, T x, T y) { x.uid = y.uid = 7; })},
      {Rule::graph_override_shape, {}, changed([](G g, T, T) { g.context.override_shape = true; })},
      {Rule::tensor_no_dtype, in, changed([](G g, T x, T) {
         x.dtype = DataType_t::NOT_SET;
         g.context.io_type = DataType_t::NOT_SET;
       })},
      {Rule::tensor_no_dims, in, changed([](G, T x, T) { x.dims = x.strides = {}; })},
      {Rule::tensor_no_strides, in, changed([](G, T x, T) { x.strides = {}; })},
      {Rule::tensor_strides_without_dims, in, changed([](G, T x, T) { x.dims = {}; })},
      {Rule::tensor_rank, with(in, "3 strides"), changed([](G, T x, T) {
         x.strides = {6, 3, 1};
       })},
      {Rule::tensor_rank, with(in, "9 dims"), changed([](G, T x, T) { x.dims = x.strides = Dims(9, 1); })},
      {Rule::tensor_negative_dim, with(in, "dim[1] = -3"), changed([](G, T x, T) {
         x.dims = {2, -3};
       })},
      {Rule::tensor_negative_stride, with(in, "stride[0] = -3"), changed([](G, T x, T) {
         x.strides = {-3, 1};
       })},
      {Rule::tensor_overflow, with(in, "4294967296"), changed([](G, T x, T) {
         x.dims = {int64_t(1) << 32, int64_t(1) << 32};
       })},
      {Rule::tensor_overflow, with(in, "9223372036854775807"), changed([](G, T x, T) {
         x.strides = {INT64_MAX, 1};
       })},
      {Rule::tensor_output_overlap, with(out, "0,1"), changed([](G, T, T y) {
         y.dims = {2, 3};
         y.strides = {0, 1};
       })},
      {Rule::tensor_virtual_scalar, out, changed([](G, T, T y) { y.is_virtual = y.pass_by_value = true; })},
      {Rule::tensor_virtual_input, with(in, "of this graph"), changed([](G, T x, T) { x.is_virtual = true; })},
      {Rule::tensor_scalar_output, out, changed([](G, T, T y) { y.pass_by_value = true; })},
      {Rule::tensor_scalar_volume, with(in, "2,3"), changed([](G, T x, T) { x.pass_by_value = true; })},
      {Rule::tensor_constant_without_value, in, changed([](G, T x, T) { x.compile_time_constant = true; })},
      {Rule::tensor_scalar_dtype, with(in, "INT32"), changed([](G, T x, T) {
         x.dims = x.strides = {1, 1};
         x.pass_by_value = true;
         x.value = graph::Scalar_value(int32_t(1));
       })},
      {Rule::tensor_alignment, with(in, "24"), changed([](G, T x, T) { x.alignment = 24; })},
      {Rule::tensor_ragged_dtype, {"'offsets'", "'IN_0'", "FLOAT"}, changed([](G g, T x, T) {
         ir::Tensor offsets = x;
         offsets.name = "offsets";
         x.ragged_offset = static_cast<ir::TensorId>(g.tensors.size());
         g.add(offsets);
       })},
      {Rule::tensor_dtype_unsupported, with(in, "COMPLEX_FP32"),
       changed([](G, T x, T) { x.dtype = DataType_t::COMPLEX_FP32; })},
      {Rule::tensor_dtype_unsupported, with(in, "data type 99 of DataType_t"),
       changed([](G, T x, T) { x.dtype = static_cast<DataType_t>(99); })},
      {Rule::tensor_vectorized_unsupported, with(in, "4"), changed([](G, T x, T) { x.vector_count = 4; })},
      {Rule::tensor_vectorized_unsupported, with(in, "F8_128x4"),
       changed([](G, T x, T) { x.reordering = TensorReordering_t::F8_128x4; })},
      {Rule::node_no_compute_type, {"'node'"}, changed([](G g, T, T) { g.nodes[0].compute = DataType_t::NOT_SET; })},
      {Rule::node_compute_type, {"'node'", "HALF"}, changed([](G g, T, T) { g.nodes[0].compute = DataType_t::HALF; })},
      {Rule::node_compute_type, {"'node'", "77 of DataType_t"}, changed([](G g, T, T) {
         g.nodes[0].compute = static_cast<DataType_t>(77);
       })},
      {Rule::node_missing_input, {"'node'", "IN_0"}, changed([](G g, T, T) { g.nodes[0].inputs[0] = ir::no_tensor; })},
      {Rule::node_missing_input, {"'node'", "OUT_0"}, changed([](G g, T, T) {
         g.nodes[0].outputs[0] = ir::no_tensor;
       })},
      {Rule::node_unknown_port, {"'node'", "input 3"}, changed([](G g, T, T) {
         g.nodes[0].inputs.resize(4, ir::no_tensor);
       })},
      {Rule::node_unknown_port, {"'node'", "output 1"}, changed([](G g, T, T) {
         g.nodes[0].outputs.resize(2, ir::no_tensor);
       })},
      {Rule::node_unknown_attribute, {"'node'", "'colour'"}, changed([](G g, T, T) {
         g.nodes[0].attrs.set("colour", int64_t(1));
       })},
      {Rule::node_attribute_type, {"'node'", "'axis'", "is 1.5", "expected an integer"}, changed([](G g, T, T) {
         g.nodes[0].attrs.set("axis", 1.5);
       })},
      {Rule::node_attribute_type, {"'node'", "'elu_alpha'", "is [1,2]", "expected a real"}, changed([](G g, T, T) {
         g.nodes[0].attrs.set("elu_alpha", Dims{1, 2});
       })},
      {Rule::node_attribute_value,
       {"'node'", "'mode'", "is 1000", "PointwiseMode_t has 0 to 50"},
       changed([](G g, T, T) { g.nodes[0].attrs.set("mode", int64_t(1000)); })},
      {Rule::node_attribute_value, {"'node'", "'mode'", "is -1"}, changed([](G g, T, T) {
         g.nodes[0].attrs.set("mode", int64_t(-1));
       })},
      {Rule::node_missing_attribute, {"'node'", "'mode'"}, changed([](G g, T, T) {
         g.nodes[0].attrs.set("mode", ir::AttrValue());
       })},
      {Rule::node_output_dims, with(out, "[3,2], expected [2,3]"), changed([](G, T, T y) {
         y.dims = {3, 2};
       })},
  };
}

}  // namespace fusednn::tests
