#pragma once

#include "ptx/base.cuh"

// Tiles whose rows are read or written eight at a time, one 16-byte piece of each, without two in one bank. Rows of
// 32, 64 or 128 bytes are swizzled: their pieces are permuted by the row's number, as the copy engine and wgmma do it,
// on address bits; such tiles start at multiples of 1024 bytes, or of 8 rows where they are shorter. Rows of an odd
// number of pieces need no permutation.

namespace fusednn::tile {

FUSEDNN_DEVICE constexpr bool swizzles(int row_bytes) { return row_bytes == 32 || row_bytes == 64 || row_bytes == 128; }

// The address of piece `piece` of row `row`, relative to the tile.
template <int kRowBytes>
FUSEDNN_DEVICE u32 piece_at(u32 row, u32 piece) {
  if constexpr (swizzles(kRowBytes)) {
    constexpr u32 kPieces = kRowBytes / 16;
    constexpr u32 kRowsPerLine = 8 / kPieces;  // rows in 128 bytes
    piece ^= row / kRowsPerLine % kPieces;
  } else {
    static_assert(kRowBytes / 16 % 2 == 1, "rows would collide in the banks");
  }
  return row * kRowBytes + piece * 16;
}

// wgmma's descriptor of a tile with 128-byte rows. `leading` and `stride` are distances in bytes; for K contiguous
// only stride counts, from 8 rows to the next 8; for M or N contiguous, leading goes from one 64-wide slab to the next
// and stride from 8 rows (k) to the next 8.
FUSEDNN_DEVICE u64 descriptor128(u32 address, u32 leading, u32 stride) {
  u32 low = ((address & 0x3ffff) >> 4) | ((leading >> 4) << 16);
  u32 high = (stride >> 4) | (1u << 30);
  return (static_cast<u64>(high) << 32) | low;
}

}  // namespace fusednn::tile
