#include "base/numeric.h"

namespace fusednn {
namespace {

template <class T>
constexpr TypeInfo row(DataType_t type) {
  TypeKind kind = TypeKind::FLOATING;
  if (std::is_same_v<T, boolean_t>) kind = TypeKind::BOOLEAN;
  if (std::is_integral_v<T>) kind = TypeKind::INTEGER;
  return {type, sizeof(T), kind, numeric_limits_of<T>()};
}

constexpr TypeInfo table[] = {
    row<float>(DataType_t::FLOAT),         row<double>(DataType_t::DOUBLE),       row<half_t>(DataType_t::HALF),
    row<bfloat16_t>(DataType_t::BFLOAT16), row<fp8_e4m3_t>(DataType_t::FP8_E4M3), row<fp8_e5m2_t>(DataType_t::FP8_E5M2),
    row<int8_t>(DataType_t::INT8),         row<uint8_t>(DataType_t::UINT8),       row<int32_t>(DataType_t::INT32),
    row<int64_t>(DataType_t::INT64),       row<boolean_t>(DataType_t::BOOLEAN),
};

}  // namespace

TypeInfo const* type_info(DataType_t type) noexcept {
  for (TypeInfo const& info : table) {
    if (info.type == type) return &info;
  }
  return nullptr;
}

}  // namespace fusednn
