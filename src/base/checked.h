#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace fusednn {

// Sizes, strides and offsets come from the caller, so their products are checked: nullopt means that the
// result does not fit 64 bits.

[[nodiscard]] constexpr std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

[[nodiscard]] constexpr std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// a * b + c.
[[nodiscard]] constexpr std::optional<int64_t> checked_mul_add(int64_t a, int64_t b, int64_t c) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || __builtin_add_overflow(result, c, &result)) return std::nullopt;
  return result;
}

/// Product of all factors; 1 when there are none. A zero anywhere gives 0, whatever the others' product.
[[nodiscard]] constexpr std::optional<int64_t> checked_product(std::span<int64_t const> factors) {
  for (int64_t factor : factors) {
    if (factor == 0) return 0;
  }
  std::optional<int64_t> product = 1;
  for (int64_t factor : factors) {
    product = checked_mul(*product, factor);
    if (!product) return std::nullopt;
  }
  return product;
}

}  // namespace fusednn
