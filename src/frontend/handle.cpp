#include "frontend/handle.h"

#include "frontend/errors.h"

#include <fusednn/version.h>

#include <fmt/format.h>

FUSEDNN_BEGIN_NAMESPACE

int version() noexcept { return FUSEDNN_VERSION; }

char const* to_string(error_code_t code) noexcept { return base::to_string(code).data(); }

namespace detail {

error_t create_checked(handle_t* handle, Device device, int ordinal, int header_version) {
  if (!handle) return to_public(base::make_error(base::Rule::plan_handle, {}, "create() was given no place for it"));
  *handle = nullptr;
  if (header_version != FUSEDNN_VERSION)
    return to_public(base::make_error(base::Rule::handle_version, {},
                                      fmt::format("headers {}, library {}", header_version, FUSEDNN_VERSION)));
  if (device == Device::CUDA)
    return to_public(base::make_error(base::Rule::handle_device, {}, fmt::format("CUDA device {}", ordinal)));
  if (ordinal != 0)
    return to_public(base::make_error(base::Rule::handle_device, {}, fmt::format("CPU {}, there is CPU 0", ordinal)));
  *handle = new handle_impl{target::host_target()};
  return {};
}

}  // namespace detail

namespace {

error_t on_handle(handle_t handle, auto&& action) {
  if (!handle) return to_public(base::make_error(base::Rule::plan_handle, {}, "the handle is null"));
  action(*handle);
  return {};
}

}  // namespace

error_t destroy(handle_t handle) {
  delete handle;
  return {};
}

error_t set_stream(handle_t handle, void* stream) {
  return on_handle(handle, [&](handle_impl& h) { h.stream = stream; });
}

error_t get_stream(handle_t handle, void** stream) {
  return on_handle(handle, [&](handle_impl& h) { *stream = h.stream; });
}

error_t get_device(handle_t handle, Device* device, int* ordinal) {
  return on_handle(handle, [&](handle_impl& h) {
    *device = h.target.device;
    *ordinal = h.target.ordinal;
  });
}

std::string describe_device_ext(handle_t handle) {
  if (!handle) return "none";
  return fmt::format("{}, {} threads", handle->target.name(), handle->target.threads);
}

FUSEDNN_END_NAMESPACE
