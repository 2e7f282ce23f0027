#pragma once

#include "engine/engine.h"

namespace fusednn::engines::cuda {

/// cuda.loop: graphs of pointwise nodes, reductions, norms and views, in as few kernels as their dependences allow.
engine::Engine const& loop_engine();

/// cuda.generic: every graph; matmul and attention in plain arithmetic.
engine::Engine const& generic_engine();

}  // namespace fusednn::engines::cuda
