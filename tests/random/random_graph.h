#pragma once

#include "support/graph_run.h"

#include <random>

namespace fusednn::testing {

/// A graph of up to 12 random operations that validate: random shapes (with dims of 0 and 1), strides
/// (permuted, with gaps, 0 on inputs, odd ones on dims of 1), data types of inputs, intermediates and
/// outputs, and compute types. The same seed gives the same graph on every machine.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed);

  Graph graph;

 private:
  int64_t pick(int64_t low, int64_t high);
  template <class T>
  T const& pick_from(std::vector<T> const& list);
  bool chance(int percent);

  Dims random_strides(Dims const& dims, bool may_broadcast);
  TensorPtr new_input(Dims const& dims, DataType_t dtype = DataType_t::NOT_SET);
  /// One that the graph has, or a new input.
  TensorPtr tensor_of(Dims const& dims);
  /// A tensor of these dims, or one that broadcasts to them: one that the graph has, or a new input.
  TensorPtr operand(Dims const& dims);
  DataType_t random_type();
  DataType_t compute_type();

  void add_node();
  TensorPtr add_pointwise(TensorPtr x);
  TensorPtr add_reduction(TensorPtr x);
  TensorPtr add_view(TensorPtr x);
  TensorPtr add_concatenate(TensorPtr x);
  TensorPtr add_matmul(TensorPtr x);
  TensorPtr add_norm(TensorPtr x);
  TensorPtr add_attention();
  TensorPtr record(TensorPtr const& tensor, Dims const& dims);

  struct Entry {
    TensorPtr tensor;
    Dims dims;
    bool produced;
  };
  Dims dims_of(TensorPtr const& tensor) const;

  std::mt19937_64 engine_;
  std::vector<Entry> entries_;
  bool wide_ = false;     ///< DOUBLE may appear
  bool integer_ = false;  ///< INT32 arithmetic may appear
  int names_ = 0;
};

}  // namespace fusednn::testing
