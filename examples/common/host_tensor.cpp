#include "host_tensor.h"

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

namespace examples {
namespace {

using fusednn::DataType_t;

int64_t size_of(DataType_t type) {
  switch (type) {
    case DataType_t::FLOAT:
    case DataType_t::INT32:
      return 4;
    case DataType_t::BFLOAT16:
      return 2;
    case DataType_t::FP8_E4M3:
    case DataType_t::UINT8:
      return 1;
    default:
      throw std::invalid_argument("host tensor: the examples have no such type");
  }
}

uint16_t to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bfloat16(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

void require_float(DataType_t type) {
  if (type != DataType_t::FLOAT && type != DataType_t::BFLOAT16)
    throw std::invalid_argument("host tensor: only FLOAT and BFLOAT16 convert to and from float");
}

}  // namespace

HostTensor::HostTensor(DataType_t type, int64_t elements)
    : type_(type), elements_(elements), element_size_(size_of(type)) {
  const auto bytes = static_cast<size_t>(elements * element_size_);
  bytes_.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
  std::memset(bytes_.get(), 0, bytes);
}

void HostTensor::store(const float* values, int64_t first, int64_t count) {
  require_float(type_);
  if (type_ == DataType_t::FLOAT) {
    std::memcpy(at(first), values, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  auto* target = static_cast<uint16_t*>(at(first));
  for (int64_t i = 0; i < count; ++i) target[i] = to_bfloat16(values[i]);
}

std::vector<float> HostTensor::load() const {
  require_float(type_);
  std::vector<float> values(static_cast<size_t>(elements_));
  if (type_ == DataType_t::FLOAT) {
    std::memcpy(values.data(), data(), values.size() * sizeof(float));
    return values;
  }
  const auto* source = static_cast<const uint16_t*>(data());
  for (size_t i = 0; i < values.size(); ++i) values[i] = from_bfloat16(source[i]);
  return values;
}

void HostTensor::fill_random(uint64_t seed, float low, float high) {
  std::mt19937_64 engine(seed);
  std::vector<float> values(static_cast<size_t>(elements_));
  for (float& value : values) value = low + (high - low) * static_cast<float>(engine() >> 40) * 0x1p-24f;
  store(values.data(), 0, elements_);
}

}  // namespace examples
