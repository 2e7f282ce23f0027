#include "cuda/device.h"
#include "gpu/bound_graph.h"
#include "gpu/gpu_test.h"
#include "gpu/samples.h"

#include <gmock/gmock.h>

// What callers may get wrong at execute: nothing runs, and the error names it.

namespace fusednn::testing {
namespace {

using ::testing::HasSubstr;

class Arguments : public Gpu, public ::testing::WithParamInterface<Sample> {
 protected:
  void expect_refusal(BoundGraph& bound, handle_t at, std::unordered_map<int64_t, void*> pack, void* workspace,
                      error_code_t code, std::string const& text) {
    auto const before = bound.outputs();
    for (int64_t plan = 0; plan < bound.plans(); ++plan) {
      if (!workspace && bound.graph().get_workspace_size_plan_at_index(plan) == 0) continue;
      SCOPED_TRACE(bound.name(plan));
      error_t const e = bound.graph().execute_plan_at_index(at, pack, workspace, plan);
      EXPECT_EQ(e.get_code(), code) << e.get_message();
      EXPECT_THAT(e.get_message(), HasSubstr(text));
      EXPECT_EQ(bound.outputs(), before) << "it ran all the same";
    }
  }
};

TEST_P(Arguments, PointersThatBreakTheirAlignmentAreRefused) {
  graph::Graph g = GetParam().make();
  BoundGraph bound(handle, g);
  for (auto const& tensors : {g.inputs_ext(), g.outputs_ext()})
    for (TensorPtr const& t : tensors) {
      if (t->get_pass_by_value()) continue;
      auto pack = bound.pack();
      auto const it = pack.find(t->get_uid());
      ASSERT_NE(it, pack.end());
      it->second = static_cast<std::byte*>(it->second) + t->get_alignment() / 2;
      expect_refusal(bound, handle, pack, bound.workspace(), error_code_t::INVALID_VARIANT_PACK, t->get_name());
    }
}

TEST_P(Arguments, AWorkspaceThatIsNeededIsAskedFor) {
  graph::Graph g = GetParam().make();
  BoundGraph bound(handle, g);
  expect_refusal(bound, handle, bound.pack(), nullptr, error_code_t::INVALID_VARIANT_PACK, "workspace");
}

TEST_P(Arguments, HandlesOfOtherDevicesAreRefused) {
  graph::Graph g = GetParam().make();
  BoundGraph bound(handle, g);
  handle_t cpu = nullptr, arch = nullptr;
  EXPECT_GOOD(create(&cpu, Device::CPU));
  EXPECT_GOOD(create_for_arch_ext(&arch, "sm_90a"));
  for (handle_t other : {cpu, arch})
    expect_refusal(bound, other, bound.pack(), bound.workspace(), error_code_t::INVALID_CUDA_DEVICE, "cuda:0");
  EXPECT_GOOD(destroy(cpu));
  EXPECT_GOOD(destroy(arch));
}

INSTANTIATE_TEST_SUITE_P(Of, Arguments, ::testing::ValuesIn(samples()),
                         [](auto const& info) { return info.param.name; });

class SmallAlignment : public Gpu {};

/// What declares a small alignment may lie at any multiple of it.
TEST_F(SmallAlignment, IsEnoughWhereItIsDeclared) {
  for (int64_t width : {8, 33, 1024}) {
    graph::Graph g = make_graph(DataType_t::BFLOAT16);
    TensorPtr const x = input(g, "x", {50, width}), z = input(g, "z", {50, width});
    x->set_alignment(2);
    TensorPtr const y = output(g.pointwise(x, z, graph::Pointwise_attributes().set_mode(PointwiseMode_t::ADD)), "y");
    y->set_alignment(2);
    BoundGraph bound(handle, g);
    for (int64_t plan = 0; plan < bound.plans(); ++plan) {
      bound.poison();
      graph::Check_report report;
      EXPECT_GOOD(g.check_ext(handle, bound.pack(), bound.workspace(), report, plan));
      EXPECT_TRUE(report.matches) << report.message;
      bound.outputs();
    }
  }
}

class OtherDevice : public Gpu {};

TEST_F(OtherDevice, ThatDoesNotExistIsNamed) {
  handle_t none = nullptr;
  error_t const e = create(&none, Device::CUDA, 1000);
  EXPECT_EQ(e.get_code(), error_code_t::HANDLE_ERROR);
  EXPECT_THAT(e.get_message(), HasSubstr("CUDA device 1000"));
}

TEST_F(OtherDevice, RunsNoPlanOfThisOne) {
  auto count = cuda::device_count();
  ASSERT_TRUE(count);
  if (*count < 2) GTEST_SKIP() << "there is one GPU";
  handle_t second = nullptr;
  EXPECT_GOOD(create(&second, Device::CUDA, 1));
  graph::Graph g = samples().front().make();
  BoundGraph bound(handle, g);
  EXPECT_EQ(bound.execute(second, 0).get_code(), error_code_t::INVALID_CUDA_DEVICE);
  EXPECT_GOOD(destroy(second));
}

TEST_F(OtherDevice, HasStreamsThatThisOneRefuses) {
  cuda::Search search;
  void* const library = cuda::open_library("libcuda.so.1", search);
  auto const make =
      reinterpret_cast<int (*)(cuda::RawContext*, unsigned, int)>(cuda::symbol(library, "cuCtxCreate_v2"));
  auto const destroy_context = reinterpret_cast<int (*)(cuda::RawContext)>(cuda::symbol(library, "cuCtxDestroy_v2"));
  if (!make || !destroy_context) GTEST_SKIP() << "this driver has no cuCtxCreate_v2";
  cuda::RawContext own = nullptr;
  cuda::RawStream foreign = nullptr;
  ASSERT_EQ(make(&own, 0, 0), 0);
  EXPECT_EQ(context->driver().stream_create(&foreign, cuda::stream_non_blocking), 0);
  cuda::RawContext popped = nullptr;
  EXPECT_EQ(context->driver().context_pop(&popped), 0);
  error_t const e = set_stream(handle, foreign);
  EXPECT_EQ(e.get_code(), error_code_t::HANDLE_ERROR);
  EXPECT_THAT(e.get_message(), HasSubstr("primary context"));
  EXPECT_EQ(destroy_context(own), 0);
}

}  // namespace
}  // namespace fusednn::testing
