#include "engines/cpu/tile_executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fusednn::engines::cpu {

namespace {

using Kind = Instruction::Kind;

int index_of(Compute c) { return static_cast<int>(c); }

// The lanes of one operand while an instruction walks the rows of a tile.
struct Lanes {
  char* data;
  int64_t step;  // bytes from row to row
  bool scalar;   // one value for all columns

  char* row(int64_t r) const { return data + r * step; }
};

class Executor {
 public:
  Executor(TileProgram const& program, void* const* operands, char* scratch, char* partials, TilePanel panel,
           TileBox const& box)
      : p_(program),
        t_(*program.kernels),
        operands_(operands),
        scratch_(scratch),
        partials_(partials),
        panel_(panel),
        box_(box),
        address_(reinterpret_cast<char**>(scratch + program.pointers_offset)),
        index_(box.low) {}

  void run(int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g) {
      place(p_.group_loops, g);
      for (Pass const& pass : p_.passes) run_pass(pass);
    }
  }

 private:
  int64_t count(Loop const& loop) const {
    return (box_.high[size_t(loop.axis)] - box_.low[size_t(loop.axis)] + loop.step - 1) / loop.step;
  }

  void place(std::vector<Loop> const& loops, int64_t number) {
    for (size_t i = loops.size(); i-- > 0;) {
      int64_t const n = count(loops[i]);
      index_[size_t(loops[i].axis)] = box_.low[size_t(loops[i].axis)] + number % n * loops[i].step;
      number /= n;
    }
  }

  void run_pass(Pass const& pass) {
    locate();
    for (Instruction const& i : pass.before) execute(i);
    if (pass.body.empty()) return;
    int64_t tiles = 1;
    for (Loop const& loop : p_.pass_loops) tiles *= count(loop);
    for (tile_ = 0; tile_ < tiles; ++tile_) {
      if (!p_.pass_loops.empty()) {
        place(p_.pass_loops, tile_);
        locate();
      }
      for (Instruction const& i : pass.body) execute(i);
    }
    for (Loop const& loop : p_.pass_loops) index_[size_t(loop.axis)] = box_.low[size_t(loop.axis)];
    tile_ = 0;
  }

  // Sizes of the tile at the current index, and where its arrays start.
  void locate() {
    size_t const row = size_t(p_.row_axis), column = size_t(p_.column_axis);
    rows_ = p_.row_axis < 0 ? 1 : std::min(p_.tile_rows, box_.high[row] - index_[row]);
    columns_ = std::min(p_.tile_columns, box_.high[column] - index_[column]);
    for (size_t i = 0; i < p_.accesses.size(); ++i) {
      Access const& a = p_.accesses[i];
      if (a.base == Access::Base::PANEL) {
        size_t const r = size_t(p_.panel_row_axis), c = size_t(p_.panel_column_axis);
        int64_t const at = (index_[r] - box_.low[r]) * panel_.ld + index_[c] - box_.low[c];
        address_[i] = static_cast<char*>(panel_.data) + at * a.bytes;
        continue;
      }
      int64_t at = 0;
      for (size_t k = 0; k < p_.axes.size(); ++k) at += index_[k] * a.strides[k];
      if (a.base == Access::Base::PARTIAL)
        address_[i] = partials_ + a.offset + at * a.bytes;
      else if (a.base == Access::Base::OPERAND)
        address_[i] = static_cast<char*>(operands_[a.operand]) + (a.offset + at) * a.bytes;
      else
        address_[i] = reinterpret_cast<char*>(a.offset + at);
    }
  }

  int64_t row_stride(Access const& a) const {
    if (p_.row_axis < 0) return 0;
    if (a.base == Access::Base::PANEL) return p_.row_axis == p_.panel_row_axis ? panel_.ld : 0;
    return a.strides[size_t(p_.row_axis)];
  }
  int64_t column_stride(Access const& a) const {
    return a.base == Access::Base::PANEL ? 1 : a.strides[size_t(p_.column_axis)];
  }

