#pragma once

#include "math/elementary.h"

// One functor per pointwise mode, and at the end the list that names them all. `call` takes its operands in
// port order and the node's parameters. A mode of kind ANY works on integers too; REAL needs a floating type.
// NaN is kept by every mode whose value depends on it; comparisons follow IEEE. Logical and compare modes
// give 0 or 1.

namespace fusednn::math {
inline namespace FUSEDNN_MATH_ISA {

template <class T>
struct PointwiseParams {
  T relu_lower_clip = 0;
  T relu_upper_clip = 0;
  T relu_slope = 0;
  T swish_beta = 1;
  T elu_alpha = 1;
  T softplus_beta = 1;
};

// Integer arithmetic wraps, which only unsigned types promise.
FUSEDNN_FN i32 plus(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b)); }
FUSEDNN_FN i32 minus(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)); }
FUSEDNN_FN i32 times(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b)); }
// x mod 0 is 0, as the conversion of its NaN to an integer gives.
FUSEDNN_FN i32 mod(i32 a, i32 b) { return ((b == 0) | (b == -1)) ? 0 : a % b; }
FUSEDNN_FN i32 abs(i32 a) { return a < 0 ? minus(0, a) : a; }
template <class T>
FUSEDNN_FN T plus(T a, T b) {
  return a + b;
}
template <class T>
FUSEDNN_FN T minus(T a, T b) {
  return a - b;
}
template <class T>
FUSEDNN_FN T times(T a, T b) {
  return a * b;
}

template <class T>
struct Logistic {
  bool negative;    // the sign of the exponent
  ExpFactors<T> e;  // e^-|exponent|, in [0, 1]
  T inv;            // 1 / (1 + e)
};

template <class T>
FUSEDNN_FN Logistic<T> logistic(SplitSum<T> w) {
  bool negative = w.high < T(0);
  ExpFactors<T> e = exp_factors(negative ? w.high : -w.high, negative ? w.low : -w.low);
  return {negative, e, T(1) / (T(1) + exp_value(e))};
}

// x * sigmoid(exponent)
template <class T>
FUSEDNN_FN T gated(T x, Logistic<T> const& s) {
  return (s.negative ? exp_times(x, s.e) : x) * s.inv;
}
template <class T>
FUSEDNN_FN T one_minus_sigmoid(Logistic<T> const& s) {
  return (s.negative ? T(1) : exp_value(s.e)) * s.inv;
}

// A factor of a sigmoid that is 0 or 1 long before the bound matters; keeps Inf * 0 out of derivatives.
template <class T>
FUSEDNN_FN T bounded(T x) {
  x = x > T(1000) ? T(1000) : x;
  return x < T(-1000) ? T(-1000) : x;
}

struct Add {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return plus(a, b);
  }
};
struct Sub {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return minus(a, b);
  }
};
struct Mul {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return times(a, b);
  }
};
struct Div {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return a / b;
  }
};
struct AddSquare {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return plus(a, times(b, b));
  }
};
struct Mod {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return mod(a, b);
  }
};
struct Pow {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return pow(a, b);
  }
};
struct Max {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct Min {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return ((a < b) | (a != a)) ? a : b;
  }
};

struct Identity {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return x;
  }
};
struct GenIndex {  // the operand is the element's index along the node's axis
  template <class T>
  FUSEDNN_FN static T call(T index, PointwiseParams<T> const&) {
    return index;
  }
};
struct Neg {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return -x;
  }
  FUSEDNN_FN static i32 call(i32 x, PointwiseParams<i32> const&) { return minus(0, x); }
};
struct Abs {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return abs(x);
  }
};
struct Ceil {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return ceil(x);
  }
};
struct Floor {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return floor(x);
  }
};
struct Sqrt {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return sqrt(x);
  }
};
struct Rsqrt {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return T(1) / sqrt(x);
  }
};
struct Reciprocal {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return T(1) / x;
  }
};
struct Exp {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return exp(x);
  }
};
struct Log {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return log(x);
  }
};
struct Sin {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return sin(x);
  }
};
struct Cos {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return cos(x);
  }
};
struct Tan {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return tan(x);
  }
};
struct Erf {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return erf(x);
  }
};

