#include "passes/loop_program.h"

#include "ir/layout.h"

#include <algorithm>
#include <map>
#include <set>

namespace fusednn::passes {

namespace {

using ir::Dims;
using ir::no_tensor;
using ir::OpKind;
using ir::TensorId;
using Op = LoopValue::Op;

/// Dims with a rank of their own count as all ones (scalars of dims {1}).
Dims in_rank(Dims dims, size_t rank) {
  if (dims.size() < rank) dims.assign(rank, 1);
  return dims;
}

/// The axes that a reduction, or a norm, takes together.
std::vector<bool> reduced_axes(ir::OpGraph const& graph, ir::Node const& n) {
  Dims const& x = graph.tensor(n.inputs[0]).dims;
  Dims const& y = is_norm(n) ? graph.tensor(n.inputs[1]).dims : graph.tensor(n.outputs[0]).dims;
  std::vector<bool> axes(x.size());
  for (size_t i = 0; i < x.size(); ++i) axes[i] = is_norm(n) ? y[i] != 1 : y[i] == 1 && x[i] != 1;
  return axes;
}

/// What the shapes of a set of nodes come to.
struct Shape {
  bool valid = false;
  Dims space;
  std::vector<bool> row_axes;
};

class ShapeFinder {
 public:
  ShapeFinder(ir::OpGraph const& graph, std::span<int const> nodes, int anchor)
      : graph_(graph), nodes_(nodes.begin(), nodes.end()), inside_(graph.nodes().size()), anchor_(anchor) {
    for (int n : nodes_) inside_[static_cast<size_t>(n)] = true;
  }

  Shape find() {
    if (!find_space() || !find_row_axes()) return shape_;
    shape_.valid = true;
    for (int n : nodes_) shape_.valid = shape_.valid && fits(n);
    return shape_;
  }

 private:
  ir::Node const& node(int n) const { return graph_.nodes()[static_cast<size_t>(n)]; }
  bool inside(int n) const { return inside_[static_cast<size_t>(n)]; }

  /// The largest of the nodes' own spaces; the others must be such that they lie in it.
  bool find_space() {
    int64_t largest = -1;
    for (int n : nodes_) {
      if (n != anchor_ && !is_loop(node(n))) return false;
      Dims const& d = own_space(n);
      int64_t const volume = ir::volume(d).value_or(INT64_MAX);
      if (volume > largest || (volume == largest && d.size() > shape_.space.size())) {
        largest = volume;
        shape_.space = d;
      }
    }
    return true;
  }

  Dims const& own_space(int n) const {
    bool const reduces = n != anchor_ && node(n).op == OpKind::reduction;
    return graph_.tensor(reduces ? node(n).inputs[0] : node(n).outputs[0]).dims;
  }

  bool read_inside(TensorId t) const {
    for (int c : graph_.consumers(t))
      if (inside(c)) return true;
    return false;
  }

  bool find_row_axes() {
    shape_.row_axes.assign(shape_.space.size(), false);
    bool found = false;
    for (int n : nodes_) {
      if (n == anchor_) continue;
      if (!is_norm(node(n)) && (node(n).op != OpKind::reduction || !read_inside(node(n).outputs[0]))) continue;
      std::vector<bool> const axes = reduced_axes(graph_, node(n));
      if (axes.size() != shape_.space.size() || (found && axes != shape_.row_axes)) return false;
      shape_.row_axes = axes;
      found = true;
    }
    return true;
  }

  bool has_dims(TensorId t, bool per_row) const {
    Dims expected = shape_.space;
    for (size_t i = 0; per_row && i < expected.size(); ++i)
      if (shape_.row_axes[i]) expected[i] = 1;
    return in_rank(graph_.tensor(t).dims, shape_.space.size()) == expected;
  }

  /// Element-wise, per row, or one value alone: what is computed once for each of its elements, or costs
  /// nothing.
  bool fits_dims(TensorId t) const {
    if (has_dims(t, false) || has_dims(t, true)) return true;
    return graph_.tensor(t).is_virtual && ir::volume(graph_.tensor(t).dims) == 1 && read_only_inside(t);
  }

  bool read_only_inside(TensorId t) const {
    for (int c : graph_.consumers(t))
      if (!inside(c)) return false;
    return true;
  }

  bool fits(int n) const {
    ir::Node const& v = node(n);
    if (n == anchor_) return has_dims(v.outputs[0], false);
    if (v.op == OpKind::pointwise) return fits_dims(v.outputs[0]);
    if (is_norm(v)) return has_dims(v.inputs[0], false);
    // A reduction of the space itself; or of a per-row value along no axis.
    return graph_.tensor(v.inputs[0]).dims == shape_.space;
  }

