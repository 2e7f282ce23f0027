#pragma once

// How an attention problem is cut into tasks and key blocks, and how its operands are reached.

#include "engines/cpu/kernels/attention_simd.h"
#include "engines/cpu/kernels/attention_table.h"

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {

/// Rows per task: the larger block, which reads K and V half as often, only where there are enough of them.
inline constexpr int kQueryBlock = 128;
inline constexpr int kSmallQueryBlock = 64;
inline constexpr int kLargeRows = 256;
/// Fixed, since the places where a row is rescaled decide its last bits.
inline constexpr int kKeyBlock = 64;
/// Rows of K and V further apart than this crowd into few cache sets: a large task copies them next to each
/// other.
inline constexpr int64_t kFarBytes = 2048;

template <class T>
inline constexpr Storage kStorageOf = sizeof(T) == sizeof(float) ? Storage::F32 : Storage::F64;

constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
constexpr int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }

inline constexpr int64_t kStorageBytes[kStorageCount] = {4, 8, 2, 2, 1, 1, 1, 1, 4, 8, 1};

inline char* bytes_at(void* p) { return static_cast<char*>(p); }
inline char const* bytes_at(void const* p) { return static_cast<char const*>(p); }

template <class Tensor>
inline auto element(Tensor const& t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
  int64_t const at = i0 * t.strides[0] + i1 * t.strides[1] + i2 * t.strides[2] + i3 * t.strides[3];
  return bytes_at(t.data) + at * kStorageBytes[static_cast<int>(t.type)];
}

template <class T>
inline void load_row(Storage type, void const* row, int64_t stride, int64_t n, T* out) {
  table().load[static_cast<int>(type)][kComputeOf<T>](out, row, stride, n);
}

template <class T>
inline void store_row(Storage type, T const* in, int64_t n, void* row, int64_t stride) {
  table().store[static_cast<int>(type)][kComputeOf<T>](row, stride, in, n);
}

/// What follows from a problem's shapes: block sizes and where the scratch arrays lie.
template <class T>
struct Blocking {
  int64_t group;    // query heads that share a K head and a V head
  int64_t groups;   // per batch
  int64_t rows;     // query rows per group, (row, head in the group), the head running fastest
  int64_t q_block;  // rows per task, a multiple of the lanes
  int64_t tasks_per_group;
  int64_t dv_padded;
  bool k_in_place, v_in_place, bias_per_key;
  // Offsets into the scratch, in elements.
  int64_t q, scores, o, k, v, bias, staging, total;

  explicit Blocking(AttentionProblem const& p) {
    constexpr int W = lanes<T>;
    int64_t a = p.hk > 0 ? p.hq / p.hk : 1;
    for (int64_t b = p.hv > 0 ? p.hq / p.hv : 1; b != 0;) {
      int64_t const rest = a % b;
      a = b;
      b = rest;
    }
    group = max_of(a, 1);
    groups = p.hq / group;
    rows = group * p.sq;
    q_block = rows >= kLargeRows ? kQueryBlock : min_of(round_up(rows, W), kSmallQueryBlock);
    tasks_per_group = q_block > 0 ? (rows + q_block - 1) / q_block : 0;
    dv_padded = round_up(p.dv, W);
    k_in_place = usable_in_place(p.k, p.dqk);
    v_in_place = usable_in_place(p.v, p.dv) && p.dv == dv_padded;
    bias_per_key = (p.bias.strides[2] == 0 || p.sq == 1) && (p.bias.strides[1] == 0 || group == 1);

    int64_t at = 0;
    auto take = [&at](int64_t count) {
      int64_t const begin = at;
      at += round_up(count, 64 / int64_t(sizeof(T)));
      return begin;
    };
    q = take(p.dqk * q_block);
    scores = take(kKeyBlock * q_block);
    o = take(q_block * dv_padded);
    k = take(k_in_place ? 0 : kKeyBlock * p.dqk);
    v = take(kKeyBlock * dv_padded);
    bias = take(!p.with_bias ? 0 : kKeyBlock * (bias_per_key ? 1 : q_block));
    staging = take(W * max_of(max_of(p.dqk, p.dv), kKeyBlock));
    total = at;
  }

  bool usable_in_place(AttentionInput const& in, int64_t width) const {
    bool const far = in.strides[2] != width && in.strides[2] * int64_t(sizeof(T)) >= kFarBytes;
    return in.type == kStorageOf<T> && (in.strides[3] == 1 || width == 1) && !(far && q_block == kQueryBlock);
  }
};

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
