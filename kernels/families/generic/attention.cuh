#pragma once

#include "families/generic/matmul.cuh"

// cuda.generic: scaled dot product attention forward by plain multiply-adds, with a softmax that goes along the keys
// once. A warp holds 4 query rows; its lanes are keys while scores are made, columns of V while they are used.

namespace fusednn::generic {

inline constexpr int kWarps = kThreads / 32;
inline constexpr int kRowsEach = 4;                    // query rows of a warp
inline constexpr int kQueryTile = kWarps * kRowsEach;  // of a block
inline constexpr int kKeyTile = 32;
inline constexpr int kDepthTile = 32;
/// Columns of V that a block takes; wider heads take several blocks.
template <class Lane>
inline constexpr int kValueTile = sizeof(Lane) == 4 ? 128 : 64;

/// One query head with the keys and values that it reads.
template <class Q, class K, class V, class Bias, class Index, class Lane>
struct Head {
  Matrix<Q, Index> q;        // queries x depth
  Matrix<K, Index> k;        // keys x depth
  Matrix<V, Index> v;        // keys x width
  Matrix<Bias, Index> bias;  // queries x keys
  Index queries, keys, depth, width;
  Lane scale;
};

/// Row i sees the keys [first_key(i), end_key(i)).
struct Mask {
  i64 length_q, length_kv;
  i64 offset;       // of the diagonal
  i64 left, right;  // bounds, limited so that sums stay small

