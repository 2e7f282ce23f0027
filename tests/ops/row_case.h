#pragma once

#include "base/result.h"
#include "ops/reference.h"

#include <map>
#include <string>
#include <vector>

// One node with its operands as plain data, so that a table of cases can be run, changed and run again.

namespace fusednn::tests {

using Dims = ir::Dims;
using Values = std::vector<double>;  ///< row-major

struct InputCase {
  Dims dims;
  Values values;
  DataType_t dtype = DataType_t::FLOAT;
};

struct OutputCase {
  Dims dims = {};  ///< empty: inferred
  DataType_t dtype = DataType_t::NOT_SET;
};

struct RowCase {
  ir::OpKind op = ir::OpKind::pointwise;
  std::map<std::string, InputCase> inputs;  ///< by port name
  std::map<std::string, ir::AttrValue> attrs;
  std::map<std::string, OutputCase> outputs;  ///< by port name; those that are asked for
  DataType_t compute = DataType_t::FLOAT;
};

/// The case as a graph of one node "node" with tensors named as their ports.
ir::Graph draft_of(RowCase const&);

using ReferenceValues = std::map<std::string, ops::RefTensor<long double>>;  ///< by tensor name

/// What the reference computes of a graph whose inputs have these values, by tensor name.
ReferenceValues run_reference(ir::OpGraph const& graph, std::map<std::string, Values> const& inputs);

/// Validates and runs the case; errors where it is not valid.
base::Result<ReferenceValues> reference_of(RowCase const&);

/// Deterministic values in [low, high].
Values spread(size_t count, unsigned seed, double low = -1, double high = 1);

size_t volume_of(Dims const& dims);

}  // namespace fusednn::tests
