#pragma once

#include "ir/graph.h"

#include <optional>

namespace fusednn::ir {

/// Product of the dims, nullopt where it overflows 63 bits.
std::optional<int64_t> volume(Dims const& dims);

/// Elements from the first to one past the last that the tensor reaches; 0 for an empty tensor, nullopt on
/// overflow.
std::optional<int64_t> span_elements(Dims const& dims, Dims const& strides);

/// Row-major strides.
Dims packed_strides(Dims const& dims);

/// Packed strides for `dims` whose axes lie in memory in the order in which `strides` (same rank) puts them:
/// larger stride further out. Equal strides, as dims of size 1 may have, keep row-major order. Another rank:
/// row-major.
Dims strides_in_order_of(Dims const& dims, Dims const& strides);

/// Whether two different indices may reach the same element. Exact for strides that nest, conservative (true)
/// for interleaved layouts that do not.
bool overlaps_itself(Dims const& dims, Dims const& strides);

/// Bytes that `elements` elements of the type take (4-bit types pack two per byte); nullopt on overflow.
std::optional<int64_t> storage_bytes(DataType_t dtype, int64_t elements);

/// Bits of one element, 0 for types that have no storage of their own.
int storage_bits(DataType_t dtype);

}  // namespace fusednn::ir
