#include "ops/row.h"
#include "serial/fields.h"
#include "serial/graph_json.h"
#include "serial/scalar_text.h"

#include <algorithm>
#include <unordered_map>

namespace fusednn::serial {

namespace {

using base::Rule;
using Errors = std::vector<base::Error>;

class GraphReader {
 public:
  base::Result<ir::Graph> read(JsonValue const& document) {
    {
      Fields top(document, "graph", errors_);
      std::string const version = top.text("json_version", "1.0");
      if (version != "1.0") top.fail(Rule::json_version, "json_version", fmt::format("'{}'", version));
      for (auto key : {"cudnn_frontend_version", "cudnn_backend_version", "fusednn_version"}) top.take(key);
      if (JsonValue const* context = top.take("context")) read_context(*context);
      JsonValue const *tensors = top.require("tensors"), *nodes = top.require("nodes");
      if (tensors) read_tensors(*tensors);
      if (nodes) read_nodes(*nodes, top);
    }
    if (!errors_.empty()) return std::move(errors_);
    return std::move(graph_);
  }

 private:
  void read_context(JsonValue const& value) {
    Fields f(value, "context", errors_);
    ir::Context& c = graph_.context;
    c.name = f.text("name", "");
    c.io_type = f.enumerator("io_data_type", DataType_t::NOT_SET);
    c.intermediate_type = f.enumerator("intermediate_data_type", DataType_t::NOT_SET);
    c.compute_type = f.enumerator("compute_data_type", DataType_t::NOT_SET);
    c.dynamic_shape = f.flag("is_dynamic_shape_enabled", false);
    c.override_shape = f.flag("is_override_shape_enabled", false);
    c.sm_count = static_cast<int32_t>(f.integer("sm_count", -1, -1, INT32_MAX));
    c.sm_version = static_cast<int32_t>(f.integer("sm_version", -1, -1, INT32_MAX));
    c.allow_tf32 = f.flag("allow_tf32_ext", false);
    c.deterministic = f.flag("deterministic_ext", false);
    c.batch_invariant = f.flag("batch_invariant_ext", false);
    c.workspace_limit = f.integer("workspace_limit_ext", INT64_MAX);
  }

  void read_tensors(JsonValue const& value) {
    auto const* members = value.get_if<JsonValue::Object>();
    if (!members) return fail(Rule::json_type, fmt::format("tensors: found {}, expected an object", value.describe()));
    tensors_known_ = true;
    for (JsonValue::Member const& m : *members) {
      ids_.emplace(m.key, graph_.add({}));
      keys_.push_back(m.key);
    }
    for (size_t i = 0; i < members->size(); ++i) read_tensor((*members)[i], graph_.tensors[i]);
    for (size_t i = 0; i < members->size(); ++i) {
      ir::TensorId const offsets = graph_.tensors[i].ragged_offset;
      if (offsets != ir::no_tensor && graph_.tensor(offsets).ragged_offset != ir::no_tensor)
        errors_.push_back(base::make_error(Rule::json_ragged_offset, {{}, keys_[i]},
                                           fmt::format("'{}' has some too", keys_[static_cast<size_t>(offsets)])));
    }
  }

  void read_tensor(JsonValue::Member const& member, ir::Tensor& t) {
    Fields f(member.value, fmt::format("tensors.{}", member.key), errors_);
    t.name = f.text("name", member.key);
    bool const has_uid = f.take("uid") != nullptr;
    int64_t const uid = f.integer("uid", 0);
    if (f.flag("uid_assigned", has_uid)) t.uid = uid;
    t.dtype = f.enumerator("data_type", DataType_t::NOT_SET);
    t.dims = f.integers("dim");
    t.strides = f.integers("stride");
    t.is_virtual = f.flag("is_virtual", false);
    t.pass_by_value = f.flag("is_pass_by_value", false);
    if (JsonValue const* scalar = f.take("pass_by_value")) read_value(*scalar, f.at("pass_by_value"), t);
    t.compile_time_constant = f.flag("is_compile_time_constant", false);
    t.reordering = f.enumerator("reordering_type", TensorReordering_t::NONE);
    ir::Tensor const defaults;
    t.alignment = f.integer("alignment", defaults.alignment);
    t.vector_count = f.integer("vector_count", defaults.vector_count);
    t.vector_dimension = f.integer("vector_dimension", defaults.vector_dimension);
    if (JsonValue const* offsets = f.take("ragged_offset"))
      t.ragged_offset = reference(*offsets, f.at("ragged_offset"));
  }

  void read_value(JsonValue const& value, std::string const& path, ir::Tensor& t) {
    Fields f(value, path, errors_);
    int64_t const index = f.integer("index", -1, 0, std::size(scalar_types) - 1);
    JsonValue const* number = f.require("value");
    if (index < 0 || !number) return;
    DataType_t const type = scalar_types[index];
    t.value = read_scalar(type, *number);
    if (!t.value)
      f.fail(Rule::json_scalar, "value", fmt::format("{} as {}", number->describe(), base::to_string(type)));
  }

  void read_nodes(JsonValue const& value, Fields& top) {
    auto const* list = value.get_if<JsonValue::Array>();
    if (!list) return top.wrong_type("nodes", value, "a list");
    for (size_t i = 0; i < list->size(); ++i) read_node((*list)[i], fmt::format("nodes[{}]", i));
  }

