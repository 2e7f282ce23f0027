#pragma once

#include <fusednn/attributes.h>
#include <fusednn/error.h>
#include <fusednn/handle.h>

#include <array>
#include <cstddef>
#include <unordered_map>

FUSEDNN_BEGIN_NAMESPACE

/// A tunable of an engine: legal values are minValue, minValue + stride, ... up to maxValue.
struct Knob {
  KnobType_t type = KnobType_t::NOT_SET;
  int64_t maxValue = 0;
  int64_t minValue = 0;
  int64_t stride = 1;
};

namespace graph {

/// What is known of one plan.
struct Plan_info {
  int64_t index = -1;      ///< place in the list of plans
  std::string name;        ///< tag: operations, number of the engine, knobs
  std::string engine;      ///< e.g. "cpu.fused"
  int64_t engine_id = -1;  ///< as `create_execution_plan` takes it
  std::unordered_map<KnobType_t, int64_t> knobs;
  std::vector<std::string> steps;  ///< one line per kernel, in order; empty until the plan is built
  int64_t workspace_bytes = -1;    ///< -1 until the plan is built
  double estimated_seconds = 0;
  bool built = false;
  std::string barred;  ///< why a filter or a failed build took the plan out; empty where it stands
  std::vector<BehaviorNote_t> behavior_notes;
  std::vector<NumericalNote_t> numeric_notes;
};

/// Outcome of comparing a plan with the reference on the caller's tensors.
struct Check_report {
  bool matches = false;
  double worst_error_over_bound = 0;  ///< largest |out - reference| / bound of all elements
  int64_t elements = 0;
  int64_t undetermined = 0;  ///< elements at a jump of a discontinuous operation, where no bound exists
  std::string message;       ///< first mismatch: tensor, index, value, reference, bound; empty where all match
};

/// A graph of operations and, once built, its execution plans.
///
/// Default-constructible, copyable, movable, derivable. A copy shares tensors and built plans and copies the list of
/// nodes. Building one graph from two threads at a time is not supported; executing it is.
class FUSEDNN_EXPORT Graph {
 public:
  using tensor_ptr = std::shared_ptr<Tensor_attributes>;

  Graph();
  Graph(Graph const&);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph const&);
  Graph& operator=(Graph&&) noexcept;
  virtual ~Graph();

  // Configuration. Defaults flow down: node compute type <- graph compute type; virtual tensors <- intermediate
  // type; other tensors <- io type.
  Graph& set_name(std::string const&);
  Graph& set_io_data_type(DataType_t);
  Graph& set_intermediate_data_type(DataType_t);
  Graph& set_compute_data_type(DataType_t);
  Graph& set_dynamic_shape_enabled(bool);   ///< takes dims and strides out of `key()`
  Graph& set_override_shape_enabled(bool);  ///< refused by `validate` where no engine can honour it
  Graph& set_sm_count(int32_t);
  Graph& set_sm_version(int32_t);
  Graph& set_allow_tf32_ext(bool);
  Graph& set_workspace_limit_ext(int64_t bytes);
  Graph& set_deterministic_ext(bool);
  Graph& set_batch_invariant_ext(bool);

  // Tensors. A tensor belongs to no graph: it describes memory, and any number of graphs may use it. A graph that does
  // not write it takes it as an input, so that one graph's output, once its dims are inferred, can be another's input;
  // a virtual tensor has no memory and stays within the graph that writes it. Graphs see each other's changes to it.
  /// Registers an input.
  tensor_ptr tensor(Tensor_attributes const&);
  /// A scalar of dims {1}.
  template <class S, class = std::enable_if_t<detail::is_scalar<S>>>
  tensor_ptr tensor(S const& scalar, ScalarType type) {
    Tensor_attributes attributes(scalar);
    if (type == ScalarType::COMPILE_TIME_CONST) attributes.set_compile_time_constant(Scalar_value(scalar));
    return tensor(attributes);
  }
  /// A copy of another tensor's attributes, without its uid.
  tensor_ptr tensor_like(tensor_ptr const&, std::string const& name = {});
  error_t query_tensor_attributes_of_uid(int64_t uid, Tensor_attributes&) const;

