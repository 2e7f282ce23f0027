#pragma once

#include "abi/matmul.h"
#include "ptx/wgmma.cuh"
#include "tile/swizzle.cuh"

// A warpgroup's share of a matrix product: kSlabs slabs of 64 rows by kColumns columns, in registers.

namespace fusednn::mma {

using abi::Major;

// Lane 4i+j of warp w holds, of each slab, rows 16w+i and 16w+i+8 and of every 8 columns the two from 2j:
// x[slab][4c + {0,1}] in the upper row, {2,3} in the lower, for the columns from 8c.
template <class T, int kSlabs, int kColumns>
struct Accumulator {
  float x[kSlabs][kColumns / 2];

  // Adds the product of one stage: 64 deep, A and B in tiles with 128-byte swizzled rows. a is the address of this
  // warpgroup's first slab. The caller commits; until the batch is waited for, nothing else may touch x.
  template <Major kA, Major kB>
  FUSEDNN_DEVICE void add_product(u32 a, u32 b, bool keep) {
    constexpr u32 kSlabBytes = 64 * 128;  // of either major
    constexpr u32 kStepA = kA == Major::K ? 32 : 16 * 128;
    constexpr u32 kStepB = kB == Major::K ? 32 : 16 * 128;
    u64 desc_a = tile::descriptor128(a, kSlabBytes, 1024);
    u64 desc_b = tile::descriptor128(b, kSlabBytes, 1024);
#pragma unroll
    for (u32 step = 0; step < 4; ++step) {
#pragma unroll
      for (u32 slab = 0; slab < kSlabs; ++slab) {
        ptx::Wgmma<T, kColumns>::template multiply<kA == Major::MN, kB == Major::MN>(
            x[slab], desc_a + (slab * kSlabBytes + step * kStepA) / 16, desc_b + step * kStepB / 16, keep || step > 0);
      }
    }
  }

  FUSEDNN_DEVICE void pin() {
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < kColumns / 2; ++i) ptx::pin_register(x[slab][i]);
    }
  }
};

}  // namespace fusednn::mma
