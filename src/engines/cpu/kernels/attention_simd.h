#pragma once

// Vectors of float and double for the attention kernels, in the compiler's portable vector extension. This
// file is compiled once per instruction set: everything in it lives in that set's namespace, so that the
// linker never mixes code of two sets.

#include "engines/cpu/kernels/isa.h"

#include <cstdint>
#include <utility>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kVectorRegisters = 32;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kVectorRegisters = 16;
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kVectorRegisters = 16;
#endif

template <class T>
struct Simd;

template <>
struct Simd<float> {
  using Int = int32_t;
  typedef float V __attribute__((vector_size(kVectorBytes)));
  typedef float Unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(float)), may_alias));
  typedef int32_t M __attribute__((vector_size(kVectorBytes)));
};

template <>
struct Simd<double> {
  using Int = int64_t;
  typedef double V __attribute__((vector_size(kVectorBytes)));
  typedef double Unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(double)), may_alias));
  typedef int64_t M __attribute__((vector_size(kVectorBytes)));
};

template <class T>
using V = typename Simd<T>::V;
/// Lane masks (all ones or zero) and integers as wide as T.
template <class T>
using M = typename Simd<T>::M;
template <class T>
using Int = typename Simd<T>::Int;

template <class T>
inline constexpr int lanes = kVectorBytes / int(sizeof(T));

template <class T>
inline constexpr T infinity = T(__builtin_inff());

template <class T>
[[gnu::always_inline]] inline V<T> load(T const* p) {
  return *reinterpret_cast<typename Simd<T>::Unaligned const*>(p);
}

template <class T>
[[gnu::always_inline]] inline void store(T* p, V<T> v) {
  *reinterpret_cast<typename Simd<T>::Unaligned*>(p) = v;
}

namespace detail {
// An initialiser of equal lanes is the form that both compilers turn into one broadcast.
template <class R, class S, int... I>
[[gnu::always_inline]] inline R splat(S x, std::integer_sequence<int, I...>) {
  return R{(static_cast<void>(I), x)...};
}

/// Half `hi` of the exchange of blocks of S lanes between `a` and `b`.
template <int S, int W, bool hi, class R, int... I>
[[gnu::always_inline]] inline R exchange(R a, R b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (hi ? ((I & S) ? W + I : I + S) : ((I & S) ? W + I - S : I))...);
}
}  // namespace detail

template <class T>
[[gnu::always_inline]] inline V<T> splat(T x) {
  return detail::splat<V<T>>(x, std::make_integer_sequence<int, lanes<T>>{});
}

template <class T>
[[gnu::always_inline]] inline M<T> splat_int(Int<T> x) {
  return detail::splat<M<T>>(x, std::make_integer_sequence<int, lanes<T>>{});
}

/// Transposes the lanes<T> x lanes<T> block in `rows`.
template <class T, int S = 1>
[[gnu::always_inline]] inline void transpose(V<T>* rows) {
  constexpr int W = lanes<T>;
  if constexpr (S < W) {
    constexpr auto each = std::make_integer_sequence<int, W>{};
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) {
      if ((i & S) != 0) continue;
      V<T> const a = rows[i];
      V<T> const b = rows[i + S];
      rows[i] = detail::exchange<S, W, false>(a, b, each);
      rows[i + S] = detail::exchange<S, W, true>(a, b, each);
    }
    transpose<T, 2 * S>(rows);
  }
}

template <class T>
[[gnu::always_inline]] inline bool any(M<T> mask) {
  Int<T> bits = 0;
  for (int i = 0; i < lanes<T>; ++i) bits |= mask[i];
  return bits != 0;
}

template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  // Below `lowest`, e^x rounds to 0 even among the subnormals.
  static constexpr float lowest = -104.0f;
  static constexpr float log2_e = 1.44269504088896341f;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  static constexpr int significand_bits = 23, bias = 127;
  // e^r on |r| <= 0.3467, highest power first: a minimax fit of (e^r - 1 - r) / r^2, off by 0.05 units in the
  // last place of the result.
  static constexpr float poly[] = {
      0x1.6a258ep-10f, 0x1.12390ep-7f, 0x1.5558ecp-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1.0f, 1.0f};
};

template <>
struct ExpConstants<double> {
  static constexpr double lowest = -745.5;
  static constexpr double log2_e = 1.44269504088896340736;
  static constexpr double ln2_high = 0.693145751953125, ln2_low = 1.42860682030941723212e-6;
  static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr int significand_bits = 52, bias = 1023;
  // As above, off by 0.03 units in the last place.
  static constexpr double poly[] = {0x1.ad8019bf03361p-26,
                                    0x1.28ace4115183cp-22,
                                    0x1.71df23fccfec9p-19,
                                    0x1.a0199a9f7c291p-16,
                                    0x1.a01a012b57019p-13,
                                    0x1.6c16c183f6f10p-10,
                                    0x1.11111111277cfp-7,
                                    0x1.5555555550955p-5,
                                    0x1.55555555554fbp-3,
                                    0x1.0000000000009p-1,
                                    1.0,
                                    1.0};
};

/// e^x for x <= 0; NaN gives NaN, -inf gives 0.
template <class T>
[[gnu::always_inline]] inline V<T> exp_nonpositive(V<T> x) {
  using C = ExpConstants<T>;
  M<T> const vanishes = x < splat<T>(C::lowest);
  // Zeroed lanes take no slow path through subnormal products.
  x = vanishes ? splat<T>(0) : x;
  V<T> const shifted = x * splat<T>(C::log2_e) + splat<T>(C::round);
  V<T> const n = shifted - splat<T>(C::round);
  V<T> const r = (x - n * splat<T>(C::ln2_high)) - n * splat<T>(C::ln2_low);
  V<T> p = splat<T>(C::poly[0]);
#pragma GCC unroll 16
  for (unsigned i = 1; i < sizeof(C::poly) / sizeof(T); ++i) p = p * r + splat<T>(C::poly[i]);
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == sizeof(float)) {
    p = (V<T>)_mm512_maskz_scalef_ps(__mmask16(-1), (__m512)p, (__m512)n);
  } else {
    p = (V<T>)_mm512_maskz_scalef_pd(__mmask8(-1), (__m512d)p, (__m512d)n);
  }
#else
  // 2^n in two factors, both normal numbers, so that subnormal results round once.
  M<T> const exponent = (M<T>)shifted - (M<T>)splat<T>(C::round);
  M<T> const half = exponent >> 1;
  M<T> const bias = splat_int<T>(C::bias);
  p = p * (V<T>)((half + bias) << C::significand_bits) * (V<T>)((exponent - half + bias) << C::significand_bits);
#endif
  return vanishes ? splat<T>(0) : p;
}

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
