#include "ir/layout.h"

#include <algorithm>
#include <numeric>

namespace fusednn::ir {

std::optional<int64_t> volume(Dims const& dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t v = 1;
  for (int64_t d : dims)
    if (__builtin_mul_overflow(v, d, &v)) return std::nullopt;
  return v;
}

std::optional<int64_t> span_elements(Dims const& dims, Dims const& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return 0;
    int64_t reach;
    if (__builtin_mul_overflow(dims[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  int64_t end;
  if (__builtin_add_overflow(last, int64_t(1), &end)) return std::nullopt;
  return end;
}

namespace {

Dims packed_in(Dims const& dims, std::vector<size_t> const& outer_to_inner) {
  Dims strides(dims.size(), 1);
  int64_t next = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    size_t axis = outer_to_inner[i];
    strides[axis] = next;
    // An overflow here is reported by the checks that follow inference; the stride only has to stay defined.
    if (__builtin_mul_overflow(next, std::max<int64_t>(dims[axis], 1), &next)) next = INT64_MAX;
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
    int64_t step;
    if (__builtin_mul_overflow(stride, dim - 1, &step) || __builtin_add_overflow(reach, step, &reach))
      return true;
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
  int64_t bits;
  if (__builtin_mul_overflow(elements, int64_t(storage_bits(dtype)), &bits)) return std::nullopt;
  if (bits > INT64_MAX - 7) return std::nullopt;
  return (bits + 7) / 8;
}

}  // namespace fusednn::ir
