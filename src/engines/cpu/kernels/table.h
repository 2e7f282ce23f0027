#pragma once

// Tables of loops over tiles, one table per x86-64 level.
//
// Every file named isa_*.cpp is compiled once per level (x86-64-v2: SSE4.2, v3: AVX2 and FMA, v4: AVX-512
// F/BW/DQ/VL), in a namespace of its own and without library templates, so that code for a newer CPU can
// never be linked into the path of an older one. `kernels()` asks the CPU once, through
// __builtin_cpu_supports, and returns the best table it can run. Other architectures have the first level alone,
// compiled for their own baseline.
//
// The loops assume live denormals, round-to-nearest and default exception masks. They are compiled with
// -fno-math-errno -fno-trapping-math and may contract a*b+c; nothing is reassociated.

#include <fusednn/enums.h>

#include <cstddef>
#include <cstdint>

namespace fusednn::engines::cpu {

enum class Storage : uint8_t { F32, F64, F16, BF16, E4M3, E5M2, I8, U8, I32, I64, BOOL };
inline constexpr int kStorageCount = 11;
constexpr int64_t bytes_of(Storage s) {
  constexpr int64_t bytes[kStorageCount] = {4, 8, 2, 2, 1, 1, 1, 1, 4, 8, 1};
  return bytes[static_cast<int>(s)];
}

// The type that lanes have inside a tile.
enum class Compute : uint8_t { F32, F64, I32 };
inline constexpr int kComputeCount = 3;
constexpr int64_t bytes_of(Compute c) { return c == Compute::F64 ? 8 : 4; }
constexpr Storage storage_of(Compute c) {
  return c == Compute::F32 ? Storage::F32 : c == Compute::F64 ? Storage::F64 : Storage::I32;
}

// How a reduction joins a value to its accumulator.
enum class Fold : uint8_t { ADD, MUL, MIN, MAX, ABS_MAX, ABS_ADD, SQUARE_ADD, MUL_NON_ZERO };
inline constexpr int kFoldCount = 8;

// Which operands of a two-operand loop are one value for the whole run. Float loops have all variants.
enum class Spread : uint8_t { NONE, FIRST, SECOND };
inline constexpr int kSpreadCount = 3;

#define FUSEDNN_COUNT(mode) +1
inline constexpr int kPointwiseCount = 0 FUSEDNN_POINTWISE_MODES(FUSEDNN_COUNT);
#undef FUSEDNN_COUNT

struct AttentionKernels;
struct GemmKernels;

struct KernelTable {
  char const* name;

  // dst[i] = mode(a[i], b[i], c[i]); dst may be an operand. Null where a mode has no such variant.
  using Pointwise = void (*)(void* dst, void const* a, void const* b, void const* c, int64_t n, void const* params);
  Pointwise pointwise[kComputeCount][kPointwiseCount][kSpreadCount];

  // Between strided storage and a dense run of lanes; strides count elements.
  using Load = void (*)(void* dst, void const* src, int64_t stride, int64_t n);
  using Store = void (*)(void* dst, int64_t stride, void const* src, int64_t n);
  Load load[kStorageCount][kComputeCount];
  Store store[kStorageCount][kComputeCount];

  // dst[i] = a[i] as the storage type would give it back; dst may be a.
  using Round = void (*)(void* dst, void const* a, int64_t n);
  Round round[kStorageCount][kComputeCount];

  using Cast = void (*)(void* dst, void const* a, int64_t n);
  Cast cast[kComputeCount][kComputeCount];
  Cast truncate;  // double to int32 lanes: without the fraction, modulo 2^32

  // dst[i] = first + i * step, and dst[i] = *value.
  using Iota = void (*)(void* dst, int64_t first, int64_t step, int64_t n);
  Iota iota[kComputeCount];
  using Splat = void (*)(void* dst, void const* value, int64_t n);
  Splat splat[kComputeCount];

  // *acc takes every a[i]; acc[i] takes a[i]; acc[i] joins another accumulator a[i]. fold_start is the
  // identity. A run is summed in 64 partial sums.
  using FoldRun = void (*)(void* acc, void const* a, int64_t n);
  using FoldLanes = void (*)(void* acc, void const* a, int64_t n);
  FoldRun fold_run[kComputeCount][kFoldCount];
  FoldLanes fold_lanes[kComputeCount][kFoldCount];
  FoldLanes join_lanes[kComputeCount][kFoldCount];
  double fold_start[kComputeCount][kFoldCount];

  // Sums in double over float or double lanes: of a - centre, and of its square. By lanes: acc[i] takes a[i].
  using Moment = double (*)(void const* a, double centre, int64_t n);
  using MomentLanes = void (*)(double* acc, void const* a, double const* centre, int64_t n);
  Moment sum[kComputeCount];
  Moment square_sum[kComputeCount];
  MomentLanes sum_lanes[kComputeCount];
  MomentLanes square_sum_lanes[kComputeCount];

  GemmKernels const* gemm[kComputeCount];
  AttentionKernels const* attention;
};

enum class Isa : uint8_t { BASELINE, V3, V4 };
inline constexpr int kIsaCount = 3;

// The table of one level; null when it was not compiled or this CPU lacks it.
KernelTable const* kernels_of(Isa) noexcept;
KernelTable const& kernels() noexcept;

}  // namespace fusednn::engines::cpu
