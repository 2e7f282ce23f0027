#pragma once

#include <fusednn/enums.h>

#include <string>

namespace fusednn::target {

/// What plans are made for: a value, never "the current device". Engines ask for its capabilities.
struct Target {
  Device device = Device::CPU;
  int ordinal = 0;
  int threads = 1;  ///< that the CPU engines may use

  std::string name() const { return device == Device::CPU ? "cpu" : "cuda:" + std::to_string(ordinal); }
  bool operator==(Target const&) const = default;
};

/// This machine's CPU: as many threads as FUSEDNN_NUM_THREADS says, otherwise as the process may run on.
Target host_target();

}  // namespace fusednn::target
