#pragma once

#include "families/loop/storage.cuh"

// Reductions: how a value joins an accumulator, and how the threads that share a row join theirs.

namespace fusednn::loop {

// `take` adds an element, `join` another accumulator.
struct FoldAdd {
  template <class T>
  FUSEDNN_DEVICE static T start() {
    return T(0);
  }
  template <class T>
  FUSEDNN_DEVICE static T take(T a, T x) {
    return math::plus(a, x);
  }
  template <class T>
  FUSEDNN_DEVICE static T join(T a, T b) {
    return math::plus(a, b);
  }
};
struct FoldMul {
  template <class T>
  FUSEDNN_DEVICE static T start() {
    return T(1);
  }
  template <class T>
  FUSEDNN_DEVICE static T take(T a, T x) {
    return math::times(a, x);
  }
  template <class T>
  FUSEDNN_DEVICE static T join(T a, T b) {
    return math::times(a, b);
  }
};
struct FoldMulNonZero : FoldMul {
  template <class T>
  FUSEDNN_DEVICE static T take(T a, T x) {
    return x == T(0) ? a : math::times(a, x);
  }
};
template <class T>
FUSEDNN_DEVICE T highest() {
  if constexpr (T(1) / T(2) == T(0))
    return 2147483647;
  else
    return static_cast<T>(__uint_as_float(0x7f800000u));
}
template <class T>
FUSEDNN_DEVICE T lowest() {
  if constexpr (T(1) / T(2) == T(0))
    return -2147483647 - 1;
  else
    return static_cast<T>(__uint_as_float(0xff800000u));
}
struct FoldMax {
  template <class T>
  FUSEDNN_DEVICE static T start() {
    return lowest<T>();
  }
  template <class T>
  FUSEDNN_DEVICE static T take(T a, T x) {
    return (a > x) | (a != a) ? a : x;
  }
  template <class T>
  FUSEDNN_DEVICE static T join(T a, T b) {
    return take(a, b);
  }
};
struct FoldMin {
  template <class T>
  FUSEDNN_DEVICE static T start() {
    return highest<T>();
  }
  template <class T>
  FUSEDNN_DEVICE static T take(T a, T x) {
    return (a < x) | (a != a) ? a : x;
  }
  template <class T>
  FUSEDNN_DEVICE static T join(T a, T b) {
    return take(a, b);
  }
};
struct FoldAbsMax {
  template <class T>
  FUSEDNN_DEVICE static T start() {
    return T(0);
  }
  template <class T>
  FUSEDNN_DEVICE static T take(T a, T x) {
    return FoldMax::take(a, math::Abs::call(x, PointwiseParams<T>()));
  }
  template <class T>
  FUSEDNN_DEVICE static T join(T a, T b) {
    return FoldMax::take(a, b);
  }
};
struct FoldAbsAdd : FoldAdd {
  template <class T>
  FUSEDNN_DEVICE static T take(T a, T x) {
    return math::plus(a, math::Abs::call(x, PointwiseParams<T>()));
  }
};
struct FoldSquareAdd : FoldAdd {
  template <class T>
  FUSEDNN_DEVICE static T take(T a, T x) {
    return math::plus(a, math::times(x, x));
  }
};

/// Joins the accumulators of `kThreads` neighbouring threads (a power of two, or all of a block of whole
/// warps); all of them get the result. `shared` holds 32 doubles. All threads of the block take part.
template <class Fold, int kThreads, class T>
FUSEDNN_DEVICE T join_threads(T x, double* shared) {
#pragma unroll
  for (int step = 1; step < (kThreads < 32 ? kThreads : 32); step *= 2)
    x = Fold::join(x, __shfl_xor_sync(0xffffffffu, x, step));
  if constexpr (kThreads > 32) {
    constexpr int kWarps = kThreads / 32;
    int const first = threadIdx.x / kThreads * kWarps;
    T* slots = reinterpret_cast<T*>(shared);
    __syncthreads();
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = x;
    __syncthreads();
    x = slots[first];
#pragma unroll
    for (int i = 1; i < kWarps; ++i) x = Fold::join(x, slots[first + i]);
  }
  return x;
}

/// Joins the accumulators of the threads of a block of 256 whose numbers are equal modulo `kSide`, a power of two of at
/// most 32; the first `kSide` threads get the results. `shared` holds 256 doubles. All threads of the block take part.
template <class Fold, int kSide, int kCount, class T>
FUSEDNN_DEVICE void join_lanes(T (&x)[kCount], double* shared) {
  T* slots = reinterpret_cast<T*>(shared);
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
#pragma unroll
    for (int step = kSide; step < 32; step *= 2) x[j] = Fold::join(x[j], __shfl_xor_sync(0xffffffffu, x[j], step));
    __syncthreads();
    if (threadIdx.x % 32 < kSide) slots[threadIdx.x / 32 * kSide + threadIdx.x % 32] = x[j];
    __syncthreads();
    if (threadIdx.x < kSide) {
#pragma unroll
      for (int i = 1; i < 8; ++i) x[j] = Fold::join(x[j], slots[i * kSide + threadIdx.x]);
    }
  }
}

/// x - mean, where the mean has more bits than x: the leading part cancels exactly for x near it.
FUSEDNN_DEVICE double difference(float x, double mean) { return static_cast<double>(x) - mean; }
FUSEDNN_DEVICE double difference(double x, double mean) { return x - mean; }
FUSEDNN_DEVICE float normalized(float x, double mean, double inverse) {
  float const high = static_cast<float>(mean), low = static_cast<float>(mean - static_cast<double>(high));
  return ((x - high) - low) * static_cast<float>(inverse);
}
FUSEDNN_DEVICE double normalized(double x, double mean, double inverse) { return (x - mean) * inverse; }

}  // namespace fusednn::loop
