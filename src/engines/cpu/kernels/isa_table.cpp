#include "engines/cpu/kernels/isa.h"

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {

#define FUSEDNN_TEXT_OF(x) #x
#define FUSEDNN_TEXT(x) FUSEDNN_TEXT_OF(x)

KernelTable const& table() {
  static KernelTable const built = [] {
    KernelTable t{};
    t.name = FUSEDNN_TEXT(FUSEDNN_CPU_ISA);
    fill_pointwise(t);
    fill_convert(t);
    fill_fold(t);
    fill_gemm(t);
    fill_attention(t);
    return t;
  }();
  return built;
}

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
