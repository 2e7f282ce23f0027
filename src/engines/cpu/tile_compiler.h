#pragma once

#include "engines/cpu/tile_axes.h"
#include "engines/cpu/tile_program.h"
#include "passes/loop_program.h"

#include <functional>

namespace fusednn::engines::cpu {

// The lane type that a compute type runs in.
Compute lane_of(DataType_t compute);
Storage storage_of(DataType_t type);

struct CompileOptions {
  KernelTable const* kernels = nullptr;
  int threads = 1;
  // Index of the step's pointer for a tensor's memory.
  std::function<int(ir::TensorId)> operand;
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
