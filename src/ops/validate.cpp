#include "ops/validate.h"

#include "base/numeric.h"
#include "ir/layout.h"
#include "ops/row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <unordered_map>

namespace fusednn::ops {

namespace {

using base::Error;
using base::make_error;
using base::Rule;
using Errors = std::vector<Error>;

/// The enumerator, or the number of one that is none.
template <class Enum>
std::string text_of(Enum value) {
  base::EnumNames const& names = base::enum_names<Enum>();
  int64_t const number = static_cast<int64_t>(value);
  bool const known = number >= 0 && number < names.count;
  return known ? std::string(names.name(number)) : fmt::format("{} of {}", number, names.type);
}

std::string_view text_of(AttrType type) {
  switch (type) {
    case AttrType::boolean:
      return "a boolean";
    case AttrType::integer:
      return "an integer";
    case AttrType::enumeration:
      return "an enumerator";
    case AttrType::real:
      return "a real number";
    case AttrType::integers:
      return "a list of integers";
    case AttrType::integer_pairs:
      return "a list of pairs of integers";
  }
  return "?";
}

/// What a value of another type than its attribute's is.
std::string text_of(ir::AttrValue const& value) {
  struct Text {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::vector<int64_t> const& v) const { return fmt::format("[{}]", fmt::join(v, ",")); }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
  };
  return std::visit(Text(), value);
}

bool matches(AttrType type, ir::AttrValue const& value) {
  switch (type) {
    case AttrType::boolean:
      return std::holds_alternative<bool>(value);
    case AttrType::integer:
    case AttrType::enumeration:
      return std::holds_alternative<int64_t>(value);
    case AttrType::real:
      return std::holds_alternative<double>(value);
    case AttrType::integers:
      return std::holds_alternative<std::vector<int64_t>>(value);
    case AttrType::integer_pairs: {
      auto const* list = std::get_if<std::vector<int64_t>>(&value);
      return list && list->size() % 2 == 0;
    }
  }
  return false;
}

/// Fills in defaults, so that every attribute of the row is present, in the row's order.
void complete_attributes(ir::Node& node, OpRow const& row, Errors& errors) {
  for (auto const& [name, value] : node.attrs.all())
    if (!row.find_attr(name))
      errors.push_back(make_error(Rule::node_unknown_attribute, {node.name, {}}, fmt::format("'{}'", name)));
  ir::AttrSet complete;
  for (Attr const& a : row.attrs) {
    ir::AttrValue value = node.attrs.is_set(a.name) ? *node.attrs.find(a.name) : a.default_value;
    bool const unset = std::holds_alternative<std::monostate>(value);
    if (unset && a.required)
      errors.push_back(
          make_error(Rule::node_missing_attribute, {node.name, {}}, fmt::format("'{}' is not set", a.name)));
    if (!unset && !matches(a.type, value)) {
      errors.push_back(make_error(Rule::node_attribute_type, {node.name, {}},
                                  fmt::format("'{}' is {}, expected {}", a.name, text_of(value), text_of(a.type))));
    } else if (!unset && a.type == AttrType::enumeration) {
      int64_t const number = std::get<int64_t>(value);
      if (number < 0 || number >= a.names().count)
        errors.push_back(
            make_error(Rule::node_attribute_value, {node.name, {}},
                       fmt::format("'{}' is {}, {} has 0 to {}", a.name, number, a.names().type, a.names().count - 1)));
    }
    complete.set(a.name, std::move(value));
  }
  node.attrs = std::move(complete);
}

/// Ports, writers, cycles: what inference relies on. Nothing further is looked at where this fails.
void check_structure(ir::Graph& graph, Errors& errors) {
  if (graph.nodes.empty()) errors.push_back(make_error(Rule::graph_empty, {}, "no operation"));
  std::unordered_map<ir::TensorId, std::string_view> writer;
  for (ir::Node& node : graph.nodes) {
    OpRow const& r = row(node.op);
    complete_attributes(node, r, errors);
    node.inputs.resize(std::max(node.inputs.size(), r.inputs.size()), ir::no_tensor);
    node.outputs.resize(std::max(node.outputs.size(), r.outputs.size()), ir::no_tensor);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Port const* port = r.input_port(i);
      if (!port)
        errors.push_back(make_error(Rule::node_unknown_port, {node.name, {}}, fmt::format("input {}", i)));
      else if (port->kind != PortKind::optional && node.inputs[i] == ir::no_tensor)
        errors.push_back(
            make_error(Rule::node_missing_input, {node.name, {}}, fmt::format("input {} is null", port->name)));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      ir::TensorId t = node.outputs[i];
      if (i >= r.outputs.size()) {
        errors.push_back(make_error(Rule::node_unknown_port, {node.name, {}}, fmt::format("output {}", i)));
        break;
      }
      if (t == ir::no_tensor) {
        if (r.outputs[i].kind == PortKind::required)
          errors.push_back(make_error(Rule::node_missing_input, {node.name, {}},
                                      fmt::format("output {} is null", r.outputs[i].name)));
        continue;
      }
      auto [at, first] = writer.emplace(t, node.name);
      if (!first)
        errors.push_back(make_error(Rule::graph_two_writers, {node.name, graph.tensor(t).name},
                                    fmt::format("also written by '{}'", at->second)));
    }
  }
  if (!errors.empty()) return;
  std::vector<int> order = ir::topological_order(graph);
  if (order.size() < graph.nodes.size()) {
    std::vector<bool> ordered(graph.nodes.size());
    for (int n : order) ordered[static_cast<size_t>(n)] = true;
    for (size_t n = 0; n < ordered.size(); ++n)
      if (!ordered[n])
        errors.push_back(make_error(Rule::graph_cycle, {graph.nodes[n].name, {}}, "lies on or behind a cycle"));
    return;
  }
  std::vector<ir::Node> sorted;
  for (int n : order) sorted.push_back(std::move(graph.nodes[static_cast<size_t>(n)]));
  graph.nodes = std::move(sorted);
}