  // The rows and columns that an instruction walks to fill a value of this extent. What changes along rows alone is
  // one run of as many lanes.
  struct Walk {
    int64_t rows, lanes;
  };
  Walk walk(Extent e) const {
    switch (e) {
      case Extent::FULL:
        return {rows_, columns_};
      case Extent::COLUMNS:
        return {1, columns_};
      case Extent::ROWS:
        return {1, rows_};
      case Extent::ONE:
        break;
    }
    return {1, 1};
  }

  char* base(Place const& place) const {
    switch (place.kind) {
      case Place::Kind::REGISTER:
        return scratch_ + place.offset;
      case Place::Kind::ROW_BUFFER:
        return scratch_ + place.offset + tile_ * p_.tile_rows * p_.tile_columns * 8;
      case Place::Kind::ACCESS:
        return address_[size_t(place.access)];
      case Place::Kind::CONSTANT:
        return const_cast<char*>(reinterpret_cast<char const*>(p_.constants.data())) + place.offset;
      case Place::Kind::NONE:
        break;
    }
    return nullptr;
  }

  // Bytes from row to row of a value in its own layout.
  int64_t row_step(Place const& place, int64_t bytes) const {
    if (!along_rows(place.extent)) return 0;
    if (place.kind == Place::Kind::ACCESS) {
      Access const& a = p_.accesses[size_t(place.access)];
      return row_stride(a) * a.bytes;
    }
    return place.extent == Extent::FULL ? columns_ * bytes : bytes;
  }

  // A value as the operand of an instruction that fills `target`.
  Lanes lanes(Place const& place, Extent target, int64_t bytes) const {
    char* const data = base(place);
    if (target == Extent::FULL) return {data, row_step(place, bytes), !along_columns(place.extent)};
    return {data, 0, place.extent != target};
  }

  static bool dense(Lanes const& l, int64_t row_bytes) { return l.scalar ? l.step == 0 : l.step == row_bytes; }

  void execute(Instruction const& i) {
    switch (i.kind) {
      case Kind::POINTWISE:
        return pointwise(i);
      case Kind::UNARY:
        return unary(i);
      case Kind::LOAD:
        return load(i);
      case Kind::STORE:
        return store(i);
      case Kind::INDEX:
        return index(i);
      case Kind::EXPAND:
        return expand(i);
      case Kind::START:
        return start(i);
      case Kind::FOLD:
        return fold(i);
      case Kind::SUM:
      case Kind::SQUARE_SUM:
        return moment(i);
      case Kind::MEAN:
      case Kind::SPLIT_MEAN:
      case Kind::INVERSE:
        return statistics(i);
    }
  }

  void pointwise(Instruction const& i) {
    int64_t const bytes = bytes_of(i.lane);
    Extent const target = i.dst.extent;
    Walk w = walk(target);
    Lanes const d = lanes(i.dst, target, bytes), a = lanes(i.a, target, bytes);
    Lanes const b = i.arity > 1 ? lanes(i.b, target, bytes) : a, c = i.arity > 2 ? lanes(i.c, target, bytes) : a;
    int64_t const row = w.lanes * bytes;
    if (w.rows > 1 && dense(d, row) && dense(a, row) && dense(b, row) && dense(c, row)) w = {1, w.rows * w.lanes};
    void const* const params = p_.params[size_t(i.params)].of(i.lane);
    int const spread = i.arity != 2 || a.scalar == b.scalar ? 0 : a.scalar ? 1 : 2;
    if (KernelTable::Pointwise const f = i.pointwise[spread];
        f && (spread != 0 || !(a.scalar || b.scalar || c.scalar))) {
      for (int64_t r = 0; r < w.rows; ++r) f(d.row(r), a.row(r), b.row(r), c.row(r), w.lanes, params);
      return;
    }
    for (int64_t r = 0; r < w.rows; ++r)
      i.pointwise[0](d.row(r), spelled_out(a, r, 0, i.lane, w.lanes), spelled_out(b, r, 1, i.lane, w.lanes),
                     spelled_out(c, r, 2, i.lane, w.lanes), w.lanes, params);
  }

