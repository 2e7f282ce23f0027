#include "engines/cpu/kernels/isa.h"

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {
namespace {

struct FoldAdd {
  template <class T>
  FUSEDNN_FN static T start() {
    return T(0);
  }
  template <class T>
  FUSEDNN_FN static T take(T acc, T x) {
    return math::plus(acc, x);
  }
  template <class T>
  FUSEDNN_FN static T join(T a, T b) {
    return math::plus(a, b);
  }
};
struct FoldMul {
  template <class T>
  FUSEDNN_FN static T start() {
    return T(1);
  }
  template <class T>
  FUSEDNN_FN static T take(T acc, T x) {
    return math::times(acc, x);
  }
  template <class T>
  FUSEDNN_FN static T join(T a, T b) {
    return math::times(a, b);
  }
};
struct FoldMulNonZero : FoldMul {
  template <class T>
  FUSEDNN_FN static T take(T acc, T x) {
    return math::times(acc, x == T(0) ? T(1) : x);
  }
};
struct FoldAbsAdd : FoldAdd {
  template <class T>
  FUSEDNN_FN static T take(T acc, T x) {
    return math::plus(acc, math::abs(x));
  }
};
struct FoldSquareAdd : FoldAdd {
  template <class T>
  FUSEDNN_FN static T take(T acc, T x) {
    return math::plus(acc, math::times(x, x));
  }
};

template <class T>
FUSEDNN_FN T lowest() {
  if constexpr (kComputeOf<T> == static_cast<int>(Compute::I32))
    return static_cast<T>(0x80000000u);
  else
    return -static_cast<T>(__builtin_huge_val());
}
template <class T>
FUSEDNN_FN T highest() {
  if constexpr (kComputeOf<T> == static_cast<int>(Compute::I32))
    return static_cast<T>(0x7fffffff);
  else
    return static_cast<T>(__builtin_huge_val());
}

struct FoldMax {
  template <class T>
  FUSEDNN_FN static T start() {
    return lowest<T>();
  }
  template <class T>
  FUSEDNN_FN static T take(T acc, T x) {
    return ((x > acc) | (x != x)) ? x : acc;
  }
  template <class T>
  FUSEDNN_FN static T join(T a, T b) {
    return take(a, b);
  }
};
struct FoldMin {
  template <class T>
  FUSEDNN_FN static T start() {
    return highest<T>();
  }
  template <class T>
  FUSEDNN_FN static T take(T acc, T x) {
    return ((x < acc) | (x != x)) ? x : acc;
  }
  template <class T>
  FUSEDNN_FN static T join(T a, T b) {
    return take(a, b);
  }
};
struct FoldAbsMax : FoldMax {
  FUSEDNN_FN static int32_t join(int32_t a, int32_t b) {  // the magnitude of the lowest integer is 2^31
    return static_cast<uint32_t>(b) > static_cast<uint32_t>(a) ? b : a;
  }
  FUSEDNN_FN static int32_t take(int32_t acc, int32_t x) { return join(acc, math::abs(x)); }
  template <class T>
  FUSEDNN_FN static T join(T a, T b) {
    return FoldMax::take(a, b);
  }
  template <class T>
  FUSEDNN_FN static T start() {
    return T(0);
  }
  template <class T>
  FUSEDNN_FN static T take(T acc, T x) {
    return FoldMax::take(acc, math::abs(x));
  }
};

// Independent partial results, enough to hide the latency of an addition at every vector width.
constexpr int kPartials = 64;

template <class F, class T>
void fold_run(void* acc, void const* a, int64_t n) {
  T const* const in = static_cast<T const*>(a);
  T* const out = static_cast<T*>(acc);
  int64_t const whole = n - n % kPartials;
  T total = F::template start<T>();
  if (whole > 0) {
    T part[kPartials];
    for (int j = 0; j < kPartials; ++j) part[j] = F::template start<T>();
    for (int64_t i = 0; i < whole; i += kPartials) {
      FUSEDNN_SIMD for (int j = 0; j < kPartials; ++j) part[j] = F::take(part[j], in[i + j]);
    }
    for (int width = kPartials / 2; width > 0; width /= 2) {
      FUSEDNN_SIMD for (int j = 0; j < width; ++j) part[j] = F::join(part[j], part[j + width]);
    }
    total = part[0];
  }
  for (int64_t i = whole; i < n; ++i) total = F::take(total, in[i]);
  out[0] = F::join(out[0], total);
}

template <class F, class T>
void fold_lanes(void* acc, void const* a, int64_t n) {
  T const* const in = static_cast<T const*>(a);
  T* const out = static_cast<T*>(acc);
  FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = F::take(out[i], in[i]);
}

template <class F, class T>
void join_lanes(void* acc, void const* a, int64_t n) {
  T const* const in = static_cast<T const*>(a);
  T* const out = static_cast<T*>(acc);
  FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) out[i] = F::join(out[i], in[i]);
}

template <bool Square, class T>
double moment(void const* a, double centre, int64_t n) {
  constexpr int partials = 32;
  T const* const in = static_cast<T const*>(a);
  int64_t const whole = n - n % partials;
  double part[partials];
  for (int j = 0; j < partials; ++j) part[j] = 0.0;
  auto const term = [centre](T x) __attribute__((always_inline)) {
    double const d = static_cast<double>(x) - centre;
    return Square ? d * d : d;
  };
  for (int64_t i = 0; i < whole; i += partials) {
    FUSEDNN_SIMD for (int j = 0; j < partials; ++j) part[j] += term(in[i + j]);
  }
  double total = 0.0;
  for (int j = 0; j < partials; ++j) total += part[j];
  for (int64_t i = whole; i < n; ++i) total += term(in[i]);
  return total;
}

template <bool Square, class T>
void moment_lanes(double* acc, void const* a, double const* centre, int64_t n) {
  T const* const in = static_cast<T const*>(a);
  FUSEDNN_SIMD for (int64_t i = 0; i < n; ++i) {
    double const d = static_cast<double>(in[i]) - centre[i];
    acc[i] += Square ? d * d : d;
  }
}

template <class T>
void fill_moments(KernelTable& t) {
  t.sum[kComputeOf<T>] = moment<false, T>;
  t.square_sum[kComputeOf<T>] = moment<true, T>;
  t.sum_lanes[kComputeOf<T>] = moment_lanes<false, T>;
  t.square_sum_lanes[kComputeOf<T>] = moment_lanes<true, T>;
}

template <class F, class T>
void fill_one(KernelTable& t, Fold fold) {
  int const f = static_cast<int>(fold);
  t.fold_run[kComputeOf<T>][f] = fold_run<F, T>;
  t.fold_lanes[kComputeOf<T>][f] = fold_lanes<F, T>;
  t.join_lanes[kComputeOf<T>][f] = join_lanes<F, T>;
  t.fold_start[kComputeOf<T>][f] = static_cast<double>(F::template start<T>());
}

template <class T>
void fill_type(KernelTable& t) {
  fill_one<FoldAdd, T>(t, Fold::ADD);
  fill_one<FoldMul, T>(t, Fold::MUL);
  fill_one<FoldMin, T>(t, Fold::MIN);
  fill_one<FoldMax, T>(t, Fold::MAX);
  fill_one<FoldAbsMax, T>(t, Fold::ABS_MAX);
  fill_one<FoldAbsAdd, T>(t, Fold::ABS_ADD);
  fill_one<FoldSquareAdd, T>(t, Fold::SQUARE_ADD);
  fill_one<FoldMulNonZero, T>(t, Fold::MUL_NON_ZERO);
}

}  // namespace

void fill_fold(KernelTable& t) {
  fill_type<float>(t);
  fill_type<double>(t);
  fill_type<int32_t>(t);
  fill_moments<float>(t);
  fill_moments<double>(t);
}

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
