#include "engines/cpu/kernels/isa.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

// Conversions between storage and lanes, written on bits so that every level vectorises them; half uses the
// CPU's own instructions where the level has them. Rounding is to nearest, ties to even. Overflow: half,
// bfloat16, e5m2 and float give Inf, e4m3 saturates to 448 (Inf too), integers saturate and take NaN as 0.

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {
namespace {

using math::bits_of;
using math::float_of;

constexpr uint32_t kSign = 0x80000000u;
constexpr uint32_t kInfBits = 0x7f800000u;

// |value| of a narrow float of E exponent and M significand bits, `special` the first code that is not
// finite. Nothing here is subnormal as a float, which would cost a microcode assist.
template <int E, int M>
FUSEDNN_FN float widen(uint32_t b, uint32_t special) {
  constexpr int bias = (1 << (E - 1)) - 1;
  uint32_t const magnitude = b & ((1u << (E + M)) - 1);
  uint32_t const moved = (magnitude << (23 - M)) + (static_cast<uint32_t>(127 - bias) << 23);
  float const step = float_of(static_cast<uint32_t>(127 + 1 - bias - M) << 23);
  uint32_t const subnormal = bits_of(static_cast<float>(static_cast<int32_t>(magnitude)) * step);
  uint32_t const finite = magnitude < (1u << M) ? subnormal : moved;
  uint32_t const beyond = magnitude >= special ? kInfBits : 0;
  return float_of(finite | beyond | (b >> (E + M)) << 31);
}

// Rounds to E exponent and M significand bits; `top` is the largest code reached by rounding, `nan` the code
// of NaN.
template <int E, int M>
FUSEDNN_FN uint32_t narrow(float x, uint32_t top, uint32_t nan) {
  constexpr int bias = (1 << (E - 1)) - 1;
  constexpr uint32_t min_normal = static_cast<uint32_t>(127 + 1 - bias) << 23;
  uint32_t const magnitude = bits_of(x) & ~kSign;
  uint32_t const sign = (bits_of(x) >> 31) << (E + M);
  // Normal results: round the significand in place, then move the exponent's zero.
  uint32_t const odd = (magnitude >> (23 - M)) & 1;
  uint32_t const normal =
      (magnitude + ((1u << (22 - M)) - 1) + odd - (static_cast<uint32_t>(127 - bias) << 23)) >> (23 - M);
  // Subnormal results: adding this constant leaves the rounded steps in the low bits.
  constexpr uint32_t magic = static_cast<uint32_t>(127 + 1 - bias + (23 - M)) << 23;
  uint32_t const subnormal = bits_of(float_of(magnitude) + float_of(magic)) - magic;
  uint32_t code = magnitude < min_normal ? subnormal : normal;
  code = code > top || magnitude >= kInfBits ? top : code;
  code = magnitude > kInfBits ? nan : code;
  return code | sign;
}

struct F16 {
  using Bits = uint16_t;
  FUSEDNN_FN static float get(uint16_t b) { return widen<5, 10>(b, 0x7c00); }
  FUSEDNN_FN static uint16_t put(float x) { return static_cast<uint16_t>(narrow<5, 10>(x, 0x7c00, 0x7e00)); }
};
struct E5M2 {
  using Bits = uint8_t;
  FUSEDNN_FN static float get(uint8_t b) { return widen<5, 2>(b, 0x7c); }
  FUSEDNN_FN static uint8_t put(float x) { return static_cast<uint8_t>(narrow<5, 2>(x, 0x7c, 0x7e)); }
};
struct E4M3 {  // no Inf: 0x7e is 448, 0x7f is NaN
  using Bits = uint8_t;
  FUSEDNN_FN static float get(uint8_t b) { return widen<4, 3>(b, 0x7f); }
  FUSEDNN_FN static uint8_t put(float x) { return static_cast<uint8_t>(narrow<4, 3>(x, 0x7e, 0x7f)); }
};
struct BF16 {
  using Bits = uint16_t;
  FUSEDNN_FN static float get(uint16_t b) { return float_of(static_cast<uint32_t>(b) << 16); }
  FUSEDNN_FN static uint16_t put(float x) {
    uint32_t const b = bits_of(x);
    uint32_t const rounded = (b + 0x7fffu + ((b >> 16) & 1)) >> 16;
    return static_cast<uint16_t>((b & ~kSign) > kInfBits ? (b >> 31 << 15 | 0x7fc0u) : rounded);
  }
};

// Float lanes of a wider or integer source, rounded once to a narrow type: the float that stands for x must
// not be a tie that x is not, so the last bit is made odd when bits were lost.
FUSEDNN_FN float sticky_float(double x) {
  float const f = static_cast<float>(x);
  double const back = static_cast<double>(f);
  bool const inexact = (back != x) & (x == x) & (f - f == 0.0f);
  bool const away = math::abs(back) > math::abs(x);  // then step back towards zero before the odd bit is set
  uint32_t const toward = away ? bits_of(f) - 1 : bits_of(f);
  return float_of(inexact ? toward | 1u : bits_of(f));
}

// Nearest integer, ties to even, saturated to [low, high]; NaN gives 0. The limits are exact doubles.
FUSEDNN_FN double nearest(double x, double low, double high) {
  double r = __builtin_rint(x);
  r = r < low ? low : r;
  r = r > high ? high : r;
  return r == r ? r + 0.0 : 0.0;  // integers have no -0
}
FUSEDNN_FN float nearest(float x, float low, float high) {
  float r = __builtin_rintf(x);
  r = r < low ? low : r;
  r = r > high ? high : r;
  return r == r ? r + 0.0f : 0.0f;
}
FUSEDNN_FN int32_t int32_of(double x) { return static_cast<int32_t>(nearest(x, -2147483648.0, 2147483647.0)); }
FUSEDNN_FN int32_t int32_of(float x) {
  float const r = nearest(x, -2147483648.0f, 2147483520.0f);  // the largest float below 2^31
  return x >= 2147483648.0f ? 2147483647 : static_cast<int32_t>(r);
}
FUSEDNN_FN int32_t int32_of(int32_t x) { return x; }

// One class per storage type: `get` to a lane type and `put` from one.
template <class S>
struct Narrow {
  using Bits = typename S::Bits;
  template <class T>
  FUSEDNN_FN static T get(Bits b) {
    if constexpr (kComputeOf<T> == static_cast<int>(Compute::I32))
      return int32_of(S::get(b));
    else
      return static_cast<T>(S::get(b));
  }
  FUSEDNN_FN static Bits put(float x) { return S::put(x); }
  FUSEDNN_FN static Bits put(double x) { return S::put(sticky_float(x)); }
  FUSEDNN_FN static Bits put(int32_t x) { return S::put(sticky_float(static_cast<double>(x))); }
};

template <class T, int Low, int High>
struct Small {
  using Bits = T;
  template <class C>
  FUSEDNN_FN static C get(T b) {
    return static_cast<C>(b);
  }
  FUSEDNN_FN static T put(float x) { return static_cast<T>(static_cast<int32_t>(nearest(x, float(Low), float(High)))); }
  FUSEDNN_FN static T put(double x) { return static_cast<T>(static_cast<int32_t>(nearest(x, Low, High))); }
  FUSEDNN_FN static T put(int32_t x) {
    int32_t const above = x < Low ? Low : x;
    return static_cast<T>(above > High ? High : above);
  }
};
struct I32 {
  using Bits = int32_t;
  template <class C>
  FUSEDNN_FN static C get(int32_t b) {
    return static_cast<C>(b);
  }
  template <class C>
  FUSEDNN_FN static int32_t put(C x) {
    return int32_of(x);
  }
};
struct I64 {
  using Bits = int64_t;
  template <class C>
  FUSEDNN_FN static C get(int64_t b) {
    if constexpr (kComputeOf<C> == static_cast<int>(Compute::I32)) {
      int64_t const above = b < -2147483648ll ? -2147483648ll : b;
      return static_cast<int32_t>(above > 2147483647ll ? 2147483647ll : above);
    } else {
      return static_cast<C>(b);
    }
  }
  FUSEDNN_FN static int64_t put(int32_t x) { return x; }
  FUSEDNN_FN static int64_t put(float x) { return put(static_cast<double>(x)); }
  FUSEDNN_FN static int64_t put(double x) {
    double const r = nearest(x, -0x1p63, 0x1.fffffffffffffp62);
    return x >= 0x1p63 ? 0x7fffffffffffffffll : static_cast<int64_t>(r);
  }
};
struct Truth {
  using Bits = uint8_t;
  template <class C>
  FUSEDNN_FN static C get(uint8_t b) {
    return b != 0 ? C(1) : C(0);
  }
  template <class C>
  FUSEDNN_FN static uint8_t put(C x) {
    return x != C(0) ? 1 : 0;
  }
};
struct Single {
  using Bits = float;
  template <class C>
  FUSEDNN_FN static C get(float b) {
    if constexpr (kComputeOf<C> == static_cast<int>(Compute::I32))
      return int32_of(b);
    else
      return static_cast<C>(b);
  }
  template <class C>
  FUSEDNN_FN static float put(C x) {
    return static_cast<float>(x);
  }
};
struct Wide {
  using Bits = double;
  template <class C>
  FUSEDNN_FN static C get(double b) {
    if constexpr (kComputeOf<C> == static_cast<int>(Compute::I32))
      return int32_of(b);
    else
      return static_cast<C>(b);
  }
  template <class C>
  FUSEDNN_FN static double put(C x) {
    return static_cast<double>(x);
  }
};

template <class S, class T>
void load(void* dst, void const* src, int64_t stride, int64_t n) {
  T* const out = static_cast<T*>(dst);
  typename S::Bits const* const in = static_cast<typename S::Bits const*>(src);
  if (stride == 1) {
    FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = S::template get<T>(in[i]);
  } else if (stride == 0) {
    T const value = n > 0 ? S::template get<T>(in[0]) : T(0);
    FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = S::template get<T>(in[i * stride]);
  }
}

template <class S, class T>
void store(void* dst, int64_t stride, void const* src, int64_t n) {
  typename S::Bits* const out = static_cast<typename S::Bits*>(dst);
  T const* const in = static_cast<T const*>(src);
  if (stride == 1) {
    FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = S::put(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * stride] = S::put(in[i]);
  }
}

template <class S, class T>
void round(void* dst, void const* src, int64_t n) {
  T* const out = static_cast<T*>(dst);
  T const* const in = static_cast<T const*>(src);
  FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = S::template get<T>(S::put(in[i]));
}

template <class From, class To>
void cast(void* dst, void const* src, int64_t n) {
  To* const out = static_cast<To*>(dst);
  From const* const in = static_cast<From const*>(src);
  if constexpr (kComputeOf<To> == static_cast<int>(Compute::I32)) {
    FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = int32_of(in[i]);
  } else {
    FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(in[i]);
  }
}

#if defined(__F16C__)
void load_half(void* dst, void const* src, int64_t stride, int64_t n) {
  if (stride != 1) return load<Narrow<F16>, float>(dst, src, stride, n);
  float* const out = static_cast<float*>(dst);
  uint16_t const* const in = static_cast<uint16_t const*>(src);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(in + i))));
  }
  for (; i < n; ++i) out[i] = F16::get(in[i]);
}

