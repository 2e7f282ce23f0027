#pragma once

// What differs between the host compilers and a CUDA device compiler in `kernels/math`. No library header is
// included, so that the same text passes through a run-time device compiler.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define FUSEDNN_FN __device__ __forceinline__
#define FUSEDNN_LIBM(name) ::name
#else
#define FUSEDNN_FN inline __attribute__((always_inline))
#define FUSEDNN_LIBM(name) __builtin_##name
#endif

// Host files are compiled once per instruction set. Each compilation names its own inline namespace here, so
// that the linker can never merge a function built for a newer CPU into code that runs on an older one.
#ifndef FUSEDNN_MATH_ISA
#define FUSEDNN_MATH_ISA generic
#endif

namespace fusednn::math {
inline namespace FUSEDNN_MATH_ISA {

using i32 = int;
using u32 = unsigned int;
using i64 = long long;

FUSEDNN_FN u32 bits_of(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  return __builtin_bit_cast(u32, x);
#endif
}

FUSEDNN_FN float float_of(u32 b) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(b);
#else
  return __builtin_bit_cast(float, b);
#endif
}

}  // namespace FUSEDNN_MATH_ISA
}  // namespace fusednn::math
