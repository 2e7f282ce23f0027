#include "engines/cpu/tile_compiler.h"

#include "engines/cpu/kernels/pointwise_index.h"
#include "engines/cpu/register_allocator.h"
#include "ir/layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace fusednn::engines::cpu {

namespace {

using passes::LoopProgram;
using passes::LoopStore;
using passes::LoopValue;
using passes::no_value;
using passes::ValueId;
using Op = LoopValue::Op;
using Kind = Instruction::Kind;

constexpr int64_t kTileLanes = 1024;  // one instruction's work: long against its dispatch
constexpr int64_t kFewestLanes = 256;
constexpr int64_t kRegisterBytes = int64_t(32) << 10;  // first-level cache
constexpr int64_t kRowBufferBytes = int64_t(1) << 20;  // second-level cache
constexpr int64_t kPartialBytes = int64_t(256) << 10;  // per slice
constexpr int64_t kNarrowColumns = 64;                 // below, rows are processed together from dense registers

size_t at(ValueId v) { return static_cast<size_t>(v); }
int index_of(Compute c) { return static_cast<int>(c); }
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t unit) { return ceil_div(a, unit) * unit; }

using Mask = uint32_t;  // of axes
Mask bit(int axis) { return axis < 0 ? 0 : Mask(1) << axis; }

ReductionMode_t reduction_mode(ir::Node const& n) { return n.attrs.get_enum<ReductionMode_t>("mode"); }

Fold fold_of(ReductionMode_t mode) {
  switch (mode) {
    case ReductionMode_t::MUL:
      return Fold::MUL;
    case ReductionMode_t::MIN:
      return Fold::MIN;
    case ReductionMode_t::MAX:
      return Fold::MAX;
    case ReductionMode_t::AMAX:
      return Fold::ABS_MAX;
    case ReductionMode_t::NORM1:
      return Fold::ABS_ADD;
    case ReductionMode_t::NORM2:
      return Fold::SQUARE_ADD;
    case ReductionMode_t::MUL_NO_ZEROS:
      return Fold::MUL_NON_ZERO;
    case ReductionMode_t::ADD:
    case ReductionMode_t::AVG:
    case ReductionMode_t::NOT_SET:
      break;
  }
  return Fold::ADD;
}

Params params_of(ir::Node const* node) {
  Params p;
  double const inf = std::numeric_limits<double>::infinity();
  auto const set = [&](auto member32, auto member64, auto member_int, char const* name, double otherwise) {
    double value = otherwise;
    if (node)
      if (auto given = node->attrs.get_if<double>(name)) value = *given;
    p.f32.*member32 = static_cast<float>(value);
    p.f64.*member64 = value;
    p.i32.*member_int = static_cast<int32_t>(std::clamp(value, -2147483648.0, 2147483647.0));
  };
#define FUSEDNN_SET(field, name, otherwise)                                        \
  set(&math::PointwiseParams<float>::field, &math::PointwiseParams<double>::field, \
      &math::PointwiseParams<int32_t>::field, name, otherwise)
  FUSEDNN_SET(relu_lower_clip, "relu_lower_clip", 0);
  FUSEDNN_SET(relu_upper_clip, "relu_upper_clip", inf);
  FUSEDNN_SET(relu_slope, "relu_lower_clip_slope", 0);
  FUSEDNN_SET(swish_beta, "swish_beta", 1);
  FUSEDNN_SET(elu_alpha, "elu_alpha", 1);
  FUSEDNN_SET(softplus_beta, "softplus_beta", 1);
#undef FUSEDNN_SET
  return p;
}

// Rough nanoseconds per element of a mode on one thread.
double cost_of(PointwiseMode_t mode) {
  using M = PointwiseMode_t;
  switch (mode) {
    case M::SIN:
    case M::COS:
    case M::TAN:
    case M::POW:
    case M::MOD:
      return 4;
    case M::TANH_FWD:
    case M::SIGMOID_FWD:
    case M::ELU_FWD:
    case M::GELU_FWD:
    case M::SOFTPLUS_FWD:
    case M::SWISH_FWD:
    case M::TANH_BWD:
    case M::SIGMOID_BWD:
    case M::ELU_BWD:
    case M::GELU_BWD:
    case M::SOFTPLUS_BWD:
    case M::SWISH_BWD:
    case M::ERF:
    case M::GELU_APPROX_TANH_BWD:
    case M::GELU_APPROX_TANH_FWD:
    case M::EXP:
    case M::LOG:
      return 0.8;
    default:
      return 0.08;
  }
}

class Compiler {
 public:
  Compiler(LoopProgram const& loops, ir::OpGraph const& graph, CompileOptions const& options)
      : loops_(loops), graph_(graph), options_(options) {}

  CompiledLoops run() {
    find_axes();
    choose_reduced();
    analyze();
    for (int64_t lanes = kTileLanes;; lanes /= 2) {
      reset();
      choose_tiles(lanes);
      emit();
      int64_t const registers = allocate();
      if (registers <= kRegisterBytes || lanes <= kFewestLanes) break;
    }
    return {std::move(p_), std::move(axes_)};
  }

 private:
  // What is known of a value before tiles are chosen.
  struct Info {
    ValueId same_as = no_value;  // the value that this one is
    int array = -1;              // load, GEN_INDEX: index into LoopAxis::strides
    Mask varies = 0;             // along these axes
    Mask over = 0;               // reduce: the axes that it reduces, without those of size 1
    int level = 0;               // pass in which it is known
    bool per_group = false;      // does not change along the reduced axes
    bool live = false;           // some store depends on it
    std::vector<int> stores;
    int last_pass = 0;  // that reads it
  };
  struct MomentPlaces {
    Place mean, lost, inverse;
  };

