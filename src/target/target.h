#pragma once

#include "target/gpu.h"

#include <fusednn/enums.h>

#include <optional>
#include <string>

namespace fusednn::target {

/// What plans are made for: a value, never "the current device". Engines ask for its capabilities.
struct Target {
  Device device = Device::CPU;
  int ordinal = 0;         ///< of the device; -1: none, an architecture alone
  int threads = 1;         ///< that the CPU engines may use
  std::optional<Gpu> gpu;  ///< set where the device is CUDA

  /// Whether there is a device to run on; else plans are only made and compiled.
  bool has_device() const { return ordinal >= 0; }
  std::string name() const;
  bool operator==(Target const&) const = default;
};

/// This machine's CPU: as many threads as FUSEDNN_NUM_THREADS says, otherwise as the process may run on.
Target host_target();

/// Device number `ordinal` of this machine.
Target cuda_target(int ordinal, Gpu gpu);
/// An architecture without a device.
Target cuda_target(Gpu gpu);

}  // namespace fusednn::target