  // A row of lanes, repeated in spare memory where it is one value.
  char* spelled_out(Lanes const& l, int64_t r, int64_t spare, Compute lane, int64_t n) const {
    if (!l.scalar) return l.row(r);
    char* const row = scratch_ + p_.spare_offset + spare * p_.tile_rows * p_.tile_columns * 8;
    t_.splat[index_of(lane)](row, l.row(r), n);
    return row;
  }

  void unary(Instruction const& i) {
    int64_t const to = bytes_of(i.lane), from = i.lane_bytes_a;
    Walk w = walk(i.dst.extent);
    Lanes const d = lanes(i.dst, i.dst.extent, to), a = lanes(i.a, i.dst.extent, from);
    if (w.rows > 1 && dense(d, w.lanes * to) && dense(a, w.lanes * from)) w = {1, w.rows * w.lanes};
    for (int64_t r = 0; r < w.rows; ++r) i.unary(d.row(r), a.row(r), w.lanes);
  }

  void load(Instruction const& i) {
    Access const& m = p_.accesses[size_t(i.access)];
    int64_t const bytes = bytes_of(i.lane);
    auto const f = t_.load[static_cast<int>(m.storage)][index_of(i.lane)];
    Walk w = walk(i.dst.extent);
    bool const by_rows = i.dst.extent == Extent::ROWS;
    int64_t const stride = by_rows ? row_stride(m) : column_stride(m);
    char const* const from = address_[size_t(i.access)];
    char* const to = base(i.dst);
    if (w.rows > 1 && stride == 1 && row_stride(m) == w.lanes) w = {1, w.rows * w.lanes};
    for (int64_t r = 0; r < w.rows; ++r)
      f(to + r * w.lanes * bytes, from + r * row_stride(m) * m.bytes, stride, w.lanes);
  }

  void store(Instruction const& i) {
    Access const& m = p_.accesses[size_t(i.access)];
    auto const f = t_.store[static_cast<int>(m.storage)][index_of(i.lane)];
    Walk w = walk(i.a.extent);
    Lanes const a = lanes(i.a, i.a.extent, bytes_of(i.lane));
    int64_t const stride = i.a.extent == Extent::ROWS ? row_stride(m) : column_stride(m);
    char* const to = address_[size_t(i.access)];
    if (w.rows > 1 && stride == 1 && row_stride(m) == w.lanes && dense(a, w.lanes * bytes_of(i.lane)))
      w = {1, w.rows * w.lanes};
    for (int64_t r = 0; r < w.rows; ++r) f(to + r * row_stride(m) * m.bytes, stride, a.row(r), w.lanes);
  }

  void index(Instruction const& i) {
    Access const& m = p_.accesses[size_t(i.access)];
    Walk const w = walk(i.dst.extent);
    int64_t const first = reinterpret_cast<int64_t>(address_[size_t(i.access)]);
    int64_t const step = i.dst.extent == Extent::ROWS ? row_stride(m) : column_stride(m);
    for (int64_t r = 0; r < w.rows; ++r)
      t_.iota[index_of(i.lane)](base(i.dst) + r * w.lanes * bytes_of(i.lane), first + r * row_stride(m), step, w.lanes);
  }

  void expand(Instruction const& i) {
    int64_t const bytes = bytes_of(i.lane);
    Walk const w = walk(i.dst.extent);
    Lanes const a = lanes(i.a, i.dst.extent, bytes);
    char* const to = base(i.dst);
    for (int64_t r = 0; r < w.rows; ++r) {
      if (a.scalar)
        t_.splat[index_of(i.lane)](to + r * w.lanes * bytes, a.row(r), w.lanes);
      else
        std::memcpy(to + r * w.lanes * bytes, a.row(r), size_t(w.lanes * bytes));
    }
  }

