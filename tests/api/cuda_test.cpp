#include "fakes/fake_driver.h"

#include <fusednn.h>

#include <gmock/gmock.h>

namespace {

namespace fe = fusednn;
using ::testing::HasSubstr;

class Cuda_handle : public ::testing::Test {
 protected:
  Cuda_handle() { fusednn::fake::state() = {}; }
  ~Cuda_handle() override { EXPECT_TRUE(fe::destroy(handle).is_good()); }
  fe::error_t create(fe::Device device, int ordinal = 0) { return fe::create(&handle, device, ordinal); }
  fe::handle_t handle = nullptr;
};

TEST_F(Cuda_handle, StandsForADevice) {
  fe::error_t const e = create(fe::Device::CUDA);
  ASSERT_TRUE(e.is_good()) << e.get_message();
  fe::Device device = fe::Device::CPU;
  int ordinal = -1;
  ASSERT_TRUE(fe::get_device(handle, &device, &ordinal).is_good());
  EXPECT_EQ(device, fe::Device::CUDA);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(fe::describe_device_ext(handle), "cuda:0, Fake GPU, 132 multiprocessors, kernels for sm_90a");
}

TEST_F(Cuda_handle, MayStandForAnArchitectureAlone) {
  ASSERT_TRUE(fe::create_for_arch_ext(&handle, "sm_90a").is_good());
  EXPECT_EQ(fe::describe_device_ext(handle), "sm_90a, without a device");
  void* memory = nullptr;
  fe::error_t const e = fe::allocate_ext(handle, 20, &memory);
  EXPECT_EQ(e.get_code(), fe::error_code_t::HANDLE_ERROR);
  EXPECT_THAT(e.get_message(), HasSubstr("without a device"));
  fe::handle_t other = nullptr;
  EXPECT_THAT(fe::create_for_arch_ext(&other, "sm_12").get_message(), HasSubstr("'sm_12', there are sm_80"));
  EXPECT_EQ(other, nullptr);
  EXPECT_TRUE(fe::create_for_arch_ext(nullptr, "sm_90a").is_bad());
}

TEST_F(Cuda_handle, IsWhatAutoGives) {
  ASSERT_TRUE(create(fe::Device::AUTO).is_good());
  EXPECT_THAT(fe::describe_device_ext(handle), HasSubstr("cuda:0"));
}

TEST_F(Cuda_handle, AutoFallsBackToTheCpu) {
  fusednn::fake::state().devices = 0;
  ASSERT_TRUE(create(fe::Device::AUTO).is_good());
  EXPECT_THAT(fe::describe_device_ext(handle), HasSubstr("cpu"));
}

TEST_F(Cuda_handle, DevicesThatAreNotThereOrTooOldAreNamed) {
  fe::error_t e = create(fe::Device::CUDA, 5);
  EXPECT_EQ(e.get_code(), fe::error_code_t::HANDLE_ERROR);
  EXPECT_THAT(e.get_message(), HasSubstr("CUDA device 5, there are 1"));
  EXPECT_EQ(handle, nullptr);
  EXPECT_TRUE(create(fe::Device::CUDA, -1).is_bad());
  fusednn::fake::state().sm = 75;
  e = create(fe::Device::CUDA);
  EXPECT_EQ(e.get_code(), fe::error_code_t::HANDLE_ERROR);
  EXPECT_THAT(e.get_message(), HasSubstr("compute capability 7.5"));
}

TEST_F(Cuda_handle, TakesStreamsOfItsDeviceOnly) {
  ASSERT_TRUE(create(fe::Device::CUDA).is_good());
  EXPECT_TRUE(fe::set_stream(handle, fusednn::fake::stream()).is_good());
  fe::error_t const e = fe::set_stream(handle, fusednn::fake::foreign_stream());
  EXPECT_EQ(e.get_code(), fe::error_code_t::HANDLE_ERROR);
  void* stream = nullptr;
  ASSERT_TRUE(fe::get_stream(handle, &stream).is_good());
  EXPECT_EQ(stream, fusednn::fake::stream());
}

TEST_F(Cuda_handle, GivesTheContextBack) {
  ASSERT_TRUE(create(fe::Device::CUDA).is_good());
  EXPECT_EQ(fusednn::fake::state().retained, 1);
  ASSERT_TRUE(fe::destroy(handle).is_good());
  handle = nullptr;
  EXPECT_EQ(fusednn::fake::state().retained, 0);
}

class Device_memory : public Cuda_handle, public ::testing::WithParamInterface<fe::Device> {};

TEST_P(Device_memory, IsAllocatedCopiedAndFreed) {
  ASSERT_TRUE(create(GetParam()).is_good());
  void* memory = nullptr;
  ASSERT_TRUE(fe::allocate_ext(handle, 20, &memory).is_good());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  char const from[20] = "nineteen characters";
  char back[20] = {};
  EXPECT_TRUE(fe::copy_ext(handle, memory, from, 20).is_good());
  EXPECT_TRUE(fe::copy_ext(handle, back, memory, 20).is_good());
  EXPECT_TRUE(fe::synchronize_ext(handle).is_good());
  EXPECT_STREQ(back, from);
  EXPECT_TRUE(fe::free_ext(handle, memory).is_good());
  EXPECT_TRUE(fe::free_ext(handle, nullptr).is_good());
  EXPECT_TRUE(fe::allocate_ext(nullptr, 20, &memory).is_bad());
  EXPECT_EQ(memory, nullptr);
}

INSTANTIATE_TEST_SUITE_P(OfBothKinds, Device_memory, ::testing::Values(fe::Device::CPU, fe::Device::CUDA));

TEST_F(Cuda_handle, ShortageOfMemoryIsAnError) {
  ASSERT_TRUE(create(fe::Device::CPU).is_good());
  void* memory = nullptr;
  EXPECT_EQ(fe::allocate_ext(handle, SIZE_MAX, &memory).get_code(), fe::error_code_t::HANDLE_ERROR);
  EXPECT_EQ(memory, nullptr);
}

TEST(Cuda, SaysWhereItLooked) {
  std::string const text = fe::describe_cuda_ext();
  EXPECT_THAT(text, HasSubstr("CUDA driver: libcuda.so.1: loaded"));
  EXPECT_THAT(text, HasSubstr("NVRTC: "));
  EXPECT_THAT(text, HasSubstr("kernel cache: "));
}

}  // namespace
