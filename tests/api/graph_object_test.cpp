#include <fusednn.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

// What users' code does with the classes themselves: CUDA's types by name, derived graphs, copies in caches,
// character uids. The two structs stand for those of CUDA's headers, which this test does not include.
struct __half {
  uint16_t bits;
};
struct __nv_bfloat16 {
  uint16_t bits;
};

namespace {

namespace fe = fusednn;
using fe::graph::Graph;
using fe::graph::Pointwise_attributes;
using fe::graph::Scalar_value;
using fe::graph::ScalarType;
using fe::graph::Tensor_attributes;

Pointwise_attributes mode(fe::PointwiseMode_t m) { return Pointwise_attributes().set_mode(m); }

void set_float(Graph& g) {
  g.set_io_data_type(fe::DataType_t::FLOAT)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
}

Graph::tensor_ptr vector_of(Graph& g, char const* name, int64_t n) {
  return g.tensor(Tensor_attributes().set_name(name).set_dim({n}).set_stride({1}));
}

/// Builds on the CPU and runs the chosen plan with pointers by tensor.
void run(Graph& g, std::unordered_map<Graph::tensor_ptr, void*> pack) {
  fe::handle_t handle;
  ASSERT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
  fe::error_t e = g.build(handle, {fe::HeurMode_t::A});
  ASSERT_TRUE(e.is_good()) << e.get_message();
  std::vector<char> workspace(static_cast<size_t>(g.get_workspace_size()));
  e = g.execute(handle, pack, workspace.data());
  EXPECT_TRUE(e.is_good()) << e.get_message();
  EXPECT_TRUE(fe::destroy(handle).is_good());
}

TEST(GraphObject, ScalarsConvertToTensors) {
  EXPECT_EQ(Tensor_attributes(1.5f).get_data_type(), fe::DataType_t::FLOAT);
  EXPECT_EQ(Tensor_attributes(1.5).get_data_type(), fe::DataType_t::DOUBLE);
  EXPECT_EQ(Tensor_attributes(int32_t(1)).get_data_type(), fe::DataType_t::INT32);
  EXPECT_EQ(Tensor_attributes(int64_t(1)).get_data_type(), fe::DataType_t::INT64);
  Tensor_attributes half = __half{0x3c00}, bf16 = __nv_bfloat16{0x3f80};
  EXPECT_EQ(half.get_data_type(), fe::DataType_t::HALF);
  EXPECT_EQ(half.get_pass_by_value()->bits, 0x3c00u);
  EXPECT_EQ(bf16.get_data_type(), fe::DataType_t::BFLOAT16);
  EXPECT_TRUE(bf16.get_is_pass_by_value());
  EXPECT_EQ(bf16.get_dim(), std::vector<int64_t>{1});
  EXPECT_NE(Scalar_value(1.0f), Scalar_value(1.0));
}

TEST(GraphObject, HalfScalarsEnterTheArithmetic) {
  Graph g;
  set_float(g);
  auto x = vector_of(g, "x", 3);
  auto y = g.pointwise(x, g.tensor(__half{0x4000}), mode(fe::PointwiseMode_t::MUL));
  auto z =
      g.pointwise(y, g.tensor(__nv_bfloat16{0x3f00}, ScalarType::COMPILE_TIME_CONST), mode(fe::PointwiseMode_t::ADD));
  z->set_output(true);
  float in[3] = {1, 2, -3}, out[3] = {NAN, NAN, NAN};
  run(g, {{x, in}, {z, out}});
  EXPECT_EQ(out[0], 2.5f);
  EXPECT_EQ(out[1], 4.5f);
  EXPECT_EQ(out[2], -5.5f);
}

TEST(GraphObject, ARuntimeScalarCanBeReplacedAtExecute) {
  Graph g;
  set_float(g);
  auto x = vector_of(g, "x", 2);
  auto factor = g.tensor(3.0f, ScalarType::RUNTIME_PARAM);
  auto y = g.pointwise(x, factor, mode(fe::PointwiseMode_t::MUL));
  y->set_output(true);
  float in[2] = {1, 2}, out[2] = {NAN, NAN}, other = 10;
  run(g, {{x, in}, {y, out}});
  EXPECT_EQ(out[1], 6);
  run(g, {{x, in}, {y, out}, {factor, &other}});
  EXPECT_EQ(out[1], 20);
}

TEST(GraphObject, CharacterAndZeroUidsAreLegal) {
  Graph g;
  set_float(g);
  auto x = vector_of(g, "x", 1);
  x->set_uid('X');
  auto y = g.pointwise(x, mode(fe::PointwiseMode_t::NEG));
  y->set_output(true).set_uid(0);
  fe::handle_t handle;
  ASSERT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
  ASSERT_TRUE(g.build(handle, {fe::HeurMode_t::A}).is_good());
  EXPECT_EQ(g.get_variant_pack_uids_sorted(), (std::vector<int64_t>{0, 'X'}));
  float in = 4, out = NAN;
  std::unordered_map<int64_t, void*> pack = {{0, &out}, {'X', &in}};
  std::vector<char> workspace(static_cast<size_t>(g.get_workspace_size()));
  EXPECT_TRUE(g.execute(handle, pack, workspace.data()).is_good());
  EXPECT_EQ(out, -4);
  void* sorted[] = {&out, &in};
  in = 5;
  EXPECT_TRUE(g.execute(handle, sorted, 2, workspace.data()).is_good());
  EXPECT_EQ(out, -5);
  Tensor_attributes found;
  EXPECT_TRUE(g.query_tensor_attributes_of_uid('X', found).is_good());
  EXPECT_EQ(found.get_name(), "x");
  EXPECT_EQ(g.query_tensor_attributes_of_uid(77, found).get_code(), fe::error_code_t::INVALID_VALUE);
  EXPECT_TRUE(fe::destroy(handle).is_good());
}

TEST(GraphObject, MissingUidsStartAtOneAndSkipThoseInUse) {
  Graph g;
  set_float(g);
  auto a = vector_of(g, "a", 1), b = vector_of(g, "b", 1);
  b->set_uid(1);
  auto y = g.pointwise(a, b, mode(fe::PointwiseMode_t::ADD));
  y->set_output(true);
  fe::handle_t handle;
  ASSERT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
  ASSERT_TRUE(g.validate().is_good());
  ASSERT_TRUE(g.build_operation_graph(handle).is_good());
  EXPECT_EQ(a->get_uid(), 2);
  EXPECT_EQ(y->get_uid(), 3);
  EXPECT_TRUE(fe::destroy(handle).is_good());
}

/// Frameworks derive from Graph to keep their own state beside it.
class Derived : public Graph {
 public:
  explicit Derived(int t) : tag(t) {}
  int tag;
};

TEST(GraphObject, DerivedGraphsMoveIntoCaches) {
  Derived g(7);
  set_float(g);
  auto x = vector_of(g, "x", 2);
  auto y = g.pointwise(x, mode(fe::PointwiseMode_t::ABS));
  y->set_output(true);
  std::map<int, Derived> cache;
  cache.emplace(1, std::move(g));
  float in[2] = {-1, 2}, out[2] = {NAN, NAN};
  run(cache.at(1), {{x, in}, {y, out}});
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(cache.at(1).tag, 7);
}

TEST(GraphObject, AMovedFromGraphIsEmpty) {
  Graph g;
  set_float(g);
  g.pointwise(vector_of(g, "x", 2), mode(fe::PointwiseMode_t::ABS))->set_output(true);
  Graph taken = std::move(g);
  EXPECT_TRUE(taken.validate().is_good());
  EXPECT_EQ(g.validate().get_code(), fe::error_code_t::INVALID_VALUE);
  g = std::move(taken);
  EXPECT_TRUE(g.validate().is_good());
  EXPECT_EQ(taken.get_execution_plan_count(), 0);
}

TEST(GraphObject, ACopySharesTensorsAndPlansAndOwnsItsNodes) {
  Graph g;
  set_float(g);
  auto x = vector_of(g, "x", 1);
  auto y = g.pointwise(x, mode(fe::PointwiseMode_t::NEG));
  y->set_output(true);
  fe::handle_t handle;
  ASSERT_TRUE(fe::create(&handle, fe::Device::CPU).is_good());
  ASSERT_TRUE(g.build(handle, {fe::HeurMode_t::A}).is_good());
  Graph copy = g;
  float in = 3, out = NAN;
  std::vector<char> workspace(static_cast<size_t>(copy.get_workspace_size()));
  std::unordered_map<Graph::tensor_ptr, void*> pack = {{x, &in}, {y, &out}};
  EXPECT_TRUE(copy.execute(handle, pack, workspace.data()).is_good());
  EXPECT_EQ(out, -3);
  auto z = copy.pointwise(y, mode(fe::PointwiseMode_t::NEG));
  z->set_output(true);
  EXPECT_TRUE(copy.validate().is_good());
  EXPECT_TRUE(g.validate().is_good());
  EXPECT_EQ(g.outputs_ext().size(), 1u);
  EXPECT_EQ(copy.outputs_ext().size(), 2u);
  EXPECT_TRUE(fe::destroy(handle).is_good());
}

TEST(GraphObject, ATensorServesSeveralGraphs) {
  Graph first, second;
  set_float(first);
  set_float(second);
  auto x = vector_of(first, "x", 3);
  auto hidden = first.pointwise(x, mode(fe::PointwiseMode_t::ABS));
  auto y = first.pointwise(hidden, mode(fe::PointwiseMode_t::NEG));
  y->set_output(true);
  auto z = second.pointwise(x, y, mode(fe::PointwiseMode_t::SUB));
  z->set_output(true);
  EXPECT_TRUE(second.validate().is_bad()) << "the dims of y are not known yet";
  float in[3] = {1, -2, 3}, between[3] = {NAN, NAN, NAN}, out[3] = {NAN, NAN, NAN};
  run(first, {{x, in}, {y, between}});
  run(second, {{x, in}, {y, between}, {z, out}});
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 6);
  Graph third;
  set_float(third);
  third.pointwise(hidden, mode(fe::PointwiseMode_t::NEG).set_name("node"))->set_output(true);
  std::string const message = third.validate().get_message();
  EXPECT_NE(message.find("no operation of this graph writes it"), std::string::npos) << message;
}

TEST(GraphObject, InferredValuesAreInferredAgain) {
  Graph g;
  set_float(g);
  auto x = vector_of(g, "x", 4);
  auto y = g.pointwise(x, mode(fe::PointwiseMode_t::NEG));
  y->set_output(true);
  ASSERT_TRUE(g.validate().is_good());
  EXPECT_EQ(y->get_dim(), std::vector<int64_t>{4});
  x->set_dim({9});
  ASSERT_TRUE(g.validate().is_good());
  EXPECT_EQ(y->get_dim(), std::vector<int64_t>{9});
  y->set_dim({3});
  EXPECT_EQ(g.validate().get_code(), fe::error_code_t::INVALID_VALUE);
}

}  // namespace
