#pragma once

#include "abi/matmul.h"
#include "mma/warpgroup.cuh"
#include "ptx/barrier.cuh"
#include "ptx/convert.cuh"
#include "ptx/shared.cuh"
#include "ptx/tensor_copy.cuh"
#include "ptx/warp.cuh"
#include "tile/swizzle.cuh"

// From accumulators to D. What happens to an element is a functor, a kernel parameter of a type that looks like this:
//
//   struct Epilogue {
//     static constexpr int kRowOperands, kColumnOperands;    // vectors along M and along N
//     static constexpr bool kTileOperand;                     // a full tensor of D's shape, layout and element size
//     u32 row_bits(int operand, int batch, int m) const;      // an element as it lies in memory, and its value: apart,
//     float row_value(int operand, u32 bits) const;           // so that the load may stay in flight in between
//     u32 column_bits(int operand, int batch, int n) const;
//     float column_value(int operand, u32 bits) const;
//     float tile_value(u32 bits) const;
//     float operator()(float accumulator, const float* row, const float* column, float tile) const;
//   };

namespace fusednn::matmul {

using abi::MatmulParams;
using abi::WgmmaConfig;

template <class T, int kCount>
struct Operands {
  T x[kCount > 0 ? kCount : 1];
};

// One warpgroup's epilogue. Operand vectors are fetched before the main loop and waited for after it.
template <class Config, class Epilogue>
class Store {
  static constexpr WgmmaConfig kC = Config::kConfig;
  static constexpr int kRows = Epilogue::kRowOperands;
  static constexpr int kColumns = Epilogue::kColumnOperands;
  static constexpr int kFetches = (kC.tile_n + 127) / 128;
  static constexpr int kTilePieces = kC.tile_n / kC.store_columns;
  static constexpr int kPieces = kC.slabs() * kTilePieces;

 public:
  using Accumulator = mma::Accumulator<typename Config::Element, kC.slabs(), kC.tile_n>;

  FUSEDNN_DEVICE Store(const MatmulParams& params, const Epilogue& epilogue, u32 shared, u32 consumer, u32 warp)
      : params_(params), epilogue_(epilogue), consumer_(consumer), warp_(warp), thread_(threadIdx.x % 128) {
    u32 group = kC.transposed ? consumer : consumer * 4 + warp;
    slots_ = shared + kC.stores_at() + group * (kC.store_slots * kC.store_bytes());
    columns_ = shared + kC.columns_at() + consumer * (kColumns * kC.tile_n * 4);
    arrivals_ = shared + kC.piece_barriers_at(kColumns) + group * (kC.store_slots * 8);
  }

  // By one thread of the block, before ptx::fence_barrier_init.
  FUSEDNN_DEVICE static void init_barriers(u32 shared) {
    if constexpr (Epilogue::kTileOperand) {
      for (int i = 0; i < kC.store_groups() * kC.store_slots; ++i) {
        ptx::barrier_init(shared + kC.piece_barriers_at(kColumns) + 8 * i, 1);
      }
    }
  }

  // m, n: the first row of this warpgroup and the first column of the tile.
  FUSEDNN_DEVICE void fetch(int m, int n, int batch) {
    m_ = m;
    n_ = n;
    batch_ = batch;
#pragma unroll
    for (int slab = 0; slab < kC.slabs(); ++slab) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int row = m + slab * 64 + warp_ * 16 + half * 8 + ptx::lane() / 4;
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          row_bits_[slab][half].x[i] = row < params_.m ? epilogue_.row_bits(i, batch, row) : 0;
        }
      }
    }
