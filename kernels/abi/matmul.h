#pragma once

#include "abi/tensor_map.h"

// The contract between host and device of families/matmul: what a kernel is compiled for, how it lays out shared
// memory, what it takes as parameters, and which boxes its tensor maps describe.

#if defined(__CUDACC__)
#define FUSEDNN_ABI_FN __host__ __device__ constexpr
#else
#define FUSEDNN_ABI_FN constexpr
#endif

namespace fusednn::abi {

enum class Major { K, MN };  // which dimension of an operand is contiguous

// A warp-specialised wgmma kernel. Operands have 16-bit elements; tile_k is the 64 of them that fill a swizzle row.
struct WgmmaConfig {
  int tile_m = 128;
  int tile_n = 256;
  int stages = 4;
  int consumers = 2;      // warpgroups that multiply; one more loads
  bool pingpong = false;  // each consumer takes whole tiles in turn, instead of its share of every tile's rows
  int lag = 0;            // stages that each consumer starts behind the one before it, so that epilogues overlap
  int cluster_m = 1;      // blocks of a cluster along M share tiles of B, those along N tiles of A
  int cluster_n = 1;
  Major a = Major::K;
  Major b = Major::K;
  bool transposed = false;  // D has M contiguous (and so does the epilogue's full tensor)
  int store_columns = 64;   // columns of D that are staged and stored together
  int store_slots = 2;      // staged pieces for each storing group

  static constexpr int kTileK = 64;
  static constexpr int kRowBytes = 128;  // kTileK elements; also the span of the swizzle
  static constexpr int kSharedLimit = 227 * 1024;

  FUSEDNN_ABI_FN int threads() const { return 128 * (consumers + 1); }
  FUSEDNN_ABI_FN int cluster() const { return cluster_m * cluster_n; }
  FUSEDNN_ABI_FN int consumer_rows() const { return pingpong ? tile_m : tile_m / consumers; }
  FUSEDNN_ABI_FN int slabs() const { return consumer_rows() / 64; }
  FUSEDNN_ABI_FN int accumulators() const { return slabs() * tile_n / 2; }

  // An operand with K contiguous is a column of rows; otherwise slabs of 64 wide rows, one row for each k.
  FUSEDNN_ABI_FN static int operand_bytes(Major major, int extent) {
    return (major == Major::K ? extent : (extent + 63) / 64 * 64) * kRowBytes;
  }
  FUSEDNN_ABI_FN int a_bytes() const { return operand_bytes(a, tile_m); }
  FUSEDNN_ABI_FN int b_bytes() const { return operand_bytes(b, tile_n); }
  FUSEDNN_ABI_FN int stage_bytes() const { return a_bytes() + b_bytes(); }

  // D leaves through pieces of store_rows x store_columns. A warp stages its own 16 rows; where M is contiguous the
  // warpgroup stages its 64 together, for full lines.
  FUSEDNN_ABI_FN int store_rows() const { return transposed ? 64 : 16; }
  FUSEDNN_ABI_FN int store_bytes() const { return store_rows() * store_columns * 2; }
  FUSEDNN_ABI_FN int store_groups() const { return consumers * (transposed ? 1 : 4); }

  // Shared memory: stages, staged pieces, column operands of the epilogue (float), barriers of the stages and, where
  // the epilogue takes a full tensor, of the pieces it arrives in.
  FUSEDNN_ABI_FN int stores_at() const { return stages * stage_bytes(); }
  FUSEDNN_ABI_FN int columns_at() const { return stores_at() + store_groups() * store_slots * store_bytes(); }
  FUSEDNN_ABI_FN int barriers_at(int column_operands) const {
    return columns_at() + column_operands * consumers * tile_n * 4;
  }
  FUSEDNN_ABI_FN int piece_barriers_at(int column_operands) const { return barriers_at(column_operands) + 16 * stages; }
  FUSEDNN_ABI_FN int shared_bytes(int column_operands, bool tile_operand) const {
    return piece_barriers_at(column_operands) + (tile_operand ? 8 * store_groups() * store_slots : 0);
  }

  // Registers of a thread that loads and of one that multiplies, out of 64 K in units of 8; 0 leaves them as launched.
  FUSEDNN_ABI_FN int loader_registers() const {
    return consumers == 3 ? 32 : consumers == 2 ? (accumulators() > 192 ? 24 : 40) : 0;
  }
  FUSEDNN_ABI_FN int consumer_registers() const {
    return consumers == 3 ? 160 : consumers == 2 ? (accumulators() > 192 ? 240 : 232) : 0;
  }

  // Rows of staged pieces must fall into distinct banks: a swizzle's span, or an odd number of 16-byte pieces.
  FUSEDNN_ABI_FN bool store_swizzled() const {
    return transposed || store_columns == 16 || store_columns == 32 || store_columns == 64;
  }

  // What a thread can hold beside its accumulators: with three consumers the compiler has only the 128 registers that
  // the kernel is launched with to place them.
  FUSEDNN_ABI_FN int accumulators_limit() const { return consumers == 3 ? 96 : 200; }

  FUSEDNN_ABI_FN bool valid() const {
    return consumers >= (pingpong ? 2 : 1) && consumers <= 3 && cluster() >= 1 && cluster() <= 8 && stages >= 2 &&
           tile_n >= 8 && tile_n <= 256 && slabs() > 0 && consumer_rows() % 64 == 0 &&
           tile_m == (pingpong ? 1 : consumers) * consumer_rows() && tile_m <= 256 * cluster_n &&
           tile_m % (8 * cluster_n) == 0 && tile_n % (8 * cluster_m) == 0 && lag >= 0 && lag < stages &&
           (lag == 0 || !pingpong) && store_slots >= 2 && store_columns % 8 == 0 && tile_n % store_columns == 0 &&
           accumulators() <= accumulators_limit() && (store_swizzled() || store_columns / 8 % 2 == 1);
  }
};

// Boxes of the tensor maps, innermost first; the third dimension is the batch, of box 1. A and B are swizzled over
// 128 bytes, D over the bytes of its innermost box.
struct Box {
  int inner;
  int outer;
};
FUSEDNN_ABI_FN Box operand_box(Major major, int extent, int sharers) {
  return major == Major::K ? Box{WgmmaConfig::kTileK, extent / sharers} : Box{64, WgmmaConfig::kTileK / sharers};
}
FUSEDNN_ABI_FN Box a_box(const WgmmaConfig& c) { return operand_box(c.a, c.tile_m, c.cluster_n); }
FUSEDNN_ABI_FN Box b_box(const WgmmaConfig& c) { return operand_box(c.b, c.tile_n, c.cluster_m); }
FUSEDNN_ABI_FN Box d_box(const WgmmaConfig& c) {
  return c.transposed ? Box{c.store_rows(), c.store_columns} : Box{c.store_columns, c.store_rows()};
}

struct MatmulParams {
  TensorMap a;
  TensorMap b;
  TensorMap c;  // the epilogue's full tensor, if it takes one; same boxes as d
  TensorMap d;
  unsigned long long policy_a;  // L2 policies
  unsigned long long policy_b;
  unsigned long long policy_c;
  unsigned long long policy_d;
  int m;
  int n;
  int k;  // above 0
  int batch;
  int a_batched;  // 0: one A for the whole batch
  int b_batched;
  int c_batched;
  int group;    // tiles (of a cluster) along the grouped dimension that run side by side
  int group_n;  // 1: tiles are grouped along N, 0: along M
};

}  // namespace fusednn::abi