  // Operations. Outputs are virtual until `set_output(true)`.
  tensor_ptr matmul(tensor_ptr a, tensor_ptr b, Matmul_attributes);
  tensor_ptr pointwise(tensor_ptr a, Pointwise_attributes);
  tensor_ptr pointwise(tensor_ptr a, tensor_ptr b, Pointwise_attributes);
  tensor_ptr pointwise(tensor_ptr a, tensor_ptr b, tensor_ptr c, Pointwise_attributes);
  tensor_ptr reduction(tensor_ptr x, Reduction_attributes);
  tensor_ptr reshape(tensor_ptr x, Reshape_attributes);
  tensor_ptr transpose(tensor_ptr x, Transpose_attributes);
  tensor_ptr slice(tensor_ptr x, Slice_attributes);
  tensor_ptr concatenate(std::vector<tensor_ptr> inputs, Concatenate_attributes);
  /// {Y, MEAN, INV_VARIANCE}; the statistics are null in INFERENCE.
  std::array<tensor_ptr, 3> layernorm(tensor_ptr x, tensor_ptr scale, tensor_ptr bias, Layernorm_attributes);
  /// {Y, INV_VARIANCE}; the statistic is null in INFERENCE.
  std::array<tensor_ptr, 2> rmsnorm(tensor_ptr x, tensor_ptr scale, Rmsnorm_attributes);
  /// {O, Stats}; Stats is null unless asked for.
  std::array<tensor_ptr, 2> sdpa(tensor_ptr q, tensor_ptr k, tensor_ptr v, SDPA_attributes);

  // Life cycle.
  /// Infers what is unset, then checks every rule and lists every error. Needs no device; idempotent.
  error_t validate();
  error_t build_operation_graph(handle_t);
  /// Adds the plans of each mode in turn, without repetition. One mode or more.
  error_t create_execution_plans(std::vector<HeurMode_t> const&);
  error_t create_execution_plan(int64_t engine_id, std::unordered_map<KnobType_t, int64_t> const& knobs);
  error_t get_engine_count(int64_t& count);
  error_t get_knobs_for_engine(int64_t engine_id, std::vector<Knob>&);
  int64_t get_execution_plan_count() const;
  error_t check_support();
  error_t check_support(handle_t);
  error_t build_plans(BuildPlanPolicy_t policy = BuildPlanPolicy_t::HEURISTICS_CHOICE, bool multithreaded = false);
  error_t build_plans(handle_t, BuildPlanPolicy_t policy = BuildPlanPolicy_t::HEURISTICS_CHOICE,
                      bool multithreaded = false);
  error_t build_plan_at_index(int64_t index);
  error_t build_plan_at_index(handle_t, int64_t index);
  error_t build(handle_t, std::vector<HeurMode_t> const&,
                BuildPlanPolicy_t policy = BuildPlanPolicy_t::HEURISTICS_CHOICE, bool multithreaded = false);
  /// Index of the plan that `execute` runs: the first that `build_plans` built, or the last that was built by index;
  /// -1 where none is.
  int64_t get_chosen_plan_index_ext() const;
  /// Name of an engine by its number, which is below `get_engine_count`; the inverse of what plan names hold.
  error_t get_engine_name_ext(int64_t engine_id, std::string&) const;
  error_t get_plan_name(std::string&) const;
  error_t get_plan_name_at_index(int64_t index, std::string&) const;
  /// Keeps plans of this engine alone; GRAPH_NOT_SUPPORTED with the engine's reason where it has none.
  error_t select_engine_ext(std::string const& engine);
  /// The plan at `index` (-1: the chosen one).
  error_t get_plan_info_ext(int64_t index, Plan_info&) const;
  /// Every engine's verdict with its reason, every plan with its notes.
  std::string explain_ext(bool json = false) const;

