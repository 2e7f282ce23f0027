#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Arrays in numpy's .npy format, versions 1 to 3, little-endian plain types.

namespace tool {

struct NpyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct NpyArray {
  std::string type;  ///< numpy's code without byte order: "f4"
  size_t item_bytes = 0;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};

/// Throws NpyError with the reason for anything that is not a whole, plain array.
NpyArray parse_npy(std::string_view file);
NpyArray read_npy(std::string const& path);

/// `data` in C order.
void write_npy(std::string const& path, std::string_view type, std::vector<int64_t> const& shape,
               std::vector<std::byte> const& data);

}  // namespace tool
