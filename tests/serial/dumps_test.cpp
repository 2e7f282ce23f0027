#include "base/numeric.h"
#include "ops/validate.h"
#include "serial/graph_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

// Graphs as cudnn_frontend 1.23 dumps them: "raw" before its validate(), "val" after it.

namespace fusednn::serial {
namespace {

std::string dump(std::string const& name) {
  std::ifstream file(std::string(FUSEDNN_TEST_DATA) + "/serial/dumps/" + name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

ir::Tensor const& named(ir::Graph const& graph, std::string_view name) {
  for (ir::Tensor const& t : graph.tensors)
    if (t.name == name) return t;
  ADD_FAILURE() << "no tensor " << name;
  return graph.tensors.front();
}

TEST(Dumps, MatmulWithScalarsLoads) {
  for (char const* name : {"mm_raw.json", "mm_val.json"}) {
    auto const graph = from_json(dump(name));
    ASSERT_TRUE(graph.ok()) << name << ": " << base::join(graph.errors());
    ASSERT_EQ(graph.value().nodes.size(), 3u);
    EXPECT_EQ(graph.value().nodes[0].op, ir::OpKind::matmul);
    EXPECT_EQ(graph.value().nodes[1].attrs.get_enum<PointwiseMode_t>("mode"), PointwiseMode_t::MUL);
    EXPECT_EQ(graph.value().context.io_type, DataType_t::FLOAT);
    EXPECT_EQ(named(graph.value(), "1::IN_1").value, graph::Scalar_value(0.1f));
    EXPECT_EQ(named(graph.value(), "2::IN_1").value->bits, round_to<half_t>(0.1).bits);
    EXPECT_EQ(named(graph.value(), "2::IN_1").value->type, DataType_t::HALF);
    EXPECT_TRUE(named(graph.value(), "0::C").is_virtual);
    EXPECT_FALSE(named(graph.value(), "0::A").uid);
    auto const valid = ops::validate(graph.value());
    ASSERT_TRUE(valid.ok()) << name << ": " << base::join(valid.errors());
    EXPECT_EQ(named(valid.value()->graph(), "2::OUT_0").dims, (ir::Dims{1, 4, 4}));
  }
}

TEST(Dumps, AttentionLoads) {
  for (char const* name : {"sdpa_raw.json", "sdpa_val.json"}) {
    auto const graph = from_json(dump(name));
    ASSERT_TRUE(graph.ok()) << name << ": " << base::join(graph.errors());
    ir::Node const& node = graph.value().nodes.at(0);
    EXPECT_EQ(node.attrs.get<double>("attn_scale_value"), 0.125);
    EXPECT_TRUE(node.attrs.get<bool>("generate_stats"));
    EXPECT_EQ(node.attrs.get<int64_t>("right_bound"), 0);
    EXPECT_FALSE(node.attrs.is_set("left_bound"));
    EXPECT_EQ(named(graph.value(), "att::Stats").uid, 5);
    auto const valid = ops::validate(graph.value());
    ASSERT_TRUE(valid.ok()) << name << ": " << base::join(valid.errors());
    EXPECT_EQ(named(valid.value()->graph(), "att::Stats").dims, (ir::Dims{2, 4, 64, 1}));
  }
}

TEST(Dumps, TensorsThatUnnamedNodesMadeOneAreRefusedByName) {
  auto const graph = from_json(dump("ln_val.json"));
  ASSERT_FALSE(graph.ok());
  std::string const text = base::join(graph.errors());
  EXPECT_EQ(graph.error().rule, base::Rule::json_shared_tensor) << text;
  EXPECT_EQ(base::row(graph.error().rule).code, error_code_t::UNSUPPORTED_GRAPH_FORMAT);
  EXPECT_NE(text.find("tensor '::Y'"), std::string::npos) << text;
  EXPECT_NE(text.find("nodes[1]"), std::string::npos) << text;
}

TEST(Dumps, OperationsOfOtherVersionsAreNamed) {
  struct Case {
    char const *file, *tag;
  };
  for (Case c : {Case{"conv_raw.json", "CONV_FPROP"}, Case{"conv_val.json", "CONV_FPROP"},
                 Case{"rmsb_val.json", "RMS_NORM_BPROP"}}) {
    auto const graph = from_json(dump(c.file));
    ASSERT_FALSE(graph.ok()) << c.file;
    EXPECT_EQ(graph.error().rule, base::Rule::json_operation);
    EXPECT_EQ(graph.error().kind(), base::ErrorKind::unsupported);
    EXPECT_NE(graph.error().message.find(c.tag), std::string::npos) << graph.error().message;
    EXPECT_EQ(graph.errors().size(), 1u) << base::join(graph.errors());
  }
}

}  // namespace
}  // namespace fusednn::serial
