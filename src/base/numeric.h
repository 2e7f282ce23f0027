#pragma once

#include <fusednn/enums.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

namespace fusednn {

// How a narrow floating-point type is laid out: sign, exponent, significand, from the top bit down.
struct HalfFormat {
  using Bits = uint16_t;
  static constexpr int exponent_bits = 5, significand_bits = 10;
  static constexpr bool has_infinity = true;
};
struct BFloat16Format {
  using Bits = uint16_t;
  static constexpr int exponent_bits = 8, significand_bits = 7;
  static constexpr bool has_infinity = true;
};
/// The "fn" variant: no infinity, one NaN per sign, 448 the largest value; what is beyond saturates.
struct Fp8E4M3Format {
  using Bits = uint8_t;
  static constexpr int exponent_bits = 4, significand_bits = 3;
  static constexpr bool has_infinity = false;
};
struct Fp8E5M2Format {
  using Bits = uint8_t;
  static constexpr int exponent_bits = 5, significand_bits = 2;
  static constexpr bool has_infinity = true;
};

/// Bits of a narrow floating-point value. Arithmetic is done in a wider type: widen with `to_float`, come
/// back with `round_to`.
template <class Format>
struct NarrowFloat {
  using format = Format;
  using Bits = typename Format::Bits;

  static constexpr int exponent_bias = (1 << (Format::exponent_bits - 1)) - 1;
  static constexpr int min_exponent = 1 - exponent_bias;  // of the smallest normal value
  static constexpr Bits sign_mask = Bits(1u << (Format::exponent_bits + Format::significand_bits));
  static constexpr Bits exponent_mask = Bits(((1u << Format::exponent_bits) - 1) << Format::significand_bits);
  static constexpr Bits nan_bits =
      Format::has_infinity ? Bits(exponent_mask | (1u << (Format::significand_bits - 1))) : Bits(sign_mask - 1);
  static constexpr Bits max_bits = Format::has_infinity ? Bits(exponent_mask - 1) : Bits(nan_bits - 1);
  static constexpr Bits overflow_bits = Format::has_infinity ? exponent_mask : max_bits;

  static constexpr NarrowFloat from_bits(Bits bits) { return NarrowFloat{bits}; }