  bool anchored() const { return !options_.anchor_strides.empty(); }
  ValueId resolve(ValueId v) const {
    while (info_[at(v)].same_as != no_value) v = info_[at(v)].same_as;
    return v;
  }
  bool varies(Mask m, int axis) const { return (m & bit(axis)) != 0; }
  int64_t size(int axis) const { return axes_[size_t(axis)].size; }

  // ---- axes

  void find_axes() {
    info_.resize(loops_.values.size());
    size_t const rank = loops_.space.size();
    std::vector<std::vector<int64_t>> arrays;
    for (size_t v = 0; v < loops_.values.size(); ++v) {
      LoopValue const& value = loops_.values[v];
      if (value.op == Op::load) {
        info_[v].array = int(arrays.size());
        arrays.push_back(value.strides);
      } else if (value.op == Op::pointwise && value.mode == PointwiseMode_t::GEN_INDEX) {
        info_[v].array = int(arrays.size());
        arrays.emplace_back(rank, 0);
        // An axis of the space may be one of size 1 for the node, whose index there is 0.
        size_t const axis = size_t(node_of(value)->attrs.get<int64_t>("axis"));
        arrays.back()[axis] = graph_.tensor(node_of(value)->outputs[0]).dims[axis] == 1 ? 0 : 1;
      }
    }
    first_store_ = arrays.size();
    for (LoopStore const& s : loops_.stores) arrays.push_back(s.strides);
    for (auto const& strides : options_.anchor_strides) arrays.push_back(strides);

    std::map<std::vector<bool>, uint32_t> kinds;
    std::vector<LoopAxis> axes(rank);
    for (size_t i = 0; i < rank; ++i) {
      std::vector<bool> memberships = {loops_.row_axes[i]};
      for (LoopValue const& v : loops_.values)
        if (v.op == Op::reduce) memberships.push_back(v.axes[i]);
      // The anchor's rows all see one B.
      if (anchored()) memberships.push_back(i + 2 < rank && options_.anchor_strides[1][i] != 0);
      axes[i] = {loops_.space[i], kinds.emplace(memberships, uint32_t(kinds.size())).first->second, {}};
      for (auto const& strides : arrays) axes[i].strides.push_back(strides[i]);
      axis_kinds_.emplace(axes[i].kind, i);
    }
    axes_ = normalize_axes(std::move(axes), anchored() ? 2 : 0, anchored() || arrays.empty() ? -1 : main_array(arrays));
    if (axes_.empty()) {
      axes_.push_back({1, 0, std::vector<int64_t>(arrays.size(), 0)});
      axis_kinds_.emplace(0u, size_t(0));
    }
    for (size_t i = 0; i < axes_.size(); ++i)
      if (axes_[i].size == 1) single_ |= bit(int(i));
  }

  ir::Node const* node_of(LoopValue const& v) const {
    return v.node < 0 ? nullptr : &graph_.nodes()[static_cast<size_t>(v.node)];
  }

  // The array that moves along most axes; a store rather than a load.
  int main_array(std::vector<std::vector<int64_t>> const& arrays) const {
    int best = 0;
    long most = -1;
    for (size_t i = 0; i < arrays.size(); ++i) {
      long const moving = 2 * std::count_if(arrays[i].begin(), arrays[i].end(), [](int64_t s) { return s != 0; }) +
                          (i >= first_store_ ? 1 : 0);
      if (moving > most) best = int(i), most = moving;
    }
    return best;
  }

  // The axes of a list over the original axes. All axes of one kind are in the list, or none.
  Mask mask_of(std::vector<bool> const& original) const {
    Mask m = 0;
    for (size_t i = 0; i < axes_.size(); ++i) {
      size_t const first = axis_kinds_.at(axes_[i].kind);
      if (first < original.size() && original[first] && axes_[i].size != 1) m |= bit(int(i));
    }
    return m;
  }

  int64_t volume(Mask axes) const {
    int64_t n = 1;
    for (size_t i = 0; i < axes_.size(); ++i)
      if (axes & bit(int(i))) n *= axes_[i].size;
    return n;
  }
  Mask all_axes() const { return (Mask(1) << axes_.size()) - 1; }

  // Values that are reduced and used again decide the reduced axes. Without them, the axes of the largest stored
  // reduction may: then it gathers its elements group by group, where its partial results would be too many for each
  // slice of the work to have its own, or where rows are plenty and lie together.
  void choose_reduced() {
    reduced_ = mask_of(loops_.row_axes);
    for (LoopValue const& v : loops_.values)
      if (v.op == Op::moments) return;  // over the row axes as they are, even where none is left
    if (reduced_ != 0) return;
    Mask widest = 0;
    int64_t most = 0;
    for (LoopValue const& v : loops_.values) {
      if (v.op != Op::reduce) continue;
      Mask const over = mask_of(v.axes);
      if (over == 0 || volume(all_axes() & ~over) <= most) continue;
      most = volume(all_axes() & ~over);
      widest = over;
    }
    if (widest == 0) return;
    bool const rows_in_memory = varies(widest, int(axes_.size()) - 1) && most >= 4 * options_.threads && !anchored();
    bool const last_only = widest == bit(int(axes_.size()) - 1);
    if (most * 8 > kPartialBytes ? !anchored() || last_only : rows_in_memory) reduced_ = widest;
  }

