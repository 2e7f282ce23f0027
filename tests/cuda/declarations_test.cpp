#include "cuda/driver_api.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

// The declarations of the driver's interface against the vendor's header.

namespace fusednn::cuda {
namespace {

static_assert(std::is_same_v<RawContext, CUcontext> && std::is_same_v<RawModule, CUmodule> &&
              std::is_same_v<RawFunction, CUfunction> && std::is_same_v<RawStream, CUstream> &&
              std::is_same_v<RawEvent, CUevent> && std::is_same_v<RawGraph, CUgraph> &&
              std::is_same_v<RawGraphExec, CUgraphExec> && std::is_same_v<DevicePointer, CUdeviceptr> &&
              std::is_same_v<DeviceOrdinal, CUdevice> && sizeof(DriverCode) == sizeof(CUresult));

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(LaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX) &&
              offsetof(LaunchConfig, dynamic_shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));

TEST(Declarations, NumbersAreTheVendors) {
  EXPECT_EQ(code::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(code::not_initialized, CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(code::deinitialized, CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(code::no_device, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(code::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(code::not_found, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(device_attribute::clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  EXPECT_EQ(device_attribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(device_attribute::memory_clock_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  EXPECT_EQ(device_attribute::memory_bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  EXPECT_EQ(device_attribute::l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(device_attribute::compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(device_attribute::compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(device_attribute::shared_bytes_per_block_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(function_attribute::max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(function_attribute::static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  EXPECT_EQ(function_attribute::local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  EXPECT_EQ(function_attribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(function_attribute::max_dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(function_attribute::non_portable_cluster, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  EXPECT_EQ(tensor_map_type::uint8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
  EXPECT_EQ(tensor_map_type::int32, CU_TENSOR_MAP_DATA_TYPE_INT32);
  EXPECT_EQ(tensor_map_type::int64, CU_TENSOR_MAP_DATA_TYPE_INT64);
  EXPECT_EQ(tensor_map_type::float16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(tensor_map_type::float32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  EXPECT_EQ(tensor_map_type::float64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
  EXPECT_EQ(tensor_map_type::bfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(sizeof(CUtensorMap), 128u);
  EXPECT_EQ(jit_option::error_log, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(jit_option::error_log_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(launch_attribute::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(launch_attribute::programmatic_stream_serialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(stream_non_blocking, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(capture_mode_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(capture_mode_thread_local, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

}  // namespace
}  // namespace fusednn::cuda
