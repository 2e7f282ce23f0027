#pragma once

#include "ptx/base.cuh"

// Shared memory as 32-bit addresses from one base.

extern __shared__ __align__(1024) unsigned char fusednn_shared[];

namespace fusednn::ptx {

// The block's dynamic shared memory. Swizzled tiles need it aligned to 1024 bytes, which is what the hardware gives
// a kernel without static shared memory; anything else would be silently wrong, so it traps.
FUSEDNN_DEVICE u32 dynamic_shared() {
  u32 base = static_cast<u32>(__cvta_generic_to_shared(fusednn_shared));
  if (base % 1024 != 0) __trap();
  return base;
}

FUSEDNN_DEVICE void store_shared(u32 address, float x) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}
FUSEDNN_DEVICE void load_shared(u32 address, float& x, float& y) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "r"(address) : "memory");
}

// 8x8 matrices of 16-bit values from the accumulator layout: lane 4i+j holds columns 2j and 2j+1 of row i of each. Lane
// 8q+i gives the address of row i of matrix q; the transposed form stores column i there.
template <bool kTransposed>
FUSEDNN_DEVICE void store_matrices(u32 address, u32 r0, u32 r1) {
  if constexpr (kTransposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r0), "r"(r1)
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r0), "r"(r1)
                 : "memory");
  }
}
template <bool kTransposed>
FUSEDNN_DEVICE void store_matrices(u32 address, u32 r0, u32 r1, u32 r2, u32 r3) {
  if constexpr (kTransposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0),
                 "r"(r1), "r"(r2), "r"(r3)
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0), "r"(r1),
                 "r"(r2), "r"(r3)
                 : "memory");
  }
}

// The inverse, from the same addresses.
template <bool kTransposed>
FUSEDNN_DEVICE void load_matrices(u32 address, u32& r0, u32& r1) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r0), "=r"(r1)
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r0), "=r"(r1)
                 : "r"(address)
                 : "memory");
  }
}
template <bool kTransposed>
FUSEDNN_DEVICE void load_matrices(u32 address, u32& r0, u32& r1, u32& r2, u32& r3) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(address)
                 : "memory");
  }
}

}  // namespace fusednn::ptx
