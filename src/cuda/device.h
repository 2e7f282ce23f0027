#pragma once

#include "cuda/driver.h"

#include <string>

namespace fusednn::cuda {

/// What the driver says of one device.
struct DeviceInfo {
  std::string name;
  int sm = 0;  ///< compute capability: 10 * major + minor
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  int64_t shared_bytes_per_block = 0;  ///< the most that a kernel may ask for
  double memory_bytes_per_second = 0;  ///< 0 where the driver does not tell
  double clock_hz = 0;                 ///< likewise
};

base::Result<int> device_count();
base::Result<DeviceInfo> device_info(int ordinal);

}  // namespace fusednn::cuda
