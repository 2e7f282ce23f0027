#pragma once

#include "codegen/loop_kernel.h"

namespace fusednn::codegen {

/// Whether the writer below takes a region whose program starts from an sdpa: what follows O is pointwise,
/// and nothing in the region reads Stats.
bool has_generic_attention(ir::OpGraph const& graph, passes::LoopProgram const& program);

/// The kernel of cuda.generic for an sdpa (the program's anchor) with what follows its O; none where O and
/// Stats are empty.
LoopKernels write_generic_attention(ir::OpGraph const& graph, passes::Partition const& partition,
                                    passes::LoopProgram const& program, LoopTarget const& target);

}  // namespace fusednn::codegen
