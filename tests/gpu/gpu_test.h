#pragma once

#include "cuda/context.h"
#include "cuda/stream.h"

#include <fusednn.h>

#include <gtest/gtest.h>

namespace fusednn::testing {

/// Says where a call failed and how.
#define EXPECT_GOOD(call)                                    \
  do {                                                       \
    ::fusednn::error_t const outcome = (call);               \
    EXPECT_TRUE(outcome.is_good()) << outcome.get_message(); \
  } while (false)

/// A test on CUDA device 0, skipped where there is none.
class Gpu : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// A stream on which nothing waits for the default streams.
  cuda::Stream stream() const;
  /// A new handle for the device, with this stream.
  handle_t handle_on(cuda::Stream const& stream) const;

  handle_t handle = nullptr;  ///< on the default stream
  std::shared_ptr<cuda::PrimaryContext const> context;
};

}  // namespace fusednn::testing
