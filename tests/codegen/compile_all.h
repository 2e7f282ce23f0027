#pragma once

#include "codegen/loop_kernel.h"
#include "jit/compiler.h"

#include <gtest/gtest.h>

#include <functional>

namespace fusednn::tests {

/// Compiles what `kernels_for` gives for each architecture; none may spill. Skips the test where there is no
/// run-time compiler, and leaves out architectures that it does not know.
inline void compile_all(std::function<std::vector<codegen::LoopKernel>(std::string const& arch)> kernels_for) {
  jit::Compiler compiler({});
  for (std::string const arch : {"sm_80", "sm_90a", "sm_100a", "sm_120"}) {
    std::vector<codegen::LoopKernel> const kernels = kernels_for(arch);
    std::vector<codegen::KernelSource const*> sources;
    for (codegen::LoopKernel const& k : kernels) sources.push_back(&k.source);
    auto answers = compiler.get(sources);
    for (size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i] && answers[i].error().message.find("NVRTC") != std::string::npos && i == 0)
        GTEST_SKIP() << "no run-time compiler for " << arch << ": " << answers[i].error().message;
      ASSERT_TRUE(answers[i].ok()) << base::join(answers[i].errors()) << "\n" << kernels[i].source.text;
      for (jit::EntryResources const& r : jit::resources(answers[i].value()->image.log))
        EXPECT_EQ(r.spill_store_bytes + r.spill_load_bytes, 0) << arch << ", " << r.registers << " registers\n"
                                                               << kernels[i].source.text;
    }
  }
}

}  // namespace fusednn::tests
