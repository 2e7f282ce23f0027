#include "cuda/memory.h"

#include <fmt/format.h>

namespace fusednn::cuda {

base::Result<void*> allocate(PrimaryContext const& context, size_t bytes) {
  ContextScope scope(context);
  DevicePointer p = 0;
  if (DriverCode code = context.driver().memory_allocate(&p, bytes ? bytes : 1))
    return context.driver().error(code, fmt::format("cuMemAlloc of {} bytes", bytes));
  return reinterpret_cast<void*>(static_cast<uintptr_t>(p));
}

base::Status free(PrimaryContext const& context, void* memory) {
  if (!memory) return base::success();
  RelaxedCapture relaxed(context.driver());
  ContextScope scope(context);
  return context.driver().check(context.driver().memory_free(device_pointer(memory)), "cuMemFree");
}

base::Status copy(PrimaryContext const& context, void* to, void const* from, size_t bytes, RawStream stream) {
  ContextScope scope(context);
  return context.driver().check(context.driver().copy(device_pointer(to), device_pointer(from), bytes, stream),
                                "cuMemcpyAsync");
}

base::Status synchronize(PrimaryContext const& context, RawStream stream) {
  ContextScope scope(context);
  return context.driver().check(context.driver().stream_synchronize(stream), "cuStreamSynchronize");
}

}  // namespace fusednn::cuda
