#pragma once

#include <cstddef>
#include <cstdint>

// The part of the CUDA driver's C interface that is used, declared here so that building needs no CUDA headers.
// tests/cuda holds the declarations against <cuda.h> where one is installed.

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace fusednn::cuda {

using DriverCode = int;
using DeviceOrdinal = int;
using DevicePointer = unsigned long long;
using RawContext = CUctx_st*;
using RawModule = CUmod_st*;
using RawFunction = CUfunc_st*;
using RawStream = CUstream_st*;
using RawEvent = CUevent_st*;
using RawGraph = CUgraph_st*;
using RawGraphExec = CUgraphExec_st*;

namespace code {
inline constexpr DriverCode success = 0, out_of_memory = 2, not_initialized = 3, deinitialized = 4, no_device = 100,
                            invalid_context = 201, not_found = 500;
}

namespace device_attribute {
inline constexpr int clock_khz = 13, multiprocessors = 16, memory_clock_khz = 36, memory_bus_bits = 37, l2_bytes = 38,
                     compute_major = 75, compute_minor = 76, shared_bytes_per_block_optin = 97;
}

namespace function_attribute {
inline constexpr int max_threads = 0, static_shared_bytes = 1, local_bytes = 3, registers = 4,
                     max_dynamic_shared_bytes = 8, non_portable_cluster = 14;
}

namespace tensor_map_type {
inline constexpr int uint8 = 0, int32 = 3, int64 = 5, float16 = 6, float32 = 7, float64 = 8, bfloat16 = 9;
}

namespace jit_option {
inline constexpr int error_log = 5, error_log_bytes = 6;
}

namespace launch_attribute {
inline constexpr int cluster_dimension = 4, programmatic_stream_serialization = 6;
}

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr int capture_mode_thread_local = 1, capture_mode_relaxed = 2;

struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    unsigned cluster[3];
    int programmatic;
    char bytes[64];
  } value;
};

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned dynamic_shared_bytes;
  RawStream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

// X(function, exported symbol, parameters)
#define FUSEDNN_DRIVER_FUNCTIONS(X)                                                                                  \
  X(init, "cuInit", (unsigned flags))                                                                                \
  X(driver_version, "cuDriverGetVersion", (int* version))                                                            \
  X(error_name, "cuGetErrorName", (DriverCode code, char const** text))                                              \
  X(error_text, "cuGetErrorString", (DriverCode code, char const** text))                                            \
  X(device_count, "cuDeviceGetCount", (int* count))                                                                  \
  X(device_get, "cuDeviceGet", (DeviceOrdinal * device, int ordinal))                                                \
  X(device_name, "cuDeviceGetName", (char* text, int size, DeviceOrdinal device))                                    \
  X(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, DeviceOrdinal device))                     \
  X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, DeviceOrdinal device))                                    \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", (RawContext * context, DeviceOrdinal device))                \
  X(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (DeviceOrdinal device))                                 \
  X(context_push, "cuCtxPushCurrent_v2", (RawContext context))                                                       \
  X(context_pop, "cuCtxPopCurrent_v2", (RawContext * context))                                                       \
  X(context_current, "cuCtxGetCurrent", (RawContext * context))                                                      \
  X(module_load, "cuModuleLoadDataEx",                                                                               \
    (RawModule * module, void const* image, unsigned count, int* options, void** values))                            \
  X(module_unload, "cuModuleUnload", (RawModule module))                                                             \
  X(module_function, "cuModuleGetFunction", (RawFunction * function, RawModule module, char const* name))            \
  X(function_get, "cuFuncGetAttribute", (int* value, int attribute, RawFunction function))                           \
  X(function_set, "cuFuncSetAttribute", (RawFunction function, int attribute, int value))                            \
  X(launch, "cuLaunchKernelEx", (LaunchConfig const* config, RawFunction function, void** parameters, void** extra)) \
  X(fill_8, "cuMemsetD8Async", (DevicePointer to, unsigned char value, size_t count, RawStream stream))              \
  X(fill_32, "cuMemsetD32Async", (DevicePointer to, unsigned value, size_t count, RawStream stream))                 \
  X(copy, "cuMemcpyAsync", (DevicePointer to, DevicePointer from, size_t bytes, RawStream stream))                   \
  X(memory_allocate, "cuMemAlloc_v2", (DevicePointer * memory, size_t bytes))                                        \
  X(memory_free, "cuMemFree_v2", (DevicePointer memory))                                                             \
  X(stream_create, "cuStreamCreate", (RawStream * stream, unsigned flags))                                           \
  X(stream_destroy, "cuStreamDestroy_v2", (RawStream stream))                                                        \
  X(stream_synchronize, "cuStreamSynchronize", (RawStream stream))                                                   \
  X(stream_context, "cuStreamGetCtx", (RawStream stream, RawContext * context))                                      \
  X(event_create, "cuEventCreate", (RawEvent * event, unsigned flags))                                               \
  X(event_destroy, "cuEventDestroy_v2", (RawEvent event))                                                            \
  X(event_record, "cuEventRecord", (RawEvent event, RawStream stream))                                               \
  X(event_synchronize, "cuEventSynchronize", (RawEvent event))                                                       \
  X(event_elapsed, "cuEventElapsedTime", (float* milliseconds, RawEvent start, RawEvent end))                        \
  X(capture_mode_exchange, "cuThreadExchangeStreamCaptureMode", (int* mode))

// Absent from older drivers; null there.
#define FUSEDNN_OPTIONAL_DRIVER_FUNCTIONS(X)                                                               \
  X(function_load, "cuFuncLoad", (RawFunction function))                                                   \
  X(tensor_map_encode, "cuTensorMapEncodeTiled",                                                           \
    (void* map, int type, unsigned rank, void* address, uint64_t const* dims, uint64_t const* strides,     \
     unsigned const* box, unsigned const* element_strides, int interleave, int swizzle, int l2, int fill)) \
  X(tensor_map_address, "cuTensorMapReplaceAddress", (void* map, void* address))

}  // namespace fusednn::cuda
