#pragma once

#include "engines/cpu/tile_axes.h"
#include "engines/cpu/tile_program.h"
#include "passes/loop_program.h"

#include <functional>

namespace fusednn::engines::cpu {

// The lane type that a compute type runs in.
Compute lane_of(DataType_t compute);
Storage storage_of(DataType_t type);

// What a program needs to know of a tensor that it reads or writes.
struct TensorMemory {
  int operand;  // index of the step's pointer
  Storage storage;
  bool empty;  // nothing may be read
};

struct CompileOptions {
  KernelTable const* kernels = nullptr;
  int threads = 1;
  std::function<TensorMemory(ir::TensorId)> memory;
  // Strides of the operands of an anchor along the axes of the space, so that only axes merge along which they move
  // evenly too. The last two axes are the anchor's rows and columns.
  std::vector<std::vector<int64_t>> anchor_strides = {};
};

struct CompiledLoops {
  TileProgram program;
  std::vector<LoopAxis> axes;  // with the strides of the anchor's operands
};

CompiledLoops compile_loops(passes::LoopProgram const& loops, ir::OpGraph const& graph, CompileOptions const& options);

}  // namespace fusednn::engines::cpu
