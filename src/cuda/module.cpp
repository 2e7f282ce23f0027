#include "cuda/module.h"

#include <fmt/format.h>

#include <array>

namespace fusednn::cuda {

base::Result<std::shared_ptr<Module const>> Module::load(std::shared_ptr<PrimaryContext const> context,
                                                         std::string const& image) {
  Driver const& driver = context->driver();
  RelaxedCapture relaxed(driver);
  ContextScope scope(*context);
  if (scope.code()) return driver.error(scope.code(), "cuCtxPushCurrent");
  std::array<char, 4096> log{};
  int options[] = {jit_option::error_log, jit_option::error_log_bytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  RawModule module = nullptr;
  if (DriverCode code = driver.module_load(&module, image.c_str(), 2, options, values))
    return driver.error(code, fmt::format("cuModuleLoadDataEx{}{}", log[0] ? ": " : "", log.data()));
  return std::shared_ptr<Module const>(new Module(std::move(context), module));
}

Module::~Module() {
  RelaxedCapture relaxed(context_->driver());
  ContextScope scope(*context_);
  if (!scope.code()) context_->driver().module_unload(module_);
}

base::Result<Function> Module::function(std::string const& entry, int dynamic_shared_bytes) const {
  Driver const& driver = context_->driver();
  RelaxedCapture relaxed(driver);
  ContextScope scope(*context_);
  if (scope.code()) return driver.error(scope.code(), "cuCtxPushCurrent");
  Function f;
  if (DriverCode code = driver.module_function(&f.raw, module_, entry.c_str()))
    return driver.error(code, fmt::format("cuModuleGetFunction {}", entry));
  if (driver.function_load)
    if (DriverCode code = driver.function_load(f.raw)) return driver.error(code, fmt::format("cuFuncLoad {}", entry));
  struct {
    int attribute;
    int* value;
  } const wanted[] = {{function_attribute::registers, &f.registers},
                      {function_attribute::local_bytes, &f.local_bytes},
                      {function_attribute::static_shared_bytes, &f.static_shared_bytes},
                      {function_attribute::max_threads, &f.max_threads}};
  for (auto [attribute, value] : wanted)
    if (DriverCode code = driver.function_get(value, attribute, f.raw))
      return driver.error(code, fmt::format("cuFuncGetAttribute {}", entry));
  if (DriverCode code = driver.function_set(f.raw, function_attribute::max_dynamic_shared_bytes, dynamic_shared_bytes))
    return driver.error(code,
                        fmt::format("cuFuncSetAttribute {}: {} bytes of shared memory", entry, dynamic_shared_bytes));
  return f;
}

}  // namespace fusednn::cuda