#pragma unroll
    for (int f = 0; f < kFetches; ++f) {
      int column = n + f * 128 + thread_;
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        bool inside = column < params_.n && f * 128 + thread_ < kC.tile_n;
        column_bits_[f].x[i] = inside ? epilogue_.column_bits(i, batch, column) : 0;
      }
    }
    if constexpr (Epilogue::kTileOperand) {
      if (storing()) {
        ptx::store_wait_read<0>();
        for (int i = 0; i < kC.store_slots && i < kPieces; ++i) load_piece(i, wrapped(next_ + i));
      }
    }
  }

  FUSEDNN_DEVICE void store(const Accumulator& accumulator) {
    if constexpr (kColumns > 0) share_columns();
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      if constexpr (Epilogue::kTileOperand) ptx::barrier_wait(arrivals_ + 8 * next_, parity_);
      stage(accumulator, piece, slots_ + next_ * kC.store_bytes());
      ptx::fence_shared_to_async();
      if (storing()) make_room(piece);
      group_barrier();
      if (storing()) {
        store_piece(piece, next_);
        ptx::store_commit();
      }
      next_ = wrapped(next_ + 1);
      if (next_ == 0) parity_ ^= 1;
    }
  }

  // Before the block ends: shared memory must outlive the stores that read it.
  FUSEDNN_DEVICE void drain() {
    if (storing()) ptx::store_wait_read<0>();
  }

 private:
  // The same thread each time: stores are counted by the thread that issued them.
  FUSEDNN_DEVICE bool storing() const { return kC.transposed ? thread_ == 0 : ptx::lane() == 0; }

  FUSEDNN_DEVICE static u32 wrapped(u32 slot) { return slot < kC.store_slots ? slot : slot - kC.store_slots; }

  // Before anyone passes the barrier and goes on to the next slot, its last store must have been read; or, where the
  // full tensor arrives in the slots, the slot before is refilled, since the next one has long been asked for.
  FUSEDNN_DEVICE void make_room(int piece) {
    if constexpr (!Epilogue::kTileOperand) {
      ptx::store_wait_read<kC.store_slots - 2>();
    } else if (piece > 0 && piece - 1 + kC.store_slots < kPieces) {
      ptx::store_wait_read<0>();
      load_piece(piece - 1 + kC.store_slots, wrapped(next_ + kC.store_slots - 1));
    }
  }

  // Pieces go along the columns of a slab, then to the next slab.
  FUSEDNN_DEVICE int piece_row(int piece) const {
    return m_ + piece / kTilePieces * 64 + (kC.transposed ? 0 : warp_ * 16);
  }
  FUSEDNN_DEVICE int piece_column(int piece) const { return n_ + piece % kTilePieces * kC.store_columns; }

  FUSEDNN_DEVICE void load_piece(int piece, u32 slot) const {
    int x = kC.transposed ? piece_row(piece) : piece_column(piece);
    int y = kC.transposed ? piece_column(piece) : piece_row(piece);
    u32 arrival = arrivals_ + 8 * slot;
    ptx::barrier_arrive_expect(arrival, kC.store_bytes());
    ptx::tensor_load(slots_ + slot * kC.store_bytes(), &params_.c, arrival, x, y, batch_ * params_.c_batched,
                     params_.policy_c);
  }
  FUSEDNN_DEVICE void store_piece(int piece, u32 slot) const {
    int x = kC.transposed ? piece_row(piece) : piece_column(piece);
    int y = kC.transposed ? piece_column(piece) : piece_row(piece);
    ptx::tensor_store(&params_.d, slots_ + slot * kC.store_bytes(), x, y, batch_, params_.policy_d);
  }

  FUSEDNN_DEVICE void group_barrier() const {
    if constexpr (kC.transposed) {
      warpgroup_barrier();
    } else {
      __syncwarp();
    }
  }
  FUSEDNN_DEVICE void warpgroup_barrier() const { ptx::named_wait(1 + consumer_, 128); }

  FUSEDNN_DEVICE void share_columns() {
    warpgroup_barrier();  // the last tile's readers are done
#pragma unroll
    for (int f = 0; f < kFetches; ++f) {
      u32 column = f * 128 + thread_;
      if (column < kC.tile_n) {
#pragma unroll
        for (int i = 0; i < kColumns; ++i) {
          float x = epilogue_.column_value(i, column_bits_[f].x[i]);
          ptx::store_shared(columns_ + 4 * (i * kC.tile_n + column), x);
        }
      }
    }
    warpgroup_barrier();
  }

  // Converts a warp's 16 rows by store_columns into a slot, 8 columns or twice 8 at a time; in place of the full
  // tensor's piece, if there is one.
  FUSEDNN_DEVICE void stage(const Accumulator& accumulator, int piece, u32 slot) const {
    using Out = typename Config::Output;
    constexpr int kBlocks = kC.store_columns / 8;
    int slab = piece / kTilePieces;
    Operands<float, kRows> upper, lower;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      upper.x[i] = epilogue_.row_value(i, row_bits_[slab][0].x[i]);
      lower.x[i] = epilogue_.row_value(i, row_bits_[slab][1].x[i]);
    }
