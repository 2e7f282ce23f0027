#pragma once

#include "ops/row.h"

// The rows, each defined in a file of this folder.

namespace fusednn::ops {

#define FUSEDNN_ROW(id) extern OpRow const id##_row;
FUSEDNN_OP_KINDS(FUSEDNN_ROW)
#undef FUSEDNN_ROW

/// Both instantiations of a reference template.
#define FUSEDNN_REFERENCE(function) {function<double>, function<long double>}

}  // namespace fusednn::ops
