#pragma once

#include <fusednn/enums.h>

#include <string_view>

// Every reason for which fuseDNN turns something down, one row each: the rule's identifier, whose fault it is, the
// code the public API reports, and the rule in words. A refusal names its row, so that messages, `explain` and the
// tests speak of the same thing; a row that no test fires fails the suite.

namespace fusednn::base {

/// Whose fault it is: the caller's, a limit of ours, the machine's (driver, compiler, file), or a bug of ours.
enum class ErrorKind { invalid, unsupported, failed, internal };

// X(identifier, kind, public code, rule)
#define FUSEDNN_RULES(X)                                                                                             \
  /* Graph */                                                                                                        \
  X(graph_empty, invalid, INVALID_VALUE, "a graph holds at least one operation")                                     \
  X(graph_not_validated, invalid, INVALID_VALUE, "the graph must have passed validate()")                            \
  X(graph_cycle, invalid, INVALID_VALUE, "a tensor must not depend on itself")                                       \
  X(graph_two_writers, invalid, INVALID_VALUE, "a tensor is written by one operation only")                          \
  X(graph_duplicate_uid, invalid, INVALID_VALUE, "uids of different tensors differ")                                 \
  X(graph_override_shape, unsupported, GRAPH_NOT_SUPPORTED,                                                          \
    "shapes overridden at execute need an engine that takes them")                                                   \
  X(graph_unknown_uid, invalid, INVALID_VALUE, "the uid belongs to a tensor of the graph")                           \
  /* Tensors */                                                                                                      \
  X(tensor_no_dtype, invalid, ATTRIBUTE_NOT_SET, "a tensor has a data type, of its own or from the graph")           \
  X(tensor_no_dims, invalid, ATTRIBUTE_NOT_SET, "an input has dims")                                                 \
  X(tensor_no_strides, invalid, ATTRIBUTE_NOT_SET, "an input has strides")                                           \
  X(tensor_strides_without_dims, invalid, ATTRIBUTE_NOT_SET, "strides are given together with dims")                 \
  X(tensor_rank, invalid, INVALID_VALUE, "a tensor has 1 to 8 dims and one stride per dim")                          \
  X(tensor_negative_dim, invalid, INVALID_VALUE, "dims are at least 0")                                              \
  X(tensor_negative_stride, invalid, INVALID_VALUE, "strides are at least 0")                                        \
  X(tensor_overflow, invalid, INVALID_VALUE, "element counts and byte offsets fit in 63 bits")                       \
  X(tensor_output_overlap, invalid, INVALID_VALUE, "two elements of an output never share an address")               \
  X(tensor_virtual_scalar, invalid, INVALID_VALUE, "a tensor is virtual or passed by value, not both")               \
  X(tensor_virtual_input, invalid, INVALID_VALUE, "a virtual tensor is written by an operation")                     \
  X(tensor_scalar_output, invalid, INVALID_VALUE, "an operation does not write a tensor passed by value")            \
  X(tensor_scalar_volume, invalid, INVALID_VALUE, "a tensor passed by value has one element")                        \
  X(tensor_constant_without_value, invalid, ATTRIBUTE_NOT_SET, "a compile-time constant has a value")                \
  X(tensor_scalar_dtype, invalid, INVALID_VALUE, "a scalar's value has its tensor's type")                           \
  X(tensor_alignment, invalid, INVALID_VALUE, "an alignment is a power of two")                                      \
  X(tensor_ragged_dtype, invalid, INVALID_VALUE, "ragged offsets are INT32 or INT64")                                \
  X(tensor_dtype_unsupported, unsupported, GRAPH_NOT_SUPPORTED, "the data type has an engine that stores it")        \
  X(tensor_vectorized_unsupported, unsupported, GRAPH_NOT_SUPPORTED,                                                 \
    "the tensor is not packed in vectors or reordered")                                                              \
  /* Nodes */                                                                                                        \
  X(node_no_compute_type, invalid, ATTRIBUTE_NOT_SET, "a node has a compute type, of its own or from the graph")     \
  X(node_compute_type, unsupported, GRAPH_NOT_SUPPORTED, "compute types are FLOAT, DOUBLE and INT32")                \
  X(node_missing_input, invalid, ATTRIBUTE_NOT_SET, "required inputs and outputs are given")                         \
  X(node_unknown_port, invalid, INVALID_VALUE, "an operation has the named port")                                    \
  X(node_unknown_attribute, invalid, INVALID_VALUE, "an operation has the named attribute")                          \
  X(node_attribute_type, invalid, INVALID_VALUE, "an attribute's value has the type of its row")                     \
  X(node_attribute_value, invalid, INVALID_VALUE, "an attribute of an enumeration has one of its enumerators")       \
  X(node_missing_attribute, invalid, ATTRIBUTE_NOT_SET, "a required attribute is set")                               \
  X(node_output_dims, invalid, INVALID_VALUE, "an output's dims are those the operation implies")                    \
  /* Engines, plans */                                                                                               \
  X(plan_handle, invalid, HANDLE_ERROR, "a handle is not null")                                                      \
  X(plan_stage, invalid, GRAPH_EXECUTION_PLAN_CREATION_FAILED, "the calls of the life cycle come in order")          \
  X(plan_index, invalid, INVALID_VALUE, "a plan index counts from 0 and is below the number of plans")               \
  X(plan_modes, invalid, INVALID_VALUE, "one or more heuristic modes are given, each an enumerator of HeurMode_t")   \
  X(plan_not_built, invalid, GRAPH_EXECUTION_FAILED, "a plan is built before it is executed")                        \
  X(plan_barred, unsupported, GRAPH_EXECUTION_PLAN_CREATION_FAILED, "the plan was not taken out by a filter")        \
  X(plan_none, unsupported, GRAPH_NOT_SUPPORTED, "an engine supports the graph")                                     \
  X(plan_engine_id, invalid, INVALID_VALUE, "the engine exists")                                                     \
  X(plan_engine_refuses, unsupported, GRAPH_NOT_SUPPORTED, "the requested engine supports the graph")                \
  X(plan_knob, invalid, INVALID_VALUE, "a knob is one the engine has, at one of its legal values")                   \
  X(engine_operation, unsupported, GRAPH_NOT_SUPPORTED, "the engine implements the operation")                       \
  X(engine_ragged, unsupported, GRAPH_NOT_SUPPORTED, "the engine takes tensors without ragged offsets")              \
  X(execute_missing_pointer, invalid, INVALID_VARIANT_PACK, "the variant pack holds a pointer for every tensor")     \
  X(execute_null_pointer, invalid, INVALID_VARIANT_PACK, "a bound pointer is not null")                              \
  X(execute_count, invalid, INVALID_VARIANT_PACK, "as many pointers are given as the graph has bound tensors")       \
  X(execute_alignment, invalid, INVALID_VARIANT_PACK,                                                                \
    "a bound pointer has its tensor's alignment, or its type's size where that is less")                             \
  X(execute_workspace, invalid, INVALID_VARIANT_PACK, "a plan that needs workspace is given one")                    \
  X(execute_device, invalid, INVALID_CUDA_DEVICE, "a plan runs on the device it was built for")                      \
  X(handle_device, unsupported, HANDLE_ERROR, "the device exists on this machine and has an engine")                 \
  X(handle_stream, invalid, HANDLE_ERROR, "a stream belongs to the primary context of the handle's device")          \
  X(host_memory, failed, HANDLE_ERROR, "the machine has the memory that is asked for")                               \
  X(handle_version, invalid, HANDLE_ERROR, "headers and library have the same version")                              \
  /* Graph text */                                                                                                   \
  X(json_size, invalid, UNSUPPORTED_GRAPH_FORMAT, "graph text has at most 64 MiB")                                   \
  X(json_syntax, invalid, UNSUPPORTED_GRAPH_FORMAT, "graph text is one JSON document")                               \
  X(json_depth, invalid, UNSUPPORTED_GRAPH_FORMAT, "values nest at most 64 deep")                                    \
  X(json_number, invalid, UNSUPPORTED_GRAPH_FORMAT, "integers fit in 64 bits signed, reals in a double")             \
  X(json_duplicate_key, invalid, UNSUPPORTED_GRAPH_FORMAT, "an object has a key once")                               \
  X(json_version, invalid, UNSUPPORTED_GRAPH_FORMAT, "json_version is '1.0'")                                        \
  X(json_type, invalid, UNSUPPORTED_GRAPH_FORMAT, "a value has the type that belongs to its key")                    \
  X(json_missing_key, invalid, UNSUPPORTED_GRAPH_FORMAT, "keys that the format requires are there")                  \
  X(json_unknown_key, invalid, UNSUPPORTED_GRAPH_FORMAT, "a key is one of the format's, or its value is null")       \
  X(json_unknown_name, invalid, UNSUPPORTED_GRAPH_FORMAT, "a name is one of its enumeration's")                      \
  X(json_unknown_port, invalid, UNSUPPORTED_GRAPH_FORMAT, "a port is one of the operation's")                        \
  X(json_unknown_tensor, invalid, UNSUPPORTED_GRAPH_FORMAT, "a reference to a tensor is a key of 'tensors'")         \
  X(json_shared_tensor, invalid, UNSUPPORTED_GRAPH_FORMAT,                                                           \
    "different tensors have different keys: one node writes a tensor, and does not read it")                         \
  X(json_ragged_offset, invalid, UNSUPPORTED_GRAPH_FORMAT, "a tensor of ragged offsets has none of its own")         \
  X(json_scalar, invalid, UNSUPPORTED_GRAPH_FORMAT, "a scalar's value is a number of its own type")                  \
  X(json_operation, unsupported, GRAPH_NOT_SUPPORTED, "a tag names an operation of this version")                    \
  /* CUDA */                                                                                                         \
  X(cuda_driver, failed, HANDLE_ERROR, "a CUDA driver of 11.8 or newer is installed and starts")                     \
  X(cuda_call, failed, CUDA_API_FAILED, "the CUDA driver carries out a call")                                        \
  X(nvrtc_library, failed, NVRTC_COMPILATION_FAILED, "NVRTC is found where a kernel has to be compiled")             \
  X(nvrtc_arch, unsupported, NVRTC_COMPILATION_FAILED, "the NVRTC that is found compiles for the GPU")               \
  X(nvrtc_compile, failed, NVRTC_COMPILATION_FAILED, "NVRTC compiles a generated kernel")                            \
  X(jit_serialised, unsupported, GRAPH_EXECUTION_PLAN_CREATION_FAILED,                                               \
    "ptxas leaves tensor-core instructions asynchronous")                                                            \
  X(plan_launch, internal, GRAPH_EXECUTION_PLAN_CREATION_FAILED, "a kernel's launch keeps to the limits of its GPU") \
  X(plan_tensor_map, internal, GRAPH_EXECUTION_PLAN_CREATION_FAILED,                                                 \
    "a tensor map keeps to the limits of the copy engine")                                                           \
  X(jit_include, internal, NVRTC_COMPILATION_FAILED, "a generated kernel includes files that are embedded")          \
  X(jit_forbidden, failed, NVRTC_COMPILATION_FAILED, "a kernel is in the cache where compiling is forbidden")        \
  /* Operations: see src/ops/rows */                                                                                 \
  X(matmul_rank, invalid, INVALID_VALUE, "A and B have the same rank, 3 or more")                                    \
  X(matmul_inner_dim, invalid, INVALID_VALUE, "the last dim of A equals the second last dim of B")                   \
  X(matmul_batch, invalid, INVALID_VALUE, "batch dims of A and B are equal, or one of them is 1")                    \
  X(matmul_override_unsupported, unsupported, GRAPH_NOT_SUPPORTED,                                                   \
    "per-batch sizes of a matmul, and padding beyond them, have an engine")                                          \
  X(pointwise_mode, invalid, ATTRIBUTE_NOT_SET, "a pointwise node has a mode")                                       \
  X(pointwise_arity, invalid, INVALID_VALUE, "a pointwise node has as many inputs as its mode takes")                \
  X(pointwise_broadcast, invalid, SHAPE_DEDUCTION_FAILED,                                                            \
    "pointwise inputs have one rank, and dims that are equal or 1")                                                  \
  X(pointwise_axis, invalid, INVALID_VALUE, "GEN_INDEX has an axis, which counts from 0 and is below the rank")      \
  X(pointwise_parameter, invalid, INVALID_VALUE, "a parameter belongs to the node's mode")                           \
  X(pointwise_clip_order, invalid, INVALID_VALUE, "the lower clip is not above the upper clip")                      \
  X(integer_compute, unsupported, GRAPH_NOT_SUPPORTED,                                                               \
    "the operation in its mode is defined for the integer compute type")                                             \
  X(reduction_mode, invalid, ATTRIBUTE_NOT_SET, "a reduction has a mode")                                            \
  X(reduction_dims, invalid, INVALID_VALUE, "each dim of a reduction's output is that of the input, or 1")           \
  X(reshape_volume, invalid, INVALID_VALUE, "a reshape keeps the number of elements")                                \
  X(reshape_stride, invalid, INVALID_VALUE, "a reshape's strides are those of its output")                           \
  X(reshape_view, unsupported, GRAPH_NOT_SUPPORTED,                                                                  \
    "strides of a VIEW_ONLY reshape keep the elements in row-major order")                                           \
  X(transpose_permutation, invalid, INVALID_VALUE, "a permutation holds each axis once")                             \
  X(slice_rank, invalid, INVALID_VALUE, "a slice has one range per dim, and one step per dim or none")               \
  X(slice_range, invalid, INVALID_VALUE, "0 <= start <= limit <= dim, and a step is at least 1")                     \
  X(concatenate_axis, invalid, INVALID_VALUE, "the axis counts from 0 and is below the rank")                        \
  X(concatenate_dims, invalid, INVALID_VALUE, "concatenated tensors have equal dims but for the axis")               \
  X(concatenate_in_place, invalid, INVALID_VALUE, "in_place_index counts from 0 and is below the number of inputs")  \
  X(norm_phase, invalid, ATTRIBUTE_NOT_SET, "a norm has a forward phase")                                            \
  X(norm_scale_dims, invalid, INVALID_VALUE, "each dim of a norm's scale is that of X where normalised, or 1")       \
  X(norm_bias_dims, invalid, INVALID_VALUE, "a norm's bias has the dims of its scale")                               \
  X(norm_epsilon, invalid, INVALID_VALUE, "a norm's epsilon has one element")                                        \
  X(norm_statistics, invalid, INVALID_VALUE, "a norm writes its statistics in TRAINING, and then alone")             \
  X(sdpa_rank, invalid, INVALID_VALUE, "operands of attention have rank 4: B, H, S, D")                              \
  X(sdpa_dims, invalid, INVALID_VALUE, "Q, K and V have one batch, Q and K one width, K and V one length")           \
  X(sdpa_heads, invalid, INVALID_VALUE, "the number of query heads is a multiple of those of K and of V")            \
  X(sdpa_floating, invalid, INVALID_VALUE,                                                                           \
    "operands of attention are of a floating type; a boolean mask is no additive bias")                              \
  X(sdpa_scale, invalid, INVALID_VALUE, "attn_scale is a value, or a tensor of one element, not both")               \
  X(sdpa_padding, invalid, ATTRIBUTE_NOT_SET, "a padding mask and its two length tensors come together")             \
  X(sdpa_length_tensor, invalid, INVALID_VALUE, "lengths are INT32 or INT64 of dims [B,1,1,1]")                      \
  X(sdpa_bias_dims, invalid, INVALID_VALUE, "each dim of the bias is that of the scores [B,H,S_q,S_kv], or 1")       \
  X(sdpa_band, invalid, INVALID_VALUE, "the left bound is at least 1 and the right bound at least 0")                \
  X(sdpa_alignment, invalid, ATTRIBUTE_NOT_SET, "an alignment of the diagonal comes with a bound")                   \
  X(sdpa_stats, invalid, INVALID_VALUE,                                                                              \
    "Stats is an output where generate_stats is true, and options of it then alone")                                 \
  X(mask_node, invalid, INVALID_VALUE, "the mask printer is given the name of an attention node")                    \
  X(mask_size, unsupported, GRAPH_NOT_SUPPORTED, "a printed mask has at most 2^26 characters")                       \
  X(sdpa_option_unsupported, unsupported, GRAPH_NOT_SUPPORTED, "the option of attention has an engine")

enum class Rule {
#define FUSEDNN_RULE_ID(id, kind, code, text) id,
  FUSEDNN_RULES(FUSEDNN_RULE_ID)
#undef FUSEDNN_RULE_ID
};

struct RuleRow {
  std::string_view id;
  ErrorKind kind;
  error_code_t code;
  std::string_view text;
};

inline constexpr RuleRow rule_table[] = {
#define FUSEDNN_RULE_ROW(id, kind, code, text) {#id, ErrorKind::kind, error_code_t::code, text},
    FUSEDNN_RULES(FUSEDNN_RULE_ROW)
#undef FUSEDNN_RULE_ROW
};

inline constexpr RuleRow const& row(Rule rule) { return rule_table[static_cast<int>(rule)]; }

constexpr std::string_view to_string(ErrorKind kind) {
  constexpr std::string_view names[] = {"invalid", "unsupported", "failed", "internal"};
  return names[static_cast<int>(kind)];
}

}  // namespace fusednn::base
