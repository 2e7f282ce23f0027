#pragma once

#include "ir/graph.h"

#include <cstdint>
#include <string>

namespace fusednn::ir {

/// The graph as bytes, free of names, uids and the order in which nodes were declared: graphs of equal form
/// compute the same and may share plans. It holds every node with its attributes and ports in order, every
/// tensor with type, dims, strides, alignment and role, the values of scalars (of runtime parameters too: a
/// plan falls back on them where the variant pack binds none), and the settings that change results or plans.
/// With dynamic shapes enabled dims and strides are left out, ranks stay. An attribute that is unset equals
/// one that holds an empty list.
///
/// Different graphs never have the same form. Graphs that differ in names and order alone have the same form,
/// but for highly regular ones whose parts cannot be told apart by their surroundings and yet are not
/// interchangeable; for those a cache misses where it could have hit.
std::string canonical_form(Graph const& graph);

/// 64-bit hash of the form. Caches look up by it and compare forms.
uint64_t canonical_key(Graph const& graph);

}  // namespace fusednn::ir
