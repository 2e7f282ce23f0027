#include "serial/graph_json.h"
#include "serial/row_graphs.h"

#include <gtest/gtest.h>

namespace fusednn::serial {
namespace {

TEST(Dot, EveryRowIsDrawnWithItsPorts) {
  for (ops::OpRow const* row : tests::public_rows()) {
    std::string const text = to_dot(tests::full_graph(*row));
    EXPECT_NE(text.find(row->builder), std::string::npos) << text;
    for (size_t i = 0; i < row->inputs.size(); ++i)
      EXPECT_NE(text.find("in" + row->input_name(i)), std::string::npos) << text;
    EXPECT_NE(text.find("n0 -> t"), std::string::npos) << text;
  }
}

TEST(Dot, VirtualTensorsAreEdgesAndNamesAreEscaped) {
  ir::Graph graph;
  ir::Tensor x = tests::sample_tensor("x\"\\"), mid = tests::sample_tensor("mid"), y = tests::sample_tensor("y");
  mid.is_virtual = true;
  graph.add(x), graph.add(mid), graph.add(y);
  for (int i = 0; i < 2; ++i) {
    ir::Node node;
    node.op = ir::OpKind::pointwise;
    node.attrs.set("mode", static_cast<int64_t>(PointwiseMode_t::EXP));
    node.inputs = {i};
    node.outputs = {i + 1};
    graph.nodes.push_back(node);
  }
  std::string const text = to_dot(graph);
  EXPECT_NE(text.find("n0 -> n1 [label=\"IN_0\\nHALF [2,3,4]\"]"), std::string::npos) << text;
  EXPECT_NE(text.find("x\\\"\\\\"), std::string::npos) << text;
  EXPECT_NE(text.find("pointwise EXP"), std::string::npos) << text;
  EXPECT_EQ(text.find("mid"), std::string::npos) << text;
}

}  // namespace
}  // namespace fusednn::serial
