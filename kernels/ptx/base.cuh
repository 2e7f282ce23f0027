#pragma once

// What every device header stands on. No library header is included, so that a run-time compiler spends its time on
// the kernel alone.

#define FUSEDNN_DEVICE __device__ __forceinline__

namespace fusednn {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

// Storage types. Arithmetic is float; conversions are in ptx/convert.cuh.
struct bf16 {
  u16 bits;
};
struct fp16 {
  u16 bits;
};

}  // namespace fusednn
