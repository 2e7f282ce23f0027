#pragma once

#include <fusednn.h>

#include <cstddef>

// Where the tests that run graphs run them: FUSEDNN_TEST_DEVICE is "cpu" (which is meant where it is unset),
// "cuda", or an architecture such as "sm_90a", for which every plan is compiled and none is executed.

namespace fusednn::testing {

/// A handle for the test device.
error_t create_handle(handle_t* handle);

/// Whether plans can be executed; false where the test device is an architecture alone.
bool can_execute();

/// Memory of a handle's device.
class DeviceMemory {
 public:
  /// Throws std::bad_alloc where there is none.
  DeviceMemory(handle_t handle, size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  void* data() const { return memory_; }
  /// Copies from host memory, or to it, and waits; a copy that fails is a test failure.
  void write(void const* from, size_t bytes);
  void read(void* to, size_t bytes) const;

 private:
  handle_t handle_;
  void* memory_ = nullptr;
};

}  // namespace fusednn::testing
