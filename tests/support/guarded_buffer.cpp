#include "support/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace fusednn::testing {

namespace {

constexpr std::byte front{0xa5};

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

GuardedBuffer::GuardedBuffer(size_t bytes) {
  reserve(bytes);
  std::fill(base_, data_, front);
  fill(poison);
}

GuardedBuffer GuardedBuffer::sparse(size_t bytes) {
  GuardedBuffer buffer;
  buffer.reserve(bytes);
  return buffer;
}

void GuardedBuffer::reserve(size_t bytes) {
  size_ = bytes;
  size_t const page = page_size();
  size_t const usable = page + (bytes + page - 1) / page * page;
  mapped_ = usable + page;
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
  mprotect(base_ + usable, page, PROT_NONE);
  data_ = base_ + usable - bytes;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), mapped_(other.mapped_), data_(other.data_), size_(other.size_) {}

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (base_) munmap(base_, mapped_);
}

void GuardedBuffer::fill(std::byte value) { std::fill_n(data_, size_, value); }

bool GuardedBuffer::front_intact() const {
  return std::all_of(base_, data_, [](std::byte b) { return b == front; });
}

}  // namespace fusednn::testing
