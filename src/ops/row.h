#pragma once

#include "base/enum_names.h"
#include "base/result.h"
#include "ir/graph.h"
#include "ops/ref_tensor.h"

#include <span>

// One row per operation: all that the rest of the library knows of it. Validation, inference, the reference, JSON,
// the canonical key, the docs and the generated tests read the row and hold no second copy.

namespace fusednn::ops {

enum class PortKind { required, optional, variadic };

/// What a port's tensor is for: data is converted to the node's compute type before use, indices (lengths,
/// offsets, axes) are read as the integers they are.
enum class PortRole { data, index };

struct Port {
  std::string_view name;  ///< cudnn_frontend's JSON name
  std::string_view doc;   ///< dims and meaning
  PortKind kind = PortKind::required;
  PortRole role = PortRole::data;
  DataType_t default_dtype = DataType_t::NOT_SET;  ///< wins over the graph's io type; for statistics
};

/// Pairs are held flat, {first, second, first, second, ...}, and written to JSON as [[first, second], ...].
enum class AttrType { boolean, integer, real, integers, integer_pairs, enumeration };

struct Attr {
  std::string_view name;  ///< also the JSON key
  AttrType type;
  std::string_view doc;
  ir::AttrValue default_value = {};  ///< monostate: null in JSON
  bool required = false;
  base::EnumNames const& (*names)() = nullptr;  ///< for enumerations
};

struct OpRow;

/// A node under inference or under checking: its tensors by port, and a place for errors.
class NodeContext {
 public:
  NodeContext(ir::Graph& graph, ir::Node& node, OpRow const& row, std::vector<base::Error>& errors)
      : graph_(graph), node_(node), row_(row), errors_(errors) {}

  ir::Node& node() { return node_; }
  ir::AttrSet const& attrs() const { return node_.attrs; }
  ir::Context const& context() const { return graph_.context; }
  bool has_in(size_t port) const { return node_.input(port) != ir::no_tensor; }
  bool has_out(size_t port) const { return node_.output(port) != ir::no_tensor; }
  ir::Tensor const& in(size_t port) const { return graph_.tensor(node_.input(port)); }
  ir::Tensor& out(size_t port) { return graph_.tensor(node_.output(port)); }
  size_t in_count() const { return node_.inputs.size(); }

  /// Sets the dims of an output that has none.
  void infer_dims(size_t port, ir::Dims dims) {
    if (has_out(port) && out(port).dims.empty()) out(port).dims = std::move(dims);
  }
  /// Sets the strides of an output that has none: packed, axes in the memory order of `like` (same rank) or row-major.
  void infer_strides(size_t port, ir::Tensor const& like);
  void infer_packed_strides(size_t port);

  /// Records that the node breaks `rule`; `tensor` may be empty.
  void fail(base::Rule rule, std::string_view tensor, std::string_view found) {
    errors_.push_back(base::make_error(rule, {node_.name, tensor}, found));
  }
  /// Fails with node_output_dims unless the output has these dims.
  void expect_dims(size_t port, ir::Dims const& dims);

 private:
  ir::Graph& graph_;
  ir::Node& node_;
  OpRow const& row_;
  std::vector<base::Error>& errors_;
};

/// A node under reference execution. Data inputs have been converted to the compute type; outputs have their dims and
/// are converted to their declared types afterwards.
template <class R>
struct RefNode {
  ir::Graph const& graph;
  ir::Node const& node;
  std::vector<RefTensor<R> const*> in;  ///< by port, null where absent
  std::vector<RefTensor<R>*> out;

  ir::Tensor const& in_tensor(size_t port) const { return graph.tensor(node.inputs[port]); }
  ir::Tensor const& out_tensor(size_t port) const { return graph.tensor(node.outputs[port]); }
  /// Unit roundoff of the node's compute type; 0 for integers.
  R unit() const { return unit_roundoff<R>(node.compute); }
};

/// The reference of one row, in double and in long double (for graphs that hold DOUBLE or INT64).
struct Reference {
  void (*in_double)(RefNode<double>&) = nullptr;
  void (*in_long_double)(RefNode<long double>&) = nullptr;
};

struct OpRow {
  ir::OpKind kind;
  std::string_view tag;      ///< cudnn_frontend's JSON tag; empty for internal rows
  std::string_view builder;  ///< method of Graph, also the Python name
  std::string_view doc;      ///< formula, shapes, edge rules
  std::span<Port const> inputs;
  std::span<Port const> outputs;
  std::span<Attr const> attrs;
  /// Fills unset dims and strides of outputs; leaves them unset where the inputs make it impossible.
  void (*infer)(NodeContext&);
  /// Reports every rule that the completed node breaks.
  void (*check)(NodeContext&);
  Reference reference;
  /// Values pass through as they are: data is converted from the input's type to the output's, and the compute type
  /// plays no part.
  bool moves_data = false;

  Port const* input_port(size_t i) const {
    if (inputs.empty()) return nullptr;
    if (inputs.back().kind == PortKind::variadic && i + 1 >= inputs.size()) return &inputs.back();
    return i < inputs.size() ? &inputs[i] : nullptr;
  }
  /// Index of a port by name, -1 where there is none. Ports of a variadic row are named "0", "1", ...
  int find_input(std::string_view name) const;
  int find_output(std::string_view name) const;
  Attr const* find_attr(std::string_view name) const;
  /// Names of ports as JSON and tensor names spell them; inverse of the above.
  std::string input_name(size_t i) const;
  std::string output_name(size_t i) const;
};

/// The operation table.
OpRow const& row(ir::OpKind kind);
/// Row by JSON tag; null where there is none.
OpRow const* row_by_tag(std::string_view tag);

}  // namespace fusednn::ops
