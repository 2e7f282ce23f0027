#pragma once

#include "cuda/context.h"

namespace fusednn::cuda {

// Device memory for tools, examples and tests that ask for it. Plans never allocate any.

base::Result<void*> allocate(PrimaryContext const& context, size_t bytes);
base::Status free(PrimaryContext const& context, void* memory);
/// Enqueues a copy between any two of host and device memory.
base::Status copy(PrimaryContext const& context, void* to, void const* from, size_t bytes, RawStream stream);
base::Status synchronize(PrimaryContext const& context, RawStream stream);

inline DevicePointer device_pointer(void const* p) { return reinterpret_cast<uintptr_t>(p); }

}  // namespace fusednn::cuda
