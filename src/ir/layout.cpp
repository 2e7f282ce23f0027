#include "ir/layout.h"

#include "base/checked.h"

#include <algorithm>
#include <numeric>

namespace fusednn::ir {

std::optional<int64_t> volume(Dims const& dims) { return checked_product(dims); }

std::optional<int64_t> span_elements(Dims const& dims, Dims const& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return 0;
    std::optional<int64_t> const reach = checked_mul_add(dims[i] - 1, strides[i], last);
    if (!reach) return std::nullopt;
    last = *reach;
  }
  return checked_add(last, 1);
}

namespace {

Dims packed_in(Dims const& dims, std::vector<size_t> const& outer_to_inner) {
  Dims strides(dims.size(), 1);
  int64_t next = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    size_t axis = outer_to_inner[i];
    strides[axis] = next;
    // An overflow here is reported by the checks that follow inference; the stride only has to stay defined.
    next = checked_mul(next, std::max<int64_t>(dims[axis], 1)).value_or(INT64_MAX);
  }
  return strides;
}

}  // namespace

Dims packed_strides(Dims const& dims) {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t(0));
  return packed_in(dims, order);
}

Dims strides_in_order_of(Dims const& dims, Dims const& strides) {
  if (strides.size() != dims.size()) return packed_strides(dims);
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  return packed_in(dims, order);
}

bool overlaps_itself(Dims const& dims, Dims const& strides) {
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, dim
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return false;
    if (dims[i] > 1) axes.emplace_back(strides[i], dims[i]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t reach = 0;  // largest offset of the axes seen so far
  for (auto [stride, dim] : axes) {
    if (stride <= reach) return true;
    std::optional<int64_t> const farther = checked_mul_add(stride, dim - 1, reach);
    if (!farther) return true;
    reach = *farther;
  }
  return false;
}

int storage_bits(DataType_t dtype) {
  switch (dtype) {
    case DataType_t::DOUBLE:
    case DataType_t::INT64:
    case DataType_t::COMPLEX_FP32:
      return 64;
    case DataType_t::FLOAT:
    case DataType_t::INT32:
    case DataType_t::INT8x4:
    case DataType_t::UINT8x4:
      return 32;
    case DataType_t::HALF:
    case DataType_t::BFLOAT16:
      return 16;
    case DataType_t::INT8:
    case DataType_t::UINT8:
    case DataType_t::BOOLEAN:
    case DataType_t::FP8_E4M3:
    case DataType_t::FP8_E5M2:
    case DataType_t::FP8_E8M0:
      return 8;
    case DataType_t::FP4_E2M1:
    case DataType_t::INT4:
      return 4;
    case DataType_t::INT8x32:
      return 256;
    case DataType_t::COMPLEX_FP64:
      return 128;
    case DataType_t::NOT_SET:
    case DataType_t::FAST_FLOAT_FOR_FP8:
      return 0;
  }
  return 0;
}

std::optional<int64_t> storage_bytes(DataType_t dtype, int64_t elements) {
  std::optional<int64_t> const bits = checked_mul_add(elements, storage_bits(dtype), 7);
  if (!bits) return std::nullopt;
  return *bits / 8;
}

}  // namespace fusednn::ir
