#pragma once

#include "base/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fusednn::target {

/// What kernels may use. Those marked (a) exist only in code made for exactly that architecture.
struct GpuFeatures {
  bool fp8 = false;                    ///< conversions and mma.sync on 8-bit floats
  bool bulk_copy = false;              ///< tensor maps and cp.async.bulk
  bool cluster = false;                ///< thread-block clusters with multicast
  bool programmatic_launch = false;    ///< a kernel may start before its predecessor ends
  bool wgmma = false;                  ///< (a) warpgroup matrix instructions
  bool tensor_memory = false;          ///< (a) tcgen05 matrix instructions
  bool register_reallocation = false;  ///< (a) setmaxnreg
  bool operator==(GpuFeatures const&) const = default;
};

/// One GPU architecture: limits and features that all its parts share, and figures of the part most often met, for
/// planning without a device at hand.
struct GpuArch {
  int sm;                 ///< compute capability: 10 * major + minor
  std::string_view name;  ///< what NVRTC is asked for
  GpuFeatures can;
  int shared_bytes_per_block;  ///< the most that a kernel may ask for
  int shared_bytes_per_sm;
  int threads_per_sm;
  int blocks_per_sm;
  int multiprocessors;
  int64_t l2_bytes;
  double memory_bytes_per_second;
  double clock_hz;
};

std::span<GpuArch const> gpu_archs();

inline constexpr int registers_per_sm = 65536;  // of 4 bytes, on every row

/// What a device says of itself; zeros where it does not.
struct GpuFacts {
  int sm = 0;
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
  int64_t shared_bytes_per_block = 0;
  double memory_bytes_per_second = 0;
  double clock_hz = 0;
  bool operator==(GpuFacts const&) const = default;
};

/// A GPU that plans are made for.
struct Gpu : GpuFacts {
  /// What kernels are compiled for: "sm_90a"; for a GPU newer than the table "compute_120", that is PTX that the
  /// driver compiles on.
  std::string arch;
  GpuFeatures can;
  int shared_bytes_per_sm = 0;
  int threads_per_sm = 0;
  int blocks_per_sm = 0;
  bool operator==(Gpu const&) const = default;
};

/// The GPU of a device. One that is not in the table is taken for the newest older row, without what only that row has.
base::Result<Gpu> gpu_of(GpuFacts const& facts);

/// The GPU of an architecture without a device: "sm_90a", "sm_90" or "90".
base::Result<Gpu> gpu_for_arch(std::string_view arch);

}  // namespace fusednn::target
