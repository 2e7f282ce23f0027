#pragma once

#include "math/pointwise.h"
#include "ptx/convert.cuh"

// Between elements as they lie in memory and the lanes (float, double, int) that a loop kernel computes in.
// Conversions round once, to nearest even; half, bf16 and e5m2 overflow to infinity, e4m3 saturates to 448
// and keeps NaN, integers saturate and take NaN as 0.

namespace fusednn::loop {

using math::PointwiseParams;
using i8 = signed char;
using u8 = unsigned char;
using i32 = int;

/// A double as a float that rounds on to any narrower type as the double itself would: truncated, with the
/// last bit set where anything was cut off (round to odd).
FUSEDNN_DEVICE float narrowed(double x) {
  float const f = __double2float_rz(x);
  bool const cut = x == x && static_cast<double>(f) != x;
  return cut ? __uint_as_float(__float_as_uint(f) | 1u) : f;
}
FUSEDNN_DEVICE float narrowed(float x) { return x; }
FUSEDNN_DEVICE float narrowed(i32 x) { return narrowed(static_cast<double>(x)); }

/// Bits of a small float with `kExponent` and `kFraction` bits, without the sign.
template <int kExponent, int kFraction, bool kInfinity>
FUSEDNN_DEVICE u32 small_float_bits(float x) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr u32 kTop = ((1u << kExponent) - 1) << kFraction;
  constexpr u32 kNan = kInfinity ? kTop | 1u << (kFraction - 1) : kTop | ((1u << kFraction) - 1);
  constexpr u32 kOver = kInfinity ? kTop : kNan - 1;
  u32 const b = __float_as_uint(x) & 0x7fffffffu;
  if (b > 0x7f800000u) return kNan;
  int const exponent = min(max(static_cast<int>(b >> 23) - 127, 1 - kBias), kBias + 3);
  // Adding a power of two that makes the last kept bit the unit rounds to nearest even in hardware.
  float const magic = __uint_as_float(static_cast<u32>(exponent - kFraction + 23 + 127) << 23);
  float const rounded = (__uint_as_float(b) + magic) - magic;
  if (b >= 0x7f800000u || rounded >= __uint_as_float(static_cast<u32>(kBias + 2 + 127) << 23)) return kOver;
  u32 const r = __float_as_uint(rounded);
  int const e = static_cast<int>(r >> 23) - 127;
  u32 bits;
  if (rounded < __uint_as_float(static_cast<u32>(1 - kBias + 127) << 23))
    bits = static_cast<u32>(rounded * __uint_as_float(static_cast<u32>(kBias - 1 + kFraction + 127) << 23));
  else
    bits = (static_cast<u32>(e + kBias) << kFraction) | ((r >> (23 - kFraction)) & ((1u << kFraction) - 1));
  return bits > (kInfinity ? kTop : kOver) ? kOver : bits;
}

template <int kExponent, int kFraction, bool kInfinity>
FUSEDNN_DEVICE float small_float_value(u32 bits) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr u32 kTop = ((1u << kExponent) - 1) << kFraction;
  u32 const sign = (bits >> (kExponent + kFraction)) << 31, m = bits & (kTop | ((1u << kFraction) - 1));
  if (kInfinity ? m > kTop : m == (kTop | ((1u << kFraction) - 1))) return __uint_as_float(0x7fc00000u);
  if (kInfinity && m == kTop) return __uint_as_float(sign | 0x7f800000u);
  float const magnitude =
      m < (1u << kFraction)
          ? static_cast<float>(m) * __uint_as_float(static_cast<u32>(1 - kBias - kFraction + 127) << 23)
          : __uint_as_float((m << (23 - kFraction)) + (static_cast<u32>(127 - kBias) << 23));
  return __uint_as_float(__float_as_uint(magnitude) | sign);
}

template <class Lane>
FUSEDNN_DEVICE Lane integer_lane(i64 x) {
  if constexpr (sizeof(Lane) == 4 && Lane(1) / Lane(2) == Lane(0))
    return x > 2147483647 ? 2147483647 : x < -2147483647 - 1 ? -2147483647 - 1 : static_cast<Lane>(x);
  else
    return static_cast<Lane>(x);
}

template <class Lane>
FUSEDNN_DEVICE Lane float_lane(float x) {
  if constexpr (Lane(1) / Lane(2) == Lane(0))
    return x == x ? __float2int_rn(x) : 0;
  else
    return static_cast<Lane>(x);
}

FUSEDNN_DEVICE i64 rounded(float x) { return x == x ? __float2ll_rn(x) : 0; }
FUSEDNN_DEVICE i64 rounded(double x) { return x == x ? __double2ll_rn(x) : 0; }
FUSEDNN_DEVICE i64 rounded(i32 x) { return x; }
FUSEDNN_DEVICE i64 limited(i64 x, i64 low, i64 high) { return x < low ? low : x > high ? high : x; }

