#include "gpu/gpu_test.h"

namespace fusednn::testing {

void Gpu::SetUp() {
  error_t const made = create(&handle, Device::CUDA);
  if (made.is_bad()) GTEST_SKIP() << "there is no GPU: " << made.get_message();
  auto retained = cuda::PrimaryContext::retain(0);
  ASSERT_TRUE(retained) << base::join(retained.errors());
  context = *retained;
}

void Gpu::TearDown() { EXPECT_GOOD(destroy(handle)); }

cuda::Stream Gpu::stream() const {
  auto made = cuda::Stream::create(context);
  EXPECT_TRUE(made);
  return std::move(made.value());
}

handle_t Gpu::handle_on(cuda::Stream const& stream) const {
  handle_t made = nullptr;
  EXPECT_GOOD(create(&made, Device::CUDA));
  EXPECT_GOOD(set_stream(made, stream.raw()));
  return made;
}

}  // namespace fusednn::testing
