#pragma once

#include "math/platform.h"

// Elementary functions. The float versions are branch-free, so that a loop around them vectorises, and take
// their coefficients from minimax fits of our own. They expect denormals to be live and tolerate contraction
// of a*b+c into one rounding (the products that must be exact have operands of at most 12 bits). Largest
// error found over every exponent, in units in the last place of the float result:
//   exp 1.1, log 0.8, tanh 2.2, erf 1.0, sigmoid 2.4, elu 1.5, swish 2.8, softplus 3.2, gelu 4.2,
//   gelu_tanh 3.0
// (tests/engines/cpu/elementary_test.cpp holds them to it). Doubles go through the C library.

namespace fusednn::math {
inline namespace FUSEDNN_MATH_ISA {

inline constexpr float kInf = __builtin_bit_cast(float, 0x7f800000u);
inline constexpr float kLog2E = 1.44269504f;
inline constexpr float kLn2Hi = 0x1.62e4p-1f;     // 15 bits: an exponent times this is exact
inline constexpr float kLn2Lo = 0x1.7f7d1cp-20f;  // ln 2 - kLn2Hi
inline constexpr float kRoundToInt = 0x1.8p23f;   // adding it leaves the nearest integer in the low mantissa bits

FUSEDNN_FN float upper_12_bits(float x) { return float_of(bits_of(x) & 0xfffff000u); }

// 2^n for -126 <= n <= 127.
FUSEDNN_FN float exp2_int(i32 n) { return float_of(static_cast<u32>(n + 127) << 23); }

struct ExpParts {
  float r;  // remainder, |r| <= ln2 / 2
  i32 n;    // power of two
};

// h + l = n ln2 + r, for h in [-170, 89] and a small l. NaN stays in r.
FUSEDNN_FN ExpParts exp_reduce(float h, float l) {
  float t = h * kLog2E + kRoundToInt;
  float nf = t - kRoundToInt;
  float r = (h - nf * kLn2Hi) - nf * kLn2Lo;
  return {r + l, static_cast<i32>(bits_of(t) - 0x4b400000u)};
}

// (e^r - 1 - r) / r^2 on |r| <= 0.347
FUSEDNN_FN float exp_poly(float r) {
  float p = 0x1.6cd7d8p-10f;
  p = p * r + 0x1.122c5ap-7f;
  p = p * r + 0x1.555538p-5f;
  p = p * r + 0x1.5554aap-3f;
  return p * r + 0.5f;
}

// An exponential as factors, so that a product with it is rounded once even where the exponential alone would
// be subnormal: exp_value(f) = e^x, exp_times(y, f) = y * e^x.
template <class T>
struct ExpFactors {
  T mantissa;
  T scale[2];  // two, since 2^n alone leaves the range at both ends
};
template <class T>
FUSEDNN_FN T exp_times(T y, ExpFactors<T> f) {
  return y * f.mantissa * f.scale[0] * f.scale[1];
}
template <class T>
FUSEDNN_FN T exp_value(ExpFactors<T> f) {
  return f.mantissa * f.scale[0] * f.scale[1];
}

// e^(h + l) for a small l that carries what h lost to rounding.
FUSEDNN_FN ExpFactors<float> exp_factors(float h, float l) {
  float c = h > 89.0f ? 89.0f : h;
  c = c < -170.0f ? -170.0f : c;
  ExpParts e = exp_reduce(c, l);
  float p = 1.0f + (e.r + e.r * e.r * exp_poly(e.r));
  i32 half = e.n >> 1;
  return {h < -170.0f ? 0.0f : p, {exp2_int(half), exp2_int(e.n - half)}};
}
FUSEDNN_FN ExpFactors<double> exp_factors(double h, double l) { return {FUSEDNN_LIBM(exp)(h) * (1.0 + l), {1.0, 1.0}}; }

FUSEDNN_FN float exp(float x) { return exp_value(exp_factors(x, 0.0f)); }
FUSEDNN_FN double exp(double x) { return FUSEDNN_LIBM(exp)(x); }

FUSEDNN_FN float expm1(float x) {
  float c = x > 89.0f ? 89.0f : x;
  c = c < -20.0f ? -20.0f : c;
  ExpParts e = exp_reduce(c, 0.0f);
  float q = e.r + e.r * e.r * exp_poly(e.r);
  float s = exp2_int(e.n - 1);  // half the scale, so that the largest finite results do not pass through Inf
  return 2.0f * (s * q + (s - 0.5f));
}
FUSEDNN_FN double expm1(double x) { return FUSEDNN_LIBM(expm1)(x); }

FUSEDNN_FN float log(float x) {
  bool tiny = x < 0x1p-126f;
  float xs = tiny ? x * 0x1p23f : x;
  i32 e = static_cast<i32>(bits_of(xs) - 0x3f3504f3u) >> 23;  // mantissa lands in [sqrt(1/2), sqrt(2))
  float f = float_of(bits_of(xs) - (static_cast<u32>(e) << 23)) - 1.0f;
  float ef = static_cast<float>(e) - (tiny ? 23.0f : 0.0f);
  float p = 0x1.55dbe0p-5f;
  p = p * f - 0x1.9987fep-4f;
  p = p * f + 0x1.f2c37ap-4f;
  p = p * f - 0x1.0474bap-3f;
  p = p * f + 0x1.233618p-3f;
  p = p * f - 0x1.54fc48p-3f;
  p = p * f + 0x1.99a198p-3f;
  p = p * f - 0x1.0000e0p-2f;
  p = p * f + 0x1.55554ep-2f;
  float f2 = f * f;
  float r = f2 * f * p + ef * kLn2Lo - 0.5f * f2;
  r = (r + f) + ef * kLn2Hi;
  r = x == kInf ? kInf : r;
  r = x == 0.0f ? -kInf : r;
  r = x < 0.0f ? kInf - kInf : r;
  return x != x ? x : r;
}
FUSEDNN_FN double log(double x) { return FUSEDNN_LIBM(log)(x); }

FUSEDNN_FN float log1p(float x) {
  float u = 1.0f + x;
  float lost = x - (u - 1.0f);
  bool exact = (u == 0.0f) | (u > 0x1p30f);
  float d = exact ? 1.0f : u;
  return log(u) + (exact ? 0.0f : lost) / d;
}
FUSEDNN_FN double log1p(double x) { return FUSEDNN_LIBM(log1p)(x); }

FUSEDNN_FN float abs(float x) { return FUSEDNN_LIBM(fabsf)(x); }
FUSEDNN_FN double abs(double x) { return FUSEDNN_LIBM(fabs)(x); }

FUSEDNN_FN float copy_sign(float magnitude, float sign) {
  return float_of((bits_of(magnitude) & 0x7fffffffu) | (bits_of(sign) & 0x80000000u));
}

FUSEDNN_FN float tanh(float x) {
  float a = abs(x);
  a = a > 10.0f ? 10.0f : a;
  float t = expm1(2.0f * a);
  return copy_sign(t / (t + 2.0f), x);
}
FUSEDNN_FN double tanh(double x) { return FUSEDNN_LIBM(tanh)(x); }

// The normal distribution's lower tail, Phi(-a) = scaled * density for 0 <= a, with density = e^(-a^2/2).
// Kept as two factors, since the derivative of GELU needs both.
template <class T>
struct NormalTail {
  T a;  // clamped to where the density is 0
  T scaled;
  ExpFactors<T> density;
};

FUSEDNN_FN NormalTail<float> normal_tail(float a) {
  a = a > 19.0f ? 19.0f : a;
  float inv = 1.0f / (a + 3.0f);
  float d = a * inv;  // near 0 it is small, so what is left of 1 is exact to the last bit
  float t = a < 1.0f ? 2.0f * d - 1.0f : (a - 3.0f) * inv;
  float u = a < 1.0f ? 1.0f - d : 3.0f * inv;
  float p = 0x1.339eeep-16f;
  p = p * t - 0x1.162402p-14f;
  p = p * t - 0x1.4aa184p-12f;
  p = p * t + 0x1.62fc00p-12f;
  p = p * t + 0x1.2f09e2p-9f;
  p = p * t - 0x1.c9261ap-9f;
  p = p * t - 0x1.02172ap-6f;
  p = p * t + 0x1.3a0d1ep-4f;
  p = p * t - 0x1.5bb442p-3f;
  p = p * t + 0x1.f1b89cp-3f;
  float ah = upper_12_bits(a);  // a^2 = ah^2 + (a + ah)(a - ah); one rounding of a^2 alone would cost 80 ulp at a = 13
  return {a, u * p, exp_factors(-0.5f * (ah * ah), -0.5f * ((a + ah) * (a - ah)))};
}
FUSEDNN_FN NormalTail<double> normal_tail(double a) {
  a = a > 40.0 ? 40.0 : a;
  const double c = 0.70710678118654752440;
  const double c_lo = -4.8336466567264567e-17;  // sqrt(1/2) - c
  double z = a * c;
  double dz = FUSEDNN_LIBM(fma)(a, c, -z) + a * c_lo;
  double density = FUSEDNN_LIBM(exp)(-z * z) * (1.0 - 2.0 * z * dz - FUSEDNN_LIBM(fma)(z, z, -(z * z)));
  double tail = 0.5 * FUSEDNN_LIBM(erfc)(z) - 0.56418958354775628695 * density * dz;
  return {a, density > 0.0 ? tail / density : 0.0, {density, {1.0, 1.0}}};
}

FUSEDNN_FN float erf(float x) {
  float a = abs(x);
  float s = x * x;
  float p = 0x1.4771fcp-14f;
  p = p * s - 0x1.a3515ep-11f;
  p = p * s + 0x1.53f224p-8f;
  p = p * s - 0x1.b7f71ap-6f;
  p = p * s + 0x1.ce2ce6p-4f;
  p = p * s - 0x1.81273ep-2f;
  p = p * s + 0x1.06eba8p-3f;
  NormalTail<float> tail = normal_tail(1.41421356f * a);
  float far = copy_sign(1.0f - exp_times(2.0f * tail.scaled, tail.density), x);
  return a < 1.0f ? x + x * p : far;
}
FUSEDNN_FN double erf(double x) { return FUSEDNN_LIBM(erf)(x); }

FUSEDNN_FN float sqrt(float x) { return FUSEDNN_LIBM(sqrtf)(x); }
FUSEDNN_FN double sqrt(double x) { return FUSEDNN_LIBM(sqrt)(x); }
FUSEDNN_FN float ceil(float x) { return FUSEDNN_LIBM(ceilf)(x); }
FUSEDNN_FN double ceil(double x) { return FUSEDNN_LIBM(ceil)(x); }
FUSEDNN_FN float floor(float x) { return FUSEDNN_LIBM(floorf)(x); }
FUSEDNN_FN double floor(double x) { return FUSEDNN_LIBM(floor)(x); }
FUSEDNN_FN float sin(float x) { return FUSEDNN_LIBM(sinf)(x); }
FUSEDNN_FN double sin(double x) { return FUSEDNN_LIBM(sin)(x); }
FUSEDNN_FN float cos(float x) { return FUSEDNN_LIBM(cosf)(x); }
FUSEDNN_FN double cos(double x) { return FUSEDNN_LIBM(cos)(x); }
FUSEDNN_FN float tan(float x) { return FUSEDNN_LIBM(tanf)(x); }
FUSEDNN_FN double tan(double x) { return FUSEDNN_LIBM(tan)(x); }
FUSEDNN_FN float pow(float x, float y) { return FUSEDNN_LIBM(powf)(x, y); }
FUSEDNN_FN double pow(double x, double y) { return FUSEDNN_LIBM(pow)(x, y); }
FUSEDNN_FN float mod(float x, float y) { return FUSEDNN_LIBM(fmodf)(x, y); }
FUSEDNN_FN double mod(double x, double y) { return FUSEDNN_LIBM(fmod)(x, y); }

// An exponent kept as a sum, since e^x turns the rounding of x into |x| times as large an error.
template <class T>
struct SplitSum {
  T high;
  T low;
};

// x * y. A product so large that e^product is 0 or Inf anyway is not split (its parts could be Inf - Inf).
FUSEDNN_FN SplitSum<float> split_product(float x, float y) {
  float xh = upper_12_bits(x);
  float yh = upper_12_bits(y);
  float whole = x * y;
  bool moderate = abs(whole) < 256.0f;
  return {moderate ? xh * yh : whole, moderate ? xh * (y - yh) + (x - xh) * y : 0.0f};
}
FUSEDNN_FN SplitSum<double> split_product(double x, double y) { return {x * y, 0.0}; }

// The exponent of GELU's tanh form: 2 sqrt(2/pi) (x + 0.044715 x^3), so that the form equals x / (1 +
// e^-exponent).
FUSEDNN_FN SplitSum<float> gelu_exponent(float x) {
  x = x > 13.0f ? 13.0f : x;  // beyond, e^-|exponent| is 0
  x = x < -13.0f ? -13.0f : x;
  const float one_h = 0x1.988p+0f, one_l = 0x1.14cf50p-14f;    // 2 sqrt(2/pi)
  const float cube_h = 0x1.244p-4f, cube_l = 0x1.3ca936p-18f;  // the same times 0.044715
  float xh = upper_12_bits(x);
  float xl = x - xh;
  float square = x * x;
  float square_h = upper_12_bits(square);
  float square_l = (xh * xh - square_h) + (x + xh) * xl;
  float v = (one_h + one_l) + (cube_h + cube_l) * square;
  float vh = upper_12_bits(v);
  float vl = ((one_h - vh) + cube_h * square_h) + (one_l + (cube_h * square_l + cube_l * square));
  return {xh * vh, xh * vl + xl * v};
}
FUSEDNN_FN SplitSum<double> gelu_exponent(double x) {
  return {x * (1.5957691216057308 + 0.071354816272600250 * x * x), 0.0};
}

}  // namespace FUSEDNN_MATH_ISA
}  // namespace fusednn::math
