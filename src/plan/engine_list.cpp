#include "plan/engine_list.h"

#include "engines/cpu/engines.h"
#include "engines/cuda/engines.h"

namespace fusednn::plan {

std::span<engine::Engine const* const> engines_for(Device device) {
  static engine::Engine const* const cpu[] = {
      &engines::cpu::fused_engine(),
      &engines::cpu::reference_engine(),
  };
  static engine::Engine const* const cuda[] = {
      &engines::cuda::loop_engine(),
      &engines::cuda::generic_engine(),
  };
  if (device == Device::CPU) return cpu;
  return cuda;
}

}  // namespace fusednn::plan
