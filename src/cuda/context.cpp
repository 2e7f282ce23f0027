#include "cuda/context.h"

namespace fusednn::cuda {

base::Result<std::shared_ptr<PrimaryContext const>> PrimaryContext::retain(int ordinal) {
  base::Result<Driver const*> d = cuda::driver();
  if (!d) return d.errors();
  Driver const& driver = **d;
  DeviceOrdinal device = 0;
  if (DriverCode code = driver.device_get(&device, ordinal)) return driver.error(code, "cuDeviceGet");
  RawContext context = nullptr;
  if (DriverCode code = driver.primary_context_retain(&context, device))
    return driver.error(code, "cuDevicePrimaryCtxRetain");
  return std::shared_ptr<PrimaryContext const>(new PrimaryContext(driver, ordinal, device, context));
}

PrimaryContext::~PrimaryContext() {
  // A failure here means that the driver has shut down before us, and the context with it.
  driver_.primary_context_release(device_);
}

ContextScope::ContextScope(PrimaryContext const& context) : driver_(context.driver()) {
  RawContext current = nullptr;
  code_ = driver_.context_current(&current);
  if (code_ != code::success || current == context.raw()) return;
  code_ = driver_.context_push(context.raw());
  pushed_ = code_ == code::success;
}

ContextScope::~ContextScope() {
  RawContext popped = nullptr;
  if (pushed_) driver_.context_pop(&popped);
}

}  // namespace fusednn::cuda
