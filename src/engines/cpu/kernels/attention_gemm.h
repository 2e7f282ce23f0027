#pragma once

// Small dense products for one tile of scores: C[m x n] from A[m x k] and B[k x n], operands in L1 or L2.
// Lanes run along n; A is read one element at a time and broadcast. Each element of C is one chain of fused
// multiply-adds over k in order, wherever it lies in the tile, so a row's bits do not depend on how many rows
// share the tile.

#include "engines/cpu/kernels/attention_simd.h"

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {

enum class Epilogue {
  scale,       // C = factor * A B, one factor
  overwrite,   // C = A B
  accumulate,  // C = factor[row] * C + A B
};

/// Where the elements of A lie: row-major with `stride` between rows, or column-major with it between
/// columns.
enum class Order { row_major, column_major };

template <class T>
struct Product {
  T const* a;
  int64_t a_stride;
  T const* b;
  int64_t b_stride;
  T* c;
  int64_t c_stride;
  T const* factor;
  int64_t k;
};

template <class T, int mr, int nv, Order order, Epilogue epilogue>
[[gnu::always_inline]] inline void product_tile(Product<T> const& g, int64_t row, int64_t column) {
  constexpr int W = lanes<T>;
  V<T> acc[mr][nv];
  T* const c = g.c + row * g.c_stride + column;
#pragma GCC unroll 8
  for (int i = 0; i < mr; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < nv; ++j) {
      if constexpr (epilogue == Epilogue::accumulate) {
        acc[i][j] = load<T>(c + i * g.c_stride + j * W) * splat<T>(g.factor[row + i]);
      } else {
        acc[i][j] = splat<T>(0);
      }
    }
  }

  T const* a = g.a + (order == Order::row_major ? row * g.a_stride : row);
  T const* b = g.b + column;
  for (int64_t p = 0; p < g.k; ++p) {
    V<T> bv[nv];
#pragma GCC unroll 8
    for (int j = 0; j < nv; ++j) bv[j] = load<T>(b + j * W);
#pragma GCC unroll 8
    for (int i = 0; i < mr; ++i) {
      V<T> const av = splat<T>(order == Order::row_major ? a[i * g.a_stride] : a[i]);
#pragma GCC unroll 8
      for (int j = 0; j < nv; ++j) acc[i][j] += av * bv[j];
    }
    a += order == Order::row_major ? 1 : g.a_stride;
    b += g.b_stride;
  }

#pragma GCC unroll 8
  for (int i = 0; i < mr; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < nv; ++j) {
      V<T> const value = epilogue == Epilogue::scale ? acc[i][j] * splat<T>(*g.factor) : acc[i][j];
      store<T>(c + i * g.c_stride + j * W, value);
    }
  }
}

/// Vectors of C per tile row, and rows per tile: as many accumulators as the registers hold beside B and one
/// of A, and enough of them to cover the latency of a multiply-add.
inline constexpr int kMaxVectors = kVectorRegisters == 32 ? 4 : 2;
constexpr int tile_rows(int nv) { return nv == kMaxVectors ? 6 : 8; }

template <class T, int nv, Order order, Epilogue epilogue, int mr>
[[gnu::always_inline]] inline void product_rest(Product<T> const& g, int64_t rest, int64_t row, int64_t column) {
  if constexpr (mr > 0) {
    if (rest == mr) return product_tile<T, mr, nv, order, epilogue>(g, row, column);
    product_rest<T, nv, order, epilogue, mr - 1>(g, rest, row, column);
  }
}

template <class T, int nv, Order order, Epilogue epilogue>
[[gnu::noinline]] inline void product_columns(Product<T> const& g, int64_t m, int64_t column) {
  constexpr int mr = tile_rows(nv);
  int64_t row = 0;
  for (; row + mr <= m; row += mr) product_tile<T, mr, nv, order, epilogue>(g, row, column);
  product_rest<T, nv, order, epilogue, mr - 1>(g, m - row, row, column);
}

/// `vectors` vectors of columns, which B and C hold in full.
template <class T, Order order, Epilogue epilogue>
inline void product(Product<T> const& g, int64_t m, int64_t vectors) {
  static_assert(kMaxVectors <= 4);
  int64_t column = 0;
  while (vectors > 0) {
    int64_t const tiles = (vectors + kMaxVectors - 1) / kMaxVectors;
    int64_t const nv = (vectors + tiles - 1) / tiles;
    switch (nv) {
      case 4:
        product_columns<T, kMaxVectors, order, epilogue>(g, m, column);
        break;
      case 3:
        product_columns < T, kMaxVectors<3 ? kMaxVectors : 3, order, epilogue>(g, m, column);
        break;
      case 2:
        product_columns<T, 2, order, epilogue>(g, m, column);
        break;
      default:
        product_columns<T, 1, order, epilogue>(g, m, column);
        break;
    }
    vectors -= nv;
    column += nv * lanes<T>;
  }
}

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
