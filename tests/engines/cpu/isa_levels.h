#pragma once

#include "engines/cpu/kernels/table.h"

#include <gtest/gtest.h>

namespace fusednn::engines::cpu {

// Tests of loops run once on every level that this machine can execute.
class EveryLevel : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (kernels_of(GetParam()) == nullptr) GTEST_SKIP() << "this CPU or build lacks the level";
  }
  KernelTable const& table() const { return *kernels_of(GetParam()); }
};

inline std::string level_name(testing::TestParamInfo<Isa> const& info) {
  constexpr char const* names[kIsaCount] = {"baseline", "v3", "v4"};
  return names[static_cast<int>(info.param)];
}

#define FUSEDNN_EVERY_LEVEL(suite) \
  INSTANTIATE_TEST_SUITE_P(Isa, suite, testing::Values(Isa::BASELINE, Isa::V3, Isa::V4), level_name)

}  // namespace fusednn::engines::cpu
