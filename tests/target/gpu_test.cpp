#include "target/target.h"

#include <gmock/gmock.h>

namespace fusednn::target {
namespace {

using ::testing::HasSubstr;

TEST(Gpu, RowsAreWithinWhatTheHardwareCanHold) {
  for (GpuArch const& row : gpu_archs()) {
    SCOPED_TRACE(row.name);
    EXPECT_THAT(std::string(row.name), HasSubstr(std::to_string(row.sm)));
    EXPECT_LT(row.shared_bytes_per_block, row.shared_bytes_per_sm);
    EXPECT_EQ(row.threads_per_sm % 32, 0);
    EXPECT_GT(row.multiprocessors, 0);
    EXPECT_GT(row.memory_bytes_per_second, 1e11);
    bool const exact = row.can.wgmma || row.can.tensor_memory || row.can.register_reallocation;
    EXPECT_EQ(exact, row.name.back() == 'a') << "such instructions need code for exactly one architecture";
  }
}

TEST(Gpu, ADeviceIsItsRowWithItsOwnFigures) {
  GpuFacts facts;
  facts.sm = 90;
  facts.multiprocessors = 114;
  facts.l2_bytes = 1 << 20;
  base::Result<Gpu> gpu = gpu_of(facts);
  ASSERT_TRUE(gpu.ok());
  EXPECT_EQ(gpu->arch, "sm_90a");
  EXPECT_TRUE(gpu->can.wgmma);
  EXPECT_EQ(gpu->multiprocessors, 114);
  EXPECT_EQ(gpu->l2_bytes, 1 << 20);
  EXPECT_EQ(gpu->shared_bytes_per_block, 232448) << "what the device does not tell is the row's";
}

TEST(Gpu, ANewerDeviceGetsPtxOfTheNewestOlderRow) {
  for (auto [sm, arch] : {std::pair{130, "compute_121"}, {110, "compute_103"}, {87, "compute_86"}}) {
    GpuFacts facts;
    facts.sm = sm;
    base::Result<Gpu> gpu = gpu_of(facts);
    ASSERT_TRUE(gpu.ok());
    EXPECT_EQ(gpu->arch, arch);
    EXPECT_EQ(gpu->sm, sm);
    EXPECT_FALSE(gpu->can.wgmma || gpu->can.tensor_memory || gpu->can.register_reallocation);
  }
}

TEST(Gpu, AnOlderDeviceIsRefused) {
  GpuFacts facts;
  facts.sm = 75;
  base::Result<Gpu> gpu = gpu_of(facts);
  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().rule, base::Rule::handle_device);
  EXPECT_THAT(gpu.error().message, HasSubstr("7.5"));
  EXPECT_THAT(gpu.error().message, HasSubstr("8.0"));
}

TEST(Gpu, ArchitecturesGoByName) {
  for (char const* name : {"sm_90a", "sm_90", "90"}) EXPECT_EQ(gpu_for_arch(name)->arch, "sm_90a");
  base::Result<Gpu> gpu = gpu_for_arch("sm_70");
  ASSERT_FALSE(gpu.ok());
  EXPECT_THAT(gpu.error().message, HasSubstr("sm_80, sm_86"));
}

TEST(Target, NamesItself) {
  EXPECT_EQ(host_target().name(), "cpu");
  EXPECT_EQ(cuda_target(1, *gpu_for_arch("80")).name(), "cuda:1");
  EXPECT_EQ(cuda_target(*gpu_for_arch("80")).name(), "sm_80");
  EXPECT_FALSE(cuda_target(*gpu_for_arch("80")).has_device());
}

}  // namespace
}  // namespace fusednn::target
