#pragma once

#include <string>
#include <vector>

namespace fusednn::codegen {

/// A translation unit for the run-time compiler, as plain data. The files under kernels/ are its headers, by
/// their path from there: `#include "math/pointwise.h"`.
struct KernelSource {
  std::string name;  ///< short and readable, e.g. "pointwise_add_relu_bf16": names files, messages, profiles
  std::string text;  ///< CUDA C++; the entries are extern "C"
  std::string arch;  ///< target::Gpu::arch
  std::vector<std::string> options;  ///< beyond those that every kernel is compiled with
  /// Uses instructions that exist on `arch` alone (wgmma, tcgen05, setmaxnreg). Else a compiler too old for
  /// `arch` may make PTX for an older one.
  bool arch_specific = false;
};

}  // namespace fusednn::codegen