  void start(Instruction const& i) {
    Walk const w = walk(i.dst.extent);
    fill_start(t_, base(i.dst), i.lane, i.fold, w.rows * w.lanes);
  }

  void fold(Instruction const& i) {
    int64_t const bytes = bytes_of(i.lane);
    Lanes const a = lanes(i.a, Extent::FULL, bytes);
    char* const acc = base(i.dst);
    int64_t const step = row_step(i.dst, bytes);
    bool const by_lanes = along_columns(i.dst.extent);
    auto const f = (by_lanes ? t_.fold_lanes : t_.fold_run)[index_of(i.lane)][static_cast<int>(i.fold)];
    if (dense(a, columns_ * bytes) && step == (by_lanes ? columns_ * bytes : 0) &&
        (!by_lanes || i.dst.extent == Extent::FULL))
      return f(acc, a.data, rows_ * columns_);
    for (int64_t r = 0; r < rows_; ++r) f(acc + r * step, a.row(r), columns_);
  }

  void moment(Instruction const& i) {
    bool const square = i.kind == Kind::SQUARE_SUM;
    int const lane = index_of(i.lane);
    Lanes const a = lanes(i.a, Extent::FULL, bytes_of(i.lane));
    double* const acc = reinterpret_cast<double*>(base(i.dst));
    double const* const centre = reinterpret_cast<double const*>(base(i.b));
    for (int64_t r = 0; r < rows_; ++r) {
      switch (i.dst.extent) {
        case Extent::ONE:
          acc[0] += (square ? t_.square_sum : t_.sum)[lane](a.row(r), centre[0], columns_);
          break;
        case Extent::ROWS:
          acc[r] += (square ? t_.square_sum : t_.sum)[lane](a.row(r), centre[r], columns_);
          break;
        case Extent::COLUMNS:
          (square ? t_.square_sum_lanes : t_.sum_lanes)[lane](acc, a.row(r), centre, columns_);
          break;
        case Extent::FULL:
          (square ? t_.square_sum_lanes : t_.sum_lanes)[lane](acc + r * columns_, a.row(r), centre + r * columns_,
                                                              columns_);
          break;
      }
    }
  }

  void statistics(Instruction const& i) {
    Walk const w = walk(i.dst.extent);
    int64_t const n = w.rows * w.lanes;
    double const* const a = reinterpret_cast<double const*>(base(i.a));
    double const count = static_cast<double>(p_.count);
    if (i.kind == Kind::MEAN) {
      double* const mean = reinterpret_cast<double*>(base(i.dst));
      double const* const before = reinterpret_cast<double const*>(base(i.b));
      for (int64_t k = 0; k < n; ++k) {
        bool const infinite = !std::isfinite(before[k]);  // around an infinite mean there is nothing to correct
        mean[k] = p_.count == 0 ? 0.0 : infinite ? before[k] : before[k] + a[k] / count;
      }
      return;
    }
    if (i.lane == Compute::F64) return statistics_as<double>(i, a, n, count);
    statistics_as<float>(i, a, n, count);
  }

  template <class T>
  void statistics_as(Instruction const& i, double const* a, int64_t n, double count) const {
    T* const out = reinterpret_cast<T*>(base(i.dst));
    if (i.kind == Kind::SPLIT_MEAN) {
      T* const lost = i.dst2.kind == Place::Kind::NONE ? nullptr : reinterpret_cast<T*>(base(i.dst2));
      for (int64_t k = 0; k < n; ++k) {
        out[k] = static_cast<T>(a[k]);
        if (lost) lost[k] = std::isfinite(out[k]) ? static_cast<T>(a[k] - static_cast<double>(out[k])) : T(0);
      }
      return;
    }
    double const epsilon = static_cast<double>(*reinterpret_cast<T const*>(base(i.c)));
    for (int64_t k = 0; k < n; ++k) {
      double const variance = count == 0 ? 0.0 : a[k] / count;
      out[k] = static_cast<T>(1.0 / std::sqrt(variance + epsilon));
    }
  }