  // ---- values

  // The axes along which an array moves, and those of size 1.
  Mask strides_mask(int array) const {
    Mask m = 0;
    for (size_t i = 0; i < axes_.size(); ++i)
      if (axes_[i].strides[size_t(array)] != 0) m |= bit(int(i));
    return m | single_;
  }

  bool is_source(ValueId v) const {
    LoopValue const& value = loops_.values[at(v)];
    return value.op == Op::load || value.op == Op::anchor || info_[at(v)].array >= 0;
  }
  bool is_row_reduce(ValueId v) const { return loops_.values[at(v)].op == Op::reduce && info_[at(v)].over == reduced_; }

  void analyze() {
    std::vector<int> readers(info_.size(), 0);
    for (LoopStore const& s : loops_.stores) info_[at(s.value)].live = true;
    for (ValueId v = ValueId(info_.size()); v-- > 0;) {
      LoopValue const& value = loops_.values[at(v)];
      for (ValueId o : {value.a, value.b, value.c})
        if (o != no_value && info_[at(v)].live) info_[at(o)].live = true, ++readers[at(o)];
    }
    levels_ = 1;
    for (ValueId v = 0; v < ValueId(info_.size()); ++v) {
      LoopValue const& value = loops_.values[at(v)];
      Info& info = info_[at(v)];
      if (!info.live) continue;
      if (value.op == Op::reduce) {
        info.over = mask_of(value.axes);
        if (info.over == 0 && keeps_single(value)) info.same_as = value.a;
      }
      if (value.op == Op::mean || value.op == Op::inverse) info.level = info_[at(value.a)].level;
      if (value.op == Op::pointwise && value.mode == PointwiseMode_t::IDENTITY) info.same_as = value.a;
      if (info.same_as == no_value) describe(v);
      levels_ = std::max(levels_, info.level + 1);
    }
    for (size_t s = 0; s < loops_.stores.size(); ++s) {
      ValueId v = loops_.stores[s].value;
      LoopValue const& value = loops_.values[at(v)];
      // A store rounds by itself.
      if (value.op == Op::round && readers[at(v)] == 0 && value.tensor == loops_.stores[s].tensor) {
        info_[at(v)].same_as = value.a;
      }
      info_[at(resolve(v))].stores.push_back(int(s));
    }
    for (ValueId v = 0; v < ValueId(info_.size()); ++v) {
      if (!computed(v)) continue;
      LoopValue const& value = loops_.values[at(v)];
      for (ValueId o : {value.a, value.b, value.c}) {
        if (o == no_value) continue;
        Info& operand = info_[at(resolve(o))];
        operand.last_pass = std::max(operand.last_pass, reading_pass(v, o));
      }
    }
  }

  // Modes whose reduction of one element is the element.
  bool keeps_single(LoopValue const& value) const {
    ReductionMode_t const mode = reduction_mode(*node_of(value));
    return mode != ReductionMode_t::AMAX && mode != ReductionMode_t::NORM1 && mode != ReductionMode_t::NORM2 &&
           mode != ReductionMode_t::MUL_NO_ZEROS;
  }

  bool centred(LoopValue const& moments) const { return node_of(moments)->op == ir::OpKind::layernorm; }

  void describe(ValueId v) {
    LoopValue const& value = loops_.values[at(v)];
    Info& info = info_[at(v)];
    for (ValueId o : {value.a, value.b, value.c}) {
      if (o == no_value) continue;
      Info const& operand = info_[at(resolve(o))];
      info.varies |= operand.varies;
      info.level = std::max(info.level, operand.level);
    }
    if (info.array >= 0) info.varies = strides_mask(info.array);
    switch (value.op) {
      case Op::anchor:
        info.varies = all_axes();
        break;
      case Op::normalize:
        info.varies = all_axes();
        break;
      case Op::reduce:
        if (info.over == 0) break;
        info.varies = all_axes() & ~info.over;
        if (is_row_reduce(v)) ++info.level;
        break;
      case Op::moments:
        info.varies = all_axes() & ~reduced_;
        info.level += centred(value) ? 2 : 1;
        break;
      default:
        break;
    }
    info.per_group = reduced_ != 0 && (info.varies & reduced_) == 0;
  }

  // The pass in which value v reads its operand.
  int reading_pass(ValueId v, ValueId operand) const {
    LoopValue const& value = loops_.values[at(v)];
    if (value.op == Op::reduce && is_row_reduce(v) && info_[at(v)].over != 0) return info_[at(v)].level - 1;
    if (value.op == Op::moments && operand == value.a) return info_[at(v)].level - 1;
    return info_[at(v)].level;
  }

  // ---- tiles

