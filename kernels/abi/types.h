#pragma once

// Fixed-width types under which host and device see the same layout. No library header: the run-time compiler has none.

namespace fusednn::abi {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

static_assert(sizeof(i32) == 4 && sizeof(i64) == 8 && sizeof(void*) == 8, "the layouts assume a 64-bit machine");

}  // namespace fusednn::abi
