#include "plan/engine_list.h"

#include "engines/cpu/engines.h"
#include "engines/cuda/engines.h"

#include <fmt/format.h>

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

base::Result<engine::Engine const*> engine_at(Device device, int64_t id) {
  auto engines = engines_for(device);
  if (id < 0 || id >= static_cast<int64_t>(engines.size()))
    return base::make_error(base::Rule::plan_engine_id, {}, fmt::format("engine {}, there are {}", id, engines.size()));
  return engines[static_cast<size_t>(id)];
}

}  // namespace fusednn::plan