 public:
  static void fill_start(KernelTable const& t, char* to, Compute lane, Fold fold, int64_t n) {
    double const start = t.fold_start[index_of(lane)][static_cast<int>(fold)];
    float const f32 = static_cast<float>(start);
    int32_t const i32 = lane == Compute::I32 ? static_cast<int32_t>(start) : 0;
    void const* const values[kComputeCount] = {&f32, &start, &i32};
    t.splat[index_of(lane)](to, values[index_of(lane)], n);
  }

 private:
  TileProgram const& p_;
  KernelTable const& t_;
  void* const* operands_;
  char* scratch_;
  char* partials_;
  TilePanel panel_;
  TileBox const& box_;
  char** address_;  // per access, for the tile at hand
  std::array<int64_t, kMaxAxes> index_;
  int64_t rows_ = 1, columns_ = 1;
  int64_t tile_ = 0;  // in its pass
};

}  // namespace

TileBox whole_box(TileProgram const& program) {
  TileBox box;
  for (size_t i = 0; i < program.axes.size(); ++i) box.high[i] = program.axes[i];
  return box;
}

int64_t group_count(TileProgram const& program, TileBox const& box) {
  int64_t n = 1;
  for (Loop const& loop : program.group_loops) {
    size_t const axis = size_t(loop.axis);
    n *= (box.high[axis] - box.low[axis] + loop.step - 1) / loop.step;
  }
  return n;
}

void run_groups(TileProgram const& program, void* const* operands, char* scratch, char* partials, TileBox const& box,
                TilePanel panel, int64_t first, int64_t last) {
  Executor(program, operands, scratch, partials, panel, box).run(first, last);
}

void start_partials(TileProgram const& program, char* partials) {
  for (Terminal const& t : program.terminals)
    Executor::fill_start(*program.kernels, partials + t.partial_offset, t.lane, t.fold, t.elements);
}

void finish_terminals(TileProgram const& program, void* const* operands, char* partials, int64_t slices) {
  KernelTable const& k = *program.kernels;
  for (Terminal const& t : program.terminals) {
    char* const result = partials + t.partial_offset;
    for (int64_t s = 1; s < slices; ++s)
      k.join_lanes[index_of(t.lane)][static_cast<int>(t.fold)](result, result + s * program.partial_bytes, t.elements);
    for (Instruction const& i : t.finish) {
      if (i.kind == Kind::UNARY) {
        i.unary(result, result, t.elements);
        continue;
      }
      char const* const b = i.arity > 1 ? reinterpret_cast<char const*>(program.constants.data()) + i.b.offset : result;
      void const* const params = program.params[size_t(i.params)].of(t.lane);
      if (i.arity == 1) {
        i.pointwise[0](result, result, result, result, t.elements, params);
        continue;
      }
      int64_t const bytes = bytes_of(t.lane);
      for (int64_t e = 0; e < t.elements; ++e) i.pointwise[0](result + e * bytes, result + e * bytes, b, b, 1, params);
    }
    for (Terminal::Result const& r : t.stores) {
      Access const& m = program.accesses[size_t(r.access)];
      auto const store = k.store[static_cast<int>(m.storage)][index_of(t.lane)];
      char* const to = static_cast<char*>(operands[m.operand]) + m.offset * m.bytes;
      int64_t const run = r.axes.empty() ? 1 : program.axes[size_t(r.axes.back())];
      int64_t const stride = r.axes.empty() ? 1 : m.strides[size_t(r.axes.back())];
      for (int64_t e = 0; e < t.elements; e += run) {
        int64_t rest = e / run, at = 0;
        for (size_t i = r.axes.size(); i-- > 1;) {
          int64_t const size = program.axes[size_t(r.axes[i - 1])];
          at += rest % size * m.strides[size_t(r.axes[i - 1])];
          rest /= size;
        }
        store(to + at * m.bytes, stride, result + e * bytes_of(t.lane), run);
      }
    }
  }
}

}  // namespace fusednn::engines::cpu