  ir::OpGraph const& graph_;
  std::vector<int> nodes_;
  std::vector<bool> inside_;  ///< by node
  int anchor_;
  Shape shape_;
};

class Lowering {
 public:
  /// `partition` null: tensors lie nowhere.
  Lowering(ir::OpGraph const& graph, Partition const* partition, Region const& region, int anchor, Shape shape)
      : graph_(graph), partition_(partition), region_(region) {
    program_.space = std::move(shape.space);
    program_.row_axes = std::move(shape.row_axes);
    program_.anchor = anchor;
  }

  LoopProgram run() {
    for (int n : region_.nodes) lower(n);
    return std::move(program_);
  }

 private:
  size_t rank() const { return program_.space.size(); }

  ValueId add(LoopValue v) {
    program_.values.push_back(std::move(v));
    return static_cast<ValueId>(program_.values.size() - 1);
  }
  LoopValue const& at(ValueId v) const { return program_.values[static_cast<size_t>(v)]; }
  bool per_row(ValueId v) const { return v == no_value || at(v).per_row; }

  /// Strides along the axes of the space.
  Dims strides_in_space(TensorId t, StridedView const& view) const {
    Dims const dims = in_rank(graph_.tensor(t).dims, rank());
    Dims strides(rank(), 0);
    for (size_t i = 0; i < rank(); ++i)
      if (dims[i] != 1 && view.strides.size() == rank()) strides[i] = view.strides[i];
    return strides;
  }

  StridedView const& view_of(TensorId t) const {
    static StridedView const nowhere;
    return partition_ ? partition_->places[static_cast<size_t>(t)].view : nowhere;
  }

  bool varies_in_row(Dims const& strides) const {
    for (size_t i = 0; i < rank(); ++i)
      if (program_.row_axes[i] && strides[i] != 0) return true;
    return false;
  }

  /// The tensor's value in `type`: from the region itself, or from memory.
  ValueId read(TensorId t, DataType_t type) {
    auto key = std::pair(t, type);
    if (auto known = reads_.find(key); known != reads_.end()) return known->second;
    ValueId value;
    if (auto own = computed_.find(t); own != computed_.end()) {
      value = own->second;
      if (at(value).type != type) {
        bool const row = per_row(value);
        value = add({.op = Op::cast, .type = type, .per_row = row, .a = value});
      }
    } else {
      StridedView const& view = view_of(t);
      Dims strides = strides_in_space(t, view);
      bool const row = has_rows() && !varies_in_row(strides);
      value = add({.op = Op::load,
                   .type = type,
                   .per_row = row,
                   .tensor = t,
                   .strides = std::move(strides),
                   .offset = view.offset});
    }
    reads_.emplace(key, value);
    return value;
  }

  bool has_rows() const {
    return std::find(program_.row_axes.begin(), program_.row_axes.end(), true) != program_.row_axes.end();
  }

  /// Rounds a node's result to its tensor's type, stores it where others need it, and keeps it for the
  /// region.
  void finish(TensorId t, ValueId value, std::vector<bool> const& reduced = {}) {
    if (graph_.tensor(t).dtype != at(value).type) {
      bool const row = per_row(value);
      DataType_t const type = at(value).type;
      bool const terminal = at(value).terminal;
      value = add({.op = Op::round, .type = type, .per_row = row, .a = value, .tensor = t, .terminal = terminal});
    }
    computed_[t] = value;
    if (std::find(region_.outputs.begin(), region_.outputs.end(), t) == region_.outputs.end()) return;
    StridedView const& view = view_of(t);
    Dims strides = strides_in_space(t, view);
    for (size_t i = 0; i < reduced.size(); ++i)
      if (reduced[i]) strides[i] = 0;
    program_.stores.push_back({value, t, std::move(strides), view.offset});
  }

  void lower(int n) {
    ir::Node const& v = graph_.nodes()[static_cast<size_t>(n)];
    if (n == program_.anchor) return finish(v.outputs[0], add({.op = Op::anchor, .type = v.compute, .node = n}));
    if (is_norm(v)) return lower_norm(n, v);
    if (v.op == OpKind::reduction) return lower_reduction(n, v);
    ValueId operands[3] = {no_value, no_value, no_value};
    bool row = has_rows();
    auto const mode = v.attrs.get_enum<PointwiseMode_t>("mode");
    bool const index = mode == PointwiseMode_t::GEN_INDEX;
    for (size_t i = 0; i < 3 && !index; ++i)
      if (v.input(i) != no_tensor) {
        operands[i] = read(v.inputs[i], v.compute);
        row = row && per_row(operands[i]);
      }
    if (index) row = row && !program_.row_axes[static_cast<size_t>(v.attrs.get<int64_t>("axis"))];
    // What has an element for each index of the space is not per row, even where its operands are.
    Dims const& dims = graph_.tensor(v.outputs[0]).dims;
    for (size_t i = 0; i < rank() && dims.size() == rank(); ++i) row = row && !(program_.row_axes[i] && dims[i] != 1);
    finish(v.outputs[0], add({.op = Op::pointwise,
                              .type = v.compute,
                              .per_row = row,
                              .a = operands[0],
                              .b = operands[1],
                              .c = operands[2],
                              .node = n,
                              .mode = mode}));
  }