#pragma unroll
    for (int block = 0; block < kBlocks; block += 2) {
      u32 address = slot + matrix_row(block);
      u32 tile[4] = {0, 0, 0, 0};
      if constexpr (Epilogue::kTileOperand) {
        if (block + 1 < kBlocks) {
          ptx::load_matrices<kC.transposed>(address, tile[0], tile[1], tile[2], tile[3]);
        } else {
          ptx::load_matrices<kC.transposed>(address, tile[0], tile[1]);
        }
      }
      u32 packed[4];
#pragma unroll
      for (int half = 0; half < 2 && block + half < kBlocks; ++half) {
        int c8 = piece % kTilePieces * kBlocks + block + half;
        const float* x = &accumulator.x[slab][4 * c8];
        Operands<float, kColumns> left, right;
#pragma unroll
        for (int i = 0; i < kColumns; ++i) {
          ptx::load_shared(columns_ + 4 * (i * kC.tile_n + 8 * c8 + 2 * (ptx::lane() % 4)), left.x[i], right.x[i]);
        }
        u32 t0 = tile[2 * half];
        u32 t1 = tile[2 * half + 1];
        packed[2 * half] = ptx::pack<Out>(epilogue_(x[0], upper.x, left.x, epilogue_.tile_value(t0 & 0xffff)),
                                          epilogue_(x[1], upper.x, right.x, epilogue_.tile_value(t0 >> 16)));
        packed[2 * half + 1] = ptx::pack<Out>(epilogue_(x[2], lower.x, left.x, epilogue_.tile_value(t1 & 0xffff)),
                                              epilogue_(x[3], lower.x, right.x, epilogue_.tile_value(t1 >> 16)));
      }
      if (block + 1 < kBlocks) {
        ptx::store_matrices<kC.transposed>(address, packed[0], packed[1], packed[2], packed[3]);
      } else {
        ptx::store_matrices<kC.transposed>(address, packed[0], packed[1]);
      }
    }
  }

  // Where in a slot this lane's row goes, of the matrices that start at an 8-column block: upper and lower 8 rows of
  // that block, then of the next.
  FUSEDNN_DEVICE u32 matrix_row(int block) const {
    u32 row = ptx::lane() % 8;
    u32 lower = ptx::lane() / 8 % 2;
    u32 c8 = block + ptx::lane() / 16;
    if constexpr (kC.transposed) {
      return tile::piece_at<128>(c8 * 8 + row, warp_ * 2 + lower);
    } else {
      return tile::piece_at<2 * kC.store_columns>(lower * 8 + row, c8);
    }
  }

  const MatmulParams& params_;
  const Epilogue& epilogue_;
  u32 consumer_, warp_, thread_;
  u32 slots_, columns_, arrivals_;
  int m_, n_, batch_;
  u32 next_ = 0;    // slot
  u32 parity_ = 0;  // of the arrivals in this round of the slots
  Operands<u32, kRows> row_bits_[kC.slabs()][2];
  Operands<u32, kColumns> column_bits_[kFetches];
};

}  // namespace fusednn::matmul
