#pragma once

#include "ptx/base.cuh"

namespace fusednn::ptx {

template <class T>
u32 bits_of(float x);
template <>
inline u32 bits_of<bf16>(float x) {
  if (x != x) return 0x7fff;
  u32 const b = __float_as_uint(x);
  return (b + 0x7fff + (b >> 16 & 1)) >> 16;
}
template <>
inline u32 bits_of<fp16>(float x) {
  if (x != x) return 0x7fff;
  return __builtin_bit_cast(u16, static_cast<_Float16>(x));
}

template <class T>
u32 pack(float low, float high) {
  return bits_of<T>(low) | bits_of<T>(high) << 16;
}

template <class T>
float value_of(u32 bits);
template <>
inline float value_of<bf16>(u32 bits) {
  return __uint_as_float(bits << 16);
}
template <>
inline float value_of<fp16>(u32 bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, static_cast<u16>(bits)));
}

inline float exp2_approx(float x) { return __builtin_exp2f(x); }
inline float reciprocal_approx(float x) { return 1.0f / x; }

}  // namespace fusednn::ptx
