#pragma once

#include "ir/op_kind.h"

#include <fusednn/attributes.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The graph as plain data. A Graph may be a draft, with dims, strides and types still unset; an OpGraph
// (ir/op_graph.h) is a Graph that validation has completed and found right.

namespace fusednn::ir {

using Dims = std::vector<int64_t>;
/// Index into Graph::tensors.
using TensorId = int32_t;
inline constexpr TensorId no_tensor = -1;
inline constexpr int max_rank = 8;

using AttrValue = graph::Attribute_value;

/// Named attribute values of one node. After validation it holds every attribute of the operation's row,
/// unset ones as monostate.
class AttrSet {
 public:
  void set(std::string_view name, AttrValue value) {
    for (auto& [n, v] : values_)
      if (n == name) return void(v = std::move(value));
    values_.emplace_back(name, std::move(value));
  }
  AttrValue const* find(std::string_view name) const {
    for (auto const& [n, v] : values_)
      if (n == name) return &v;
    return nullptr;
  }
  bool is_set(std::string_view name) const {
    AttrValue const* v = find(name);
    return v && !std::holds_alternative<std::monostate>(*v);
  }
  /// The value, which must be set and of this type (validation has seen to it).
  template <class T>
  T const& get(std::string_view name) const {
    return std::get<T>(*find(name));
  }
  template <class T>
  std::optional<T> get_if(std::string_view name) const {
    return is_set(name) ? std::optional<T>(get<T>(name)) : std::nullopt;
  }
  template <class Enum>
  Enum get_enum(std::string_view name) const {
    return static_cast<Enum>(get<int64_t>(name));
  }
  std::vector<std::pair<std::string, AttrValue>> const& all() const { return values_; }

 private:
  std::vector<std::pair<std::string, AttrValue>> values_;
};

struct Tensor {
  std::string name;
  std::optional<int64_t> uid;
  DataType_t dtype = DataType_t::NOT_SET;
  Dims dims;
  Dims strides;  ///< elements
  bool is_virtual = false;
  bool pass_by_value = false;
  bool compile_time_constant = false;
  std::optional<graph::Scalar_value> value;
  TensorReordering_t reordering = TensorReordering_t::NONE;
  int64_t alignment = 16;  ///< bytes
  int64_t vector_count = 1;
  int64_t vector_dimension = -1;
  TensorId ragged_offset = no_tensor;

  int rank() const { return static_cast<int>(dims.size()); }
};

struct Node {
  OpKind op = OpKind::pointwise;
  std::string name;
  DataType_t compute = DataType_t::NOT_SET;
  std::vector<TensorId> inputs;   ///< by port of the operation's row; no_tensor where an optional one is absent
  std::vector<TensorId> outputs;  ///< likewise
  AttrSet attrs;

  TensorId input(size_t port) const { return port < inputs.size() ? inputs[port] : no_tensor; }
  TensorId output(size_t port) const { return port < outputs.size() ? outputs[port] : no_tensor; }
};

/// Settings that hold for the whole graph.
struct Context {
  std::string name;
  DataType_t io_type = DataType_t::NOT_SET;
  DataType_t intermediate_type = DataType_t::NOT_SET;
  DataType_t compute_type = DataType_t::NOT_SET;
  bool dynamic_shape = false;
  bool override_shape = false;
  bool allow_tf32 = false;
  bool deterministic = false;
  bool batch_invariant = false;
  int64_t workspace_limit = INT64_MAX;  ///< bytes
  int32_t sm_count = -1;
  int32_t sm_version = -1;
};

struct Graph {
  Context context;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;

  Tensor& tensor(TensorId id) { return tensors[static_cast<size_t>(id)]; }
  Tensor const& tensor(TensorId id) const { return tensors[static_cast<size_t>(id)]; }
  TensorId add(Tensor t) {
    tensors.push_back(std::move(t));
    return static_cast<TensorId>(tensors.size() - 1);
  }
};

}  // namespace fusednn::ir
