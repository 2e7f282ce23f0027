#include "fakes/fake_driver.h"

#include "simulator/machine.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fusednn::fake {

namespace {

using namespace cuda;

char primary, other, own_stream, other_stream, event;
std::mutex mutex;
thread_local std::vector<RawContext> stack;

RawContext primary_context() { return reinterpret_cast<RawContext>(&primary); }

/// Notes the call and gives the code that it is to return.
DriverCode enter(char const* call) {
  std::lock_guard const lock(mutex);
  State& s = state();
  if (s.shut_down) return code::deinitialized;
  s.calls.emplace_back(call);
  return s.fail == call ? s.fail_code : code::success;
}

}  // namespace

__attribute__((visibility("default"))) State& state() {
  static State& s = *new State;
  return s;
}

__attribute__((visibility("default"))) RawStream stream() { return reinterpret_cast<RawStream>(&own_stream); }
__attribute__((visibility("default"))) RawStream foreign_stream() { return reinterpret_cast<RawStream>(&other_stream); }
__attribute__((visibility("default"))) RawContext current_context() { return stack.empty() ? nullptr : stack.back(); }

EXPORT DriverCode cuInit(unsigned) { return enter("cuInit"); }
EXPORT DriverCode cuDriverGetVersion(int* version) { return *version = 13000, code::success; }
EXPORT DriverCode cuGetErrorName(DriverCode code, char const** text) {
  return *text = code == code::out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER", code::success;
}
EXPORT DriverCode cuGetErrorString(DriverCode code, char const** text) {
  return *text = code == code::out_of_memory ? "out of memory" : "another error", code::success;
}
EXPORT DriverCode cuDeviceGetCount(int* count) { return *count = state().devices, code::success; }
EXPORT DriverCode cuDeviceGet(DeviceOrdinal* device, int ordinal) {
  return *device = ordinal, ordinal < state().devices ? code::success : 101;
}
EXPORT DriverCode cuDeviceGetName(char* text, int, DeviceOrdinal) {
  return std::strcpy(text, "Fake GPU"), code::success;
}
EXPORT DriverCode cuDeviceGetAttribute(int* value, int attribute, DeviceOrdinal) {
  switch (attribute) {
    case device_attribute::compute_major:
      *value = state().sm / 10;
      break;
    case device_attribute::compute_minor:
      *value = state().sm % 10;
      break;
    case device_attribute::multiprocessors:
      *value = 132;
      break;
    case device_attribute::l2_bytes:
      *value = 60 << 20;
      break;
    case device_attribute::shared_bytes_per_block_optin:
      *value = 232448;
      break;
    case device_attribute::memory_clock_khz:
      *value = 3'000'000;
      break;
    case device_attribute::memory_bus_bits:
      *value = 6144;
      break;
    case device_attribute::clock_khz:
      *value = 1'980'000;
      break;
    default:
      return 1;
  }
  return code::success;
}
EXPORT DriverCode cuDeviceTotalMem_v2(size_t* bytes, DeviceOrdinal) { return *bytes = size_t{1} << 37, code::success; }
EXPORT DriverCode cuDevicePrimaryCtxRetain(RawContext* context, DeviceOrdinal) {
  DriverCode const code = enter("cuDevicePrimaryCtxRetain");
  if (!code) ++state().retained;
  return *context = primary_context(), code;
}
EXPORT DriverCode cuDevicePrimaryCtxRelease_v2(DeviceOrdinal) {
  DriverCode const code = enter("cuDevicePrimaryCtxRelease_v2");
  if (!code) --state().retained;
  return code;
}
EXPORT DriverCode cuCtxPushCurrent_v2(RawContext context) { return stack.push_back(context), code::success; }
EXPORT DriverCode cuCtxPopCurrent_v2(RawContext* context) {
  return *context = stack.back(), stack.pop_back(), code::success;
}
EXPORT DriverCode cuCtxGetCurrent(RawContext* context) {
  return *context = current_context(), state().shut_down ? code::deinitialized : code::success;
}

