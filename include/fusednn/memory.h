#pragma once

#include <fusednn/handle.h>

#include <cstddef>

FUSEDNN_BEGIN_NAMESPACE

// Memory of a handle's device, for programs that bring none of their own. Plans never allocate any: what they work in
// is the caller's, from here or from anywhere else.

/// Memory for `bytes` bytes, aligned to 256. `*memory` is null on failure.
FUSEDNN_EXPORT error_t allocate_ext(handle_t handle, size_t bytes, void** memory);
/// Gives memory back; null is allowed.
FUSEDNN_EXPORT error_t free_ext(handle_t handle, void* memory);
/// Enqueues a copy between any two of host and device memory on the handle's stream.
FUSEDNN_EXPORT error_t copy_ext(handle_t handle, void* to, void const* from, size_t bytes);
/// Waits for all that was enqueued on the handle's stream.
FUSEDNN_EXPORT error_t synchronize_ext(handle_t handle);

FUSEDNN_END_NAMESPACE
