#pragma once

#include "ops/row_case.h"

// Golden values: made by the scripts in tests/golden with numpy, independently of the library.

namespace fusednn::tests {

struct Golden {
  std::string name;
  RowCase node;
  std::map<std::string, Values> expected;  ///< by output port
};

/// All golden cases. An abort on a file that is missing or malformed is a failure of the suite.
std::vector<Golden> const& goldens();

/// The operation and, where it has one, the mode: "pointwise EXP".
std::string kind_of(RowCase const& node);

/// The same case with FLOAT for DOUBLE, in storage and compute.
RowCase in_float(RowCase node);

/// Why the reference of `node` does not agree with the expected values; empty where it does. Values in DOUBLE
/// must agree to 12 digits, those in FLOAT within their bounds, integers exactly.
std::string disagreement(Golden const& golden, RowCase const& node);

}  // namespace fusednn::tests
