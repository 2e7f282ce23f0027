#pragma once

// What a CUDA text finds when a host compiler makes a library of it: the language's words, the thread's place, and the
// functions that kernels call. No library header is included, so that what passes here leans on nothing but itself.

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// Blocks run one after another.
#define __shared__ static

#define threadIdx (simulator::machine.thread)
#define blockIdx (simulator::machine.block)
#define blockDim (simulator::machine.block_size)
#define gridDim (simulator::machine.grid_size)

#include "machine_state.h"

namespace simulator {

extern "C" {
__attribute__((visibility("default"))) Machine simulator_machine;
}
static Machine& machine = simulator_machine;

template <class T>
u64 const* exchange(unsigned mask, T x) {
  static_assert(sizeof(T) <= sizeof(u64), "a value of at most 8 bytes");
  u64 bits = 0;
  __builtin_memcpy(&bits, &x, sizeof(T));
  return machine.exchange(mask, bits);
}
template <class T>
T value_of(u64 bits) {
  T x;
  __builtin_memcpy(&x, &bits, sizeof(T));
  return x;
}

/// To nearest even; saturates, and takes NaN as 0.
template <class To, class From>
To rounded(From x, To low, To high) {
  if (x != x) return 0;
  From const r = __builtin_nearbyint(x);
  // The limits as From: low is a power of two; high, one below one, may round up to it.
  if (r <= static_cast<From>(low)) return low;
  if (r >= static_cast<From>(high)) return high;
  return static_cast<To>(r);
}

template <int... kAt>
struct Places {};

template <class... P, int... kAt>
void call(void (*kernel)(P...), void** parameters, Places<kAt...>) {
  kernel(*static_cast<P*>(parameters[kAt])...);
}
template <class... P>
void call(void (*kernel)(P...), void** parameters) {
  call(kernel, parameters, Places<__integer_pack(sizeof...(P))...>());
}

}  // namespace simulator

struct __attribute__((aligned(8))) uint2 {
  unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
  unsigned x, y, z, w;
};

inline void __syncthreads() { simulator::machine.sync_threads(); }
inline void __syncwarp(unsigned mask = ~0u) { simulator::exchange(mask, 0); }

template <class T>
T __shfl_sync(unsigned mask, T x, int from) {
  return simulator::value_of<T>(simulator::exchange(mask, x)[from & 31]);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T x, int bits) {
  return simulator::value_of<T>(simulator::exchange(mask, x)[simulator::machine.lane ^ static_cast<unsigned>(bits)]);
}
template <class T>
T __shfl_down_sync(unsigned mask, T x, unsigned by) {
  unsigned const from = simulator::machine.lane + by;
  auto const* all = simulator::exchange(mask, x);
  return from < 32 ? simulator::value_of<T>(all[from]) : x;
}
template <class T>
T __shfl_up_sync(unsigned mask, T x, unsigned by) {
  unsigned const lane = simulator::machine.lane;
  auto const* all = simulator::exchange(mask, x);
  return lane >= by ? simulator::value_of<T>(all[lane - by]) : x;
}
inline unsigned __ballot_sync(unsigned mask, bool x) {
  auto const* all = simulator::exchange(mask, x);
  unsigned set = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1 && all[i]) set |= 1u << i;
  return set;
}
inline bool __any_sync(unsigned mask, bool x) { return __ballot_sync(mask, x) != 0; }
inline bool __all_sync(unsigned mask, bool x) { return (__ballot_sync(mask, x) & mask) == mask; }

inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline int __float2int_rn(float x) { return simulator::rounded<int>(x, -2147483647 - 1, 2147483647); }
inline int __double2int_rn(double x) { return simulator::rounded<int>(x, -2147483647 - 1, 2147483647); }
inline long long __float2ll_rn(float x) {
  return simulator::rounded<long long>(x, -9223372036854775807LL - 1, 9223372036854775807LL);
}
inline long long __double2ll_rn(double x) {
  return simulator::rounded<long long>(x, -9223372036854775807LL - 1, 9223372036854775807LL);
}
/// Towards zero: the nearest float, moved by one where it lies further out.
inline float __double2float_rz(double x) {
  float const f = static_cast<float>(x);
  if (x != x || static_cast<double>(f) == x) return f;
  bool const outside = x < 0 ? f < x : f > x;
  return outside ? __uint_as_float(__float_as_uint(f) - 1) : f;
}

inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }

template <class A, class B>
auto min(A a, B b) -> decltype(a + b) {
  return b < a ? b : a;
}
template <class A, class B>
auto max(A a, B b) -> decltype(a + b) {
  return a < b ? b : a;
}
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
inline double max(double a, double b) { return __builtin_fmax(a, b); }

// One thread runs at a time.
inline void __threadfence() {}
template <class T, class V>
T atomicAdd(T* at, V x) {
  T const before = *at;
  *at = static_cast<T>(before + x);
  return before;
}
template <class T, class V>
T atomicMax(T* at, V x) {
  T const before = *at;
  if (before < static_cast<T>(x)) *at = static_cast<T>(x);
  return before;
}
template <class T, class V>
T atomicMin(T* at, V x) {
  T const before = *at;
  if (static_cast<T>(x) < before) *at = static_cast<T>(x);
  return before;
}
template <class T, class V>
T atomicExch(T* at, V x) {
  T const before = *at;
  *at = static_cast<T>(x);
  return before;
}
template <class T, class V, class W>
T atomicCAS(T* at, V expected, W x) {
  T const before = *at;
  if (before == static_cast<T>(expected)) *at = static_cast<T>(x);
  return before;
}