struct ReluFwd {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const& p) {
    // slope 0 is taken apart, since 0 * -Inf would be NaN
    T ramp = p.relu_slope == T(0) ? T(0) : times(p.relu_slope, minus(x, p.relu_lower_clip));
    T y = x > p.relu_upper_clip ? p.relu_upper_clip : x;
    return x < p.relu_lower_clip ? plus(p.relu_lower_clip, ramp) : y;
  }
};
struct TanhFwd {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return tanh(x);
  }
};
struct SigmoidFwd {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return gated(T(1), logistic(SplitSum<T>{x, T(0)}));
  }
};
struct EluFwd {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const& p) {
    return x > T(0) ? x : p.elu_alpha * expm1(x);
  }
};
struct SwishFwd {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const& p) {
    return gated(x, logistic(split_product(p.swish_beta, x)));
  }
};
struct SoftplusFwd {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const& p) {
    SplitSum<T> w = split_product(p.softplus_beta, x);
    bool negative = w.high < T(0);
    T tail = log1p(exp_value(exp_factors(negative ? w.high : -w.high, negative ? w.low : -w.low)));
    return (negative ? tail : w.high + (w.low + tail)) / p.softplus_beta;
  }
};
struct GeluFwd {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    NormalTail<T> tail = normal_tail(abs(x));
    T lost = exp_times((x < T(0) ? -x : tail.a) * tail.scaled, tail.density);
    return x < T(0) ? -lost : x - lost;
  }
};
struct GeluApproxTanhFwd {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return gated(x, logistic(gelu_exponent(x)));
  }
};

struct ReluBwd {
  template <class T>
  FUSEDNN_FN static T call(T dy, T x, PointwiseParams<T> const& p) {
    bool open = p.relu_upper_clip == T(kInf);  // then Inf itself lies inside
    T slope = ((x < p.relu_upper_clip) | open) ? T(1) : T(0);
    slope = x <= p.relu_lower_clip ? p.relu_slope : slope;
    return dy * (x != x ? x : slope);
  }
};
// The derivatives multiply by dy before the exponential: dy may be large where e^x is subnormal.
struct TanhBwd {
  template <class T>
  FUSEDNN_FN static T call(T dy, T x, PointwiseParams<T> const&) {
    ExpFactors<T> e = exp_factors(T(-2) * abs(x), T(0));
    T inv = T(1) / (T(1) + exp_value(e));
    return exp_times(dy * (T(4) * inv * inv), e);
  }
};
struct SigmoidBwd {
  template <class T>
  FUSEDNN_FN static T call(T dy, T x, PointwiseParams<T> const&) {
    Logistic<T> s = logistic(SplitSum<T>{x, T(0)});
    return exp_times(dy * (s.inv * s.inv), s.e);
  }
};
struct EluBwd {
  template <class T>
  FUSEDNN_FN static T call(T dy, T x, PointwiseParams<T> const& p) {
    return x > T(0) ? dy : exp_times(dy * p.elu_alpha, exp_factors(x, T(0)));
  }
};
struct SwishBwd {
  template <class T>
  FUSEDNN_FN static T call(T dy, T x, PointwiseParams<T> const& p) {
    SplitSum<T> w = split_product(p.swish_beta, x);
    Logistic<T> s = logistic(w);
    return gated(dy * (T(1) + bounded(w.high + w.low) * one_minus_sigmoid(s)), s);
  }
};
struct SoftplusBwd {
  template <class T>
  FUSEDNN_FN static T call(T dy, T x, PointwiseParams<T> const& p) {
    return gated(dy, logistic(split_product(p.softplus_beta, x)));
  }
};
struct GeluBwd {  // Phi(x) + x phi(x), the tail and the density kept apart so that -5 does not cancel
  template <class T>
  FUSEDNN_FN static T call(T dy, T x, PointwiseParams<T> const&) {
    NormalTail<T> tail = normal_tail(abs(x));
    T low = tail.scaled - tail.a * T(0.39894228040143267794);
    return x < T(0) ? exp_times(dy * low, tail.density) : dy * (T(1) - exp_times(low, tail.density));
  }
};
struct GeluApproxTanhBwd {
  template <class T>
  FUSEDNN_FN static T call(T dy, T x, PointwiseParams<T> const&) {
    Logistic<T> s = logistic(gelu_exponent(x));
    T near = bounded(x);
    T slope = T(1.5957691216057308) + T(3 * 0.071354816272600250) * near * near;
    return gated(dy * (T(1) + near * one_minus_sigmoid(s) * slope), s);
  }
};

