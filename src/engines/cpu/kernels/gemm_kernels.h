#pragma once

#include <cstdint>

namespace fusednn::engines::cpu {

// The level-dependent parts of a matrix product, for one lane type.
struct GemmKernels {
  int rows;     // of a tile; A is packed in panels of this many rows
  int columns;  // of a tile; B is packed in panels of this many columns
  int lane_bytes;

  // c[i * ldc + j] (+)= sum over k < depth of a[k * this->rows + i] * b[k * ldb + j], for i < rows and every
  // column of a tile. C has room for whole tiles of columns.
  void (*tile)(int rows, int64_t depth, void const* a, void const* b, int64_t ldb, void* c, int64_t ldc, bool add);

  // dst[k * width + i] = src[i * ld + k] for k < n, i < count; 0 for count <= i < width.
  void (*interleave)(void* dst, int width, void const* src, int64_t ld, int count, int64_t n);

  // c[i * ldc + j] (+)= sum over k of a[i * lda + k] * b[j * ldb + k]: for few rows, where packing B would
  // cost more than the product.
  void (*dot)(int rows, int columns, int64_t depth, void const* a, int64_t lda, void const* b, int64_t ldb, void* c,
              int64_t ldc, bool add);
};

}  // namespace fusednn::engines::cpu