  void choose_tiles(int64_t lanes) {
    int const n = int(axes_.size());
    p_.axes.clear();
    for (LoopAxis const& a : axes_) p_.axes.push_back(a.size);
    for (int i = 0; i < n; ++i) p_.reduced.push_back(varies(reduced_, i));
    p_.count = reduced_ == 0 ? 1 : volume(reduced_);
    int column = n - 1;
    if (!anchored() && size(column) < 16)
      for (int i = 0; i < n; ++i)
        if (size(i) >= 4 * kNarrowColumns && size(i) > size(column)) column = i;
    int64_t const width = std::max<int64_t>(size(column), 1);
    int row = -1;
    int64_t columns = width <= lanes ? width : round_up(ceil_div(width, ceil_div(width, lanes)), 16), rows = 1;
    auto const innermost = [&](bool reduced) {
      for (int i = n; i-- > 0;)
        if (i != column && varies(reduced_, i) == reduced) return i;
      return -1;
    };
    if (reduced_ == 0) {
      row = innermost(false);
    } else if (varies(reduced_, column)) {
      row = innermost(reduced_ != bit(column));
      if (reduced_ == bit(column) && width > lanes) row = -1;
    } else {
      row = innermost(true);
      columns =
          std::min<int64_t>(width, std::clamp<int64_t>(kRowBufferBytes / 8 / std::max<int64_t>(p_.count, 1), 16, 256));
      int64_t const others = volume(all_axes() & ~reduced_ & ~bit(column));
      while (columns > kNarrowColumns && others * ceil_div(width, columns) < 2 * options_.threads) columns /= 2;
    }
    if (row >= 0) rows = std::clamp<int64_t>(lanes / columns, 1, std::max<int64_t>(size(row), 1));
    p_.row_axis = row;
    p_.column_axis = column;
    p_.tile_rows = rows;
    p_.tile_columns = columns;
    if (anchored()) p_.panel_row_axis = n - 2, p_.panel_column_axis = n - 1;
    for (int i = 0; i < n; ++i) {
      Loop const loop{i, i == row ? rows : i == column ? columns : 1};
      (varies(reduced_, i) ? p_.pass_loops : p_.group_loops).push_back(loop);
    }
    tiles_ = 1;
    for (Loop const& loop : p_.pass_loops) tiles_ *= ceil_div(size(loop.axis), loop.step);
    dense_ = columns < kNarrowColumns && rows > 1;
  }

  // A tile of one row counts as changing along it, as do axes of size 1: so all values agree.
  Extent extent(Mask m) const {
    return extent_of(p_.row_axis < 0 || varies(m, p_.row_axis), varies(m, p_.column_axis));
  }
  int64_t lanes_in(Extent e) const {
    return (along_rows(e) ? p_.tile_rows : 1) * (along_columns(e) ? p_.tile_columns : 1);
  }

  // ---- instructions

  void reset() {
    p_ = {};
    p_.kernels = options_.kernels;
    p_.params.push_back(params_of(nullptr));
    p_.passes.resize(size_t(levels_));
    places_.assign(info_.size(), {});
    moments_.clear();
    sources_.clear();
    expanded_.clear();
    array_access_.clear();
    written_in_place_.clear();
    allocator_ = {};
    row_buffers_ = 0;
    body_cost_ = 0;
  }

  void emit() {
    for (pass_ = 0; pass_ < levels_; ++pass_) {
      for (ValueId v = 0; v < ValueId(info_.size()); ++v) {
        if (!computed(v)) continue;
        if (info_[at(v)].level == pass_) define(v);
        if (reduces_in_pass(v)) reduce(v);
      }
      for (ValueId v = 0; v < ValueId(info_.size()); ++v)
        if (computed(v) && info_[at(v)].level == pass_ && !is_terminal(v)) store_all(v);
    }
    p_.nanoseconds = (body_cost_ + 0.4) * double(volume(all_axes()));
  }

  bool computed(ValueId v) const { return info_[at(v)].live && info_[at(v)].same_as == no_value; }
  bool is_terminal(ValueId v) const {
    return loops_.values[at(v)].op == Op::reduce && info_[at(v)].over != 0 && !is_row_reduce(v);
  }
  bool reduces_in_pass(ValueId v) const {
    Op const op = loops_.values[at(v)].op;
    if (op == Op::moments) {
      int const first = info_[at(v)].level - (centred(loops_.values[at(v)]) ? 2 : 1);
      return first <= pass_ && pass_ < info_[at(v)].level;
    }
    if (op != Op::reduce || info_[at(v)].over == 0) return false;
    return (is_row_reduce(v) ? info_[at(v)].level - 1 : info_[at(v)].level) == pass_;
  }

  Compute lane(ValueId v) const { return lane_of(loops_.values[at(v)].type); }

  std::vector<Instruction>& code(bool per_group, int pass) {
    Pass& p = p_.passes[size_t(pass)];
    return per_group ? p.before : p.body;
  }

  Place new_register(Extent e, Compute c) {
    Place place{Place::Kind::REGISTER, e, -1, allocator_.add(lanes_in(e) * bytes_of(c))};
    return place;
  }

  Place constant(Compute c, double value) {
    size_t const offset = p_.constants.size();
    p_.constants.resize(offset + 8);
    float const f32 = float(value);
    int32_t const i32 = int32_t(std::clamp(value, -2147483648.0, 2147483647.0));
    if (c == Compute::F32) std::memcpy(&p_.constants[offset], &f32, 4);
    if (c == Compute::F64) std::memcpy(&p_.constants[offset], &value, 8);
    if (c == Compute::I32) std::memcpy(&p_.constants[offset], &i32, 4);
    return {Place::Kind::CONSTANT, Extent::ONE, -1, int64_t(offset)};
  }

