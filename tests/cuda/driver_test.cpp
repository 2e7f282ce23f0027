#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/stream.h"
#include "fakes/fake_driver.h"

#include <gmock/gmock.h>

#include <thread>

namespace fusednn::cuda {
namespace {

using ::testing::HasSubstr;

class FakeDriver : public ::testing::Test {
 protected:
  FakeDriver() {
    fake::State& s = fake::state();
    s = {};
    s.kernels = {{"entry", [](void**) {}}};
    context = *PrimaryContext::retain(0);
    s.calls.clear();
  }
  std::shared_ptr<PrimaryContext const> context;
};

TEST_F(FakeDriver, IsTheOneThatIsLoaded) {
  ASSERT_TRUE(driver().ok());
  EXPECT_THAT(driver_search().text(), HasSubstr("libcuda.so.1: loaded, for CUDA 13.0"));
}

TEST_F(FakeDriver, TellsOfTheDevice) {
  base::Result<DeviceInfo> info = device_info(0);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->name, "Fake GPU");
  EXPECT_EQ(info->sm, 90);
  EXPECT_EQ(info->multiprocessors, 132);
  EXPECT_DOUBLE_EQ(info->memory_bytes_per_second, 2 * 3e9 * 6144 / 8);
  EXPECT_FALSE(device_info(1).ok());
  EXPECT_EQ(*device_count(), 1);
}

TEST_F(FakeDriver, ErrorsCarryTheCallAndTheDriversText) {
  fake::state().fail = "cuMemAlloc_v2";
  fake::state().fail_code = code::out_of_memory;
  base::Result<void*> p = allocate(*context, 100);
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.error().rule, base::Rule::cuda_call);
  EXPECT_EQ(p.error().kind(), base::ErrorKind::failed);
  EXPECT_THAT(p.error().message, HasSubstr("cuMemAlloc of 100 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory)"));
}

TEST_F(FakeDriver, ARejectedImageSaysWhy) {
  fake::state().fail = "cuModuleLoadDataEx";
  fake::state().fail_code = 200;
  auto module = Module::load(context, "image");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("the image is not to our liking"));
}

TEST_F(FakeDriver, ContextIsCurrentOnlyInsideAScope) {
  std::thread([&] {
    EXPECT_EQ(fake::current_context(), nullptr);
    {
      ContextScope outer(*context);
      EXPECT_EQ(fake::current_context(), context->raw());
      ContextScope inner(*context);
      EXPECT_EQ(inner.code(), code::success);
    }
    EXPECT_EQ(fake::current_context(), nullptr);
  }).join();
}

TEST_F(FakeDriver, ModulesHoldTheContextAndGoWithTheLastReference) {
  auto module = Module::load(context, "image");
  ASSERT_TRUE(module.ok());
  context.reset();
  EXPECT_EQ(fake::state().retained, 1);
  base::Result<Function> f = (*module)->function("entry", 100 << 10);
  ASSERT_TRUE(f.ok());
  EXPECT_THAT(fake::state().calls, ::testing::Contains("cuFuncLoad")) << "kernels are resident before a capture";
  base::Result<Function> missing = (*module)->function("other", 0);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("cuModuleGetFunction other"));
  module->reset();
  EXPECT_EQ(fake::state().modules, 0);
  EXPECT_EQ(fake::state().retained, 0);
}

TEST_F(FakeDriver, MayShutDownBeforeUs) {
  auto module = Module::load(context, "image");
  fake::state().shut_down = true;
  module->reset();
  context.reset();
  fake::state().shut_down = false;
  EXPECT_THAT(fake::state().calls, ::testing::Not(::testing::Contains("cuModuleUnload")));
}

TEST_F(FakeDriver, StreamsOfOtherContextsAreNamed) {
  EXPECT_TRUE(check_stream(*context, fake::stream()).ok());
  EXPECT_TRUE(check_stream(*context, nullptr).ok());
  EXPECT_TRUE(check_stream(*context, reinterpret_cast<RawStream>(uintptr_t{2})).ok());
  base::Status const foreign = check_stream(*context, fake::foreign_stream());
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().rule, base::Rule::handle_stream);
}

TEST_F(FakeDriver, StreamsAndEventsAreDestroyedOnce) {
  {
    Stream s = std::move(Stream::create(context).value());
    Stream moved = std::move(s);
    Event start = std::move(Event::create(context).value()), end = std::move(Event::create(context).value());
    EXPECT_TRUE(start.record(moved.raw()).ok());
    EXPECT_TRUE(end.record(moved.raw()).ok());
    EXPECT_DOUBLE_EQ(*end.seconds_since(start), 1.5e-3);
    EXPECT_TRUE(moved.synchronize().ok());
  }
  auto count = [](char const* call) {
    return std::count(fake::state().calls.begin(), fake::state().calls.end(), call);
  };
  EXPECT_EQ(count("cuStreamDestroy_v2"), 1);
  EXPECT_EQ(count("cuEventDestroy_v2"), 2);
}

TEST_F(FakeDriver, MemoryIsCopiedAndFreed) {
  base::Result<void*> p = allocate(*context, 16);
  ASSERT_TRUE(p.ok());
  char const from[16] = "fifteen letters";
  char back[16] = {};
  EXPECT_TRUE(copy(*context, *p, from, 16, nullptr).ok());
  EXPECT_TRUE(copy(*context, back, *p, 16, nullptr).ok());
  EXPECT_TRUE(synchronize(*context, nullptr).ok());
  EXPECT_STREQ(back, from);
  EXPECT_TRUE(free(*context, *p).ok());
  EXPECT_TRUE(free(*context, nullptr).ok());
}

}  // namespace
}  // namespace fusednn::cuda