  // Filters, between create_execution_plans and check_support.
  Graph& select_behavior_notes(std::vector<BehaviorNote_t> const&);
  Graph& deselect_behavior_notes(std::vector<BehaviorNote_t> const&);
  Graph& select_numeric_notes(std::vector<NumericalNote_t> const&);
  Graph& deselect_numeric_notes(std::vector<NumericalNote_t> const&);
  Graph& deselect_workspace_greater_than(int64_t bytes);
  Graph& deselect_shared_mem_greater_than(int64_t bytes);
  /// Bars plans whose name contains one of these, or whose engine is called so.
  Graph& deselect_engines(std::vector<std::string> const&);
  error_t get_behavior_notes(std::vector<BehaviorNote_t>&) const;
  error_t get_behavior_notes_for_plan_at_index(int64_t index, std::vector<BehaviorNote_t>&) const;

  // Workspace, in bytes.
  int64_t get_workspace_size() const;
  error_t get_workspace_size(int64_t&) const;
  int64_t get_workspace_size_plan_at_index(int64_t index) const;
  error_t get_workspace_size_plan_at_index(int64_t index, int64_t&) const;

  // Execution of a built plan: const, thread-safe, no allocation in the library's own code.
  /// The pack holds a pointer for each input and output; one for a scalar with a value of its own is optional and
  /// replaces the value. Entries that are no tensor of the graph are ignored, so that graphs can share a pack.
  /// Inputs may overlap one another; outputs never do. An output may overlap inputs where the plan's notes hold
  /// IN_PLACE_SAFE_ext, or where a concatenation's `in_place_index` puts an input at its own place in the output;
  /// elsewhere its values are then undefined.
  error_t execute(handle_t, std::unordered_map<tensor_ptr, void*>&, void* workspace) const;
  error_t execute(handle_t, std::unordered_map<int64_t, void*>&, void* workspace) const;
  /// Pointers in the order of `get_variant_pack_uids_sorted`.
  error_t execute(handle_t, void** sorted_pointers, int count, void* workspace) const;
  error_t execute_plan_at_index(handle_t, std::unordered_map<tensor_ptr, void*>&, void* workspace, int64_t index) const;
  error_t execute_plan_at_index(handle_t, std::unordered_map<int64_t, void*>&, void* workspace, int64_t index) const;
  error_t execute_plan_at_index(handle_t, void** sorted_pointers, int count, void* workspace, int64_t index) const;
  error_t prepare_variant_pack_template();
  std::vector<int64_t> get_variant_pack_uids_sorted() const;
  error_t warmup(handle_t);
  /// Executes the plan at `index` (-1: the chosen one) and, on the host, the reference on the caller's tensors, and
  /// compares every output element with its own bound. Outputs are written. Waits for the handle's stream.
  error_t check_ext(handle_t, std::unordered_map<int64_t, void*>&, void* workspace, Check_report&,
                    int64_t index = -1) const;

  // Identity and text.
  /// Hash of the canonical graph: free of names, uids and node order.
  size_t key();
  std::string to_json_ext() const;
  error_t from_json_ext(std::string const&);
  std::string print() const { return to_json_ext(); }
  /// The graph as a Graphviz document.
  std::string to_dot_ext() const;
  /// Tensors that the variant pack must hold.
  std::vector<tensor_ptr> inputs_ext() const;
  std::vector<tensor_ptr> outputs_ext() const;
  /// The boolean mask of the attention node `node`, '1' visible and '.' masked, one row per query. Lengths of a
  /// padding mask are taken from `seq_len_q` and `seq_len_kv` where given (-1: full).
  error_t print_mask_ext(std::string const& node, std::string& text, int64_t seq_len_q = -1,
                         int64_t seq_len_kv = -1) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graph

/// Receives each log line with its level (1 error, 2 information, 3 debugging); null restores the default sink.
using log_callback_t = void (*)(int level, char const* line, void* user);
FUSEDNN_EXPORT void set_log_callback_ext(log_callback_t callback, void* user);

/// The environment variables that the library reads, with their meaning and value, one line each.
FUSEDNN_EXPORT std::string describe_environment_ext();
/// Where the CUDA driver and the run-time compiler were looked for, and where compiled kernels are kept, one line each.
FUSEDNN_EXPORT std::string describe_cuda_ext();

FUSEDNN_END_NAMESPACE
