#include "plan/tensor_maps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

namespace fusednn::plan {

namespace {

/// The driver's type: only its size matters, since copies neither convert nor compute.
std::optional<int> driver_type(DataType_t type) {
  switch (type) {
    case DataType_t::FLOAT:
      return cuda::tensor_map_type::float32;
    case DataType_t::DOUBLE:
      return cuda::tensor_map_type::float64;
    case DataType_t::HALF:
      return cuda::tensor_map_type::float16;
    case DataType_t::BFLOAT16:
      return cuda::tensor_map_type::bfloat16;
    case DataType_t::INT32:
      return cuda::tensor_map_type::int32;
    case DataType_t::INT64:
      return cuda::tensor_map_type::int64;
    case DataType_t::INT8:
    case DataType_t::UINT8:
    case DataType_t::BOOLEAN:
    case DataType_t::FP8_E4M3:
    case DataType_t::FP8_E5M2:
    case DataType_t::FP8_E8M0:
      return cuda::tensor_map_type::uint8;
    default:
      return std::nullopt;
  }
}

/// 0, 1, 2, 3 for 0, `first`, 2 * `first`, 4 * `first` bytes.
std::optional<int> step(int bytes, int first) {
  for (int i = 0; i < 4; ++i)
    if (bytes == (i == 0 ? 0 : first << (i - 1))) return i;
  return std::nullopt;
}

}  // namespace

base::Result<EncodedMap> encode(cuda::Driver const& driver, engine::TensorMap const& map) {
  auto const type = driver_type(map.type);
  auto const swizzle = step(map.swizzle_bytes, 32), l2 = step(map.l2_bytes, 64);
  size_t const rank = map.dims.size();
  auto fail = [&](std::string_view why) {
    return base::make_error(base::Rule::plan_tensor_map, {},
                            fmt::format("dims [{}], strides [{}], box [{}]: {}", fmt::join(map.dims, ", "),
                                        fmt::join(map.strides, ", "), fmt::join(map.box, ", "), why));
  };
  if (!type || !swizzle || !l2 || rank < 1 || rank > 5 || map.strides.size() != rank - 1 || map.box.size() != rank)
    return fail("type, swizzle or rank");
  if (!driver.tensor_map_encode || !driver.tensor_map_address) return fail("the driver is older than CUDA 12");
  std::array<uint64_t, 5> dims{}, strides{};
  std::array<unsigned, 5> box{}, element_strides{1, 1, 1, 1, 1};
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = static_cast<uint64_t>(map.dims[i]);
    box[i] = static_cast<unsigned>(map.box[i]);
    if (i + 1 < rank) strides[i] = static_cast<uint64_t>(map.strides[i]);
  }
  alignas(engine::TensorMap::alignment) EncodedMap encoded{};
  // Any address that is aligned will do: execute replaces it.
  void* const address = reinterpret_cast<void*>(uintptr_t{1} << 20);
  constexpr int no_interleave = 0, zero_fill = 0;
  if (cuda::DriverCode code =
          driver.tensor_map_encode(&encoded, *type, static_cast<unsigned>(rank), address, dims.data(), strides.data(),
                                   box.data(), element_strides.data(), no_interleave, *swizzle, *l2, zero_fill))
    return fail(driver.text(code, "cuTensorMapEncodeTiled"));
  return encoded;
}

}  // namespace fusednn::plan