  Bits bits;
};

using half_t = NarrowFloat<HalfFormat>;
using bfloat16_t = NarrowFloat<BFloat16Format>;
using fp8_e4m3_t = NarrowFloat<Fp8E4M3Format>;
using fp8_e5m2_t = NarrowFloat<Fp8E5M2Format>;

/// One byte; any non-zero byte reads true, 1 is written.
struct boolean_t {
  uint8_t bits;
};

template <class T>
inline constexpr bool is_narrow_float = false;
template <class Format>
inline constexpr bool is_narrow_float<NarrowFloat<Format>> = true;

namespace detail {

/// |value| = significand * 2^exponent, exactly.
struct Magnitude {
  uint64_t significand;
  int exponent;
};

inline Magnitude magnitude_of(long double finite) {
  static_assert(std::numeric_limits<long double>::digits <= 64);
  int exponent = 0;
  long double const fraction = std::frexp(std::fabs(finite), &exponent);
  return {static_cast<uint64_t>(std::ldexp(fraction, 64)), exponent - 64};
}

constexpr Magnitude magnitude_of(float finite) {
  auto const bits = std::bit_cast<uint32_t>(finite);
  uint32_t const fraction = bits & 0x7fffff;
  int const exponent = static_cast<int>(bits >> 23 & 0xff);
  return exponent == 0 ? Magnitude{fraction, -149} : Magnitude{fraction | 0x800000, exponent - 150};
}

constexpr Magnitude magnitude_of(double finite) {
  auto const bits = std::bit_cast<uint64_t>(finite);
  uint64_t const fraction = bits & ((uint64_t{1} << 52) - 1);
  int const exponent = static_cast<int>(bits >> 52 & 0x7ff);
  return exponent == 0 ? Magnitude{fraction, -1074} : Magnitude{fraction | uint64_t{1} << 52, exponent - 1075};
}

/// The nearest value of T, ties to even, in one rounding; overflow as T's format says.
template <class T>
constexpr T round_magnitude(bool negative, Magnitude m) {
  using Bits = typename T::Bits;
  constexpr int kept = T::format::significand_bits;
  Bits const sign = negative ? T::sign_mask : Bits(0);
  if (m.significand == 0) return T{sign};

  int const top = m.exponent + 63 - std::countl_zero(m.significand);
  if (top > T::exponent_bias + 1) return T{Bits(sign | T::overflow_bits)};
  int const binade = top < T::min_exponent ? T::min_exponent : top;
  int const dropped = binade - kept - m.exponent;  // bits below the last one kept
  uint64_t steps = 0;
  if (dropped <= 0) {
    steps = m.significand << -dropped;
  } else if (dropped <= 64) {
    steps = dropped == 64 ? 0 : m.significand >> dropped;
    uint64_t const half = uint64_t{1} << (dropped - 1);
    uint64_t const rest = m.significand & (half | (half - 1));
    if (rest > half || (rest == half && (steps & 1) != 0)) ++steps;
  }
  // The hidden bit in `steps` adds one to the exponent field of normal values, and so does a carry.
  uint64_t const bits = (static_cast<uint64_t>(binade - T::min_exponent) << kept) + steps;
  return T{Bits(sign | (bits > T::max_bits ? T::overflow_bits : Bits(bits)))};
}

}  // namespace detail

/// Exact.
template <class Format>
constexpr float to_float(NarrowFloat<Format> x) {
  using T = NarrowFloat<Format>;
  constexpr int kept = Format::significand_bits;
  uint32_t const sign = (x.bits & T::sign_mask) != 0 ? 0x80000000u : 0u;
  uint32_t const magnitude = x.bits & (T::sign_mask - 1u);
  if (magnitude > T::max_bits) {
    bool const infinite = Format::has_infinity && magnitude == T::exponent_mask;
    return std::bit_cast<float>(sign | (infinite ? 0x7f800000u : 0x7fc00000u));
  }
  if (magnitude >= 1u << kept) {
    return std::bit_cast<float>(sign | ((magnitude << (23 - kept)) + ((127u - T::exponent_bias) << 23)));
  }
  if constexpr (T::min_exponent == std::numeric_limits<float>::min_exponent - 1) {
    return std::bit_cast<float>(sign | magnitude << (23 - kept));  // subnormal in both
  } else {
    constexpr float step = std::bit_cast<float>(static_cast<uint32_t>(127 + T::min_exponent - kept) << 23);
    float const value = static_cast<float>(magnitude) * step;
    return sign != 0 ? -value : value;
  }
}

/// A stored value as R. Exact, except that 64-bit integers may round.
template <class R, class T>
constexpr R value_as(T stored) {
  if constexpr (is_narrow_float<T>) {
    return static_cast<R>(to_float(stored));
  } else if constexpr (std::is_same_v<T, boolean_t>) {
    return static_cast<R>(stored.bits != 0);
  } else {
    return static_cast<R>(stored);
  }
}

/// The value of storage type T nearest to `x`, ties to even, in one rounding from R.
/// float, double, half, bfloat16, e5m2: overflow gives infinity. e4m3: saturates to +-448, infinity too.
/// Integers: saturate, NaN gives 0. BOOLEAN: whether `x` differs from 0 (NaN does).
template <class T, class R>
requires std::is_arithmetic_v<R>
inline T round_to(R x) {
  if constexpr (std::is_same_v<T, R>) {
    return x;
  } else if constexpr (std::is_same_v<T, boolean_t>) {
    return boolean_t{static_cast<uint8_t>(x != R(0))};
  } else if constexpr (is_narrow_float<T>) {
    if constexpr (std::is_floating_point_v<R>) {
      using Bits = typename T::Bits;
      Bits const sign = std::signbit(x) ? T::sign_mask : Bits(0);
      if (std::isnan(x)) return T{Bits(sign | T::nan_bits)};
      if (std::isinf(x)) return T{Bits(sign | T::overflow_bits)};
      return detail::round_magnitude<T>(sign != 0, detail::magnitude_of(x));
    } else {
      bool const negative = x < R(0);
      uint64_t const wide = static_cast<uint64_t>(x);
      return detail::round_magnitude<T>(negative, {negative ? uint64_t{0} - wide : wide, 0});
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else if constexpr (std::is_floating_point_v<R>) {
    using Limits = std::numeric_limits<T>;
    constexpr R low = static_cast<R>(Limits::min());
    constexpr R beyond = static_cast<R>(uint64_t{1} << (Limits::digits - 1)) * R(2);
    if (std::isnan(x)) return 0;
    R const rounded = std::nearbyint(x);
    if (rounded <= low) return Limits::min();
    if (rounded >= beyond) return Limits::max();
    return static_cast<T>(rounded);
  } else {
    using Limits = std::numeric_limits<T>;
    if (std::cmp_less(x, Limits::min())) return Limits::min();
    if (std::cmp_greater(x, Limits::max())) return Limits::max();
    return static_cast<T>(x);
  }
}

/// What the error model needs to know of a storage type. For integers and BOOLEAN the floating-point fields
/// are those of an exact type: unit roundoff 0, smallest step 1.
struct NumericLimits {
  double unit_roundoff;  // half the distance from 1 to the next value
  double max;            // largest finite value
  double min_normal;     // smallest positive value of full precision
  double min_subnormal;  // smallest positive value
  bool has_infinity;
};

template <class T>
constexpr NumericLimits numeric_limits_of() {
  if constexpr (is_narrow_float<T>) {
    using F = typename T::format;
    constexpr double step = std::numeric_limits<double>::epsilon() * double(uint64_t{1} << (52 - F::significand_bits));
    double const min_normal = to_float(T{typename T::Bits(1u << F::significand_bits)});
    return {step / 2, to_float(T{T::max_bits}), min_normal, min_normal * step, F::has_infinity};
  } else if constexpr (std::is_same_v<T, boolean_t>) {
    return {0, 1, 1, 1, false};
  } else if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    return {L::epsilon() / 2, L::max(), L::min(), L::denorm_min(), true};
  } else {
    return {0, static_cast<double>(std::numeric_limits<T>::max()), 1, 1, false};
  }
}

enum class TypeKind { FLOATING, INTEGER, BOOLEAN };

struct TypeInfo {
  DataType_t type;
  int64_t size;  // bytes
  TypeKind kind;
  NumericLimits limits;
};

/// The row of a type that tensors can be stored in; nullptr for the others.
TypeInfo const* type_info(DataType_t) noexcept;

/// Calls `f` with a std::type_identity of the storage type. `type` has a row in `type_info`.
template <class F>
decltype(auto) visit_storage_type(DataType_t type, F&& f) {
  switch (type) {
    case DataType_t::FLOAT:
      return f(std::type_identity<float>{});
    case DataType_t::DOUBLE:
      return f(std::type_identity<double>{});
    case DataType_t::HALF:
      return f(std::type_identity<half_t>{});
    case DataType_t::BFLOAT16:
      return f(std::type_identity<bfloat16_t>{});
    case DataType_t::FP8_E4M3:
      return f(std::type_identity<fp8_e4m3_t>{});
    case DataType_t::FP8_E5M2:
      return f(std::type_identity<fp8_e5m2_t>{});
    case DataType_t::INT8:
      return f(std::type_identity<int8_t>{});
    case DataType_t::UINT8:
      return f(std::type_identity<uint8_t>{});
    case DataType_t::INT32:
      return f(std::type_identity<int32_t>{});
    case DataType_t::INT64:
      return f(std::type_identity<int64_t>{});
    case DataType_t::BOOLEAN:
      return f(std::type_identity<boolean_t>{});
    default:
      std::abort();
  }
}

}  // namespace fusednn
