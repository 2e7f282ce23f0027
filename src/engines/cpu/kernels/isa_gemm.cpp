#include "engines/cpu/kernels/isa.h"

#include "engines/cpu/kernels/gemm_kernels.h"

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRows = 12;  // 24 accumulators of 32 registers
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
constexpr int kRows = 6;  // 12 accumulators of 16 registers
#else
constexpr int kVectorBytes = 16;
constexpr int kRows = 6;
#endif
constexpr int kVectors = 2;  // columns of a tile, in vectors

template <class T>
struct Vector {
  static constexpr int lanes = kVectorBytes / sizeof(T);
  static constexpr int columns = kVectors * lanes;
  typedef T type __attribute__((vector_size(kVectorBytes)));
  typedef T unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};

// A tile of Rows x columns of C: sum over k of a[k * kRows + i] * b[k * ldb + j], added to C or written to
// it.
template <class T, int Rows>
void tile(int64_t depth, T const* a, T const* b, int64_t ldb, T* c, int64_t ldc, bool add) {
  using V = Vector<T>;
  using Register = typename V::type;
  using Memory = typename V::unaligned;
  Register sum[Rows][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Register right[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) right[j] = *reinterpret_cast<Memory const*>(b + j * V::lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      T const left = a[i];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] += left * right[j];
    }
    a += kRows;
    b += ldb;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      Memory* const out = reinterpret_cast<Memory*>(c + i * ldc + j * V::lanes);
      *out = add ? *out + sum[i][j] : sum[i][j];
    }
  }
}

template <class T, int Rows = kRows>
void tile_of(int rows, int64_t depth, T const* a, T const* b, int64_t ldb, T* c, int64_t ldc, bool add) {
  if (rows == Rows) return tile<T, Rows>(depth, a, b, ldb, c, ldc, add);
  if constexpr (Rows > 1) tile_of<T, Rows - 1>(rows, depth, a, b, ldb, c, ldc, add);
}

template <class T>
void micro(int rows, int64_t depth, void const* a, void const* b, int64_t ldb, void* c, int64_t ldc, bool add) {
  tile_of<T>(rows, depth, static_cast<T const*>(a), static_cast<T const*>(b), ldb, static_cast<T*>(c), ldc, add);
}

// Four rows of four become four columns: half a shuffle per element, where a scalar copy costs a load and a
// store.
template <class T>
void transpose_4x4(T* dst, int64_t dst_ld, T const* src, int64_t src_ld) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  typedef T Memory __attribute__((vector_size(4 * sizeof(T)), aligned(alignof(T)), may_alias));
  Four const r0 = *reinterpret_cast<Memory const*>(src);
  Four const r1 = *reinterpret_cast<Memory const*>(src + src_ld);
  Four const r2 = *reinterpret_cast<Memory const*>(src + 2 * src_ld);
  Four const r3 = *reinterpret_cast<Memory const*>(src + 3 * src_ld);
  Four const low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  Four const high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  Four const low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  Four const high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  *reinterpret_cast<Memory*>(dst) = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  *reinterpret_cast<Memory*>(dst + dst_ld) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  *reinterpret_cast<Memory*>(dst + 2 * dst_ld) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  *reinterpret_cast<Memory*>(dst + 3 * dst_ld) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

template <class T>
void interleave(void* dst, int width, void const* src, int64_t ld, int count, int64_t n) {
  T* const out = static_cast<T*>(dst);
  T const* const in = static_cast<T const*>(src);
  int64_t const whole = n - n % 4;
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int64_t k = 0; k < whole; k += 4) transpose_4x4(out + k * width + i, width, in + i * ld + k, ld);
    for (int64_t k = whole; k < n; ++k) {
      for (int r = i; r < i + 4; ++r) out[k * width + r] = in[r * ld + k];
    }
  }
  for (; i < count; ++i) {
    for (int64_t k = 0; k < n; ++k) out[k * width + i] = in[i * ld + k];
  }
  for (; i < width; ++i) {
    for (int64_t k = 0; k < n; ++k) out[k * width + i] = T(0);
  }
}

// c[r * ldc + j] (+)= dot(a row r, b row j), for operands whose depth is contiguous.
template <class T, int Rows, int Columns>
void dots(int64_t depth, T const* a, int64_t lda, T const* b, int64_t ldb, T* c, int64_t ldc, bool add) {
  using V = Vector<T>;
  using Register = typename V::type;
  using Memory = typename V::unaligned;
  Register sum[Rows][Columns] = {};
  int64_t k = 0;
  for (; k + V::lanes <= depth; k += V::lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) {
      Register const right = *reinterpret_cast<Memory const*>(b + j * ldb + k);
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) sum[i][j] += *reinterpret_cast<Memory const*>(a + i * lda + k) * right;
    }
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) {
      T total = 0;
      for (int l = 0; l < V::lanes; ++l) total += sum[i][j][l];
      for (int64_t rest = k; rest < depth; ++rest) total += a[i * lda + rest] * b[j * ldb + rest];
      T* const out = c + i * ldc + j;
      *out = add ? *out + total : total;
    }
  }
}

template <class T>
void dot(int rows, int columns, int64_t depth, void const* a, int64_t lda, void const* b, int64_t ldb, void* c,
         int64_t ldc, bool add) {
  T const* const left = static_cast<T const*>(a);
  T* const out = static_cast<T*>(c);
  for (int j = 0; j < columns; j += 4) {
    T const* const right = static_cast<T const*>(b) + j * ldb;
    int i = 0;
    if (j + 4 <= columns) {
      for (; i + 4 <= rows; i += 4) dots<T, 4, 4>(depth, left + i * lda, lda, right, ldb, out + i * ldc + j, ldc, add);
      for (; i < rows; ++i) dots<T, 1, 4>(depth, left + i * lda, lda, right, ldb, out + i * ldc + j, ldc, add);
    } else {
      for (; i < rows; ++i) {
        for (int jj = j; jj < columns; ++jj) {
          dots<T, 1, 1>(depth, left + i * lda, lda, right + (jj - j) * ldb, ldb, out + i * ldc + jj, ldc, add);
        }
      }
    }
  }
}

// Integers are multiplied as unsigned ones, whose products wrap.
template <class T>
constexpr GemmKernels kernels_for{kRows, Vector<T>::columns, sizeof(T), micro<T>, interleave<T>, dot<T>};

}  // namespace

void fill_gemm(KernelTable& t) {
  t.gemm[kComputeOf<float>] = &kernels_for<float>;
  t.gemm[kComputeOf<double>] = &kernels_for<double>;
  t.gemm[kComputeOf<int32_t>] = &kernels_for<uint32_t>;
}

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
