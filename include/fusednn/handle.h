#pragma once

#include <fusednn/error.h>
#include <fusednn/version.h>

FUSEDNN_BEGIN_NAMESPACE

/// One device with the stream that work is enqueued on. A handle may be used by one thread at a time; plans may be
/// executed from any number of threads, each with its own handle.
using handle_t = struct handle_impl*;

namespace detail {
FUSEDNN_EXPORT error_t create_checked(handle_t* handle, Device device, int ordinal, int header_version);
}

/// Creates a handle for device number `ordinal` of kind `device`. HANDLE_ERROR where the device does not exist or
/// the headers and the loaded library differ in version; `*handle` is then null.
inline error_t create(handle_t* handle, Device device = Device::AUTO, int ordinal = 0) {
  return detail::create_checked(handle, device, ordinal, FUSEDNN_VERSION);
}
/// Creates a handle for a GPU architecture without a device, as "sm_90a", "sm_90" or "90": plans are made for it and
/// their kernels compiled into the cache, for a machine that has one. It executes nothing and has no memory.
FUSEDNN_EXPORT error_t create_for_arch_ext(handle_t* handle, std::string const& arch);
/// Destroys a handle; null is allowed.
FUSEDNN_EXPORT error_t destroy(handle_t handle);
/// Sets the stream (a CUstream; ignored by the CPU, which runs in the calling thread).
FUSEDNN_EXPORT error_t set_stream(handle_t handle, void* stream);
/// What is not asked for may be null, here and in get_device.
FUSEDNN_EXPORT error_t get_stream(handle_t handle, void** stream);
FUSEDNN_EXPORT error_t get_device(handle_t handle, Device* device, int* ordinal);
/// The device in one line, for people.
FUSEDNN_EXPORT std::string describe_device_ext(handle_t handle);

FUSEDNN_END_NAMESPACE