struct LogicalNot {
  template <class T>
  FUSEDNN_FN static T call(T x, PointwiseParams<T> const&) {
    return x == T(0) ? T(1) : T(0);
  }
};
struct LogicalAnd {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return ((a != T(0)) & (b != T(0))) ? T(1) : T(0);
  }
};
struct LogicalOr {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return ((a != T(0)) | (b != T(0))) ? T(1) : T(0);
  }
};
struct CmpEq {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return a == b ? T(1) : T(0);
  }
};
struct CmpNeq {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return a != b ? T(1) : T(0);
  }
};
struct CmpGt {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return a > b ? T(1) : T(0);
  }
};
struct CmpGe {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return a >= b ? T(1) : T(0);
  }
};
struct CmpLt {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return a < b ? T(1) : T(0);
  }
};
struct CmpLe {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, PointwiseParams<T> const&) {
    return a <= b ? T(1) : T(0);
  }
};
struct BinarySelect {
  template <class T>
  FUSEDNN_FN static T call(T a, T b, T mask, PointwiseParams<T> const&) {
    return mask != T(0) ? a : b;
  }
};

}  // namespace FUSEDNN_MATH_ISA
}  // namespace fusednn::math

// X(enumerator, functor, operands, kind)
#define FUSEDNN_POINTWISE_FUNCTORS(X)                 \
  X(ADD, Add, 2, ANY)                                 \
  X(MUL, Mul, 2, ANY)                                 \
  X(SQRT, Sqrt, 1, REAL)                              \
  X(MAX, Max, 2, ANY)                                 \
  X(MIN, Min, 2, ANY)                                 \
  X(RELU_FWD, ReluFwd, 1, ANY)                        \
  X(TANH_FWD, TanhFwd, 1, REAL)                       \
  X(SIGMOID_FWD, SigmoidFwd, 1, REAL)                 \
  X(ELU_FWD, EluFwd, 1, REAL)                         \
  X(GELU_FWD, GeluFwd, 1, REAL)                       \
  X(SOFTPLUS_FWD, SoftplusFwd, 1, REAL)               \
  X(SWISH_FWD, SwishFwd, 1, REAL)                     \
  X(RELU_BWD, ReluBwd, 2, REAL)                       \
  X(TANH_BWD, TanhBwd, 2, REAL)                       \
  X(SIGMOID_BWD, SigmoidBwd, 2, REAL)                 \
  X(ELU_BWD, EluBwd, 2, REAL)                         \
  X(GELU_BWD, GeluBwd, 2, REAL)                       \
  X(SOFTPLUS_BWD, SoftplusBwd, 2, REAL)               \
  X(SWISH_BWD, SwishBwd, 2, REAL)                     \
  X(ERF, Erf, 1, REAL)                                \
  X(IDENTITY, Identity, 1, ANY)                       \
  X(GELU_APPROX_TANH_BWD, GeluApproxTanhBwd, 2, REAL) \
  X(GELU_APPROX_TANH_FWD, GeluApproxTanhFwd, 1, REAL) \
  X(GEN_INDEX, GenIndex, 1, ANY)                      \
  X(BINARY_SELECT, BinarySelect, 3, ANY)              \
  X(EXP, Exp, 1, REAL)                                \
  X(LOG, Log, 1, REAL)                                \
  X(NEG, Neg, 1, ANY)                                 \
  X(MOD, Mod, 2, ANY)                                 \
  X(POW, Pow, 2, REAL)                                \
  X(ABS, Abs, 1, ANY)                                 \
  X(CEIL, Ceil, 1, REAL)                              \
  X(COS, Cos, 1, REAL)                                \
  X(FLOOR, Floor, 1, REAL)                            \
  X(RSQRT, Rsqrt, 1, REAL)                            \
  X(SIN, Sin, 1, REAL)                                \
  X(LOGICAL_NOT, LogicalNot, 1, ANY)                  \
  X(TAN, Tan, 1, REAL)                                \
  X(SUB, Sub, 2, ANY)                                 \
  X(ADD_SQUARE, AddSquare, 2, ANY)                    \
  X(DIV, Div, 2, REAL)                                \
  X(CMP_EQ, CmpEq, 2, ANY)                            \
  X(CMP_NEQ, CmpNeq, 2, ANY)                          \
  X(CMP_GT, CmpGt, 2, ANY)                            \
  X(CMP_GE, CmpGe, 2, ANY)                            \
  X(CMP_LT, CmpLt, 2, ANY)                            \
  X(CMP_LE, CmpLe, 2, ANY)                            \
  X(LOGICAL_AND, LogicalAnd, 2, ANY)                  \
  X(LOGICAL_OR, LogicalOr, 2, ANY)                    \
  X(RECIPROCAL, Reciprocal, 1, REAL)
