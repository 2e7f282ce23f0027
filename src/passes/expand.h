#pragma once

#include "base/result.h"
#include "ir/op_graph.h"

#include <functional>

namespace fusednn::passes {

/// Rewrites composite nodes (layernorm, rmsnorm, sdpa) for which `wanted` holds into reductions, pointwise
/// nodes, matmuls, and the two internal rows of attention (masked_softmax, live_key_matmul), with virtual
/// tensors in between. Tensors keep their ids, new ones follow. Values are the same within the composites'
/// bounds. The graph itself where nothing is rewritten.
///
/// Statistics of norms are computed in DOUBLE, whose range and precision the rows of the norms ask for.
/// Scores of attention become a tensor of their own, so memory is quadratic in the sequence length.
base::Result<ir::OpGraphPtr> expand(ir::OpGraphPtr const& graph, std::function<bool(ir::Node const&)> const& wanted);

/// Whether `expand` can rewrite the node.
bool is_composite(ir::Node const& node);

}  // namespace fusednn::passes
