#pragma once

#include "passes/loop_program.h"
#include "passes/moves.h"

namespace fusednn::engines::cuda {

/// A move as a loop program over a graph of its own, of two tensors. Where both ends have one type the elements are
/// taken for integers of their width, so that every bit arrives as it was.
struct CopyGraph {
  static constexpr ir::TensorId source = 0, target = 1;

  CopyGraph(ir::OpGraph const& whole, passes::Partition const& around, passes::Move const& move);

  ir::OpGraphPtr graph;
  passes::Partition partition;  ///< where the two ends lie
  passes::LoopProgram program;
};

}  // namespace fusednn::engines::cuda
