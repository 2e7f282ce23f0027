#pragma once

#include "engines/cpu/kernels/table.h"
#include "math/pointwise.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

// A loop program compiled for the CPU: passes over tiles of a few hundred to a few thousand lanes, each pass a flat
// list of instructions that run one loop of the kernel table over a tile. Plain data, built once and shared by all
// threads.
//
// The axes of the iteration space fall into kept ones and reduced ones (over which values are reduced and then used
// again). A group is one step over the kept axes; inside it, pass after pass walks the reduced axes in tiles. What a
// later pass needs of an earlier one stays in registers (one value per group) or in row buffers (one per element).
// Without reduced axes a group is one tile and there is one pass.
//
// A tile is `rows` x `columns` lanes, dense in registers. Values that do not change along an axis of the tile are held
// once along it: see Extent.

namespace fusednn::engines::cpu {

inline constexpr int kMaxAxes = 12;

// Along which axes of the tile a value changes.
enum class Extent : uint8_t { ONE, ROWS, COLUMNS, FULL };
constexpr bool along_rows(Extent e) { return e == Extent::ROWS || e == Extent::FULL; }
constexpr bool along_columns(Extent e) { return e == Extent::COLUMNS || e == Extent::FULL; }
constexpr Extent extent_of(bool rows, bool columns) {
  return rows ? (columns ? Extent::FULL : Extent::ROWS) : (columns ? Extent::COLUMNS : Extent::ONE);
}

// A strided array that tiles are read from or written to.
struct Access {
  enum class Base : uint8_t {
    OPERAND,  // pointer `operand` of the step
    PANEL,    // the panel of the anchor's result that is being taken over; strides are set when it arrives
    PARTIAL,  // the slice's own accumulators, `offset` bytes into them
    INDEX,    // no memory: the address is the number itself
  } base = Base::OPERAND;
  int operand = -1;
  Storage storage = Storage::F32;
  int64_t bytes = 4;                        // per element
  int64_t offset = 0;                       // elements; bytes for PARTIAL, the number's start for INDEX
  std::array<int64_t, kMaxAxes> strides{};  // elements, per axis of the space
};

// Where an instruction finds or leaves a value.
struct Place {
  enum class Kind : uint8_t {
    NONE,
    REGISTER,    // `offset` bytes into the worker's scratch
    ROW_BUFFER,  // likewise, one tile after the other
    ACCESS,      // lanes in memory, used where they lie
    CONSTANT,    // `offset` bytes into the program's constants
  } kind = Kind::NONE;
  Extent extent = Extent::ONE;
  int access = -1;
  int64_t offset = 0;
};

struct Instruction {
  enum class Kind : uint8_t {
    POINTWISE,   // dst = mode(a, b, c)
    UNARY,       // dst = f(a): casts, rounding
    LOAD,        // dst from `access`
    STORE,       // a, whose extent is that of the array, to `access`
    INDEX,       // dst = the index that the strides of `access` give
    EXPAND,      // dst = a, of a smaller extent
    START,       // dst = the fold's identity
    FOLD,        // dst takes every element of a (FULL); dst's extent says along which axes it is reduced
    SUM,         // like FOLD for ADD, in double, of a - b; b double
    SQUARE_SUM,  // likewise of (a - b)^2
    MEAN,        // dst = b + a / count, all double
    SPLIT_MEAN,  // dst, dst2 = a (double) as a lane and what the lane lost
    INVERSE,     // dst = 1 / sqrt(a / count + c); a double
  } kind = Kind::POINTWISE;
  Compute lane = Compute::F32;  // of dst; of a for STORE, FOLD and SUM
  int arity = 1;
  Fold fold = Fold::ADD;
  Place dst, dst2, a, b, c;
  int access = -1;
  KernelTable::Pointwise pointwise[kSpreadCount] = {};
  KernelTable::Round unary = nullptr;
  int params = -1;  // index into TileProgram::params
  int lane_bytes_a = 4;
};

// A loop over an axis in steps; the tile's axes in steps of a tile.
struct Loop {
  int axis;
  int64_t step;
};

struct Pass {
  std::vector<Instruction> before;  // once per group: what the pass before it has found, and the start of its own folds
  std::vector<Instruction> body;    // per tile
};

// A reduction whose result is stored and not used again. Each slice of the work gathers its own partial result; the
// slices are joined in order at the end, so that the result does not depend on timing.
struct Terminal {
  Compute lane;
  Fold fold;
  int access;                        // of the partial result
  int64_t partial_offset, elements;  // in the slice's accumulators: bytes, lanes
  std::vector<Instruction> finish;   // over all elements as one row of lanes: `a` and `dst` are unused
  struct Result {
    int access;
    std::vector<int> axes;  // kept ones, outermost first, as the partial result is laid out
  };
  std::vector<Result> stores;
};

struct Params {
  math::PointwiseParams<float> f32;
  math::PointwiseParams<double> f64;
  math::PointwiseParams<int32_t> i32;

  void const* of(Compute lane) const {
    switch (lane) {
      case Compute::F32:
        return &f32;
      case Compute::F64:
        return &f64;
      case Compute::I32:
        return &i32;
    }
    return nullptr;
  }
};

struct TileProgram {
  KernelTable const* kernels = nullptr;
  std::vector<int64_t> axes;  // sizes, outermost first; at least the column axis
  std::vector<bool> reduced;  // per axis
  int row_axis = -1;          // of the tile; -1: tiles have one row
  int column_axis = 0;
  int64_t tile_rows = 1, tile_columns = 1;
  int panel_row_axis = -1, panel_column_axis = -1;  // along which an anchor's panels lie
  std::vector<Loop> group_loops, pass_loops;        // outermost first
  int64_t count = 1;                                // elements of the reduced axes

  std::vector<Access> accesses;
  std::vector<Pass> passes;
  std::vector<Terminal> terminals;
  std::vector<Params> params;
  std::vector<std::byte> constants;

  int64_t scratch_bytes = 0;  // per worker: registers, row buffers, a spare row, pointers
  int64_t spare_offset = 0;   // three tiles of lanes of any type
  int64_t pointers_offset = 0;
  int64_t partial_bytes = 0;  // per slice
  double nanoseconds = 0;     // estimate for all elements on one thread

  std::string describe() const;
};

}  // namespace fusednn::engines::cpu
