#include "frontend/handle.h"

#include "base/enum_names.h"
#include "base/log.h"
#include "cuda/device.h"
#include "cuda/stream.h"
#include "frontend/errors.h"

#include <fusednn/version.h>

#include <fmt/format.h>

FUSEDNN_BEGIN_NAMESPACE

int version() noexcept { return FUSEDNN_VERSION; }

char const* to_string(error_code_t code) noexcept { return base::to_string(code).data(); }

namespace {

base::Result<handle_impl> cuda_handle(int ordinal) {
  base::Result<int> count = cuda::device_count();
  if (!count) return count.errors();
  if (ordinal < 0 || ordinal >= *count)
    return base::make_error(base::Rule::handle_device, {},
                            fmt::format("CUDA device {}, there are {}", ordinal, *count));
  base::Result<cuda::DeviceInfo> info = cuda::device_info(ordinal);
  if (!info) return info.errors();
  base::Result<target::Gpu> gpu =
      target::gpu_of({info->sm, info->multiprocessors, info->l2_bytes, info->shared_bytes_per_block,
                      info->memory_bytes_per_second, info->clock_hz});
  if (!gpu) return gpu.errors();
  auto context = cuda::PrimaryContext::retain(ordinal);
  if (!context) return context.errors();
  log(LogLevel::INFO, "CUDA device {}: {}, kernels for {}", ordinal, info->name, gpu->arch);
  return handle_impl{target::cuda_target(ordinal, std::move(*gpu)), nullptr, std::move(*context)};
}

base::Result<handle_impl> any_handle(Device device, int ordinal) {
  if (device == Device::CUDA) return cuda_handle(ordinal);
  if (device == Device::AUTO)
    if (auto handle = cuda_handle(ordinal)) return handle;
  if (ordinal != 0)
    return base::make_error(base::Rule::handle_device, {}, fmt::format("CPU {}, there is CPU 0", ordinal));
  return handle_impl{target::host_target()};
}

}  // namespace

namespace detail {

error_t create_checked(handle_t* handle, Device device, int ordinal, int header_version) {
  if (!handle) return to_public(base::make_error(base::Rule::plan_handle, {}, "create() was given no place for it"));
  *handle = nullptr;
  if (header_version != FUSEDNN_VERSION)
    return to_public(base::make_error(base::Rule::handle_version, {},
                                      fmt::format("headers {}, library {}", header_version, FUSEDNN_VERSION)));
  base::Result<handle_impl> made = any_handle(device, ordinal);
  if (!made) return to_public(made.errors());
  *handle = new handle_impl(std::move(*made));
  return {};
}

}  // namespace detail

error_t create_for_arch_ext(handle_t* handle, std::string const& arch) {
  if (!handle)
    return to_public(base::make_error(base::Rule::plan_handle, {}, "create_for_arch_ext() was given no place for it"));
  *handle = nullptr;
  base::Result<target::Gpu> gpu = target::gpu_for_arch(arch);
  if (!gpu) return to_public(gpu.errors());
  *handle = new handle_impl{target::cuda_target(std::move(*gpu))};
  return {};
}

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
  if (handle && handle->context && stream != handle->stream)
    if (base::Status status = cuda::check_stream(*handle->context, static_cast<cuda::RawStream>(stream)); !status)
      return to_public(status);
  return on_handle(handle, [&](handle_impl& h) { h.stream = stream; });
}

error_t get_stream(handle_t handle, void** stream) {
  return on_handle(handle, [&](handle_impl& h) {
    if (stream) *stream = h.stream;
  });
}

error_t get_device(handle_t handle, Device* device, int* ordinal) {
  return on_handle(handle, [&](handle_impl& h) {
    if (device) *device = h.target.device;
    if (ordinal) *ordinal = h.target.ordinal;
  });
}

std::string describe_device_ext(handle_t handle) {
  if (!handle) return "none";
  if (handle->context)
    if (auto info = cuda::device_info(handle->target.ordinal))
      return fmt::format("{}, {}, {} multiprocessors, kernels for {}", handle->target.name(), info->name,
                         info->multiprocessors, handle->target.gpu->arch);
  if (!handle->target.has_device()) return fmt::format("{}, without a device", handle->target.name());
  return fmt::format("{}, {} threads", handle->target.name(), handle->target.threads);
}

FUSEDNN_END_NAMESPACE
