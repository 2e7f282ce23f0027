#include "engines/cpu/kernels/table.h"

namespace fusednn::engines::cpu {

namespace isa_baseline {
KernelTable const& table();
}
#if defined(FUSEDNN_CPU_LEVELS)
namespace isa_v3 {
KernelTable const& table();
}
namespace isa_v4 {
KernelTable const& table();
}
#endif

KernelTable const* kernels_of(Isa isa) noexcept {
#if defined(FUSEDNN_CPU_LEVELS)
  __builtin_cpu_init();
  bool const v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  bool const v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (isa == Isa::V3) return v3 ? &isa_v3::table() : nullptr;
  if (isa == Isa::V4) return v4 ? &isa_v4::table() : nullptr;
#endif
  return isa == Isa::BASELINE ? &isa_baseline::table() : nullptr;
}

KernelTable const& kernels() noexcept {
  static KernelTable const& best = []() -> KernelTable const& {
    for (int isa = kIsaCount - 1; isa > 0; --isa) {
      if (KernelTable const* t = kernels_of(static_cast<Isa>(isa))) return *t;
    }
    return *kernels_of(Isa::BASELINE);
  }();
  return best;
}

}  // namespace fusednn::engines::cpu
