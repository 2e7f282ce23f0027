#include "ops/golden.h"

#include "base/enum_names.h"
#include "ops/row.h"
#include "ops/validate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace fusednn::tests {
namespace {

TEST(Golden, ReferenceAgreesInDouble) {
  for (Golden const& g : goldens()) EXPECT_EQ(disagreement(g, g.node), "") << kind_of(g.node) << ": " << g.name;
}

// Data of the cases is exact in FLOAT, so that nothing is undetermined.
TEST(Golden, ReferenceAgreesInFloatWithinBoundsThatExist) {
  for (Golden const& g : goldens()) {
    RowCase const node = in_float(g.node);
    EXPECT_EQ(disagreement(g, node), "") << kind_of(node) << ": " << g.name;
    auto result = reference_of(node);
    ASSERT_TRUE(result) << g.name;
    for (auto const& [port, values] : *result)
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_TRUE(std::isfinite(values.bound[i])) << kind_of(node) << ": " << g.name << ", " << port << " " << i;
  }
}

TEST(Golden, DimsAreInferredAsNumpyHasThem) {
  for (Golden const& g : goldens()) {
    if (g.node.op == ir::OpKind::reduction || !g.node.attrs.count("dim")) {
      if (g.node.op == ir::OpKind::reduction || g.node.op == ir::OpKind::reshape) continue;  // dims are the user's
    }
    RowCase blank = g.node;
    for (auto& [port, out] : blank.outputs) out.dims = {};
    auto graph = ops::validate(draft_of(blank));
    ASSERT_TRUE(graph) << g.name << ": " << base::join(graph.errors());
    for (ir::TensorId id : (*graph)->outputs()) {
      ir::Tensor const& t = (*graph)->tensor(id);
      EXPECT_EQ(t.dims, g.node.outputs.at(t.name).dims) << g.name << ", " << t.name;
    }
  }
}

TEST(Golden, EveryRowAndModeHasOne) {
  std::set<ir::OpKind> ops;
  std::set<std::string> modes;
  for (Golden const& g : goldens()) {
    ops.insert(g.node.op);
    modes.insert(kind_of(g.node));
  }
  for (int i = 0; i < ir::op_kind_count; ++i)
    EXPECT_TRUE(ops.count(static_cast<ir::OpKind>(i))) << ops::row(static_cast<ir::OpKind>(i)).doc;
  for (auto [op, names] : {std::pair("pointwise", base::enum_names<PointwiseMode_t>()),
                           std::pair("reduction", base::enum_names<ReductionMode_t>())})
    for (int i = 1; i < names.count; ++i)
      EXPECT_TRUE(modes.count(fmt::format("{} {}", op, names.name(i)))) << names.name(i);
}

}  // namespace
}  // namespace fusednn::tests