  Instruction pointwise(PointwiseMode_t mode, Compute c, int params, Place dst, Place a, Place b = {},
                        Place third = {}) {
    Instruction i;
    i.kind = Kind::POINTWISE;
    i.lane = c;
    i.arity = third.kind != Place::Kind::NONE ? 3 : b.kind != Place::Kind::NONE ? 2 : 1;
    i.dst = dst, i.a = a, i.b = b, i.c = third;
    i.params = params;
    auto const& loops = p_.kernels->pointwise[index_of(c)][pointwise_index(mode)];
    std::copy(std::begin(loops), std::end(loops), i.pointwise);
    return i;
  }

  Instruction unary(KernelTable::Round f, Compute to, Compute from, Place dst, Place a) {
    Instruction i;
    i.kind = Kind::UNARY;
    i.lane = to;
    i.lane_bytes_a = int(bytes_of(from));
    i.unary = f;
    i.dst = dst, i.a = a;
    return i;
  }

  int params_for(LoopValue const& v) {
    ir::Node const* const node = node_of(v);
    if (!node || node->op != ir::OpKind::pointwise || ops_default(*node)) return 0;
    p_.params.push_back(params_of(node));
    return int(p_.params.size()) - 1;
  }
  static bool ops_default(ir::Node const& node) {
    for (char const* name :
         {"relu_lower_clip", "relu_upper_clip", "relu_lower_clip_slope", "swish_beta", "elu_alpha", "softplus_beta"})
      if (node.attrs.is_set(name)) return false;
    return true;
  }

  int access_of(int array, Access base) {
    if (auto known = array_access_.find(array); known != array_access_.end()) return known->second;
    for (size_t i = 0; i < axes_.size() && array >= 0; ++i) base.strides[i] = axes_[i].strides[size_t(array)];
    p_.accesses.push_back(base);
    return array_access_[array] = int(p_.accesses.size()) - 1;
  }

  static Access tensor_access(TensorMemory const& m, int64_t offset) {
    return {Access::Base::OPERAND, m.operand, m.storage, bytes_of(m.storage), offset, {}};
  }

  // Whether lanes can be used where they lie.
  bool direct(Access const& a, Compute c, Extent e) const {
    if (dense_ || a.storage != storage_of(c) || e == Extent::ROWS) return false;
    return !along_columns(e) || a.base == Access::Base::PANEL || a.strides[size_t(p_.column_axis)] == 1;
  }

  // A load, the anchor's result or an index, for instructions of this pass.
  Place source(ValueId v, bool per_group) {
    auto const key = std::pair(v, 2 * pass_ + (per_group ? 0 : 1));
    if (auto known = sources_.find(key); known != sources_.end()) return known->second;
    LoopValue const& value = loops_.values[at(v)];
    Info const& info = info_[at(v)];
    Extent const e = extent(info.varies);
    Instruction i;
    i.lane = lane(v);
    if (value.op == Op::load) {
      // Nothing is read of an empty tensor, not even where all its strides are 0.
      TensorMemory const memory = options_.memory(value.tensor);
      if (memory.empty) return sources_[key] = constant(i.lane, 0);
      i.kind = Kind::LOAD;
      i.access = access_of(info.array, tensor_access(memory, value.offset));
    } else if (value.op == Op::anchor) {
      i.kind = Kind::LOAD;
      i.access = access_of(-1, {Access::Base::PANEL, -1, storage_of(i.lane), bytes_of(i.lane), 0, {}});
    } else {
      i.kind = Kind::INDEX;
      i.access = access_of(info.array, {Access::Base::INDEX, -1, Storage::I64, 1, 0, {}});
    }
    Place place;
    if (i.kind == Kind::LOAD && direct(p_.accesses[size_t(i.access)], i.lane, e)) {
      place = {Place::Kind::ACCESS, e, i.access, 0};
    } else {
      place = i.dst = new_register(e, i.lane);
      code(per_group, pass_).push_back(i);
    }
    return sources_[key] = place;
  }

  // Where an instruction of this pass reads a value.
  Place read(ValueId v, bool per_group) {
    v = resolve(v);
    if (is_source(v)) return source(v, per_group || info_[at(v)].per_group);
    return places_[at(v)];
  }

  Place read_as(ValueId v, Extent e) { return widened(read(v, false), e, lane(resolve(v))); }

  // The place, spelled out to extent e by an instruction of the body.
  Place widened(Place place, Extent e, Compute c) {
    if (place.extent == e) return place;
    auto const key = std::tuple(pass_, int(place.kind), place.access, place.offset, int(e));
    if (auto known = expanded_.find(key); known != expanded_.end()) return known->second;
    Instruction i;
    i.kind = Kind::EXPAND;
    i.lane = c;
    i.a = place;
    i.dst = new_register(e, c);
    code(false, pass_).push_back(i);
    return expanded_[key] = i.dst;
  }

  // Where a value of the body goes: to the output itself where lanes can lie there, to a row buffer where a later pass
  // reads it, otherwise to a register.
  Place destination(ValueId v) {
    Info& info = info_[at(v)];
    Extent const e = extent(info.varies);
    if (info.per_group) return new_register(e, lane(v));
    for (size_t k = 0; k < info.stores.size(); ++k) {
      int const s = info.stores[k];
      int const access = store_access(s);
      if (e != Extent::FULL || extent(store_mask(s)) != e || !direct(p_.accesses[size_t(access)], lane(v), e)) continue;
      written_in_place_.push_back(s);
      return {Place::Kind::ACCESS, e, access, 0};
    }
    if (tiles_ > 1 && info.last_pass > info.level) {
      Place const place{Place::Kind::ROW_BUFFER, e, -1, row_buffers_};
      row_buffers_ += tiles_ * p_.tile_rows * p_.tile_columns * 8;
      return place;
    }
    return new_register(e, lane(v));
  }

