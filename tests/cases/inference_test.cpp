#include "support/attention_graph.h"

// What validate() infers, when it refuses, and that it says the same each time; sizes beyond 32 bits.

namespace fusednn::testing {
namespace {

using graph::Matmul_attributes;
using graph::Pointwise_attributes;
using graph::SDPA_attributes;
using graph::Tensor_attributes;

struct Attention {
  Attention() {
    q = input(g, "q", {2, 4, 6, 8}, DataType_t::HALF, packed({2, 4, 6, 8}, {0, 2, 1, 3}));
    k = input(g, "k", {2, 4, 5, 8});
    v = input(g, "v", {2, 4, 5, 3});
    auto outputs = g.sdpa(q, k, v, SDPA_attributes().set_name("att").set_generate_stats(true));
    o = output(outputs[0], "o");
    stats = output(outputs[1], "stats");
  }
  Graph g = make_graph(DataType_t::HALF);
  TensorPtr q, k, v, o, stats;
};

void expect_inferred(Attention const& a) {
  EXPECT_EQ(a.o->get_dim(), (Dims{2, 4, 6, 3}));
  EXPECT_EQ(a.o->get_stride(), packed({2, 4, 6, 3}, {0, 2, 1, 3})) << "memory order of Q";
  EXPECT_EQ(a.stats->get_dim(), (Dims{2, 4, 6, 1}));
  EXPECT_EQ(a.stats->get_stride(), packed({2, 4, 6, 1}));
  EXPECT_EQ(a.stats->get_data_type(), DataType_t::FLOAT);
}

TEST(BlankOutputs, AreInferred) {
  Attention blank;
  EXPECT_TRUE(blank.g.validate().is_good());
  expect_inferred(blank);
  EXPECT_EQ(blank.o->get_data_type(), DataType_t::HALF);

  Attention typed;
  typed.o->set_data_type(DataType_t::FLOAT);
  typed.stats->set_data_type(DataType_t::FLOAT);
  EXPECT_TRUE(typed.g.validate().is_good());
  expect_inferred(typed);
  EXPECT_EQ(typed.o->get_data_type(), DataType_t::FLOAT);

  Attention sized;
  sized.o->set_dim({2, 4, 6, 3});
  sized.stats->set_dim({2, 4, 6, 1});
  EXPECT_TRUE(sized.g.validate().is_good());
  expect_inferred(sized);

  Attention laid_out;
  laid_out.o->set_dim({2, 4, 6, 3}).set_stride({200, 50, 8, 2});
  EXPECT_TRUE(laid_out.g.validate().is_good());
  EXPECT_EQ(laid_out.o->get_stride(), (Dims{200, 50, 8, 2})) << "what is given stays";
}

TEST(BlankOutputs, StridesAloneAreAnErrorThatSaysSo) {
  Attention a;
  a.o->set_stride({72, 18, 3, 1});
  error_t const e = a.g.validate();
  // Inference fills the dims in; the strides then count as given with them.
  EXPECT_TRUE(e.is_good() || e.get_message().find("tensor_strides_without_dims") != std::string::npos)
      << e.get_message();
  Graph g = make_graph();
  auto x = g.tensor(Tensor_attributes().set_name("x").set_stride({4, 1}));
  output(g.pointwise(x, Pointwise_attributes().set_mode(PointwiseMode_t::EXP)), "y");
  error_t const without = g.validate();
  EXPECT_EQ(without.get_code(), error_code_t::ATTRIBUTE_NOT_SET);
  for (char const* part : {"'x'", "strides", "dims"})
    EXPECT_NE(without.get_message().find(part), std::string::npos) << without.get_message();
}

TEST(BlankOutputs, EveryOperationFillsInItsOwn) {
  Graph g = make_graph();
  auto a = input(g, "a", {3, 4, 5}), b = input(g, "b", {1, 5, 6});
  auto c = g.matmul(a, b, Matmul_attributes());
  auto t = g.transpose(c, graph::Transpose_attributes().set_permutation({2, 0, 1}));
  auto s = g.slice(t, graph::Slice_attributes().set_slices({{1, 6}, {0, 3}, {0, 4}}).set_strides({2, 1, 1}));
  auto j = g.concatenate({s, s}, graph::Concatenate_attributes().set_axis(0));
  auto r = g.reshape(j, graph::Reshape_attributes().set_dim({2, 36}));
  auto y = output(g.pointwise(r, Pointwise_attributes().set_mode(PointwiseMode_t::NEG)), "y");
  GraphRun run(g);
  EXPECT_EQ(c->get_dim(), (Dims{3, 4, 6}));
  EXPECT_EQ(t->get_dim(), (Dims{6, 3, 4}));
  EXPECT_EQ(t->get_stride(), packed({6, 3, 4}, {1, 2, 0})) << "a view of C as it lies in memory";
  EXPECT_EQ(s->get_dim(), (Dims{3, 3, 4}));
  EXPECT_EQ(j->get_dim(), (Dims{6, 3, 4}));
  EXPECT_EQ(y->get_dim(), (Dims{2, 36}));
  EXPECT_EQ(y->get_stride(), (Dims{36, 1}));
  run.run();
}

TEST(Validate, AFailedGraphStaysFailedUntilItIsChanged) {
  Graph g = make_graph();
  auto a = input(g, "a", {1, 2, 3}), b = input(g, "b", {1, 4, 5});
  auto c = output(g.matmul(a, b, Matmul_attributes().set_name("mm")), "c");
  handle_t handle = nullptr;
  ASSERT_TRUE(create_handle(&handle).is_good());
  std::string const first = g.validate().get_message();
  EXPECT_NE(first.find("matmul_inner_dim"), std::string::npos) << first;
  EXPECT_EQ(g.build(handle, {HeurMode_t::A}).get_message(), first);
  EXPECT_EQ(g.validate().get_message(), first);
  EXPECT_TRUE(c->get_dim().empty()) << "a failed validate writes nothing back";
  b->set_dim({1, 3, 5}).set_stride({15, 5, 1});
  EXPECT_TRUE(g.build(handle, {HeurMode_t::A}).is_good());
  EXPECT_EQ(c->get_dim(), (Dims{1, 2, 5}));
  // What was inferred is inferred again, not kept as if the user had set it.
  b->set_dim({1, 3, 7}).set_stride({21, 7, 1});
  EXPECT_TRUE(g.validate().is_good());
  EXPECT_EQ(c->get_dim(), (Dims{1, 2, 7}));
  EXPECT_TRUE(destroy(handle).is_good());
}

/// Plans and sizes of exp(x) for a tensor that is never allocated.
error_t plan_for(Dims const& dims, std::vector<int64_t>& workspaces) {
  Graph g = make_graph();
  auto x = input(g, "x", dims);
  auto y = output(g.pointwise(x, Pointwise_attributes().set_mode(PointwiseMode_t::EXP)), "y");
  handle_t handle = nullptr;
  if (error_t e = create_handle(&handle); e.is_bad()) return e;
  error_t e = g.build(handle, {HeurMode_t::A}, BuildPlanPolicy_t::ALL);
  for (int64_t i = 0; i < g.get_execution_plan_count(); ++i)
    workspaces.push_back(g.get_workspace_size_plan_at_index(i));
  EXPECT_TRUE(destroy(handle).is_good());
  return e;
}

TEST(HugeSizes, ArePlannedExactlyWithoutMemory) {
  struct Case {
    Dims dims;
    int64_t volume;
  };
  for (Case const& c : {Case{{1, 640, 320, 320, 100}, 6553600000}, Case{{256, 27, 17, 144, 256}, 4331667456},
                        Case{{268435456, 3, 56, 56}, 2525440770048}, Case{{int64_t(1) << 40}, int64_t(1) << 40}}) {
    EXPECT_EQ(Tensor_attributes().set_dim(c.dims).get_volume(), c.volume);
    std::vector<int64_t> workspaces;
    error_t const e = plan_for(c.dims, workspaces);
    EXPECT_TRUE(e.is_good()) << e.get_message();
    for (int64_t bytes : workspaces) EXPECT_GE(bytes, 0);
  }
}

TEST(HugeSizes, ProductsBeyond64BitsAreAnError) {
  std::vector<int64_t> workspaces;
  for (Dims const& dims : {Dims{int64_t(1) << 32, int64_t(1) << 32}, Dims{int64_t(1) << 62}, Dims{INT64_MAX, 2}}) {
    EXPECT_EQ(Tensor_attributes().set_dim({int64_t(1) << 32, int64_t(1) << 32}).get_volume(), -1);
    error_t const e = plan_for(dims, workspaces);
    EXPECT_EQ(e.get_code(), error_code_t::INVALID_VALUE);
    for (char const* part : {"'x'", "tensor_overflow"})
      EXPECT_NE(e.get_message().find(part), std::string::npos) << e.get_message();
  }
  // The operands fit, the result does not.
  Graph g = make_graph();
  auto a = g.tensor(Tensor_attributes().set_name("a").set_dim({1, int64_t(1) << 33, 1}).set_stride({0, 1, 1}));
  auto b = g.tensor(Tensor_attributes().set_name("b").set_dim({1, 1, int64_t(1) << 33}).set_stride({0, 0, 1}));
  output(g.matmul(a, b, Matmul_attributes().set_name("mm")), "c");
  error_t const e = g.validate();
  EXPECT_EQ(e.get_code(), error_code_t::INVALID_VALUE);
  for (char const* part : {"'mm'", "'c'", "tensor_overflow"})
    EXPECT_NE(e.get_message().find(part), std::string::npos) << e.get_message();
}

}  // namespace
}  // namespace fusednn::testing
