#pragma once

#include "passes/partition.h"

#include <optional>

// A region of pointwise nodes, reductions and norms, with or without an anchor whose results it takes over,
// as a flat program over one iteration space: what a kernel does for each element, whatever machine it is
// written for.

namespace fusednn::passes {

/// Index into LoopProgram::values.
using ValueId = int32_t;
inline constexpr ValueId no_value = -1;

/// One value of the program: an element per index of the space, or (`per_row`) one for all indices that
/// differ only along the row axes.
struct LoopValue {
  enum class Op {
    load,       ///< element of a tensor in memory, converted to `type`
    anchor,     ///< result of the region's anchor at this index, before any rounding
    pointwise,  ///< of a, b, c
    cast,       ///< a, converted to `type`
    round,      ///< a, as `tensor`'s data type would give it back
    reduce,     ///< of a over the row axes, or over `axes` where only a store reads it (`terminal`)
    moments,    ///< of a over the row axes, b the epsilon: what the three ops below read; no value of its own
    normalize,  ///< (a - mean) / sqrt(variance + epsilon) by the moments b, the difference taken before any
                ///< rounding
    mean,       ///< of the moments a
    inverse,    ///< 1 / sqrt(variance + epsilon) of the moments a
  } op = Op::load;
  DataType_t type = DataType_t::FLOAT;  ///< FLOAT, DOUBLE or INT32
  bool per_row = false;
  ValueId a = no_value, b = no_value, c = no_value;
  int node = -1;                                    ///< that gives the attributes; -1: none are set
  PointwiseMode_t mode = PointwiseMode_t::NOT_SET;  ///< pointwise
  ir::TensorId tensor = ir::no_tensor;              ///< load, round
  ir::Dims strides = {};                            ///< load: elements, along the axes of the space; 0 where broadcast
  int64_t offset = 0;                               ///< load: elements
  bool terminal = false;                            ///< reduce: over `axes`, not the row axes
  std::vector<bool> axes = {};                      ///< reduce: the axes of the space that it reduces
};

/// Writes a value to a tensor, converted to the tensor's data type.
struct LoopStore {
  ValueId value;
  ir::TensorId tensor;
  ir::Dims strides;  ///< elements, along the axes of the space; 0 along reduced ones
  int64_t offset = 0;
};

struct LoopProgram {
  ir::Dims space;
  std::vector<bool> row_axes;     ///< axes over which values are reduced and then used again; none where all false
  std::vector<LoopValue> values;  ///< each after its operands
  std::vector<LoopStore> stores;
  int anchor = -1;  ///< node
};

/// Whether the node is layernorm or rmsnorm.
bool is_norm(ir::Node const& node);
/// Whether the node can be part of a loop program without being its anchor: pointwise, a reduction or a norm.
bool is_loop(ir::Node const& node);

/// Whether a region of these nodes is one loop program: a space that each element-wise result has, reductions
/// whose results are used again all over the same axes, and results that are stored computed once for each of
/// their elements. `anchor` (-1: none) is the node whose first output starts it.
bool is_loop_program(ir::OpGraph const& graph, std::span<int const> nodes, int anchor);

/// The program of these nodes, of which tensors that others read are stored; nullopt where they are no loop program.
/// Tensors lie nowhere yet: strides and offsets have no meaning.
std::optional<LoopProgram> loop_program_anywhere(ir::OpGraph const& graph, std::span<int const> nodes, int anchor);

/// The program of a region that `is_loop_program` accepts.
LoopProgram loop_program(ir::OpGraph const& graph, Partition const& partition, Region const& region, int anchor);

}  // namespace fusednn::passes