  int store_array(int s) const { return int(first_store_) + s; }
  Mask store_mask(int s) const { return strides_mask(store_array(s)); }
  int store_access(int s) {
    LoopStore const& store = loops_.stores[size_t(s)];
    return access_of(store_array(s), tensor_access(options_.memory(store.tensor), store.offset));
  }

  void define(ValueId v) {
    LoopValue const& value = loops_.values[at(v)];
    Info const& info = info_[at(v)];
    if (is_source(v)) return;
    bool const group = info.per_group;
    std::vector<Instruction>& to = code(group, pass_);
    Compute const c = lane(v);
    Extent const e = extent(info.varies);
    auto const operand = [&](ValueId o) {
      Place const place = o == no_value ? Place{} : read(o, group);
      bool const spell_out = o != no_value && dense_ && !group && e == Extent::FULL;
      return spell_out ? widened(place, e, lane(resolve(o))) : place;
    };
    switch (value.op) {
      case Op::pointwise: {
        Place const a = operand(value.a), b = operand(value.b), third = operand(value.c);
        if (c == Compute::I32 && value.mode == PointwiseMode_t::RELU_FWD) return integer_relu(v, a);
        places_[at(v)] = destination(v);
        to.push_back(pointwise(value.mode, c, params_for(value), places_[at(v)], a, b, third));
        if (!group) body_cost_ += cost_of(value.mode);
        return;
      }
      case Op::cast: {
        Place const a = operand(value.a);
        Compute const from = lane(resolve(value.a));
        places_[at(v)] = destination(v);
        to.push_back(unary(p_.kernels->cast[index_of(from)][index_of(c)], c, from, places_[at(v)], a));
        return;
      }
      case Op::round: {
        Place const a = operand(value.a);
        places_[at(v)] = destination(v);
        Storage const s = storage_of(graph_.tensor(value.tensor).dtype);
        to.push_back(unary(p_.kernels->round[static_cast<int>(s)][index_of(c)], c, c, places_[at(v)], a));
        return;
      }
      case Op::reduce:
        if (info.over == 0) reduce_single(v, operand(value.a));
        return;
      case Op::normalize:
        return normalize(v);
      case Op::mean:
        places_[at(v)] = moments_.at(resolve(value.a)).mean;
        return;
      case Op::inverse:
        places_[at(v)] = moments_.at(resolve(value.a)).inverse;
        return;
      case Op::load:
      case Op::anchor:
      case Op::moments:
        return;
    }
  }

  // Clips and slope are real numbers; the result loses its fraction.
  void integer_relu(ValueId v, Place a) {
    std::vector<Instruction>& to = code(info_[at(v)].per_group, pass_);
    Extent const e = extent(info_[at(v)].varies);
    Place const wide = new_register(e, Compute::F64), clipped = new_register(e, Compute::F64);
    int const i32 = index_of(Compute::I32), f64 = index_of(Compute::F64);
    to.push_back(unary(p_.kernels->cast[i32][f64], Compute::F64, Compute::I32, wide, a));
    int const params = params_for(loops_.values[at(v)]);
    to.push_back(pointwise(PointwiseMode_t::RELU_FWD, Compute::F64, params, clipped, wide));
    places_[at(v)] = destination(v);
    to.push_back(unary(p_.kernels->truncate, Compute::I32, Compute::F64, places_[at(v)], clipped));
  }

  // A reduction over axes of one element each.
  void reduce_single(ValueId v, Place a) {
    std::vector<Instruction>& to = code(info_[at(v)].per_group, pass_);
    Compute const c = lane(v);
    places_[at(v)] = destination(v);
    if (reduction_mode(*node_of(loops_.values[at(v)])) == ReductionMode_t::MUL_NO_ZEROS) {
      Place const one = constant(c, 1);
      to.push_back(pointwise(PointwiseMode_t::BINARY_SELECT, c, 0, places_[at(v)], a, one, a));
    } else {
      to.push_back(pointwise(PointwiseMode_t::ABS, c, 0, places_[at(v)], a));
    }
  }

  Instruction start(Place acc, Compute c, Fold fold) {
    Instruction i;
    i.kind = Kind::START;
    i.lane = c;
    i.fold = fold;
    i.dst = acc;
    return i;
  }

  // The part of a reduction that runs in this pass.
  void reduce(ValueId v) {
    LoopValue const& value = loops_.values[at(v)];
    if (value.op == Op::moments) return reduce_moments(v);
    if (is_terminal(v)) return reduce_terminal(v);
    Compute const c = lane(v);
    ReductionMode_t const mode = reduction_mode(*node_of(value));
    Extent const e = extent(all_axes() & ~reduced_);
    Instruction i;
    i.kind = Kind::FOLD;
    i.lane = c;
    i.fold = fold_of(mode);
    i.a = read_as(value.a, Extent::FULL);
    i.dst = new_register(e, c);
    p_.passes[size_t(pass_)].before.push_back(start(i.dst, c, i.fold));
    p_.passes[size_t(pass_)].body.push_back(i);
    body_cost_ += 0.05;
    std::vector<Instruction>& after = p_.passes[size_t(pass_) + 1].before;
    places_[at(v)] = i.dst;
    finish_reduce(mode, c, p_.count, i.dst, after);
  }