  void lower_reduction(int n, ir::Node const& v) {
    std::vector<bool> axes = reduced_axes(graph_, v);
    bool read_again = false;
    for (int c : graph_.consumers(v.outputs[0]))
      read_again = read_again || std::find(region_.nodes.begin(), region_.nodes.end(), c) != region_.nodes.end();
    bool const row = read_again || (has_rows() && axes == program_.row_axes);
    ValueId const x = read(v.inputs[0], v.compute);
    finish(v.outputs[0],
           add({.op = Op::reduce,
                .type = v.compute,
                .per_row = row && has_rows(),
                .a = x,
                .node = n,
                .terminal = !row,
                .axes = axes}),
           axes);
  }

  void lower_norm(int n, ir::Node const& v) {
    enum In { X, SCALE, BIAS, EPSILON };
    ValueId const x = read(v.inputs[X], v.compute), epsilon = read(v.inputs[EPSILON], v.compute);
    bool const rows = has_rows();
    ValueId const moments =
        add({.op = Op::moments, .type = v.compute, .per_row = rows, .a = x, .b = epsilon, .node = n});
    ValueId y = add({.op = Op::normalize, .type = v.compute, .a = x, .b = moments, .node = n});
    auto apply = [&](PointwiseMode_t mode, TensorId t) {
      ValueId const operand = read(t, v.compute);
      y = add({.op = Op::pointwise, .type = v.compute, .a = y, .b = operand, .mode = mode});
    };
    apply(PointwiseMode_t::MUL, v.inputs[SCALE]);
    if (v.inputs[BIAS] != no_tensor) apply(PointwiseMode_t::ADD, v.inputs[BIAS]);
    finish(v.outputs[0], y);
    bool const centred = v.op == OpKind::layernorm;
    if (centred && v.output(1) != no_tensor)
      finish(v.outputs[1], add({.op = Op::mean, .type = v.compute, .per_row = rows, .a = moments}), program_.row_axes);
    if (TensorId const t = v.output(centred ? 2 : 1); t != no_tensor)
      finish(t, add({.op = Op::inverse, .type = v.compute, .per_row = rows, .a = moments}), program_.row_axes);
  }

  ir::OpGraph const& graph_;
  Partition const* partition_;
  Region const& region_;
  LoopProgram program_;
  std::map<std::pair<TensorId, DataType_t>, ValueId> reads_;
  std::map<TensorId, ValueId> computed_;
};

}  // namespace

bool is_norm(ir::Node const& node) { return node.op == OpKind::layernorm || node.op == OpKind::rmsnorm; }

bool is_loop(ir::Node const& node) {
  return node.op == OpKind::pointwise || node.op == OpKind::reduction || is_norm(node);
}

bool is_loop_program(ir::OpGraph const& graph, std::span<int const> nodes, int anchor) {
  return ShapeFinder(graph, nodes, anchor).find().valid;
}

std::optional<LoopProgram> loop_program_anywhere(ir::OpGraph const& graph, std::span<int const> nodes, int anchor) {
  Shape shape = ShapeFinder(graph, nodes, anchor).find();
  if (!shape.valid) return std::nullopt;
  Region region{{nodes.begin(), nodes.end()}, {}, {}};
  for (int n : nodes)
    for (TensorId t : graph.nodes()[static_cast<size_t>(n)].outputs) {
      if (t == no_tensor) continue;
      auto const readers = graph.consumers(t);
      bool const outside = std::any_of(readers.begin(), readers.end(),
                                       [&](int c) { return std::find(nodes.begin(), nodes.end(), c) == nodes.end(); });
      if (outside || !graph.tensor(t).is_virtual) region.outputs.push_back(t);
    }
  return Lowering(graph, nullptr, region, anchor, std::move(shape)).run();
}

LoopProgram loop_program(ir::OpGraph const& graph, Partition const& partition, Region const& region, int anchor) {
  return Lowering(graph, &partition, region, anchor, ShapeFinder(graph, region.nodes, anchor).find()).run();
}

}  // namespace fusednn::passes
