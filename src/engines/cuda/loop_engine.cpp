#include "engines/cuda/composite_engine.h"
#include "engines/cuda/engines.h"

namespace fusednn::engines::cuda {

engine::Engine const& loop_engine() {
  static CompositeEngine const engine(
      {"cuda.loop", "generated kernels for pointwise nodes, reductions, norms and copies", false}, nullptr);
  return engine;
}

}  // namespace fusednn::engines::cuda
