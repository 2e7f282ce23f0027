#pragma once

namespace fusednn::abi {

// The driver's description of a tensor for the copy engine; opaque, passed by value as a kernel parameter.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

// What the L2 cache should do with lines that a copy touches: the hardware's encodings for all lines of an access.
inline constexpr unsigned long long kEvictNormal = 0x1000000000000000;
inline constexpr unsigned long long kEvictFirst = 0x12f0000000000000;  // read or written once
inline constexpr unsigned long long kEvictLast = 0x14f0000000000000;   // wanted again by later tiles

}  // namespace fusednn::abi
