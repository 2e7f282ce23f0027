#include "plan/device_plan.h"

#include <gmock/gmock.h>

#include <thread>

namespace fusednn::tests {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Device_program : public ::testing::Test, protected DevicePlan {
 protected:
  Device_program() {
    for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i);
  }

  /// Executes and returns the outcome; `scale` null means its own value.
  base::Status execute(plan::Plan const& plan, float* scale = nullptr, void* workspace = nullptr) {
    void* pointers[] = {x, scale, y};
    return plan.execute(pointers, workspace, fake::stream());
  }

  alignas(256) float x[n];
  alignas(256) float y[n] = {};
};

TEST_F(Device_program, LaunchesOnTheStreamWithEveryArgumentInPlace) {
  kernel.cluster = {3, 1, 1};
  kernel.dynamic_shared_bytes = 100'000;
  kernel.programmatic_launch = true;
  plan::Plan const p = plan({step()});
  float scale = 2;
  ASSERT_TRUE(execute(p, &scale).ok());
  for (int i = 0; i < n; ++i) EXPECT_EQ(y[i], 2 * x[i] + 0.5f);
  ASSERT_TRUE(execute(p).ok());
  for (int i = 0; i < n; ++i) EXPECT_EQ(y[i], 3 * x[i] + 0.5f) << "the scalar's own value";
  ASSERT_EQ(fake::state().launches.size(), 2u);
  fake::Launch const& l = fake::state().launches[0];
  EXPECT_EQ(l.stream, fake::stream());
  EXPECT_THAT(l.grid, ElementsAre(3, 1, 1));
  EXPECT_THAT(l.block, ElementsAre(128, 1, 1));
  EXPECT_THAT(l.cluster, ElementsAre(3, 1, 1));
  EXPECT_EQ(l.dynamic_shared_bytes, 100'000u);
  EXPECT_TRUE(l.programmatic);
}

TEST_F(Device_program, ExecuteOnlyLaunches) {
  plan::Plan const p = plan({step()});
  fake::state().calls.clear();
  ASSERT_TRUE(execute(p).ok());
  EXPECT_THAT(fake::state().calls, ElementsAre("cuLaunchKernelEx"));
}

TEST_F(Device_program, KernelsAreResidentOnceThePlanIsBuilt) {
  plan::Plan const p = plan({step()});
  EXPECT_THAT(fake::state().calls, Contains("cuFuncLoad"));
  EXPECT_THAT(fake::state().calls, Contains("cuFuncSetAttribute"));
}

TEST_F(Device_program, FillsAndCopiesInTheWorkspace) {
  using engine::Operand;
  engine::Step const fill{"fill", {Operand::workspace(64)}, engine::Fill{0x3f800000, 8, 4}};
  engine::Step const copy{"copy", {Operand::tensor(2), Operand::workspace(64)}, engine::Copy{12, 4, 0}};
  plan::Plan const p = plan({step(), fill, copy}, 128);
  EXPECT_EQ(p.workspace_bytes(), 128 + 63);
  std::vector<float> workspace(static_cast<size_t>(p.workspace_bytes()) / sizeof(float) + 1, -7.0f);
  auto* odd = reinterpret_cast<char*>(workspace.data()) + 3;
  ASSERT_TRUE(execute(p, nullptr, odd).ok());
  EXPECT_EQ(y[0], 0.5f);
  EXPECT_EQ(y[2], 1.0f);
  EXPECT_EQ(y[3], 1.0f);
  EXPECT_EQ(y[4], 3 * 4 + 0.5f);
  EXPECT_EQ(execute(p).error().rule, base::Rule::execute_workspace);
}

TEST_F(Device_program, FillsAndCopiesOnTheCpuToo) {
  using engine::Operand;
  std::vector<engine::Step> steps = {{"fill", {Operand::tensor(2)}, engine::Fill{0x3f800000, 4 * n, 0}},
                                     {"copy", {Operand::tensor(2), Operand::tensor(0)}, engine::Copy{8, 4, 8}}};
  plan::Plan const p(graph(), target::host_target(), "test", {std::move(steps), 0});
  ASSERT_TRUE(execute(p).ok());
  EXPECT_THAT(std::vector<float>(y, y + 4), ElementsAre(1, 2, 3, 1));
}

TEST_F(Device_program, TensorMapsGetTheirAddressAtExecute) {
  struct alignas(64) Parameter {
    uint64_t before;
    alignas(64) std::array<uint64_t, 16> map;
  };
  kernel.arguments = {};
  uint32_t const at = kernel.arguments.add(Parameter{77, {}});
  kernel.arguments.patch_map(at + offsetof(Parameter, map), 2, {DataType_t::FLOAT, {32, 4}, {128}, {32, 4}, 128, 256},
                             16);
  std::vector<Parameter> seen;
  fake::state().kernels[0].second = [&](void** parameters) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(parameters[0]) % 64, 0u);
    seen.push_back(*static_cast<Parameter*>(parameters[0]));
  };
  plan::Plan const p = plan({step()});
  ASSERT_TRUE(execute(p).ok());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].before, 77u);
  EXPECT_EQ(seen[0].map[0], reinterpret_cast<uintptr_t>(y) + 16);
  EXPECT_THAT(std::vector<uint64_t>(seen[0].map.begin() + 1, seen[0].map.begin() + 4), ElementsAre(2, 32, 4));
}

