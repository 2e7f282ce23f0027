#pragma once

// Enumerations of the graph API. Each list stands once, as a macro over its enumerators, so that the name tables
// (text, JSON, Python) are made from the same line as the enumerator itself.

#include <fusednn/export.h>

#include <cstdint>

#define FUSEDNN_DATA_TYPES(X) \
  X(FLOAT)                    \
  X(DOUBLE)                   \
  X(HALF)                     \
  X(INT8)                     \
  X(INT32)                    \
  X(INT8x4)                   \
  X(UINT8)                    \
  X(UINT8x4)                  \
  X(INT8x32)                  \
  X(BFLOAT16)                 \
  X(INT64)                    \
  X(BOOLEAN)                  \
  X(FP8_E4M3)                 \
  X(FP8_E5M2)                 \
  X(FAST_FLOAT_FOR_FP8)       \
  X(FP8_E8M0)                 \
  X(FP4_E2M1)                 \
  X(INT4)                     \
  X(COMPLEX_FP32)             \
  X(COMPLEX_FP64)

#define FUSEDNN_POINTWISE_MODES(X) \
  X(ADD)                           \
  X(MUL)                           \
  X(SQRT)                          \
  X(MAX)                           \
  X(MIN)                           \
  X(RELU_FWD)                      \
  X(TANH_FWD)                      \
  X(SIGMOID_FWD)                   \
  X(ELU_FWD)                       \
  X(GELU_FWD)                      \
  X(SOFTPLUS_FWD)                  \
  X(SWISH_FWD)                     \
  X(RELU_BWD)                      \
  X(TANH_BWD)                      \
  X(SIGMOID_BWD)                   \
  X(ELU_BWD)                       \
  X(GELU_BWD)                      \
  X(SOFTPLUS_BWD)                  \
  X(SWISH_BWD)                     \
  X(ERF)                           \
  X(IDENTITY)                      \
  X(GELU_APPROX_TANH_BWD)          \
  X(GELU_APPROX_TANH_FWD)          \
  X(GEN_INDEX)                     \
  X(BINARY_SELECT)                 \
  X(EXP)                           \
  X(LOG)                           \
  X(NEG)                           \
  X(MOD)                           \
  X(POW)                           \
  X(ABS)                           \
  X(CEIL)                          \
  X(COS)                           \
  X(FLOOR)                         \
  X(RSQRT)                         \
  X(SIN)                           \
  X(LOGICAL_NOT)                   \
  X(TAN)                           \
  X(SUB)                           \
  X(ADD_SQUARE)                    \
  X(DIV)                           \
  X(CMP_EQ)                        \
  X(CMP_NEQ)                       \
  X(CMP_GT)                        \
  X(CMP_GE)                        \
  X(CMP_LT)                        \
  X(CMP_LE)                        \
  X(LOGICAL_AND)                   \
  X(LOGICAL_OR)                    \
  X(RECIPROCAL)

#define FUSEDNN_REDUCTION_MODES(X) X(ADD) X(MUL) X(MIN) X(MAX) X(AMAX) X(AVG) X(NORM1) X(NORM2) X(MUL_NO_ZEROS)
#define FUSEDNN_NORM_FWD_PHASES(X) X(INFERENCE) X(TRAINING)
#define FUSEDNN_HEUR_MODES(X) X(A) X(B) X(FALLBACK) X(OPENSOURCE)
#define FUSEDNN_BUILD_PLAN_POLICIES(X) X(HEURISTICS_CHOICE) X(ALL)
#define FUSEDNN_RESHAPE_MODES(X) X(VIEW_ONLY) X(LOGICAL)
#define FUSEDNN_TENSOR_REORDERINGS(X) X(NONE) X(INT8x32) X(F16x16) X(F8_128x4)
#define FUSEDNN_DIAGONAL_ALIGNMENTS(X) X(TOP_LEFT) X(BOTTOM_RIGHT)
#define FUSEDNN_ATTENTION_IMPLEMENTATIONS(X) X(AUTO) X(COMPOSITE) X(UNIFIED)
#define FUSEDNN_BEHAVIOR_NOTES(X)    \
  X(RUNTIME_COMPILATION)             \
  X(REQUIRES_FILTER_INT8x32_REORDER) \
  X(REQUIRES_BIAS_INT8x32_REORDER)   \
  X(SUPPORTS_CUDA_GRAPH_NATIVE_API)  \
  X(CUBLASLT_DEPENDENCY)             \
  X(IN_PLACE_SAFE_ext)               \
  X(SLOW_ext)                        \
  X(BATCH_INVARIANT_ext)
#define FUSEDNN_NUMERICAL_NOTES(X) \
  X(TENSOR_CORE)                   \
  X(DOWN_CONVERT_INPUTS)           \
  X(REDUCED_PRECISION_REDUCTION)   \
  X(FFT)                           \
  X(NONDETERMINISTIC)              \
  X(WINOGRAD)                      \
  X(WINOGRAD_TILE_4x4)             \
  X(WINOGRAD_TILE_6x6)             \
  X(WINOGRAD_TILE_13x13)           \
  X(STRICT_NAN_PROP)
