#include "frontend/errors.h"
#include "frontend/graph_impl.h"
#include "ir/canonical.h"
#include "ops/validate.h"
#include "serial/graph_json.h"

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

/// The graph as it stands: completed where validate() has accepted it and it is still valid, else as declared.
ir::Graph Graph::Impl::shown() const {
  std::vector<tensor_ptr> unused;
  ir::Graph declared = draft.lower(unused);
  if (validated)
    if (auto complete = ops::validate(declared)) return (*complete)->graph();
  return declared;
}

size_t Graph::key() {
  std::vector<tensor_ptr> unused;
  ir::Graph declared = impl_->draft.lower(unused);
  // What inference adds belongs to the key, so that it is the same before and after validate().
  if (auto complete = ops::validate(declared)) return ir::canonical_key((*complete)->graph());
  return ir::canonical_key(declared);
}

std::string Graph::to_json_ext() const { return serial::to_json(impl_->shown()); }

std::string Graph::to_dot_ext() const { return serial::to_dot(impl_->shown()); }

error_t Graph::from_json_ext(std::string const& text) {
  base::Result<ir::Graph> graph = serial::from_json(text);
  if (!graph) return to_public(graph.errors());
  *impl_ = Impl();
  impl_->draft.assign(*graph);
  return {};
}

}  // namespace graph

FUSEDNN_END_NAMESPACE
