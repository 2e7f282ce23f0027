#pragma once

#include <fusednn.h>

#include <cstddef>

namespace tool {

/// Memory of a handle's device that is not the host's. Throws Failure.
class DeviceMemory {
 public:
  DeviceMemory(fusednn::handle_t handle, size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory();

  void* data() const { return memory_; }
  // Copies between all of it and as many bytes of the host, and waits.
  void write(void const* from);
  void read(void* to) const;

 private:
  fusednn::handle_t handle_;
  size_t bytes_;
  void* memory_ = nullptr;
};

/// Whether plans for the handle work in memory that the host does not see.
bool has_own_memory(fusednn::handle_t handle);

}  // namespace tool
