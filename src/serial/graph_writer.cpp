#include "ops/row.h"
#include "serial/graph_json.h"
#include "serial/scalar_text.h"

#include <fusednn/version.h>

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

namespace fusednn::serial {

namespace {

void write_enum(JsonWriter& out, base::EnumNames const& names, int64_t value) {
  if (value >= 0 && value < names.count)
    out.value(names.name(value));
  else
    out.value(value);
}

void write_type(JsonWriter& out, std::string_view key, DataType_t type) {
  out.key(key);
  if (type == DataType_t::NOT_SET)
    out.null();
  else
    write_enum(out, base::enum_names<DataType_t>(), static_cast<int64_t>(type));
}

void write_attribute(JsonWriter& out, ops::Attr const* attr, ir::AttrValue const& value) {
  if (auto const* v = std::get_if<bool>(&value)) {
    out.value(*v);
  } else if (auto const* v = std::get_if<int64_t>(&value)) {
    if (attr && attr->names)
      write_enum(out, attr->names(), *v);
    else
      out.value(*v);
  } else if (auto const* v = std::get_if<double>(&value)) {
    out.value(*v);
  } else if (auto const* v = std::get_if<std::vector<int64_t>>(&value); v && !v->empty()) {
    if (attr && attr->type == ops::AttrType::integer_pairs)
      out.pairs(*v);
    else
      out.value(std::span<int64_t const>(*v));
  } else {
    out.null();
  }
}

class GraphWriter {
 public:
  explicit GraphWriter(ir::Graph const& graph) : graph_(graph) { make_keys(); }

  std::string write() {
    out_.begin_object();
    out_.member("json_version", "1.0").member("fusednn_version", int64_t(FUSEDNN_VERSION));
    write_context();
    out_.key("nodes").begin_array();
    for (ir::Node const& node : graph_.nodes) write_node(node);
    out_.end_array();
    out_.key("tensors").begin_object();
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      out_.key(keys_[i]);
      write_tensor(graph_.tensors[i]);
    }
    out_.end_object();
    out_.end_object();
    return out_.take() + "\n";
  }

 private:
  void make_keys() {
    std::unordered_set<std::string> taken;
    for (ir::Tensor const& t : graph_.tensors)
      if (t.uid) taken.insert(fmt::format("{}", *t.uid));
    std::unordered_set<int64_t> seen_uids;
    std::unordered_map<std::string, int> copies;
    for (ir::Tensor const& t : graph_.tensors) {
      bool const by_uid = t.uid && seen_uids.insert(*t.uid).second;
      std::string const wanted = by_uid ? fmt::format("{}", *t.uid) : valid_utf8(t.name);
      std::string key = wanted;
      while (!by_uid && !taken.insert(key).second)
        key = fmt::format("{}#{}", wanted, ++copies.try_emplace(wanted, 1).first->second);
      keys_.push_back(std::move(key));
    }
  }

  void write_context() {
    ir::Context const &c = graph_.context, defaults;
    out_.key("context").begin_object();
    out_.member("name", c.name);
    write_type(out_, "io_data_type", c.io_type);
    write_type(out_, "intermediate_data_type", c.intermediate_type);
    write_type(out_, "compute_data_type", c.compute_type);
    out_.member("sm_count", int64_t(c.sm_count));
    out_.member("is_dynamic_shape_enabled", c.dynamic_shape).member("is_override_shape_enabled", c.override_shape);
    if (c.sm_version != defaults.sm_version) out_.member("sm_version", int64_t(c.sm_version));
    if (c.allow_tf32) out_.member("allow_tf32_ext", true);
    if (c.deterministic) out_.member("deterministic_ext", true);
    if (c.batch_invariant) out_.member("batch_invariant_ext", true);
    if (c.workspace_limit != defaults.workspace_limit) out_.member("workspace_limit_ext", c.workspace_limit);
    out_.end_object();
  }

  void write_node(ir::Node const& node) {
    ops::OpRow const& row = ops::row(node.op);
    out_.begin_object();
    out_.member("tag", row.tag).member("name", node.name);
    write_type(out_, "compute_data_type", node.compute);
    for (ops::Attr const& a : row.attrs) {
      ir::AttrValue const* value = node.attrs.find(a.name);
      out_.key(a.name);
      write_attribute(out_, &a, value ? *value : ir::AttrValue());
    }
    for (auto const& [name, value] : node.attrs.all()) {
      if (row.find_attr(name)) continue;
      out_.key(name);
      write_attribute(out_, nullptr, value);
    }
    write_ports("inputs", node.inputs, [&](size_t i) { return row.input_name(i); });
    write_ports("outputs", node.outputs, [&](size_t i) { return row.output_name(i); });
    out_.end_object();
  }

  template <class Name>
  void write_ports(std::string_view key, std::vector<ir::TensorId> const& ports, Name&& name) {
    out_.key(key).begin_object();
    size_t count = ports.size();
    while (count > 0 && ports[count - 1] == ir::no_tensor) --count;
    for (size_t i = 0; i < count; ++i) {
      // Numbered ports count what is there: null keeps the place of one that is not bound.
      bool const bound = ports[i] != ir::no_tensor, numbered = name(i) == fmt::format("{}", i);
      if (!bound && !numbered) continue;
      out_.key(name(i));
      if (bound)
        write_reference(ports[i]);
      else
        out_.null();
    }
    out_.end_object();
  }

  void write_reference(ir::TensorId id) {
    ir::Tensor const& t = graph_.tensor(id);
    std::string const& key = keys_[static_cast<size_t>(id)];
    if (t.uid && key == fmt::format("{}", *t.uid))
      out_.value(*t.uid);
    else
      out_.value(key);
  }

  void write_tensor(ir::Tensor const& t) {
    ir::Tensor const defaults;
    out_.begin_object();
    out_.member("name", t.name).member("uid", t.uid.value_or(0)).member("uid_assigned", t.uid.has_value());
    write_type(out_, "data_type", t.dtype);
    out_.key("dim").value(std::span<int64_t const>(t.dims));
    out_.key("stride").value(std::span<int64_t const>(t.strides));
    out_.member("is_virtual", t.is_virtual).member("is_pass_by_value", t.pass_by_value);
    out_.key("pass_by_value");
    if (t.value && scalar_index(t.value->type) >= 0) {
      out_.begin_object().member("index", scalar_index(t.value->type)).key("value");
      write_scalar(out_, *t.value);
      out_.end_object();
    } else {
      out_.null();
    }
    out_.key("reordering_type");
    write_enum(out_, base::enum_names<TensorReordering_t>(), static_cast<int64_t>(t.reordering));
    if (t.compile_time_constant) out_.member("is_compile_time_constant", true);
    if (t.alignment != defaults.alignment) out_.member("alignment", t.alignment);
    if (t.vector_count != defaults.vector_count) out_.member("vector_count", t.vector_count);
    if (t.vector_dimension != defaults.vector_dimension) out_.member("vector_dimension", t.vector_dimension);
    if (t.ragged_offset != ir::no_tensor) {
      out_.key("ragged_offset");
      write_reference(t.ragged_offset);
    }
    out_.end_object();
  }

  ir::Graph const& graph_;
  std::vector<std::string> keys_;  ///< by TensorId
  JsonWriter out_;
};

}  // namespace

std::string to_json(ir::Graph const& graph) { return GraphWriter(graph).write(); }

}  // namespace fusednn::serial