  // What a fold's result still needs, in place.
  void finish_reduce(ReductionMode_t mode, Compute c, int64_t count, Place acc, std::vector<Instruction>& to) {
    if (mode == ReductionMode_t::AVG && count > 0)
      to.push_back(pointwise(PointwiseMode_t::DIV, c, 0, acc, acc, constant(c, double(count))));
    if (mode == ReductionMode_t::NORM2) to.push_back(pointwise(PointwiseMode_t::SQRT, c, 0, acc, acc));
  }

  void reduce_terminal(ValueId v) {
    LoopValue const& value = loops_.values[at(v)];
    Compute const c = lane(v);
    ReductionMode_t const mode = reduction_mode(*node_of(value));
    Mask const kept = all_axes() & ~info_[at(v)].over;
    Terminal t;
    t.lane = c;
    t.fold = fold_of(mode);
    Access partial{Access::Base::PARTIAL, -1, Storage::F32, bytes_of(c), p_.partial_bytes, {}};
    std::vector<int> order;  // outermost first, the tile's columns innermost
    for (int i = 0; i < int(axes_.size()); ++i)
      if (varies(kept, i) && i != p_.column_axis) order.push_back(i);
    if (varies(kept, p_.column_axis)) order.push_back(p_.column_axis);
    int64_t elements = 1;
    for (size_t i = order.size(); i-- > 0;) {
      partial.strides[size_t(order[i])] = elements;
      elements *= size(order[i]);
    }
    t.partial_offset = p_.partial_bytes;
    t.elements = elements;
    p_.partial_bytes = round_up(p_.partial_bytes + elements * bytes_of(c), 64);
    p_.accesses.push_back(partial);
    t.access = int(p_.accesses.size()) - 1;
    Instruction i;
    i.kind = Kind::FOLD;
    i.lane = c;
    i.fold = t.fold;
    i.a = read_as(value.a, Extent::FULL);
    i.dst = {Place::Kind::ACCESS, extent(kept), t.access, 0};
    p_.passes[size_t(pass_)].body.push_back(i);
    body_cost_ += 0.05;
    finish_reduce(mode, c, volume(info_[at(v)].over), {Place::Kind::REGISTER, Extent::ONE, -1, -1}, t.finish);
    for (int s : info_[at(v)].stores) {
      Terminal::Result r{store_access(s), order};
      t.stores.push_back(std::move(r));
    }
    p_.terminals.push_back(std::move(t));
  }

  void reduce_moments(ValueId v) {
    LoopValue const& value = loops_.values[at(v)];
    Compute const c = lane(v);
    Extent const e = extent(all_axes() & ~reduced_);
    bool const mean_known = !centred(value) || pass_ + 1 == info_[at(v)].level;
    std::vector<Instruction>& before = p_.passes[size_t(pass_)].before;
    std::vector<Instruction>& after = p_.passes[size_t(pass_) + 1].before;
    auto const accumulator = [&] {
      Place const acc = new_register(e, Compute::F64);
      before.push_back(start(acc, Compute::F64, Fold::ADD));
      return acc;
    };
    auto const gather = [&](Kind kind, Place centre) {
      Instruction i;
      i.kind = kind;
      i.lane = c;
      i.a = read_as(value.a, Extent::FULL);
      i.b = centre;
      i.dst = accumulator();
      p_.passes[size_t(pass_)].body.push_back(i);
      body_cost_ += 0.1;
      return i.dst;
    };
    auto const mean_of = [&](Place centre, Place sum) {
      Instruction i;
      i.kind = Kind::MEAN;
      i.lane = Compute::F64;
      i.dst = new_register(e, Compute::F64);
      i.a = sum;
      i.b = centre;
      after.push_back(i);
      return i.dst;
    };
    MomentPlaces& m = moments_[v];
    if (!mean_known) {
      Place const zero = accumulator();
      m.mean = mean_of(zero, gather(Kind::SUM, zero));
      return;
    }
    Place mean = centred(value) ? m.mean : accumulator();
    Place const squares = gather(Kind::SQUARE_SUM, mean);
    if (centred(value)) {
      // Sums of doubles lose digits themselves: what is left around the first mean corrects it.
      if (c == Compute::F64) mean = mean_of(mean, gather(Kind::SUM, mean));
      Instruction split;
      split.kind = Kind::SPLIT_MEAN;
      split.lane = c;
      split.a = mean;
      split.dst = m.mean = new_register(e, c);
      if (c == Compute::F32) split.dst2 = m.lost = new_register(e, c);
      after.push_back(split);
    }
    Instruction inverse;
    inverse.kind = Kind::INVERSE;
    inverse.lane = c;
    inverse.a = squares;
    inverse.dst = m.inverse = new_register(e, c);
    int const here = pass_++;
    inverse.c = read(value.b, true);
    pass_ = here;
    after.push_back(inverse);
  }

  void normalize(ValueId v) {
    LoopValue const& value = loops_.values[at(v)];
    Compute const c = lane(v);
    MomentPlaces const& m = moments_.at(resolve(value.b));
    std::vector<Instruction>& to = p_.passes[size_t(pass_)].body;
    auto const factor = [&](Place place) { return dense_ ? widened(place, Extent::FULL, c) : place; };
    Place x = read_as(value.a, Extent::FULL);
    for (Place const& part : {m.mean, m.lost}) {
      if (part.kind == Place::Kind::NONE) continue;
      Place const difference = new_register(Extent::FULL, c), subtracted = factor(part);
      to.push_back(pointwise(PointwiseMode_t::SUB, c, 0, difference, x, subtracted));
      x = difference;
    }
    Place const scale = factor(m.inverse);
    places_[at(v)] = destination(v);
    to.push_back(pointwise(PointwiseMode_t::MUL, c, 0, places_[at(v)], x, scale));
    body_cost_ += 0.2;
  }

