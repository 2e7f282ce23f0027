#include "device_memory.h"

#include "failure.h"

#include <utility>

namespace tool {

DeviceMemory::DeviceMemory(fusednn::handle_t handle, size_t bytes) : handle_(handle), bytes_(bytes) {
  check(fusednn::allocate_ext(handle_, bytes_, &memory_));
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : handle_(other.handle_), bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}

DeviceMemory::~DeviceMemory() {
  if (memory_) (void)fusednn::free_ext(handle_, memory_);
}

void DeviceMemory::write(void const* from) {
  check(fusednn::copy_ext(handle_, memory_, from, bytes_));
  check(fusednn::synchronize_ext(handle_));
}

void DeviceMemory::read(void* to) const {
  check(fusednn::copy_ext(handle_, to, memory_, bytes_));
  check(fusednn::synchronize_ext(handle_));
}

bool has_own_memory(fusednn::handle_t handle) {
  fusednn::Device device = fusednn::Device::CPU;
  check(fusednn::get_device(handle, &device, nullptr));
  return device == fusednn::Device::CUDA;
}

}  // namespace tool