TEST_F(Device_program, RunsFromThreadsThatNeverSawTheDevice) {
  plan::Plan const p = plan({step()});
  std::vector<std::thread> threads;
  std::vector<std::array<float, 64>> outputs(8);
  for (size_t t = 0; t < outputs.size(); ++t)
    threads.emplace_back([&, t] {
      alignas(16) float mine[n];
      for (int round = 0; round < 50; ++round) {
        float scale = static_cast<float>(t);
        void* pointers[] = {x, &scale, mine};
        ASSERT_TRUE(p.execute(pointers, nullptr, nullptr).ok());
      }
      std::copy(mine, mine + n, outputs[t].begin());
      EXPECT_EQ(fake::current_context(), nullptr) << "the thread's own context is back";
    });
  for (std::thread& t : threads) t.join();
  for (size_t t = 0; t < outputs.size(); ++t) EXPECT_EQ(outputs[t][7], static_cast<float>(t) * 7 + 0.5f);
}

TEST_F(Device_program, AFailingLaunchNamesTheStep) {
  plan::Plan const p = plan({step()});
  fake::state().fail = "cuLaunchKernelEx";
  fake::state().fail_code = cuda::code::out_of_memory;
  base::Status const status = execute(p);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().rule, base::Rule::cuda_call);
  EXPECT_THAT(status.error().message, HasSubstr("scale and add: CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST_F(Device_program, PointersHaveTheDeclaredAlignment) {
  plan::Plan const p = plan({step()});
  void* pointers[] = {x + 1, nullptr, y};
  base::Status const status = p.execute(pointers, nullptr, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().rule, base::Rule::execute_alignment);
  EXPECT_THAT(status.error().message, HasSubstr("16 bytes"));
  float scales[2] = {1, 2};
  void* scalar[] = {x, scales + 1, y};
  EXPECT_TRUE(p.execute(scalar, nullptr, nullptr).ok()) << "a scalar lies in host memory";
}

TEST_F(Device_program, PlansWithTheSameKernelShareItsCode) {
  std::optional<plan::Plan> first = plan({step(), step()}), second = plan({step()});
  EXPECT_EQ(fake::state().modules, 1);
  EXPECT_EQ(compiler.counts().compiled, 1);
  first.reset();
  EXPECT_EQ(fake::state().modules, 1);
  second.reset();
  EXPECT_EQ(fake::state().modules, 0);
  EXPECT_EQ(fake::state().retained, 0);
}

TEST_F(Device_program, CompilesWithoutADevice) {
  target = target::cuda_target(*target::gpu_for_arch("sm_90a"));
  ASSERT_TRUE(program({step()}).ok());
  EXPECT_EQ(compiler.counts().compiled, 1);
  EXPECT_THAT(fake::state().calls, Not(Contains("cuModuleLoadDataEx")));
}

TEST_F(Device_program, ReportsWhatItsKernelsLack) {
  kernel.entry = "other";
  auto missing = program({step()});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("cuModuleGetFunction other"));
  kernel.source.text = "#error not today\n";
  auto broken = program({step()});
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr("not today"));
}

TEST_F(Device_program, SerialisedTensorCoreCodeIsTakenOnlyWhereSpeedDoesNotMatter) {
  kernel.source.text = "// ptxas says (C7510) Potential Performance Loss\n";
  EXPECT_EQ(program({step()}).error().rule, base::Rule::jit_serialised);
  EXPECT_TRUE(program({step()}, true).ok());
}

TEST_F(Device_program, LaunchesBeyondTheGpuAreRefused) {
  auto expect_refused = [&](auto change) {
    DevicePlan other;
    change(other.kernel);
    auto built = other.program({other.step()});
    ASSERT_FALSE(built.ok());
    EXPECT_EQ(built.error().rule, base::Rule::plan_launch) << built.error().message;
  };
  expect_refused([](auto& k) { k.grid = {0, 1, 1}; });
  expect_refused([](auto& k) { k.grid = {1, 65536, 1}; });
  expect_refused([](auto& k) { k.grid = {1u << 31, 1, 1}; });
  expect_refused([](auto& k) { k.block = {1025, 1, 1}; });
  expect_refused([](auto& k) { k.block = {64, 64, 1}; });
  expect_refused([](auto& k) { k.cluster = {2, 1, 1}; });
  expect_refused([](auto& k) { k.dynamic_shared_bytes = 232'449; });
  expect_refused([](auto& k) { k.arguments.patch_pointer(4092, 0); });
  expect_refused([](auto& k) { k.arguments.add_pointer(3); });
  expect_refused([](auto& k) { k.arguments.add(std::array<char, 4096>{}); });
}

TEST_F(Device_program, AKernelOfTooManyRegistersIsRefused) {
  fake::state().threads_per_block = 96;
  auto built = program({step()});
  ASSERT_FALSE(built.ok());
  EXPECT_THAT(built.error().message, HasSubstr("at most 96 threads"));
}

TEST_F(Device_program, TensorMapsBeyondTheCopyEngineAreRefused) {
  auto expect_refused = [&](engine::TensorMap map) {
    DevicePlan other;
    other.kernel.arguments.patch_map(other.kernel.arguments.add(std::array<uint64_t, 16>{}), 0, std::move(map));
    auto built = other.program({other.step()});
    ASSERT_FALSE(built.ok());
    EXPECT_EQ(built.error().rule, base::Rule::plan_tensor_map) << built.error().message;
  };
  expect_refused({DataType_t::INT4, {32}, {}, {32}, 128, 256});
  expect_refused({DataType_t::FLOAT, {32}, {}, {32}, 48, 256});
  expect_refused({DataType_t::FLOAT, {32, 2}, {}, {32, 2}, 128, 256});
  expect_refused({DataType_t::FLOAT, {}, {}, {}, 128, 256});
}

}  // namespace
}  // namespace fusednn::tests
