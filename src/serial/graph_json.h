#pragma once

#include "base/result.h"
#include "ir/graph.h"

namespace fusednn::serial {

/// The graph as text, in the format of cudnn_frontend's graph dumps (json_version "1.0"), drafts as they are. What
/// that format lacks (ragged offsets, alignments, ...) is written where it differs from its default. Each tensor has
/// a key of its own: its uid, else its name, told apart by "#2", "#3", ... where several share it.
std::string to_json(ir::Graph const& graph);

/// Reads what `to_json` and cudnn_frontend write. Keys with null values count as absent, attributes and tensor fields
/// may be left out where they have a default. The result is a draft: unset dims and types are left to validation.
base::Result<ir::Graph> from_json(std::string_view text);

/// The graph as a Graphviz document: nodes as boxes, tensors that are bound at execute as ellipses.
std::string to_dot(ir::Graph const& graph);

}  // namespace fusednn::serial
