#pragma once

#include "codegen/kernel_source.h"
#include "passes/loop_program.h"

#include <cstdint>
#include <string>
#include <vector>

// Writes the CUDA text of a loop program: one kernel, or two where a reduction over few long rows is split
// over blocks.

namespace fusednn::codegen {

/// What a kernel's argument is bound to.
struct KernelOperand {
  enum class Kind {
    tensor,   ///< pointer to the memory in which the tensor lies: its base tensor's, or its place in the
              ///< workspace
    scalar,   ///< `bytes` bytes of the tensor's memory, which is the host's, by value
    partial,  ///< pointer into the kernel's own workspace, `bytes` bytes from its start
  } kind;
  ir::TensorId tensor = ir::no_tensor;
  int64_t bytes = 0;
};

/// A kernel with its launch. Sizes and strides travel as arguments, so that one text serves many shapes.
struct LoopKernel {
  KernelSource source;
  std::string entry;
  std::vector<KernelOperand> operands;  ///< the first arguments, in this order
  std::vector<int64_t> sizes;           ///< the last argument: a struct of these
  uint32_t grid_x = 1, grid_y = 1, block_x = 1, block_y = 1;
  std::string description;
};

struct LoopKernels {
  std::vector<LoopKernel> kernels;
  int64_t partial_bytes = 0;  ///< workspace for partial results
};

/// What the writer needs of the machine.
struct LoopTarget {
  std::string arch;
  int multiprocessors = 132;
};

/// Whether the writer has a schedule: reductions whose results are stored alone all take the same axes, and
/// there are none beside reductions whose results are used again.
bool has_loop_kernel(ir::OpGraph const& graph, passes::LoopProgram const& program);

LoopKernels write_loop_kernels(ir::OpGraph const& graph, passes::Partition const& partition,
                               passes::LoopProgram const& program, LoopTarget const& target);

}  // namespace fusednn::codegen