  void store_all(ValueId v) {
    Info const& info = info_[at(v)];
    for (int s : info.stores) {
      if (std::find(written_in_place_.begin(), written_in_place_.end(), s) != written_in_place_.end()) continue;
      Mask const target = store_mask(s);
      bool const group = info.per_group && (target & reduced_) == 0;
      Extent const e = extent(target);
      Place place = read(v, group);
      if (place.extent != e && group) {
        Instruction i;
        i.kind = Kind::EXPAND;
        i.lane = lane(v);
        i.a = place;
        place = i.dst = new_register(e, lane(v));
        code(true, pass_).push_back(i);
      } else if (place.extent != e) {
        place = widened(place, e, lane(v));
      }
      Instruction i;
      i.kind = Kind::STORE;
      i.lane = lane(v);
      i.a = place;
      i.access = store_access(s);
      code(group, pass_).push_back(i);
    }
  }

  // Whether some instruction repeats a single value in spare memory, since its loop has no variant that takes one.
  bool spells_out() const {
    auto const repeats = [](Instruction const& i) {
      if (i.kind != Kind::POINTWISE) return false;
      auto const scalar = [&](Place const& place) {
        if (place.kind == Place::Kind::NONE) return false;
        return i.dst.extent == Extent::FULL ? !along_columns(place.extent) : place.extent != i.dst.extent;
      };
      int const scalars = scalar(i.a) + scalar(i.b) + scalar(i.c);
      return scalars > 1 || (scalars == 1 && (i.arity != 2 || i.pointwise[1] == nullptr));
    };
    for (Pass const& pass : p_.passes)
      if (std::any_of(pass.before.begin(), pass.before.end(), repeats) ||
          std::any_of(pass.body.begin(), pass.body.end(), repeats))
        return true;
    return false;
  }

  // Gives registers their offsets and lays out the scratch memory; the bytes that registers take.
  int64_t allocate() {
    int64_t const registers = allocator_.assign(p_);
    int64_t bytes = round_up(registers, 64);
    for (Pass& pass : p_.passes)
      for (auto* list : {&pass.before, &pass.body})
        for (Instruction& i : *list)
          for (Place* place : {&i.dst, &i.dst2, &i.a, &i.b, &i.c})
            if (place->kind == Place::Kind::ROW_BUFFER) place->offset += bytes;
    bytes += round_up(row_buffers_, 64);
    p_.spare_offset = bytes;
    if (spells_out()) bytes += round_up(3 * p_.tile_rows * p_.tile_columns * 8, 64);
    p_.pointers_offset = bytes;
    bytes += round_up(int64_t(p_.accesses.size() * sizeof(void*)), 64);
    p_.scratch_bytes = bytes;
    return registers;
  }

  LoopProgram const& loops_;
  ir::OpGraph const& graph_;
  CompileOptions const& options_;
  TileProgram p_;
  std::vector<LoopAxis> axes_;
  std::map<uint32_t, size_t> axis_kinds_;  // an original axis of each kind
  size_t first_store_ = 0;                 // arrays: loads and indices, stores, the anchor's operands
  Mask reduced_ = 0;
  Mask single_ = 0;  // axes of size 1
  std::vector<Info> info_;
  int levels_ = 1;

  int64_t tiles_ = 1;   // per pass
  bool dense_ = false;  // operands are spelled out, so that many short rows are one run
  int pass_ = 0;
  std::vector<Place> places_;
  std::map<ValueId, MomentPlaces> moments_;
  std::map<std::pair<ValueId, int>, Place> sources_;
  std::map<std::tuple<int, int, int, int64_t, int>, Place> expanded_;
  std::map<int, int> array_access_;
  std::vector<int> written_in_place_;
  RegisterAllocator allocator_;
  int64_t row_buffers_ = 0;
  double body_cost_ = 0;
};

}  // namespace

Storage storage_of(DataType_t type) {
  switch (type) {
    case DataType_t::DOUBLE:
      return Storage::F64;
    case DataType_t::HALF:
      return Storage::F16;
    case DataType_t::BFLOAT16:
      return Storage::BF16;
    case DataType_t::FP8_E4M3:
      return Storage::E4M3;
    case DataType_t::FP8_E5M2:
      return Storage::E5M2;
    case DataType_t::INT8:
      return Storage::I8;
    case DataType_t::UINT8:
      return Storage::U8;
    case DataType_t::INT32:
      return Storage::I32;
    case DataType_t::INT64:
      return Storage::I64;
    case DataType_t::BOOLEAN:
      return Storage::BOOL;
    default:
      return Storage::F32;
  }
}

Compute lane_of(DataType_t compute) {
  return compute == DataType_t::DOUBLE ? Compute::F64 : compute == DataType_t::INT32 ? Compute::I32 : Compute::F32;
}

CompiledLoops compile_loops(LoopProgram const& loops, ir::OpGraph const& graph, CompileOptions const& options) {
  return Compiler(loops, graph, options).run();
}

}  // namespace fusednn::engines::cpu
