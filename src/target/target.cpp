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

}  // namespace fusednn::target