#define FUSEDNN_KNOB_TYPES(X) \
  X(SWIZZLE)                  \
  X(TILE_SIZE)                \
  X(EDGE)                     \
  X(MULTIPLY)                 \
  X(SPLIT_K_BUF)              \
  X(TILEK)                    \
  X(STAGES)                   \
  X(REDUCTION_MODE)           \
  X(SPLIT_K_SLC)              \
  X(IDX_MODE)                 \
  X(SPECFILT)                 \
  X(KERNEL_CFG)               \
  X(WORKSPACE)                \
  X(TILE_CGA_M)               \
  X(TILE_CGA_N)               \
  X(BLOCK_SIZE)               \
  X(OCCUPANCY)                \
  X(ARRAY_SIZE_PER_THREAD)    \
  X(SPLIT_COLS)               \
  X(TILE_ROWS)                \
  X(TILE_COLS)                \
  X(LOAD_SIZE)                \
  X(CTA_COUNT)                \
  X(STREAM_K)                 \
  X(SPLIT_P_SLC)              \
  X(TILE_M)                   \
  X(TILE_N)                   \
  X(WARP_SPEC_CFG)
#define FUSEDNN_ERROR_CODES(X)            \
  X(OK)                                   \
  X(ATTRIBUTE_NOT_SET)                    \
  X(SHAPE_DEDUCTION_FAILED)               \
  X(INVALID_TENSOR_NAME)                  \
  X(INVALID_VARIANT_PACK)                 \
  X(GRAPH_NOT_SUPPORTED)                  \
  X(GRAPH_EXECUTION_PLAN_CREATION_FAILED) \
  X(GRAPH_EXECUTION_FAILED)               \
  X(HEURISTIC_QUERY_FAILED)               \
  X(UNSUPPORTED_GRAPH_FORMAT)             \
  X(CUDA_API_FAILED)                      \
  X(CUDNN_BACKEND_API_FAILED)             \
  X(INVALID_CUDA_DEVICE)                  \
  X(HANDLE_ERROR)                         \
  X(INVALID_VALUE)                        \
  X(NVRTC_COMPILATION_FAILED)

FUSEDNN_BEGIN_NAMESPACE

#define FUSEDNN_ENUMERATOR(name) name,
enum class DataType_t { NOT_SET, FUSEDNN_DATA_TYPES(FUSEDNN_ENUMERATOR) };
enum class PointwiseMode_t { NOT_SET, FUSEDNN_POINTWISE_MODES(FUSEDNN_ENUMERATOR) };
enum class ReductionMode_t { NOT_SET, FUSEDNN_REDUCTION_MODES(FUSEDNN_ENUMERATOR) };
enum class NormFwdPhase_t { NOT_SET, FUSEDNN_NORM_FWD_PHASES(FUSEDNN_ENUMERATOR) };
enum class HeurMode_t { FUSEDNN_HEUR_MODES(FUSEDNN_ENUMERATOR) };
enum class BuildPlanPolicy_t { FUSEDNN_BUILD_PLAN_POLICIES(FUSEDNN_ENUMERATOR) };
enum class ReshapeMode_t { FUSEDNN_RESHAPE_MODES(FUSEDNN_ENUMERATOR) };
enum class TensorReordering_t { FUSEDNN_TENSOR_REORDERINGS(FUSEDNN_ENUMERATOR) };
enum class DiagonalAlignment_t { FUSEDNN_DIAGONAL_ALIGNMENTS(FUSEDNN_ENUMERATOR) };
enum class AttentionImplementation_t { FUSEDNN_ATTENTION_IMPLEMENTATIONS(FUSEDNN_ENUMERATOR) };
enum class BehaviorNote_t { NOT_SET, FUSEDNN_BEHAVIOR_NOTES(FUSEDNN_ENUMERATOR) };
enum class NumericalNote_t { NOT_SET, FUSEDNN_NUMERICAL_NOTES(FUSEDNN_ENUMERATOR) };
enum class KnobType_t { NOT_SET, FUSEDNN_KNOB_TYPES(FUSEDNN_ENUMERATOR) };
enum class error_code_t { FUSEDNN_ERROR_CODES(FUSEDNN_ENUMERATOR) };
#undef FUSEDNN_ENUMERATOR

/// Devices a handle can stand for. AUTO takes a CUDA device where there is one and the CPU otherwise.
enum class Device { AUTO, CPU, CUDA };

namespace graph {
/// How a scalar enters a graph: as a value that may change at each execute, or baked into the plans.
enum class ScalarType { RUNTIME_PARAM, COMPILE_TIME_CONST };
}  // namespace graph

FUSEDNN_END_NAMESPACE
