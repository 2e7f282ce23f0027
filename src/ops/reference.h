#pragma once

#include "base/result.h"
#include "ir/op_graph.h"
#include "ops/ref_tensor.h"

#include <functional>

namespace fusednn::ops {

/// Where a tensor's data lies, by id; host memory.
using TensorMemory = std::function<void*(ir::TensorId)>;

/// What the reference found of one output.
struct RefOutput {
  ir::TensorId tensor;
  RefTensor<long double> values;
};

/// Executes the graph in double (in long double where it holds DOUBLE or INT64) and returns value and bound of each
/// output element. Inputs are read through `memory`; outputs are not touched.
std::vector<RefOutput> run_reference(ir::OpGraph const& graph, TensorMemory const& memory);

/// Outcome of comparing an output in memory with the reference.
struct Comparison {
  int64_t elements = 0;
  int64_t undetermined = 0;
  long double worst_ratio = 0;  ///< largest |out - value| / bound; infinite where a bound of 0 is missed
  std::string first_mismatch;   ///< tensor, index, value found, reference, bound; empty where all elements match
};

/// NaN must meet NaN, an infinite value the same infinity (unless its bound is infinite), all others must lie within
/// their own bound.
Comparison compare(ir::Tensor const& tensor, RefTensor<long double> const& reference, void const* data);

}  // namespace fusednn::ops
