#pragma once

#include "codegen/loop_kernel.h"

namespace fusednn::codegen {

/// Whether the writer below takes a region whose program starts from a matmul: what follows it is pointwise.
bool has_generic_matmul(ir::OpGraph const& graph, passes::LoopProgram const& program);

/// The kernel of cuda.generic for a matmul (the program's anchor) with what follows it; none where C is
/// empty.
LoopKernels write_generic_matmul(ir::OpGraph const& graph, passes::Partition const& partition,
                                 passes::LoopProgram const& program, LoopTarget const& target);

}  // namespace fusednn::codegen