void infer(ir::Graph& graph) {
  std::vector<bool> written(graph.tensors.size());
  for (ir::Node const& node : graph.nodes)
    for (ir::TensorId t : node.outputs)
      if (t != ir::no_tensor) written[static_cast<size_t>(t)] = true;
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    if (!written[t] && graph.tensors[t].dtype == DataType_t::NOT_SET) graph.tensors[t].dtype = graph.context.io_type;

  Errors ignored;  // rows report in check()
  for (ir::Node& node : graph.nodes) {
    OpRow const& r = row(node.op);
    if (node.compute == DataType_t::NOT_SET) node.compute = graph.context.compute_type;
    NodeContext ctx(graph, node, r, ignored);
    bool ready = true;
    for (ir::TensorId t : node.inputs) ready = ready && (t == ir::no_tensor || !graph.tensor(t).dims.empty());
    if (ready) r.infer(ctx);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!ctx.has_out(i)) continue;
      ir::Tensor& t = ctx.out(i);
      if (t.dtype == DataType_t::NOT_SET) t.dtype = r.outputs[i].default_dtype;
      if (t.dtype == DataType_t::NOT_SET)
        t.dtype = t.is_virtual ? graph.context.intermediate_type : graph.context.io_type;
    }
  }
}

bool storable(DataType_t dtype) { return type_info(dtype) != nullptr; }

class TensorChecks {
 public:
  TensorChecks(ir::Graph const& graph, Errors& errors) : graph_(graph), errors_(errors) {
    writer_.resize(graph.tensors.size());
    used_.resize(graph.tensors.size());
    for (ir::Node const& node : graph.nodes) {
      for (ir::TensorId t : node.outputs)
        if (t != ir::no_tensor) writer_[static_cast<size_t>(t)] = &node;
      for (ir::TensorId t : node.inputs)
        if (t != ir::no_tensor) use(t);
    }
  }

