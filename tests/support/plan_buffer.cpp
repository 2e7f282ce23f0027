#include "support/plan_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fusednn::testing {

namespace {

constexpr size_t zone = 1024;  // bytes on either side; a multiple of the alignment that device memory has

/// NaN as a number of 2, 4 or 8 bytes, and unlike the poison that the buffer itself holds.
std::byte zone_byte(size_t at) { return at % 2 ? std::byte{0xff} : std::byte{0xa5}; }

}  // namespace

PlanBuffer::PlanBuffer(handle_t handle, size_t bytes, size_t alignment) : host_(bytes) {
  Device device = Device::CPU;
  EXPECT_TRUE(get_device(handle, &device, nullptr).is_good());
  if (device == Device::CPU || !can_execute()) return;
  offset_ = zone + alignment;
  image_.resize(offset_ + bytes + zone);
  device_.emplace(handle, image_.size());
}

void* PlanBuffer::give() {
  if (!device_) return host_.data();
  for (size_t i = 0; i < image_.size(); ++i) image_[i] = zone_byte(i);
  std::copy(host_.bytes().begin(), host_.bytes().end(), image_.begin() + static_cast<std::ptrdiff_t>(offset_));
  device_->write(image_.data(), image_.size());
  return static_cast<std::byte*>(device_->data()) + offset_;
}

void PlanBuffer::take() {
  if (!device_) return;
  device_->read(image_.data(), image_.size());
  std::copy_n(image_.begin() + static_cast<std::ptrdiff_t>(offset_), host_.size(), host_.bytes().begin());
}

bool PlanBuffer::surroundings_intact() const {
  for (size_t i = 0; i < image_.size(); ++i) {
    if (i == offset_) i += host_.size();
    if (i < image_.size() && image_[i] != zone_byte(i)) return false;
  }
  return host_.front_intact();
}

}  // namespace fusednn::testing