void store_half(void* dst, int64_t stride, void const* src, int64_t n) {
  if (stride != 1) return store<Narrow<F16>, float>(dst, stride, src, n);
  uint16_t* const out = static_cast<uint16_t*>(dst);
  float const* const in = static_cast<float const*>(src);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i const h = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), h);
  }
  for (; i < n; ++i) out[i] = F16::put(in[i]);
}
#endif

template <class S, class T>
void fill_pair(KernelTable& t, Storage storage) {
  int const s = static_cast<int>(storage);
  t.load[s][kComputeOf<T>] = load<S, T>;
  t.store[s][kComputeOf<T>] = store<S, T>;
  t.round[s][kComputeOf<T>] = round<S, T>;
}

template <class S>
void fill_storage(KernelTable& t, Storage storage) {
  fill_pair<S, float>(t, storage);
  fill_pair<S, double>(t, storage);
  fill_pair<S, int32_t>(t, storage);
}

void truncate(void* dst, void const* src, int64_t n) {
  int32_t* const out = static_cast<int32_t*>(dst);
  double const* const in = static_cast<double const*>(src);
  for (int64_t i = 0; i < n; ++i) {
    double const above = in[i] > -0x1p62 ? in[i] : -0x1p62;
    int64_t const whole = static_cast<int64_t>(above < 0x1p62 ? above : 0x1p62);
    out[i] = static_cast<int32_t>(static_cast<uint32_t>(whole));
  }
}

