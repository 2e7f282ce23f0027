#pragma once

#include "cuda/module.h"
#include "jit/compiler.h"

#include <map>

namespace fusednn::jit {

/// Modules that are loaded now, so that plans with the same kernel share one. Holds none of them itself: the last plan
/// that goes unloads the code.
class ModuleCache {
 public:
  /// The process's own.
  static ModuleCache& shared();

  base::Result<std::shared_ptr<cuda::Module const>> get(std::shared_ptr<cuda::PrimaryContext const> const& context,
                                                        CompiledKernel const& kernel);

 private:
  using Key = std::pair<cuda::RawContext, std::string>;

  std::mutex mutex_;
  std::map<Key, std::weak_ptr<cuda::Module const>> modules_;
  size_t sweep_at_ = 64;
};

}  // namespace fusednn::jit
