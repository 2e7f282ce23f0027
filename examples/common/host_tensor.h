#pragma once

#include <fusednn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace examples {

// Host memory for the elements of one tensor, zero at first, aligned for any vector instruction.
class HostTensor {
 public:
  // Type FLOAT, BFLOAT16, INT32, FP8_E4M3 or UINT8; others throw std::invalid_argument.
  HostTensor(fusednn::DataType_t type, int64_t elements);

  // Floats are rounded to BFLOAT16 to nearest even. Both work on FLOAT and BFLOAT16 alone.
  void store(const float* values, int64_t first, int64_t count);
  std::vector<float> load() const;

  // Uniform values in [low, high), the same at each run. FLOAT and BFLOAT16 alone.
  void fill_random(uint64_t seed, float low, float high);

  fusednn::DataType_t type() const { return type_; }
  int64_t elements() const { return elements_; }
  void* at(int64_t element) const { return bytes_.get() + element * element_size_; }
  void* data() const { return bytes_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, alignment); }
  };

  fusednn::DataType_t type_;
  int64_t elements_;
  int64_t element_size_;
  std::unique_ptr<std::byte, Free> bytes_;
};

}  // namespace examples
