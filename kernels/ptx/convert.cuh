#pragma once

#include "ptx/base.cuh"

// Between float and 16-bit storage, and what the special-function unit computes.

namespace fusednn::ptx {

// Two floats to two 16-bit values, rounded to nearest even; the first goes to the low half.
template <class T>
FUSEDNN_DEVICE u32 pack(float low, float high);

template <>
FUSEDNN_DEVICE u32 pack<bf16>(float low, float high) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

template <>
FUSEDNN_DEVICE u32 pack<fp16>(float low, float high) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

// The value of the 16 bits of a T.
template <class T>
FUSEDNN_DEVICE float value_of(u32 bits);

template <>
FUSEDNN_DEVICE float value_of<bf16>(u32 bits) {
  return __uint_as_float(bits << 16);
}

template <>
FUSEDNN_DEVICE float value_of<fp16>(u32 bits) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(static_cast<u16>(bits)));
  return r;
}

// Special-function approximations, exact to about 2 units in the last place. Subnormal arguments and results become
// zeros: keeping them costs three instructions more each.
FUSEDNN_DEVICE float exp2_approx(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
FUSEDNN_DEVICE float reciprocal_approx(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

}  // namespace fusednn::ptx