// One struct per storage type: Raw as it lies in memory, `load` to a lane, `store` from one.
struct Float {
  using Raw = float;
  template <class Lane>
  FUSEDNN_DEVICE static Lane load(Raw x) {
    return float_lane<Lane>(x);
  }
  template <class Lane>
  FUSEDNN_DEVICE static Raw store(Lane x) {
    return static_cast<float>(x);
  }
};
struct Double {
  using Raw = double;
  template <class Lane>
  FUSEDNN_DEVICE static Lane load(Raw x) {
    if constexpr (Lane(1) / Lane(2) == Lane(0))
      return x == x ? __double2int_rn(x) : 0;
    else
      return static_cast<Lane>(x);
  }
  template <class Lane>
  FUSEDNN_DEVICE static Raw store(Lane x) {
    return static_cast<double>(x);
  }
};
struct Bf16 {
  using Raw = u16;
  template <class Lane>
  FUSEDNN_DEVICE static Lane load(Raw x) {
    return float_lane<Lane>(ptx::value_of<bf16>(x));
  }
  template <class Lane>
  FUSEDNN_DEVICE static Raw store(Lane x) {
    return static_cast<u16>(ptx::pack<bf16>(narrowed(x), 0.0f));
  }
};
struct Half {
  using Raw = u16;
  template <class Lane>
  FUSEDNN_DEVICE static Lane load(Raw x) {
    return float_lane<Lane>(ptx::value_of<fp16>(x));
  }
  template <class Lane>
  FUSEDNN_DEVICE static Raw store(Lane x) {
    return static_cast<u16>(ptx::pack<fp16>(narrowed(x), 0.0f));
  }
};
template <int kExponent, int kFraction, bool kInfinity>
struct SmallFloat {
  using Raw = u8;
  template <class Lane>
  FUSEDNN_DEVICE static Lane load(Raw x) {
    return float_lane<Lane>(small_float_value<kExponent, kFraction, kInfinity>(x));
  }
  template <class Lane>
  FUSEDNN_DEVICE static Raw store(Lane x) {
    float const f = narrowed(x);
    return static_cast<u8>(small_float_bits<kExponent, kFraction, kInfinity>(f) | (__float_as_uint(f) >> 24 & 0x80u));
  }
};
using E4m3 = SmallFloat<4, 3, false>;
using E5m2 = SmallFloat<5, 2, true>;
template <class T, i64 kLow, i64 kHigh>
struct Integer {
  using Raw = T;
  template <class Lane>
  FUSEDNN_DEVICE static Lane load(Raw x) {
    return integer_lane<Lane>(x);
  }
  template <class Lane>
  FUSEDNN_DEVICE static Raw store(Lane x) {
    return static_cast<Raw>(limited(rounded(x), kLow, kHigh));
  }
};
using Int8 = Integer<i8, -128, 127>;
using Uint8 = Integer<u8, 0, 255>;
using Int32 = Integer<i32, -2147483647 - 1, 2147483647>;
using Int64 = Integer<i64, -9223372036854775807LL - 1, 9223372036854775807LL>;
struct Boolean {
  using Raw = u8;
  template <class Lane>
  FUSEDNN_DEVICE static Lane load(Raw x) {
    return x != 0 ? Lane(1) : Lane(0);
  }
  template <class Lane>
  FUSEDNN_DEVICE static Raw store(Lane x) {
    return x != Lane(0) ? 1 : 0;
  }
};

/// A lane as the storage type would give it back.
template <class Storage, class Lane>
FUSEDNN_DEVICE Lane round_to(Lane x) {
  return Storage::template load<Lane>(Storage::template store<Lane>(x));
}

template <class To, class From>
FUSEDNN_DEVICE To cast(From x) {
  if constexpr (To(1) / To(2) == To(0) && From(1) / From(2) != From(0))
    return static_cast<To>(limited(rounded(x), -2147483647 - 1, 2147483647));
  else
    return static_cast<To>(x);
}

/// Without the fraction; wraps.
FUSEDNN_DEVICE i32 truncated(double x) { return static_cast<i32>(static_cast<i64>(x)); }

template <int kBytes>
struct Packet;
template <>
struct Packet<1> {
  using type = u8;
};
template <>
struct Packet<2> {
  using type = u16;
};
template <>
struct Packet<4> {
  using type = u32;
};
template <>
struct Packet<8> {
  using type = uint2;
};
template <>
struct Packet<16> {
  using type = uint4;
};

/// `kCount` elements from an address aligned to all of them, or to 16 bytes.
template <class Storage, int kCount, class Lane>
FUSEDNN_DEVICE void load_run(Lane (&lanes)[kCount], typename Storage::Raw const* from) {
  using Raw = typename Storage::Raw;
  constexpr int kBytes = kCount * sizeof(Raw) < 16 ? kCount * sizeof(Raw) : 16;
  constexpr int kEach = kBytes / sizeof(Raw);
  using Word = typename Packet<kBytes>::type;
  union {
    Word word;
    Raw raw[kEach];
  } packet;
#pragma unroll
  for (int i = 0; i < kCount; i += kEach) {
    packet.word = *reinterpret_cast<Word const*>(from + i);
#pragma unroll
    for (int j = 0; j < kEach; ++j) lanes[i + j] = Storage::template load<Lane>(packet.raw[j]);
  }
}

template <class Storage, int kCount, class Lane>
FUSEDNN_DEVICE void store_run(typename Storage::Raw* to, Lane const (&lanes)[kCount]) {
  using Raw = typename Storage::Raw;
  constexpr int kBytes = kCount * sizeof(Raw) < 16 ? kCount * sizeof(Raw) : 16;
  constexpr int kEach = kBytes / sizeof(Raw);
  using Word = typename Packet<kBytes>::type;
  union {
    Word word;
    Raw raw[kEach];
  } packet;
#pragma unroll
  for (int i = 0; i < kCount; i += kEach) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) packet.raw[j] = Storage::template store<Lane>(lanes[i + j]);
    *reinterpret_cast<Word*>(to + i) = packet.word;
  }
}

}  // namespace fusednn::loop
