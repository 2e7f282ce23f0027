#pragma once

#include <fusednn/enums.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace tool {

std::string_view name_of(fusednn::DataType_t type);

/// What the tool knows of a type that it can hold in memory.
struct TypeRow {
  fusednn::DataType_t type;
  size_t bytes;
  /// Type codes of .npy files, byte order left out; the first is written. Types that numpy lacks travel as their bits.
  std::vector<std::string_view> npy;
  int exponent_bits = 0, significand_bits = 0;  ///< of floating-point types, else 0
  bool is_signed = true;
};

/// Null for a type that cannot be held.
TypeRow const* find_type(fusednn::DataType_t type);

}  // namespace tool
