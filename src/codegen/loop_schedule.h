#pragma once

#include "passes/loop_program.h"

#include <cstdint>
#include <vector>

namespace fusednn::codegen {

/// Memory that a loop kernel walks: a load, a store, or the numbers of an axis (GEN_INDEX), which have
/// strides but no memory.
struct Access {
  enum class Kind { load, store, index } kind;
  int32_t id;  ///< value (load, index) or position in `stores`
  ir::TensorId tensor = ir::no_tensor;
  int bytes = 0;          ///< per element
  int64_t offset = 0;     ///< elements
  int64_t alignment = 1;  ///< of the memory that `offset` counts from, bytes
  bool vector = false;    ///< read or written in packets along the run axis
};

/// An axis after merging; strides by access.
struct Axis {
  int64_t size = 1;
  std::vector<int64_t> strides;
};

/// How a loop program is mapped to threads.
///
/// elements: each thread computes `run` neighbours. rows: `threads` threads share a row, `rows_per_block`
/// rows a block; with `resident` chunks per thread the row stays in registers, else later sweeps read it
/// again. columns: each thread keeps `run` neighbours, `threads` of them side by side, and walks the reduced
/// axes together with the `lanes` others of its block that keep the same. Rows and columns may be split over
/// `splits` blocks, whose partial results a second kernel joins.
struct LoopSchedule {
  enum class Mapping { elements, rows, columns } mapping = Mapping::elements;
  std::vector<Access> accesses;
  std::vector<Axis> kept, reduced;  ///< outermost first
  int run = 1;                      ///< elements of the run axis that a thread takes at once
  int threads = 256;
  int rows_per_block = 1;
  int resident = 0;
  int lanes = 1;
  int64_t splits = 1;
  bool narrow = false;  ///< every index and offset fits 31 bits

  int64_t kept_count() const;
  int64_t reduced_count() const;
  /// The axis along which runs lie: the last of the reduced ones for rows, else of the kept ones.
  std::vector<Axis>& run_axes() { return mapping == Mapping::rows ? reduced : kept; }
  std::vector<Axis> const& run_axes() const { return mapping == Mapping::rows ? reduced : kept; }
};

LoopSchedule schedule_loop(ir::OpGraph const& graph, passes::Partition const& partition,
                           passes::LoopProgram const& program, int multiprocessors);

/// Doubles `least` until it reaches n or `most`.
int power_of_two_at_least(int64_t n, int least, int most);

/// Whether any reduction is stored alone (and then all are).
bool is_terminal(passes::LoopProgram const& program);
/// Axes of the space that the program reduces, in the middle or at the end.
std::vector<bool> reduced_axes(passes::LoopProgram const& program);

}  // namespace fusednn::codegen
