#include "target/target.h"

#include "base/env.h"

#include <sched.h>

namespace fusednn::target {

Target host_target() {
  Target t;
  cpu_set_t set;
  CPU_ZERO(&set);
  int const available = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  t.threads = env_num_threads().value_or(available);
  return t;
}

Target cuda_target(int ordinal, Gpu gpu) {
  Target t;
  t.device = Device::CUDA;
  t.ordinal = ordinal;
  t.gpu = std::move(gpu);
  return t;
}

Target cuda_target(Gpu gpu) { return cuda_target(-1, std::move(gpu)); }

std::string Target::name() const {
  if (device == Device::CPU) return "cpu";
  return has_device() ? "cuda:" + std::to_string(ordinal) : gpu->arch;
}

}  // namespace fusednn::target