  void run() {
    std::unordered_map<int64_t, std::string_view> uids;
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      ir::Tensor const& t = graph_.tensors[i];
      if (t.uid) {
        auto [at, first] = uids.emplace(*t.uid, t.name);
        if (!first) fail(t, Rule::graph_duplicate_uid, fmt::format("uid {} is also that of '{}'", *t.uid, at->second));
      }
      if (used_[i] || writer_[i]) check(t, writer_[i]);
    }
  }

 private:
  void use(ir::TensorId t) {
    used_[static_cast<size_t>(t)] = true;
    if (graph_.tensor(t).ragged_offset != ir::no_tensor)
      used_[static_cast<size_t>(graph_.tensor(t).ragged_offset)] = true;
  }
  void fail(ir::Tensor const& t, Rule rule, std::string_view found, ir::Node const* node = nullptr) {
    errors_.push_back(make_error(rule, {node ? std::string_view(node->name) : std::string_view(), t.name}, found));
  }

  void check(ir::Tensor const& t, ir::Node const* writer) {
    if (t.dtype == DataType_t::NOT_SET)
      fail(t, Rule::tensor_no_dtype, "no data type, and the graph gives none", writer);
    else if (!storable(t.dtype))
      fail(t, Rule::tensor_dtype_unsupported, fmt::format("data type {}", text_of(t.dtype)), writer);
    if (t.vector_count != 1 || t.reordering != TensorReordering_t::NONE)
      fail(t, Rule::tensor_vectorized_unsupported,
           fmt::format("vector count {}, reordering {}", t.vector_count, text_of(t.reordering)), writer);
    if (t.alignment <= 0 || !std::has_single_bit(static_cast<uint64_t>(t.alignment)))
      fail(t, Rule::tensor_alignment, fmt::format("alignment {}", t.alignment), writer);
    check_role(t, writer);
    check_layout(t, writer);
    if (t.ragged_offset != ir::no_tensor) {
      ir::Tensor const& offsets = graph_.tensor(t.ragged_offset);
      if (offsets.dtype != DataType_t::INT32 && offsets.dtype != DataType_t::INT64)
        fail(offsets, Rule::tensor_ragged_dtype,
             fmt::format("data type {}, ragged offsets of '{}'", text_of(offsets.dtype), t.name));
    }
  }

  void check_role(ir::Tensor const& t, ir::Node const* writer) {
    if (t.is_virtual && t.pass_by_value) fail(t, Rule::tensor_virtual_scalar, "is both", writer);
    if (t.is_virtual && !writer) fail(t, Rule::tensor_virtual_input, "no operation of this graph writes it");
    if (t.pass_by_value && writer) fail(t, Rule::tensor_scalar_output, "is passed by value", writer);
    if (t.compile_time_constant && !t.value) fail(t, Rule::tensor_constant_without_value, "has none", writer);
    if (t.value && t.value->type != t.dtype)
      fail(
          t, Rule::tensor_scalar_dtype,
          fmt::format("value of type {}, tensor of type {}", base::to_string(t.value->type), base::to_string(t.dtype)));
    if (t.pass_by_value && !t.dims.empty() && ir::volume(t.dims) != 1)
      fail(t, Rule::tensor_scalar_volume, fmt::format("dims [{}]", fmt::join(t.dims, ",")));
  }

  void check_layout(ir::Tensor const& t, ir::Node const* writer) {
    if (t.dims.empty()) {
      if (!t.strides.empty()) return fail(t, Rule::tensor_strides_without_dims, "strides without dims", writer);
      // An output's missing dims follow from an error of its node or of a tensor before it.
      if (!writer) fail(t, Rule::tensor_no_dims, "no dims");
      return;
    }
    if (t.strides.empty()) return fail(t, Rule::tensor_no_strides, "no strides", writer);
    if (t.strides.size() != t.dims.size() || t.rank() > ir::max_rank)
      return fail(t, Rule::tensor_rank, fmt::format("{} dims, {} strides", t.dims.size(), t.strides.size()), writer);
    for (size_t i = 0; i < t.dims.size(); ++i) {
      if (t.dims[i] < 0) return fail(t, Rule::tensor_negative_dim, fmt::format("dim[{}] = {}", i, t.dims[i]), writer);
      if (t.strides[i] < 0)
        return fail(t, Rule::tensor_negative_stride, fmt::format("stride[{}] = {}", i, t.strides[i]), writer);
    }
    auto span = ir::span_elements(t.dims, t.strides);
    if (!ir::volume(t.dims) || !span || !ir::storage_bytes(t.dtype, *span))
      return fail(t, Rule::tensor_overflow,
                  fmt::format("dims [{}], strides [{}]", fmt::join(t.dims, ","), fmt::join(t.strides, ",")), writer);
    if (writer && !t.is_virtual && ir::overlaps_itself(t.dims, t.strides))
      fail(t, Rule::tensor_output_overlap,
           fmt::format("dims [{}], strides [{}]", fmt::join(t.dims, ","), fmt::join(t.strides, ",")), writer);
  }

  ir::Graph const& graph_;
  Errors& errors_;
  std::vector<ir::Node const*> writer_;
  std::vector<bool> used_;
};

void check_node(ir::Graph& graph, ir::Node& node, Errors& errors) {
  OpRow const& r = row(node.op);
  if (node.compute == DataType_t::NOT_SET)
    return errors.push_back(
        make_error(Rule::node_no_compute_type, {node.name, {}}, "no compute type, and the graph gives none"));
  if (node.compute != DataType_t::FLOAT && node.compute != DataType_t::DOUBLE && node.compute != DataType_t::INT32)
    errors.push_back(make_error(Rule::node_compute_type, {node.name, {}}, text_of(node.compute)));
  for (ir::TensorId t : node.inputs)
    if (t != ir::no_tensor && graph.tensor(t).dims.empty()) return;  // reported where the dims went missing
  size_t const before = errors.size();
  NodeContext ctx(graph, node, r, errors);
  r.check(ctx);
  for (size_t i = 0; i < node.outputs.size() && errors.size() == before; ++i)
    if (ctx.has_out(i) && ctx.out(i).dims.empty())
      ctx.fail(Rule::node_output_dims, ctx.out(i).name, "dims cannot be inferred and are not given");
}

}  // namespace

base::Result<ir::OpGraphPtr> validate(ir::Graph draft) {
  Errors errors;
  check_structure(draft, errors);
  if (!errors.empty()) return errors;
  infer(draft);
  if (draft.context.override_shape)
    errors.push_back(make_error(Rule::graph_override_shape, {}, "override shapes are enabled"));
  TensorChecks(draft, errors).run();
  for (ir::Node& node : draft.nodes) check_node(draft, node, errors);
  if (!errors.empty()) return errors;
  return std::make_shared<ir::OpGraph const>(std::move(draft));
}

}  // namespace fusednn::ops
