#include "rules/firing.h"

// Rules of attention.

namespace fusednn::tests {

namespace {

using base::Rule;
using ir::OpKind;

/// A right attention case, changed by `change`.
template <class Change>
std::function<std::string()> changed(Change change) {
  return [change] {
    RowCase c;
    c.op = OpKind::sdpa;
    c.inputs["Q"].dims = {2, 4, 3, 8};
    c.inputs["K"].dims = {2, 2, 5, 8};
    c.inputs["V"].dims = {2, 1, 5, 6};
    c.outputs = {{"O", {}}};
    change(c);
    return refusal(c);
  };
}

using C = RowCase&;

auto attribute(std::string name, ir::AttrValue value) {
  return changed([=](C c) { c.attrs[name] = value; });
}

auto operand(std::string name, Dims dims, DataType_t dtype = DataType_t::FLOAT) {
  return changed([=](C c) { c.inputs[name] = {dims, {}, dtype}; });
}

void give_lengths(C c, Dims dims, DataType_t dtype) {
  c.attrs["padding_mask"] = true;
  c.inputs["SEQ_LEN_Q"] = {{2, 1, 1, 1}, {}, DataType_t::INT32};
  c.inputs["SEQ_LEN_KV"] = {dims, {}, dtype};
}

/// What the mask printer says of an attention graph.
std::string printed(std::string const& node, int64_t rows, int64_t length) {
  graph::Graph graph;
  graph.set_io_data_type(DataType_t::FLOAT).set_compute_data_type(DataType_t::FLOAT);
  auto tensor = [&](char const* name, int64_t s) {
    return graph.tensor(
        graph::Tensor_attributes().set_name(name).set_dim({1, 1, s, 4}).set_stride({4 * s, 4 * s, 4, 1}));
  };
  auto outputs = graph.sdpa(tensor("q", rows), tensor("k", 1 << 14), tensor("v", 1 << 14),
                            graph::SDPA_attributes().set_name("att"));
  outputs[0]->set_output(true);
  if (error_t e = graph.validate(); e.is_bad()) return e.get_message();
  std::string text;
  return graph.print_mask_ext(node, text, length).get_message();
}

}  // namespace

std::vector<Firing> attention_firings() {
  std::vector<Firing> firings = {
      {Rule::sdpa_rank, {"'node'", "'K'", "rank 3"}, operand("K", {2, 5, 8})},
      {Rule::sdpa_dims, {"'node'", "'K'", "dim[0] = 3", "'Q' has 2"}, operand("K", {3, 2, 5, 8})},
      {Rule::sdpa_dims, {"'node'", "'V'", "dim[0] = 1", "'Q' has 2"}, operand("V", {1, 1, 5, 6})},
      {Rule::sdpa_dims, {"'node'", "'K'", "dim[3] = 7", "'Q' has 8"}, operand("K", {2, 2, 5, 7})},
      {Rule::sdpa_dims, {"'node'", "'V'", "dim[2] = 4", "'K' has 5"}, operand("V", {2, 1, 4, 6})},
      {Rule::sdpa_heads, {"'node'", "'K'", "3 heads", "4"}, operand("K", {2, 3, 5, 8})},
      {Rule::sdpa_heads, {"'node'", "'V'", "8 heads", "4"}, operand("V", {2, 8, 5, 6})},
      {Rule::sdpa_heads, {"'node'", "'V'", "0 heads", "4"}, operand("V", {2, 0, 5, 6})},
      {Rule::sdpa_floating, {"'node'", "'Q'", "INT8"}, operand("Q", {2, 4, 3, 8}, DataType_t::INT8)},
      {Rule::sdpa_floating, {"'node'", "'Bias'", "BOOLEAN"}, operand("Bias", {2, 4, 3, 5}, DataType_t::BOOLEAN)},
      {Rule::sdpa_floating, {"'node'", "'Bias'", "INT32"}, operand("Bias", {2, 4, 3, 5}, DataType_t::INT32)},
      {Rule::sdpa_floating, {"'node'", "'Attn_scale'", "INT32"}, operand("Attn_scale", {1}, DataType_t::INT32)},
      {Rule::sdpa_scale, {"'node'", "'Attn_scale'", "[2]"}, operand("Attn_scale", {2})},
      {Rule::sdpa_scale, {"'node'", "'Attn_scale'", "too"}, changed([](C c) {
         c.inputs["Attn_scale"].dims = {1};
         c.attrs["attn_scale_value"] = 0.5;
       })},
      {Rule::sdpa_padding,
       {"'node'", "padding_mask is true", "SEQ_LEN_Q is not given"},
       attribute("padding_mask", true)},
      {Rule::sdpa_padding,
       {"'node'", "'SEQ_LEN_KV'", "padding_mask is false"},
       operand("SEQ_LEN_KV", {2, 1, 1, 1}, DataType_t::INT32)},
      {Rule::sdpa_padding, {"'att'", "padding_mask is false"}, [] { return printed("att", 4, 2); }},
      {Rule::sdpa_length_tensor, {"'node'", "'SEQ_LEN_KV'", "[1,1,1,1]", "B is 2"}, changed([](C c) {
         give_lengths(c, {1, 1, 1, 1}, DataType_t::INT32);
       })},
      {Rule::sdpa_length_tensor, {"'node'", "'SEQ_LEN_KV'", "FLOAT"}, changed([](C c) {
         give_lengths(c, {2, 1, 1, 1}, DataType_t::FLOAT);
       })},
      {Rule::sdpa_bias_dims, {"'node'", "'Bias'", "[2,2,3,5]", "[2,4,3,5]"}, operand("Bias", {2, 2, 3, 5})},
      {Rule::sdpa_bias_dims, {"'node'", "'Bias'", "[3,5]"}, operand("Bias", {3, 5})},
      {Rule::sdpa_band, {"'node'", "left_bound 0"}, attribute("left_bound", int64_t(0))},
      {Rule::sdpa_band, {"'node'", "right_bound -1"}, attribute("right_bound", int64_t(-1))},
      {Rule::sdpa_alignment,
       {"'node'", "BOTTOM_RIGHT"},
       attribute("diagonal_alignment", static_cast<int64_t>(DiagonalAlignment_t::BOTTOM_RIGHT))},
      {Rule::sdpa_stats, {"'node'", "generate_stats is true"}, attribute("generate_stats", true)},
      {Rule::sdpa_stats, {"'node'", "generate_stats is false"}, changed([](C c) { c.outputs["Stats"] = {}; })},
      {Rule::sdpa_stats, {"'node'", "stats_use_log2"}, attribute("stats_use_log2", true)},
      {Rule::integer_compute, {"'node'"}, changed([](C c) { c.compute = DataType_t::INT32; })},
      {Rule::node_output_dims, {"'node'", "'O'", "[2,4,3,8]", "[2,4,3,6]"}, changed([](C c) {
         c.outputs["O"].dims = {2, 4, 3, 8};
       })},
      {Rule::mask_node, {"'other'"}, [] { return printed("other", 4, -1); }},
      {Rule::mask_size, {"'att'", "16384 x 16384"}, [] { return printed("att", 1 << 14, -1); }},
      {Rule::sdpa_option_unsupported, {"'node'", "'Max'"}, changed([](C c) { c.outputs["Max"] = {}; })},
  };
  for (auto const& [name, value] : std::map<std::string, ir::AttrValue>{
           {"alibi_mask", true},
           {"is_mxfp8", true},
           {"unfuse_fma", true},
           {"dropout_probability", 0.5},
           {"max_seq_len_kv", int64_t(64)},
           {"mma_core_mode", static_cast<int64_t>(DataType_t::FP8_E4M3)},
       })
    firings.push_back({Rule::sdpa_option_unsupported, {"'node'", name}, attribute(name, value)});
  for (char const* port : {"Seed", "Offset", "Dropout_mask", "Page_table_K", "Block_mask", "SINK_TOKEN"})
    firings.push_back({Rule::sdpa_option_unsupported, {"'node'", port}, operand(port, {1, 1, 1, 1})});
  return firings;
}

}  // namespace fusednn::tests