template <class From>
void fill_casts(KernelTable& t) {
  t.cast[kComputeOf<From>][kComputeOf<float>] = cast<From, float>;
  t.cast[kComputeOf<From>][kComputeOf<double>] = cast<From, double>;
  t.cast[kComputeOf<From>][kComputeOf<int32_t>] = cast<From, int32_t>;
}

}  // namespace

void fill_convert(KernelTable& t) {
  fill_storage<Single>(t, Storage::F32);
  fill_storage<Wide>(t, Storage::F64);
  fill_storage<Narrow<F16>>(t, Storage::F16);
  fill_storage<Narrow<BF16>>(t, Storage::BF16);
  fill_storage<Narrow<E4M3>>(t, Storage::E4M3);
  fill_storage<Narrow<E5M2>>(t, Storage::E5M2);
  fill_storage<Small<int8_t, -128, 127>>(t, Storage::I8);
  fill_storage<Small<uint8_t, 0, 255>>(t, Storage::U8);
  fill_storage<I32>(t, Storage::I32);
  fill_storage<I64>(t, Storage::I64);
  fill_storage<Truth>(t, Storage::BOOL);
#if defined(__F16C__)
  t.load[static_cast<int>(Storage::F16)][kComputeOf<float>] = load_half;
  t.store[static_cast<int>(Storage::F16)][kComputeOf<float>] = store_half;
#endif
  t.truncate = truncate;
  fill_casts<float>(t);
  fill_casts<double>(t);
  fill_casts<int32_t>(t);
}

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
