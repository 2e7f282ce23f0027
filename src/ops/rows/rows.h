#pragma once

#include "ops/row.h"

#include <algorithm>

// The rows, each defined in a file of this folder.

namespace fusednn::ops {

#define FUSEDNN_ROW(id) extern OpRow const id##_row;
FUSEDNN_OP_KINDS(FUSEDNN_ROW)
#undef FUSEDNN_ROW

/// The bound of a value whose terms may have been infinite: NaN is met exactly, and so is an infinity, unless an
/// operand is undetermined.
template <class R>
R settled(R value, R bound, bool undetermined_operand) {
  R const infinity = std::numeric_limits<R>::infinity();
  if (!std::isfinite(value)) return undetermined_operand ? infinity : R(0);
  return std::isnan(bound) ? infinity : bound;
}

/// Whether any element is undetermined.
template <class R>
bool any_undetermined(RefTensor<R> const& t) {
  return std::any_of(t.bound.begin(), t.bound.end(), [](R b) { return std::isinf(b); });
}

/// Both instantiations of a reference template.
#define FUSEDNN_REFERENCE(function) \
  { function<double>, function<long double> }

}  // namespace fusednn::ops