namespace {
struct Entry {
  std::string name;
  simulator::Library const* library;
  simulator::Kernel kernel;
};
struct LoadedModule {
  std::shared_ptr<simulator::Library> library;  ///< none where the kernels are functions of the test
  std::vector<std::unique_ptr<Entry>> entries;
};
// What a driver that has shut down was not asked to unload stays here.
std::vector<std::unique_ptr<LoadedModule>>& loaded_modules() {
  static auto& list = *new std::vector<std::unique_ptr<LoadedModule>>;
  return list;
}
}  // namespace
EXPORT DriverCode cuModuleLoadDataEx(RawModule* module, void const* image, unsigned, int*, void** values) {
  DriverCode const code = enter("cuModuleLoadDataEx");
  if (code) return std::strcpy(static_cast<char*>(values[0]), "the image is not to our liking"), code;
  std::lock_guard const lock(mutex);
  ++state().modules;
  loaded_modules().push_back(std::make_unique<LoadedModule>());
  loaded_modules().back()->library = simulator::load(image);
  *module = reinterpret_cast<RawModule>(loaded_modules().back().get());
  return code;
}
EXPORT DriverCode cuModuleUnload(RawModule module) {
  DriverCode const code = enter("cuModuleUnload");
  std::lock_guard const lock(mutex);
  --state().modules;
  std::erase_if(loaded_modules(), [&](auto const& m) { return m.get() == reinterpret_cast<LoadedModule*>(module); });
  return code;
}
EXPORT DriverCode cuModuleGetFunction(RawFunction* function, RawModule module, char const* name) {
  if (DriverCode code = enter("cuModuleGetFunction")) return code;
  std::lock_guard const lock(mutex);
  auto& [library, entries] = *reinterpret_cast<LoadedModule*>(module);
  simulator::Kernel const kernel = library ? simulator::find(*library, name) : nullptr;
  auto const is_it = [&](auto const& k) { return k.first == name; };
  if (!kernel && std::none_of(state().kernels.begin(), state().kernels.end(), is_it)) return code::not_found;
  entries.push_back(std::make_unique<Entry>(Entry{name, library.get(), kernel}));
  *function = reinterpret_cast<RawFunction>(entries.back().get());
  return code::success;
}
EXPORT DriverCode cuFuncGetAttribute(int* value, int attribute, RawFunction) {
  return *value = attribute == function_attribute::max_threads ? state().threads_per_block : 32, code::success;
}
EXPORT DriverCode cuFuncSetAttribute(RawFunction, int, int) { return enter("cuFuncSetAttribute"); }
// A map is its address, rank and dims.
EXPORT DriverCode cuTensorMapEncodeTiled(void* map, int, unsigned rank, void* address, uint64_t const* dims,
                                         uint64_t const*, unsigned const*, unsigned const*, int, int, int, int) {
  if (DriverCode code = enter("cuTensorMapEncodeTiled")) return code;
  auto* words = static_cast<uint64_t*>(map);
  words[0] = reinterpret_cast<uintptr_t>(address);
  words[1] = rank;
  std::copy(dims, dims + rank, words + 2);
  return code::success;
}
EXPORT DriverCode cuTensorMapReplaceAddress(void* map, void* address) {
  if (DriverCode code = enter("cuTensorMapReplaceAddress")) return code;
  return *static_cast<uint64_t*>(map) = reinterpret_cast<uintptr_t>(address), code::success;
}
EXPORT DriverCode cuFuncLoad(RawFunction) { return enter("cuFuncLoad"); }
EXPORT DriverCode cuLaunchKernelEx(LaunchConfig const* c, RawFunction function, void** parameters, void**) {
  if (DriverCode code = enter("cuLaunchKernelEx")) return code;
  if (current_context() != primary_context()) return code::invalid_context;
  Entry const& entry = *reinterpret_cast<Entry*>(function);
  if (entry.kernel)
    return simulator::launch(*entry.library, entry.kernel, c->grid, c->block, parameters), code::success;
  Launch l{entry.name,
           {c->grid[0], c->grid[1], c->grid[2]},
           {c->block[0], c->block[1], c->block[2]},
           {1, 1, 1},
           c->dynamic_shared_bytes,
           c->stream,
           false,
           current_context()};
  for (unsigned i = 0; i < c->attribute_count; ++i) {
    LaunchAttribute const& a = c->attributes[i];
    if (a.id == launch_attribute::cluster_dimension) std::memcpy(l.cluster, a.value.cluster, sizeof(l.cluster));
    if (a.id == launch_attribute::programmatic_stream_serialization) l.programmatic = a.value.programmatic != 0;
  }
  std::function<void(void**)> body;
  {
    std::lock_guard const lock(mutex);
    state().launches.push_back(l);
    for (auto const& [name, b] : state().kernels)
      if (name == entry.name) body = b;
  }
  body(parameters);
  return code::success;
}
EXPORT DriverCode cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, RawStream) {
  if (DriverCode code = enter("cuMemsetD8Async")) return code;
  return std::memset(reinterpret_cast<void*>(to), value, count), code::success;
}
EXPORT DriverCode cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, RawStream) {
  if (DriverCode code = enter("cuMemsetD32Async")) return code;
  std::fill_n(reinterpret_cast<unsigned*>(to), count, value);
  return code::success;
}
EXPORT DriverCode cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, RawStream) {
  if (DriverCode code = enter("cuMemcpyAsync")) return code;
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), code::success;
}
EXPORT DriverCode cuMemAlloc_v2(DevicePointer* memory, size_t bytes) {
  if (DriverCode code = enter("cuMemAlloc_v2")) return code;
  *memory = reinterpret_cast<uintptr_t>(std::aligned_alloc(512, (bytes + 511) / 512 * 512));
  return code::success;
}
EXPORT DriverCode cuMemFree_v2(DevicePointer memory) {
  return std::free(reinterpret_cast<void*>(memory)), enter("cuMemFree_v2");
}
EXPORT DriverCode cuStreamCreate(RawStream* s, unsigned) { return *s = stream(), enter("cuStreamCreate"); }
EXPORT DriverCode cuStreamDestroy_v2(RawStream) { return enter("cuStreamDestroy_v2"); }
EXPORT DriverCode cuStreamSynchronize(RawStream) { return enter("cuStreamSynchronize"); }
EXPORT DriverCode cuStreamGetCtx(RawStream s, RawContext* context) {
  *context = s == foreign_stream() ? reinterpret_cast<RawContext>(&other) : primary_context();
  return code::success;
}
EXPORT DriverCode cuEventCreate(RawEvent* e, unsigned) {
  return *e = reinterpret_cast<RawEvent>(&event), enter("cuEventCreate");
}
EXPORT DriverCode cuEventDestroy_v2(RawEvent) { return enter("cuEventDestroy_v2"); }
EXPORT DriverCode cuEventRecord(RawEvent, RawStream) { return enter("cuEventRecord"); }
EXPORT DriverCode cuEventSynchronize(RawEvent) { return enter("cuEventSynchronize"); }
EXPORT DriverCode cuEventElapsedTime(float* milliseconds, RawEvent, RawEvent) {
  return *milliseconds = 1.5f, code::success;
}
EXPORT DriverCode cuThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current = 0;
  std::swap(*mode, current);
  return code::success;
}

}  // namespace fusednn::fake
