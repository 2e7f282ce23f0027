#include "cuda/memory.h"

#include "frontend/errors.h"
#include "frontend/handle.h"

#include <fusednn/memory.h>

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

FUSEDNN_BEGIN_NAMESPACE

namespace {

constexpr size_t alignment = 256;

error_t null_memory(char const* what) {
  return to_public(base::make_error(base::Rule::execute_null_pointer, {}, fmt::format("{} is null", what)));
}

error_t without_handle() { return to_public(base::make_error(base::Rule::plan_handle, {}, "the handle is null")); }

}  // namespace

error_t allocate_ext(handle_t handle, size_t bytes, void** memory) {
  if (!memory) return null_memory("the place for the memory");
  *memory = nullptr;
  if (!handle) return without_handle();
  if (handle->context) {
    base::Result<void*> made = cuda::allocate(*handle->context, bytes);
    if (!made) return to_public(made.errors());
    *memory = *made;
    return {};
  }
  size_t const whole = bytes <= SIZE_MAX - alignment ? (bytes / alignment + 1) * alignment : 0;
  *memory = whole ? std::aligned_alloc(alignment, whole) : nullptr;
  if (*memory) return {};
  return to_public(base::make_error(base::Rule::host_memory, {}, fmt::format("{} bytes", bytes)));
}

error_t free_ext(handle_t handle, void* memory) {
  if (!handle) return without_handle();
  if (handle->context) return to_public(cuda::free(*handle->context, memory));
  std::free(memory);
  return {};
}

error_t copy_ext(handle_t handle, void* to, void const* from, size_t bytes) {
  if (!handle) return without_handle();
  if (bytes > 0 && (!to || !from)) return null_memory(to ? "the source" : "the destination");
  if (handle->context)
    return to_public(cuda::copy(*handle->context, to, from, bytes, static_cast<cuda::RawStream>(handle->stream)));
  if (bytes) std::memmove(to, from, bytes);
  return {};
}

error_t synchronize_ext(handle_t handle) {
  if (!handle) return without_handle();
  if (!handle->context) return {};
  return to_public(cuda::synchronize(*handle->context, static_cast<cuda::RawStream>(handle->stream)));
}

FUSEDNN_END_NAMESPACE
