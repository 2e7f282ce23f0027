#include "jit/module_cache.h"

namespace fusednn::jit {

// Never destroyed, as Compiler::shared().
ModuleCache& ModuleCache::shared() {
  static ModuleCache& instance = *new ModuleCache;
  return instance;
}

base::Result<std::shared_ptr<cuda::Module const>> ModuleCache::get(
    std::shared_ptr<cuda::PrimaryContext const> const& context, CompiledKernel const& kernel) {
  std::lock_guard const lock(mutex_);
  std::weak_ptr<cuda::Module const>& slot = modules_[{context->raw(), kernel.key.text}];
  if (auto module = slot.lock()) return module;
  auto module = cuda::Module::load(context, kernel.image.image);
  if (module) slot = *module;
  if (modules_.size() >= sweep_at_) {
    std::erase_if(modules_, [](auto const& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * modules_.size() + 64;
  }
  return module;
}

}  // namespace fusednn::jit
