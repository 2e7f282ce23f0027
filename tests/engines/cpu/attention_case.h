#pragma once

#include "base/numeric.h"
#include "engines/cpu/attention.h"
#include "support/guarded_buffer.h"

#include <fusednn/enums.h>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fusednn::testing {

namespace cpu = engines::cpu;
using cpu::AttentionProblem;

cpu::Storage storage_of(DataType_t type);

/// A rank-4 tensor in memory that ends at a guard page; all its bytes start as poison (a NaN in every float
/// type).
class Tensor {
 public:
  Tensor(DataType_t type, std::array<int64_t, 4> dims, std::array<int64_t, 4> strides);
  /// Packed in the order that `order` names from the slowest to the fastest dim, `gap` elements between
  /// neighbours along every dim left free on top.
  static Tensor packed(DataType_t type, std::array<int64_t, 4> dims, std::array<int, 4> order = {0, 1, 2, 3},
                       int64_t gap = 0);

  double get(std::array<int64_t, 4> const& at) const;
  /// Rounds to the storage type.
  void set(std::array<int64_t, 4> const& at, double value);
  void fill(std::function<double(std::array<int64_t, 4> const&)> const& value);
  void fill_normal(unsigned seed, double scale = 1);
  void for_each(std::function<void(std::array<int64_t, 4> const&)> const& visit) const;
  /// Whether every byte that belongs to no element is still poison.
  bool gaps_untouched() const;
  std::vector<std::byte> bytes() const { return buffer_.copy(); }

  template <class Operand>
  Operand operand() const {
    Operand o;
    o.data = data();
    o.type = storage_of(type);
    for (int i = 0; i < 4; ++i) o.strides[i] = strides[size_t(i)];
    return o;
  }

  DataType_t type;
  std::array<int64_t, 4> dims, strides;

 private:
  int64_t offset(std::array<int64_t, 4> const& at) const;

  // A tensor that is only read hands out the same pointer, as the kernel's operands do.
  void* data() const { return buffer_.data(); }

  mutable GuardedBuffer buffer_;
};

size_t bytes_of(DataType_t type);
double unit_roundoff_of(DataType_t type);

/// One attention problem with its operands, an independent evaluation of it in double, and the comparison.
struct AttentionCase {
  AttentionCase(int64_t b, int64_t hq, int64_t hk, int64_t hv, int64_t sq, int64_t skv, int64_t dqk, int64_t dv,
                DataType_t type = DataType_t::FLOAT);
  AttentionCase(int64_t b, int64_t h, int64_t sq, int64_t skv, int64_t d, DataType_t type = DataType_t::FLOAT)
      : AttentionCase(b, h, h, h, sq, skv, d, d, type) {}

  Tensor q, k, v, o, stats;
  std::optional<Tensor> bias, seq_len_q, seq_len_kv;
  bool with_stats = true, in_double = false;
  double scale = 0.5;
  int64_t left_bound = AttentionProblem::unbounded;
  int64_t right_bound = AttentionProblem::unbounded;
  bool bottom_right = false, stats_base_2 = false;

  void set_lengths(std::vector<int64_t> const& lengths_q, std::vector<int64_t> const& lengths_kv,
                   DataType_t type = DataType_t::INT32);
  /// A bias of the dims given, each 1 or the full extent, packed.
  void set_bias(DataType_t type, std::array<int64_t, 4> dims,
                std::function<double(std::array<int64_t, 4> const&)> const& value);

  AttentionProblem problem() const;
  /// Poisons the outputs and the scratch, then runs.
  void run(int threads = 1, std::byte scratch_fill = GuardedBuffer::poison);
  /// The same on the kernels of one level, task by task from the last to the first.
  void run_on(cpu::KernelTable const& level);
  /// Fails where an element lies beyond its bound, or a byte outside O and Stats changed. NaN must meet NaN.
  void check() const;
  /// run_on() and check() on every level that this machine can execute.
  void verify();

  bool sees(int64_t batch, int64_t head, int64_t i, int64_t j) const;

 private:
  struct Row;
  void poison_outputs();
  Row evaluate(int64_t batch, int64_t head, int64_t i) const;
};

/// The levels that this machine can execute.
std::vector<cpu::KernelTable const*> levels();

}  // namespace fusednn::testing