  FUSEDNN_DEVICE Mask(i64 length_q_given, i64 length_kv_given, i64 queries, i64 keys, bool bottom_right, i64 left_bound,
                      i64 right_bound)
      : length_q(loop::limited(length_q_given, 0, queries)),
        length_kv(loop::limited(length_kv_given, 0, keys)),
        offset(bottom_right ? length_kv - length_q : 0),
        left(min(left_bound, length_q + length_kv)),
        right(min(right_bound, length_q + length_kv)) {}
  FUSEDNN_DEVICE i64 first_key(i64 i) const { return loop::limited(i + offset - left + 1, 0, end_key(i)); }
  FUSEDNN_DEVICE i64 end_key(i64 i) const {
    return i < length_q ? loop::limited(i + offset + right + 1, 0, length_kv) : 0;
  }
};

/// Rows from `i0`, columns from `c0` on: `store(i, c, o)` for each element of O, `store_stats(i, stats)` for each row,
/// by all blocks of the row alike. All threads of the block take part.
template <bool kBias, class Q, class K, class V, class Bias, class Index, class Lane, class Store, class StoreStats>
FUSEDNN_DEVICE void attention_tile(Head<Q, K, V, Bias, Index, Lane> const& head, Mask const& mask, Index i0, Index c0,
                                   Store store, StoreStats store_stats) {
  constexpr int kColumnsEach = kValueTile<Lane> / 32;
  __shared__ Lane q_tile[kQueryTile][kDepthTile + 1];
  __shared__ Lane k_tile[kKeyTile][kDepthTile + 1];
  __shared__ Lane v_tile[kKeyTile][kValueTile<Lane>];
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Lane const lowest = loop::lowest<Lane>(), highest = loop::highest<Lane>();

  Index first[kRowsEach], end[kRowsEach];
  Lane maximum[kRowsEach], total[kRowsEach], sums[kRowsEach][kColumnsEach];
  bool spoilt[kRowsEach];  // this lane has met a score that is NaN or +inf
#pragma unroll
  for (int r = 0; r < kRowsEach; ++r) {
    i64 const i = static_cast<i64>(i0) + warp + r * kWarps;
    first[r] = static_cast<Index>(mask.first_key(i));
    end[r] = static_cast<Index>(mask.end_key(i));
    maximum[r] = lowest;
    total[r] = 0;
    spoilt[r] = false;
#pragma unroll
    for (int c = 0; c < kColumnsEach; ++c) sums[r][c] = 0;
  }

  // Keys that any row of the block sees. Tiles start at multiples of their size, so that a row's sums are the same in
  // whatever block it is computed.
  i64 const last = min(static_cast<i64>(i0) + kQueryTile, mask.length_q) - 1;
  Index const end_all = last >= static_cast<i64>(i0) ? static_cast<Index>(mask.end_key(last)) : Index(0);
  Index const first_all =
      static_cast<Index>(loop::limited(static_cast<i64>(i0) + mask.offset - mask.left + 1, 0, mask.length_kv)) /
      kKeyTile * kKeyTile;
  for (Index j0 = first_all; j0 < end_all; j0 += kKeyTile) {
    Lane score[kRowsEach] = {};
    for (Index d0 = 0; d0 < head.depth; d0 += kDepthTile) {
      __syncthreads();
      for (int e = threadIdx.x; e < kQueryTile * kDepthTile; e += kThreads) {
        int const row = e / kDepthTile, depth = e % kDepthTile;
        bool const inside = d0 + depth < head.depth;
        q_tile[row][depth] =
            inside && i0 + row < head.queries ? head.q.template load<Lane>(i0 + row, d0 + depth) : Lane(0);
        k_tile[row][depth] =
            inside && j0 + row < head.keys ? head.k.template load<Lane>(j0 + row, d0 + depth) : Lane(0);
      }
      __syncthreads();
#pragma unroll 8
      for (int depth = 0; depth < kDepthTile; ++depth) {
        Lane const key = k_tile[lane][depth];
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) score[r] += q_tile[warp + r * kWarps][depth] * key;
      }
    }
    for (int e = threadIdx.x; e < kKeyTile * kValueTile<Lane>; e += kThreads) {
      int const row = e / kValueTile<Lane>, column = e % kValueTile<Lane>;
      bool const inside = j0 + row < head.keys && c0 + column < head.width;
      v_tile[row][column] = inside ? head.v.template load<Lane>(j0 + row, c0 + column) : Lane(0);
    }
    __syncthreads();

    Lane weight[kRowsEach];  // below 0: the row does not see the key
    Index const j = j0 + lane;
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
      bool visible = first[r] <= j && j < end[r];
      Lane s = score[r] * head.scale;
      if constexpr (kBias) {
        Lane const bias = visible ? head.bias.template load<Lane>(i0 + warp + r * kWarps, j) : Lane(0);
        visible = visible && bias != lowest;
        s += bias;
      }
      bool const bad = visible && !(s < highest);
      spoilt[r] = spoilt[r] || bad;
      if (!visible || bad) s = lowest;
      Lane const before = maximum[r];
      Lane const now =
          loop::FoldMax::join(before, loop::join_threads<loop::FoldMax, 32>(s, static_cast<double*>(nullptr)));
      Lane const w = s == lowest ? Lane(0) : math::exp(s - now);
      Lane const faded = before == now ? Lane(1) : math::exp(before - now);
      maximum[r] = now;
      total[r] = total[r] * faded + loop::join_threads<loop::FoldAdd, 32>(w, static_cast<double*>(nullptr));
      weight[r] = visible ? w : Lane(-1);
#pragma unroll
      for (int c = 0; c < kColumnsEach; ++c) sums[r][c] *= faded;
    }
#pragma unroll 4
    for (int key = 0; key < kKeyTile; ++key) {
      Lane value[kColumnsEach];
#pragma unroll
      for (int c = 0; c < kColumnsEach; ++c) value[c] = v_tile[key][lane + 32 * c];
#pragma unroll
      for (int r = 0; r < kRowsEach; ++r) {
        Lane const w = __shfl_sync(0xffffffffu, weight[r], key);
        // Not by a weight of 0: it would let a NaN through.
        if (w >= Lane(0)) {
#pragma unroll
          for (int c = 0; c < kColumnsEach; ++c) sums[r][c] += w * value[c];
        }
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int r = 0; r < kRowsEach; ++r) {
    Index const i = i0 + warp + r * kWarps;
    bool const not_a_number = __any_sync(0xffffffffu, spoilt[r]);
    bool const empty = maximum[r] == lowest;
    if (i >= head.queries) continue;
    Lane const nan = highest - highest;
#pragma unroll
    for (int c = 0; c < kColumnsEach; ++c) {
      Index const column = c0 + lane + 32 * c;
      if (column < head.width) store(i, column, not_a_number ? nan : empty ? Lane(0) : sums[r][c] / total[r]);
    }
    if (lane == 0) store_stats(i, not_a_number ? nan : empty ? lowest : maximum[r] + math::log(total[r]));
  }
}

}  // namespace fusednn::generic
