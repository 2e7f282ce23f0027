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

/// An error where the handle has no memory.
error_t check_handle(handle_t handle) {
  if (!handle) return to_public(base::make_error(base::Rule::plan_handle, {}, "the handle is null"));
  if (handle->target.has_device()) return {};
  return to_public(
      base::make_error(base::Rule::handle_device, {},
                       fmt::format("memory of {}, an architecture without a device", handle->target.name())));
}

}  // namespace

error_t allocate_ext(handle_t handle, size_t bytes, void** memory) {
  if (!memory) return null_memory("the place for the memory");
  *memory = nullptr;
  if (error_t e = check_handle(handle); e.is_bad()) return e;
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
  if (error_t e = check_handle(handle); e.is_bad()) return e;
  if (handle->context) return to_public(cuda::free(*handle->context, memory));
  std::free(memory);
  return {};
}

error_t copy_ext(handle_t handle, void* to, void const* from, size_t bytes) {
  if (error_t e = check_handle(handle); e.is_bad()) return e;
  if (bytes > 0 && (!to || !from)) return null_memory(to ? "the source" : "the destination");
  if (handle->context)
    return to_public(cuda::copy(*handle->context, to, from, bytes, static_cast<cuda::RawStream>(handle->stream)));
  if (bytes) std::memmove(to, from, bytes);
  return {};
}

error_t synchronize_ext(handle_t handle) {
  if (error_t e = check_handle(handle); e.is_bad()) return e;
  if (!handle->context) return {};
  return to_public(cuda::synchronize(*handle->context, static_cast<cuda::RawStream>(handle->stream)));
}

FUSEDNN_END_NAMESPACE
