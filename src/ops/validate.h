#pragma once

#include "base/result.h"
#include "ir/op_graph.h"

namespace fusednn::ops {

/// Completes a draft (attribute defaults, types, dims, strides: inference first) and then checks every rule of every
/// tensor and node. Lists all errors. Needs no device.
base::Result<ir::OpGraphPtr> validate(ir::Graph draft);

}  // namespace fusednn::ops
