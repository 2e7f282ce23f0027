#pragma once

#include "families/loop/fold.cuh"

// cuda.generic: C = A B by plain multiply-adds over tiles in shared memory, for any storage type, strides and sizes.

namespace fusednn::generic {

/// A matrix as it lies in memory; strides in elements, any.
template <class Storage, class Index>
struct Matrix {
  typename Storage::Raw const* first;
  Index row_stride, column_stride;

  template <class Lane>
  FUSEDNN_DEVICE Lane load(Index row, Index column) const {
    return Storage::template load<Lane>(first[row * row_stride + column * column_stride]);
  }
};

inline constexpr int kThreads = 256;
inline constexpr int kMatmulTile = 64;   // rows and columns of C that a block computes
inline constexpr int kMatmulDepth = 16;  // products of each element between two barriers

/// Brings `kMatmulDepth` x `kMatmulTile` lanes to shared memory, zeros beyond the ends. kAlongDepth: neighbouring
/// threads step along the depth, else along the tile.
template <bool kAlongDepth, class Lane, class Load>
FUSEDNN_DEVICE void fill_tile(Lane (&to)[kMatmulDepth][kMatmulTile + 1], Load load) {
#pragma unroll
  for (int i = threadIdx.x; i < kMatmulDepth * kMatmulTile; i += kThreads) {
    int const depth = kAlongDepth ? i % kMatmulDepth : i / kMatmulTile;
    int const at = kAlongDepth ? i / kMatmulDepth : i % kMatmulTile;
    to[depth][at] = load(depth, at);
  }
}

/// One tile of C, from row `m0` and column `n0` on: `store(m, n, sum)` for each of its elements. All threads of the
/// block take part.
template <class Lane, bool kAAlongDepth, bool kBAlongDepth, class A, class B, class Index, class Store>
FUSEDNN_DEVICE void matmul_tile(Matrix<A, Index> const& a, Matrix<B, Index> const& b, Index m, Index n, Index k,
                                Index m0, Index n0, Store store) {
  __shared__ Lane a_tile[kMatmulDepth][kMatmulTile + 1];
  __shared__ Lane b_tile[kMatmulDepth][kMatmulTile + 1];
  constexpr int kSide = 16;  // threads along each side of the tile
  constexpr int kEach = kMatmulTile / kSide;
  int const row = threadIdx.x / kSide, column = threadIdx.x % kSide;
  Lane sum[kEach][kEach] = {};
  for (Index k0 = 0; k0 < k; k0 += kMatmulDepth) {
    __syncthreads();
    fill_tile<kAAlongDepth>(a_tile, [&](int depth, int at) {
      return k0 + depth < k && m0 + at < m ? a.template load<Lane>(m0 + at, k0 + depth) : Lane(0);
    });
    fill_tile<kBAlongDepth>(b_tile, [&](int depth, int at) {
      return k0 + depth < k && n0 + at < n ? b.template load<Lane>(k0 + depth, n0 + at) : Lane(0);
    });
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kMatmulDepth; ++depth) {
      Lane x[kEach], y[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        x[i] = a_tile[depth][row + i * kSide];
        y[i] = b_tile[depth][column + i * kSide];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[i][j] = math::plus(sum[i][j], math::times(x[i], y[j]));
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      Index const to_m = m0 + row + i * kSide, to_n = n0 + column + j * kSide;
      if (to_m < m && to_n < n) store(to_m, to_n, sum[i][j]);
    }
}

}  // namespace fusednn::generic
