#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fusednn::testing {

/// Memory that ends at an inaccessible page, so that a read or write past the end faults, and that has a page
/// of known bytes before it. New memory holds the poison: 0xff in each byte, NaN in every floating-point
/// type.
class GuardedBuffer {
 public:
  static constexpr std::byte poison{0xff};

  explicit GuardedBuffer(size_t bytes);
  /// All zero, without known bytes before it; pages that nobody touches cost no memory, so that it may be
  /// larger than the machine's.
  static GuardedBuffer sparse(size_t bytes);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  void* data() { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {data_, size_}; }
  std::vector<std::byte> copy() const { return {data_, data_ + size_}; }
  void fill(std::byte value);
  /// Whether the bytes before the memory are as they were.
  bool front_intact() const;

 private:
  GuardedBuffer() = default;
  void reserve(size_t bytes);

  std::byte* base_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fusednn::testing
