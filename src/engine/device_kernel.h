#pragma once

#include "codegen/kernel_source.h"

#include <fusednn/enums.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

// A launch of a GPU kernel as plain data: what is compiled, with which grid, and what its parameters hold. Everything
// known when the plan is built stands in a block of bytes; execute copies it and writes the caller's pointers into it.

namespace fusednn::engine {

/// What the copy engine is told of a tensor. The address is the caller's, known at execute.
struct TensorMap {
  DataType_t type = DataType_t::BFLOAT16;
  std::vector<int64_t> dims;     ///< elements, innermost first; at most 5
  std::vector<int64_t> strides;  ///< bytes, of every dim but the innermost; multiples of 16
  std::vector<int64_t> box;      ///< elements that one copy moves, at most 256 along each dim
  int swizzle_bytes = 128;       ///< 0, 32, 64 or 128
  int l2_bytes = 256;            ///< that the L2 cache fetches at once: 0, 64, 128 or 256

  static constexpr size_t bytes = 128;
  static constexpr size_t alignment = 64;
};

/// The parameters of a kernel.
struct Arguments {
  /// A place in the block that is written at execute.
  struct Patch {
    enum class Kind : uint8_t {
      pointer,     ///< 8 bytes: the operand's address plus `offset`
      value,       ///< `bytes` bytes that lie at the operand's address: a scalar that is passed by value
      tensor_map,  ///< `maps[map]` with the operand's address plus `offset`
    } kind;
    uint32_t at;       ///< in the block
    uint32_t operand;  ///< of the step
    int64_t offset = 0;
    uint32_t bytes = 0;
    uint32_t map = 0;
  };

  std::vector<std::byte> block;      ///< aligned to TensorMap::alignment when it is used
  std::vector<uint32_t> parameters;  ///< where each of the kernel's parameters starts in the block
  std::vector<Patch> patches;
  std::vector<TensorMap> maps;

  /// Adds a parameter; returns where it starts in the block.
  uint32_t add(void const* value, size_t bytes, size_t alignment) {
    size_t const at = (block.size() + alignment - 1) / alignment * alignment;
    block.resize(at + bytes);
    if (bytes) std::memcpy(block.data() + at, value, bytes);
    parameters.push_back(static_cast<uint32_t>(at));
    return parameters.back();
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> uint32_t add(T const& value) { return add(&value, sizeof(T), alignof(T)); }

  void add_pointer(uint32_t operand, int64_t offset = 0) { patch_pointer(add(uint64_t{0}), operand, offset); }
  void add_scalar(uint32_t operand, uint32_t bytes) {
    uint64_t const zero = 0;
    patches.push_back({Patch::Kind::value, add(&zero, bytes, bytes), operand, 0, bytes, 0});
  }

  // For members of a parameter that is a struct: `at` is where it starts plus the member's offset.
  void patch_pointer(uint32_t at, uint32_t operand, int64_t offset = 0) {
    patches.push_back({Patch::Kind::pointer, at, operand, offset, 0, 0});
  }
  void patch_map(uint32_t at, uint32_t operand, TensorMap map, int64_t offset = 0) {
    maps.push_back(std::move(map));
    patches.push_back({Patch::Kind::tensor_map, at, operand, offset, 0, static_cast<uint32_t>(maps.size() - 1)});
  }
};

struct DeviceKernel {
  codegen::KernelSource source;
  std::string entry;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  bool programmatic_launch = false;  ///< may start before its predecessor ends, for whose results it waits itself
  Arguments arguments;
};

}  // namespace fusednn::engine
