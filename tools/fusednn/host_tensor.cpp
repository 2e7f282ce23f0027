#include "host_tensor.h"

#include "failure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tool {

std::byte* allocate(size_t bytes, std::string const& what) {
  constexpr size_t alignment = 64;
  // Memory is granted before it exists: a size beyond the machine's would end the process when it is written.
  size_t const physical = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  void* memory = bytes < physical ? std::aligned_alloc(alignment, bytes / alignment * alignment + alignment) : nullptr;
  if (!memory)
    throw Failure(exit_runtime, fmt::format("{} needs {} bytes of memory, which are not there", what, bytes));
  return static_cast<std::byte*>(memory);
}

HostTensor::HostTensor(fusednn::graph::Tensor_attributes const& tensor)
    : type_(find_type(tensor.get_data_type())), dims_(tensor.get_dim()), strides_(tensor.get_stride()) {
  if (!type_)
    throw Failure(exit_unsupported, fmt::format("tensor '{}' has type {}, which this tool does not hold",
                                                tensor.get_name(), name_of(tensor.get_data_type())));
  // A valid graph's spans fit 63 bits in bytes.
  size_t elements = 1;
  for (size_t i = 0; i < dims_.size(); ++i)
    elements += static_cast<size_t>(std::max<int64_t>(dims_[i] - 1, 0) * strides_[i]);
  bytes_ = elements * type_->bytes;
  memory_.reset(allocate(bytes_, fmt::format("tensor '{}'", tensor.get_name())));
  poison();
}

void HostTensor::poison() { std::fill_n(memory_.get(), bytes_, std::byte(0xff)); }

void HostTensor::assign(NpyArray const& array) {
  if (std::find(type_->npy.begin(), type_->npy.end(), array.type) == type_->npy.end())
    throw NpyError(
        fmt::format("holds type '{}', the tensor is {} ('{}')", array.type, name_of(type_->type), type_->npy[0]));
  if (array.shape != dims_)
    throw NpyError(
        fmt::format("has shape [{}], the tensor has dims [{}]", fmt::join(array.shape, ", "), fmt::join(dims_, ", ")));
  std::vector<int64_t> source(dims_.size());
  int64_t step = static_cast<int64_t>(type_->bytes);
  for (size_t i = 0; i < dims_.size(); ++i) {
    size_t const axis = array.fortran_order ? i : dims_.size() - 1 - i;
    source[axis] = step;
    step *= dims_[axis];
  }
  std::vector<int64_t> index(dims_.size(), 0);
  for_each([&](std::byte* at, int64_t) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * source[i];
    std::copy_n(array.data.data() + offset, type_->bytes, at);
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < dims_[i]) break;
      index[i] = 0;
    }
  });
}

std::vector<std::byte> HostTensor::packed() {
  std::vector<std::byte> out;
  for_each([&](std::byte* at, int64_t) { out.insert(out.end(), at, at + type_->bytes); });
  return out;
}

}  // namespace tool
