#pragma once

#include "ir/op_graph.h"

#include <optional>

namespace fusednn::passes {

/// Elements of one tensor inside the memory of another: element i lies at offset + sum(i[k] * strides[k]).
struct StridedView {
  int64_t offset = 0;  ///< elements
  ir::Dims strides;    ///< elements; of the viewing tensor's rank
};

/// Whether the node only moves elements: reshape, transpose, slice.
bool is_view(ir::Node const& node);

/// The output of a view node as a view into its input, whose own elements lie as `input` says. nullopt where
/// strides cannot express it (a reshape of an interleaved layout).
std::optional<StridedView> view_of_output(ir::Graph const& graph, ir::Node const& node, StridedView const& input);

/// Where input `port` of a concatenation lies inside its output, whose own elements lie as `output` says.
StridedView slot_of_input(ir::Graph const& graph, ir::Node const& concatenate, size_t port, StridedView const& output);

/// Strides under which `to` (as many elements as `from`) visits, in row-major order of its indices, the
/// memory that `from` with `strides` visits; nullopt where no strides do.
std::optional<ir::Dims> reshaped_strides(ir::Dims const& from, ir::Dims const& strides, ir::Dims const& to);

}  // namespace fusednn::passes
