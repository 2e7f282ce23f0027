#pragma once

// Included first by every isa_*.cpp. FUSEDNN_CPU_ISA names the namespace of the level being compiled.

#ifndef FUSEDNN_CPU_ISA
#define FUSEDNN_CPU_ISA isa_baseline
#endif
#define FUSEDNN_MATH_ISA FUSEDNN_CPU_ISA

#include "engines/cpu/kernels/table.h"
#include "math/pointwise.h"

#include <cstdint>

// The loop has no dependence between iterations (an output may equal an operand, element by element).
#define FUSEDNN_SIMD _Pragma("omp simd")

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {

using math::PointwiseParams;

template <class T>
inline constexpr int kComputeOf = -1;
template <>
inline constexpr int kComputeOf<float> = static_cast<int>(Compute::F32);
template <>
inline constexpr int kComputeOf<double> = static_cast<int>(Compute::F64);
template <>
inline constexpr int kComputeOf<int32_t> = static_cast<int>(Compute::I32);

void fill_pointwise(KernelTable&);
void fill_convert(KernelTable&);
void fill_fold(KernelTable&);
void fill_gemm(KernelTable&);
void fill_attention(KernelTable&);
KernelTable const& table();

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