  void read_node(JsonValue const& value, std::string path) {
    JsonValue const* tag = value.find("tag");
    auto const* name = tag ? tag->get_if<std::string>() : nullptr;
    ops::OpRow const* row = name ? ops::row_by_tag(*name) : nullptr;
    // Only the operation's row says what belongs in the node, so nothing further is judged without one.
    if (name && !row) return fail(Rule::json_operation, fmt::format("{}.tag: {}", path, tag->describe()));
    Fields f(value, path, errors_);
    if (!row) {
      if (!tag || tag->is_null())
        f.require("tag");
      else
        f.wrong_type("tag", *tag, "a string");
      for (JsonValue::Member const& m : f.members()) f.take(m.key);
      return;
    }
    f.take("tag");
    ir::Node node;
    node.op = row->kind;
    node.name = f.text("name", "");
    node.compute = f.enumerator("compute_data_type", DataType_t::NOT_SET);
    for (ops::Attr const& a : row->attrs)
      if (JsonValue const* v = f.take(a.name)) read_attribute(f, a, *v, node.attrs);
    // A port has one spelling: "01" is not port 1.
    auto input = [&](std::string_view port) {
      int const i = row->find_input(port);
      return i >= 0 && row->input_name(static_cast<size_t>(i)) == port ? i : -1;
    };
    auto output = [&](std::string_view port) { return row->find_output(port); };
    read_ports(f, "inputs", row->inputs.size(), input, node.inputs);
    read_ports(f, "outputs", row->outputs.size(), output, node.outputs);
    note_writer(node, path);
    graph_.nodes.push_back(std::move(node));
  }

  void read_attribute(Fields& f, ops::Attr const& a, JsonValue const& value, ir::AttrSet& attrs) {
    auto store = [&](auto const& v, std::string_view expected) {
      if (v)
        attrs.set(a.name, *v);
      else
        f.wrong_type(a.name, value, expected);
    };
    switch (a.type) {
      case ops::AttrType::boolean:
        return store(value.get_if<bool>(), "true or false");
      case ops::AttrType::integer:
        return store(value.get_if<int64_t>(), "an integer");
      case ops::AttrType::real:
        return store(read_real(value), "a number");
      case ops::AttrType::enumeration:
        return attrs.set(a.name, f.enumerator(a.name, value, a.names(), 0));
      case ops::AttrType::integers:
      case ops::AttrType::integer_pairs:
        break;
    }
    bool const pairs = a.type == ops::AttrType::integer_pairs;
    auto const list = pairs ? integer_pairs(value) : integer_list(value);
    if (!list || !list->empty()) store(list, pairs ? "a list of pairs of integers" : "a list of integers");
  }

  template <class Find>
  void read_ports(Fields& node, std::string_view key, size_t row_ports, Find&& find, std::vector<ir::TensorId>& ids) {
    JsonValue const* value = node.take(key);
    if (!value) return;
    Fields ports(*value, node.at(key), errors_);
    // Variadic ports are numbered: a number beyond the members' count would leave a gap.
    size_t const most = std::max(row_ports, ports.members().size());
    for (JsonValue::Member const& m : ports.members()) {
      JsonValue const* tensor = ports.take(m.key);
      if (!tensor) continue;
      int const port = find(m.key);
      if (port < 0 || static_cast<size_t>(port) >= most) {
        ports.fail(Rule::json_unknown_port, m.key, "no such port");
        continue;
      }
      size_t const i = static_cast<size_t>(port);
      if (ids.size() <= i) ids.resize(i + 1, ir::no_tensor);
      ids[i] = reference(*tensor, ports.at(m.key));
    }
  }

  /// A tensor by key: a name, or a number for a uid.
  ir::TensorId reference(JsonValue const& value, std::string const& path) {
    auto const* uid = value.get_if<int64_t>();
    auto const* name = value.get_if<std::string>();
    if (!uid && !name) {
      fail(Rule::json_type, fmt::format("{}: found {}, expected a tensor's name or uid", path, value.describe()));
      return ir::no_tensor;
    }
    auto const at = ids_.find(uid ? fmt::format("{}", *uid) : *name);
    if (at != ids_.end()) return at->second;
    if (tensors_known_) fail(Rule::json_unknown_tensor, fmt::format("{}: {}", path, value.describe()));
    return ir::no_tensor;
  }

  /// cudnn_frontend names tensors after their nodes, so that unnamed nodes make different tensors share a key: what
  /// was meant cannot be told any more.
  void note_writer(ir::Node const& node, std::string const& path) {
    for (ir::TensorId t : node.outputs) {
      if (t == ir::no_tensor) continue;
      std::string const& key = keys_[static_cast<size_t>(t)];
      auto const [first, fresh] = writer_.emplace(t, path);
      if (!fresh)
        shared(key, fmt::format("written by {} and by {}", first->second, path));
      else if (std::count(node.inputs.begin(), node.inputs.end(), t))
        shared(key, fmt::format("{} reads and writes it", path));
    }
  }

  void shared(std::string const& key, std::string const& found) {
    errors_.push_back(base::make_error(Rule::json_shared_tensor, {{}, key}, found));
  }
  void fail(Rule rule, std::string_view found) { errors_.push_back(base::make_error(rule, {}, found)); }

  ir::Graph graph_;
  Errors errors_;
  bool tensors_known_ = false;  ///< else their absence has been reported, and references cannot be judged
  std::unordered_map<std::string, ir::TensorId> ids_;
  std::vector<std::string> keys_;                         ///< by TensorId
  std::unordered_map<ir::TensorId, std::string> writer_;  ///< path of the node
};

}  // namespace

base::Result<ir::Graph> from_json(std::string_view text) {
  base::Result<JsonValue> document = parse_json(text);
  if (!document) return document.errors();
  return GraphReader().read(*document);
}

}  // namespace fusednn::serial
