#pragma once

#include "support/guarded_buffer.h"
#include "support/test_device.h"

#include <optional>

namespace fusednn::testing {

/// Memory that a plan is given, so that a fault shows. On the CPU that is a guarded buffer. On a GPU, where
/// no page can be made inaccessible, it is a copy of that buffer between zones of NaN, whose bytes must come
/// back unchanged; it is aligned to what it has to be and to no more.
class PlanBuffer {
 public:
  PlanBuffer(handle_t handle, size_t bytes, size_t alignment);

  /// What the test reads and writes.
  GuardedBuffer& host() { return host_; }
  /// Where the plan finds it. On a GPU the host's bytes are copied there.
  void* give();
  /// Takes back what the plan left.
  void take();
  /// Whether the bytes around the memory were as they should be, when it was last taken back.
  bool surroundings_intact() const;

 private:
  GuardedBuffer host_;
  size_t offset_ = 0;  ///< of the buffer in the device memory
  std::optional<DeviceMemory> device_;
  std::vector<std::byte> image_;  ///< of the device memory, zones included
};

}  // namespace fusednn::testing
