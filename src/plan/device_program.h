#pragma once

#include "cuda/module.h"
#include "engine/engine.h"
#include "plan/tensor_maps.h"

namespace fusednn::jit {
class Compiler;
struct CompiledKernel;
}  // namespace fusednn::jit

namespace fusednn::plan {

/// The steps of a plan as the driver takes them: compiled, loaded, with everything but the caller's pointers filled
/// in. Immutable: any number of threads may run it at once.
class DeviceProgram {
 public:
  explicit DeviceProgram(std::vector<engine::Step> steps) : steps_(std::move(steps)) {}
  DeviceProgram(DeviceProgram const&) = delete;
  DeviceProgram& operator=(DeviceProgram const&) = delete;

  /// Compiles the kernels of all steps, in parallel, and loads them where the target has a device. `lenient`: kernels
  /// whose tensor-core instructions ptxas serialised are taken all the same.
  static base::Result<std::shared_ptr<DeviceProgram const>> build(target::Target const& target,
                                                                  std::vector<engine::Step> const& steps, bool lenient,
                                                                  jit::Compiler& compiler);

  /// Enqueues everything. `operands(i)` gives the memory of step i's operands, valid until the next call of it.
  template <class Operands>
  base::Status run(cuda::RawStream stream, Operands&& operands) const {
    cuda::ContextScope const scope(*context_);
    if (scope.code()) return context_->driver().error(scope.code(), "cuCtxPushCurrent");
    for (size_t i = 0; i < launches_.size(); ++i)
      if (cuda::DriverCode code = enqueue(launches_[i], operands(i), stream))
        return context_->driver().error(code, launches_[i].step->description);
    return base::success();
  }

 private:
  struct Launch {
    engine::Step const* step;
    engine::DeviceKernel const* kernel = nullptr;  ///< null: a fill or a copy
    std::shared_ptr<cuda::Module const> module;
    cuda::Function function;
    cuda::LaunchConfig config{};
    std::vector<cuda::LaunchAttribute> attributes;
    std::vector<EncodedMap> maps;
  };

  base::Status load(Launch& launch, jit::CompiledKernel const& compiled);
  cuda::DriverCode enqueue(Launch const& launch, void* const* operands, cuda::RawStream stream) const;

  std::shared_ptr<cuda::PrimaryContext const> context_;
  std::vector<engine::Step> steps_;
  std::vector<Launch> launches_;
};

}  // namespace fusednn::plan
