#pragma once

#include "ops/row.h"

#include <vector>

// Drafts made from the operation table alone, so that a row added tomorrow is in these tests too. They need not be
// valid: text and keys hold what was declared.

namespace fusednn::tests {

/// Rows that users can name.
inline std::vector<ops::OpRow const*> public_rows() {
  std::vector<ops::OpRow const*> rows;
  for (int i = 0; i < ir::op_kind_count; ++i)
    if (auto const& row = ops::row(static_cast<ir::OpKind>(i)); !row.tag.empty()) rows.push_back(&row);
  return rows;
}

/// A value of the attribute's type; different variants differ.
inline ir::AttrValue sample_value(ops::Attr const& attr, int variant) {
  switch (attr.type) {
    case ops::AttrType::boolean:
      return variant % 2 == 0;
    case ops::AttrType::integer:
      return int64_t(variant) - 3;
    case ops::AttrType::real:
      return 0.1 + variant;
    case ops::AttrType::integers:
      return std::vector<int64_t>{1, 2 + variant};
    case ops::AttrType::integer_pairs:
      return std::vector<int64_t>{0, 2 + variant, 1, 7};
    case ops::AttrType::enumeration:
      return int64_t(1 + variant) % attr.names().count;
  }
  return {};
}

inline ir::Tensor sample_tensor(std::string name) {
  ir::Tensor t;
  t.name = std::move(name);
  t.dtype = DataType_t::HALF;
  t.dims = {2, 3, 4};
  t.strides = {12, 4, 1};
  return t;
}

/// One node with every port bound and every attribute set.
inline ir::Graph full_graph(ops::OpRow const& row, int variant = 0) {
  ir::Graph graph;
  graph.context.compute_type = DataType_t::FLOAT;
  ir::Node node;
  node.op = row.kind;
  node.name = "node";
  node.compute = DataType_t::FLOAT;
  size_t const inputs = row.inputs.size() + (row.inputs.back().kind == ops::PortKind::variadic ? 2 : 0);
  for (size_t i = 0; i < inputs; ++i) node.inputs.push_back(graph.add(sample_tensor("in" + row.input_name(i))));
  for (size_t i = 0; i < row.outputs.size(); ++i)
    node.outputs.push_back(graph.add(sample_tensor("out" + row.output_name(i))));
  for (ops::Attr const& a : row.attrs) node.attrs.set(a.name, sample_value(a, variant));
  graph.nodes.push_back(std::move(node));
  return graph;
}

}  // namespace fusednn::tests
