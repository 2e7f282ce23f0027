#pragma once

#include "base/result.h"
#include "codegen/kernel_source.h"
#include "jit/embedded.h"

namespace fusednn::jit {

/// What a compiled kernel depends on. Two kernels are the same where their keys' texts are equal; the hash only names
/// files. The compiler's version is no part of it, so that a cache carried to another machine is used there.
struct KernelKey {
  std::string text;
  std::string file_name;  ///< "<kernel>.<arch>.<hash>.kernel"
  std::vector<EmbeddedFile const*> headers;
};

base::Result<KernelKey> kernel_key(codegen::KernelSource const& source);

/// The options that a kernel is compiled with, the architecture apart.
std::vector<std::string> compile_options(codegen::KernelSource const& source);

}  // namespace fusednn::jit
