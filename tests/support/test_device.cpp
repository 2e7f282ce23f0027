#include "support/test_device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <utility>

namespace fusednn::testing {

namespace {

std::string device() {
  char const* name = std::getenv("FUSEDNN_TEST_DEVICE");
  return name ? name : "cpu";
}

}  // namespace

error_t create_handle(handle_t* handle) {
  if (device() == "cpu") return create(handle, Device::CPU);
  if (device() == "cuda") return create(handle, Device::CUDA);
  return create_for_arch_ext(handle, device());
}

bool can_execute() { return device() == "cpu" || device() == "cuda"; }

DeviceMemory::DeviceMemory(handle_t handle, size_t bytes) : handle_(handle) {
  if (allocate_ext(handle, bytes, &memory_).is_bad()) throw std::bad_alloc();
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : handle_(other.handle_), memory_(std::exchange(other.memory_, nullptr)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(memory_, other.memory_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (!memory_) return;
  error_t const e = free_ext(handle_, memory_);
  EXPECT_TRUE(e.is_good()) << e.get_message();
}

void DeviceMemory::write(void const* from, size_t bytes) {
  error_t e = copy_ext(handle_, memory_, from, bytes);
  if (e.is_good()) e = synchronize_ext(handle_);
  EXPECT_TRUE(e.is_good()) << e.get_message();
}

void DeviceMemory::read(void* to, size_t bytes) const {
  error_t e = copy_ext(handle_, to, memory_, bytes);
  if (e.is_good()) e = synchronize_ext(handle_);
  EXPECT_TRUE(e.is_good()) << e.get_message();
}

}  // namespace fusednn::testing
