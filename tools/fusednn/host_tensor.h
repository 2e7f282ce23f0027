#pragma once

#include "data_type.h"
#include "npy.h"

#include <fusednn/tensor.h>

#include <cstdlib>
#include <memory>

namespace tool {

/// Memory of one tensor, laid out by its strides. Bytes that no one has written are 0xff: NaN in every floating-point
/// type.
class HostTensor {
 public:
  /// Throws Failure where the type cannot be held or the memory is not there.
  explicit HostTensor(fusednn::graph::Tensor_attributes const& tensor);

  void* data() const { return memory_.get(); }
  TypeRow const& type() const { return *type_; }
  std::vector<int64_t> const& dims() const { return dims_; }
  size_t bytes() const { return bytes_; }
  void poison();

  /// Calls f(byte address, row-major index) for every element.
  template <class F>
  void for_each(F&& f) {
    int64_t index = 0;
    walk(0, memory_.get(), [&](std::byte* at) { f(at, index++); });
  }

  /// Throws NpyError where type or shape differ.
  void assign(NpyArray const& array);
  /// The elements in C order.
  std::vector<std::byte> packed();

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  template <class F>
  void walk(size_t axis, std::byte* at, F&& f) {
    if (axis == dims_.size()) return f(at);
    for (int64_t i = 0; i < dims_[axis]; ++i)
      walk(axis + 1, at + i * strides_[axis] * static_cast<int64_t>(type_->bytes), f);
  }

  TypeRow const* type_;
  std::vector<int64_t> dims_, strides_;
  size_t bytes_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
};

/// Uninitialised memory at a multiple of 64 bytes. Throws Failure where the machine has less.
std::byte* allocate(size_t bytes, std::string const& what);

}  // namespace tool
