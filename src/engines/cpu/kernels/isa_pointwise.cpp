#include "engines/cpu/kernels/isa.h"

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {
namespace {

template <class F, int Operands, class T, Spread S>
void pointwise(void* dst, void const* a, void const* b, void const* c, int64_t n, void const* params) {
  T* const out = static_cast<T*>(dst);
  T const* const x = static_cast<T const*>(a);
  PointwiseParams<T> const p = *static_cast<PointwiseParams<T> const*>(params);
  if constexpr (Operands == 1) {
    FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = F::call(x[i], p);
  } else {
    T const* const y = static_cast<T const*>(b);
    if constexpr (Operands == 3) {
      T const* const z = static_cast<T const*>(c);
      FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = F::call(x[i], y[i], z[i], p);
    } else if constexpr (S == Spread::FIRST) {
      T const first = x[0];
      FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = F::call(first, y[i], p);
    } else if constexpr (S == Spread::SECOND) {
      T const second = y[0];
      FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = F::call(x[i], second, p);
    } else {
      FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = F::call(x[i], y[i], p);
    }
  }
}

template <class T>
void iota(void* dst, int64_t first, int64_t step, int64_t n) {
  T* const out = static_cast<T*>(dst);
  FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(first + i * step);
}

template <class T>
void splat(void* dst, void const* value, int64_t n) {
  T* const out = static_cast<T*>(dst);
  T const v = *static_cast<T const*>(value);
  FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = v;
}

enum Kind { ANY, REAL };

template <class F, int Operands, Kind K>
void fill_mode(KernelTable& t, int mode) {
  constexpr Spread none = Spread::NONE;
  t.pointwise[kComputeOf<float>][mode][0] = pointwise<F, Operands, float, none>;
  t.pointwise[kComputeOf<double>][mode][0] = pointwise<F, Operands, double, none>;
  if constexpr (K == ANY) t.pointwise[kComputeOf<int32_t>][mode][0] = pointwise<F, Operands, int32_t, none>;
  if constexpr (Operands == 2) {
    t.pointwise[kComputeOf<float>][mode][1] = pointwise<F, Operands, float, Spread::FIRST>;
    t.pointwise[kComputeOf<float>][mode][2] = pointwise<F, Operands, float, Spread::SECOND>;
  }
}

template <class T>
void fill_simple(KernelTable& t) {
  t.iota[kComputeOf<T>] = iota<T>;
  t.splat[kComputeOf<T>] = splat<T>;
}

}  // namespace

void fill_pointwise(KernelTable& t) {
  int mode = 0;
#define FUSEDNN_FILL(name, functor, operands, kind) fill_mode<math::functor, operands, kind>(t, mode++);
  FUSEDNN_POINTWISE_FUNCTORS(FUSEDNN_FILL)
#undef FUSEDNN_FILL
  fill_simple<float>(t);
  fill_simple<double>(t);
  fill_simple<int32_t>(t);
}

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
