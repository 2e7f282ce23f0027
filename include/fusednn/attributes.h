#pragma once

#include <fusednn/tensor.h>

#include <array>
#include <variant>

// Attributes classes, one per operation. Each is a thin, typed face of Node_attributes: named values and named extra
// tensors, whose names, types, defaults and rules stand in the library's operation table.

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

/// A value of an attribute; enumerators are held as their number. monostate: not set.
using Attribute_value = std::variant<std::monostate, bool, int64_t, double, std::vector<int64_t>>;

/// What an attributes class carries, in the form the operation table reads.
struct Node_attributes {
  std::string name;
  DataType_t compute_data_type = DataType_t::NOT_SET;
  std::vector<std::pair<std::string, Attribute_value>> values;
  std::vector<std::pair<std::string, std::shared_ptr<Tensor_attributes>>> tensors;
};

template <class Self>
class Attributes {
 public:
  /// Name of the node: it stands in error messages, in JSON, and before the names of the node's outputs.
  Self& set_name(std::string const& value) { return data_.name = value, self(); }
  /// Type the node computes in; the graph's compute type where unset.
  Self& set_compute_data_type(DataType_t value) { return data_.compute_data_type = value, self(); }
  std::string const& get_name() const { return data_.name; }

  /// The named values and tensors, for tools.
  Node_attributes const& node_attributes() const { return data_; }

 protected:
  Self& set(char const* key, Attribute_value value) { return assign(data_.values, key, std::move(value)), self(); }
  template <class Enum>
  Self& set_enum(char const* key, Enum value) {
    return set(key, static_cast<int64_t>(value));
  }
  Self& set_input(char const* port, std::shared_ptr<Tensor_attributes> tensor) {
    return assign(data_.tensors, port, std::move(tensor)), self();
  }

 private:
  template <class Value>
  static void assign(std::vector<std::pair<std::string, Value>>& list, char const* key, Value value) {
    for (auto& [k, v] : list)
      if (k == key) return void(v = std::move(value));
    list.emplace_back(key, std::move(value));
  }
  Self& self() { return static_cast<Self&>(*this); }

  Node_attributes data_;
};

class Matmul_attributes : public Attributes<Matmul_attributes> {
 public:
  /// Value that rows and columns beyond the per-batch sizes are taken to hold.
  Matmul_attributes& set_padding(double value) { return set("padding_value", value); }
  /// Per-batch sizes, INT32 [B,1,1].
  Matmul_attributes& set_m_override(std::shared_ptr<Tensor_attributes> t) {
    return set_input("M_override", std::move(t));
  }
  Matmul_attributes& set_n_override(std::shared_ptr<Tensor_attributes> t) {
    return set_input("N_override", std::move(t));
  }
  Matmul_attributes& set_k_override(std::shared_ptr<Tensor_attributes> t) {
    return set_input("K_override", std::move(t));
  }
};

class Pointwise_attributes : public Attributes<Pointwise_attributes> {
 public:
  Pointwise_attributes& set_mode(PointwiseMode_t value) { return set_enum("mode", value); }
  /// Axis whose index GEN_INDEX writes.
  Pointwise_attributes& set_axis(int64_t value) { return set("axis", value); }
  Pointwise_attributes& set_relu_lower_clip(float value) { return set("relu_lower_clip", double(value)); }
  Pointwise_attributes& set_relu_upper_clip(float value) { return set("relu_upper_clip", double(value)); }
  Pointwise_attributes& set_relu_lower_clip_slope(float value) { return set("relu_lower_clip_slope", double(value)); }
  Pointwise_attributes& set_swish_beta(float value) { return set("swish_beta", double(value)); }
  Pointwise_attributes& set_elu_alpha(float value) { return set("elu_alpha", double(value)); }
  Pointwise_attributes& set_softplus_beta(float value) { return set("softplus_beta", double(value)); }
};

class Reduction_attributes : public Attributes<Reduction_attributes> {
 public:
  Reduction_attributes& set_mode(ReductionMode_t value) { return set_enum("mode", value); }
  /// Only plans whose result is the same bits at each run.
  Reduction_attributes& set_is_deterministic(bool value) { return set("is_deterministic", value); }
};

class Reshape_attributes : public Attributes<Reshape_attributes> {
 public:
  Reshape_attributes& set_dim(std::vector<int64_t> const& value) { return set("dim", value); }
  Reshape_attributes& set_stride(std::vector<int64_t> const& value) { return set("stride", value); }
  Reshape_attributes& set_reshape_mode(ReshapeMode_t value) { return set_enum("reshape_mode", value); }
};

class Transpose_attributes : public Attributes<Transpose_attributes> {
 public:
  /// Output dim i is input dim value[i].
  Transpose_attributes& set_permutation(std::vector<int64_t> const& value) { return set("permutation", value); }
};

class Slice_attributes : public Attributes<Slice_attributes> {
 public:
  /// {start, limit} per dim; limit is one past the last element.
  Slice_attributes& set_slices(std::vector<std::pair<int64_t, int64_t>> const& value) {
    std::vector<int64_t> flat;
    for (auto [start, limit] : value) flat.insert(flat.end(), {start, limit});
    return set("slices", std::move(flat));
  }
  /// Step per dim; 1 where unset.
  Slice_attributes& set_strides(std::vector<int64_t> const& value) { return set("slice_strides", value); }
};

class Concatenate_attributes : public Attributes<Concatenate_attributes> {
 public:
  Concatenate_attributes& set_axis(int64_t value) { return set("axis", value); }
  /// Input whose buffer already lies inside the output's.
  Concatenate_attributes& set_in_place_index(int64_t value) { return set("in_place_index", value); }
};

class Layernorm_attributes : public Attributes<Layernorm_attributes> {
 public:
  /// TRAINING also writes the statistics.
  Layernorm_attributes& set_forward_phase(NormFwdPhase_t value) { return set_enum("forward_phase", value); }
  Layernorm_attributes& set_epsilon(std::shared_ptr<Tensor_attributes> t) { return set_input("EPSILON", std::move(t)); }
  Layernorm_attributes& set_epsilon(float value) {
    return set_input("EPSILON", std::make_shared<Tensor_attributes>(value));
  }
};

class Rmsnorm_attributes : public Attributes<Rmsnorm_attributes> {
 public:
  Rmsnorm_attributes& set_forward_phase(NormFwdPhase_t value) { return set_enum("forward_phase", value); }
  Rmsnorm_attributes& set_epsilon(std::shared_ptr<Tensor_attributes> t) { return set_input("EPSILON", std::move(t)); }
  Rmsnorm_attributes& set_epsilon(float value) {
    return set_input("EPSILON", std::make_shared<Tensor_attributes>(value));
  }
  Rmsnorm_attributes& set_bias(std::shared_ptr<Tensor_attributes> t) { return set_input("BIAS", std::move(t)); }
};

/// Scaled dot-product attention. Dims are B,H,S,D in any stride order. A mask is an explicit band (left bound, right
/// bound, alignment of the diagonal) together with optional lengths; `print_mask_ext` shows what it implies.
class SDPA_attributes : public Attributes<SDPA_attributes> {
 public:
  /// Also outputs Stats, the log-sum-exp of each row's scores, FLOAT [B,H,S_q,1].
  SDPA_attributes& set_generate_stats(bool value) { return set("generate_stats", value); }
  [[deprecated("use set_generate_stats(!value)")]] SDPA_attributes& set_is_inference(bool value) {
    return set("generate_stats", !value);
  }
  /// Stats to base 2 instead of base e.
  SDPA_attributes& set_stats_use_log2(bool value) { return set("stats_use_log2", value); }
  /// Factor on Q·Kᵀ; 1 where unset. A tensor and a value exclude one another.
  SDPA_attributes& set_attn_scale(std::shared_ptr<Tensor_attributes> t) {
    return set_input("Attn_scale", std::move(t));
  }
  SDPA_attributes& set_attn_scale(float value) { return set("attn_scale_value", double(value)); }
  /// Added to the scaled scores; broadcasts over any of B, H, S_q, S_kv.
  SDPA_attributes& set_bias(std::shared_ptr<Tensor_attributes> t) { return set_input("Bias", std::move(t)); }

  SDPA_attributes& set_padding_mask(bool value) { return set("padding_mask", value); }
  /// Live rows per batch, INT32 or INT64 [B,1,1,1].
  SDPA_attributes& set_seq_len_q(std::shared_ptr<Tensor_attributes> t) { return set_input("SEQ_LEN_Q", std::move(t)); }
  SDPA_attributes& set_seq_len_kv(std::shared_ptr<Tensor_attributes> t) {
    return set_input("SEQ_LEN_KV", std::move(t));
  }

  /// Top-left causal: alignment TOP_LEFT and right bound 0. Together with a right bound: what both let a row see.
  SDPA_attributes& set_causal_mask(bool value) { return set_causal(value, DiagonalAlignment_t::TOP_LEFT); }
  /// Bottom-right causal: alignment BOTTOM_RIGHT and right bound 0.
  SDPA_attributes& set_causal_mask_bottom_right(bool value) {
    return set_causal(value, DiagonalAlignment_t::BOTTOM_RIGHT);
  }
  SDPA_attributes& set_diagonal_alignment(DiagonalAlignment_t value) { return set_enum("diagonal_alignment", value); }
  /// Row i sees keys j > i + offset - value, where offset is 0 (TOP_LEFT) or len_kv - len_q (BOTTOM_RIGHT).
  SDPA_attributes& set_diagonal_band_left_bound(int64_t value) { return set("left_bound", value); }
  /// Row i sees keys j <= i + offset + value.
  SDPA_attributes& set_diagonal_band_right_bound(int64_t value) { return right_bound_ = value, narrow_right(); }
  SDPA_attributes& set_sliding_window_length(int64_t value) { return set("left_bound", value); }

  SDPA_attributes& set_implementation(AttentionImplementation_t value) { return set_enum("implementation", value); }

 private:
  SDPA_attributes& set_causal(bool on, DiagonalAlignment_t alignment) {
    causal_ = on;
    if (on) set_diagonal_alignment(alignment);
    return narrow_right();
  }
  SDPA_attributes& narrow_right() {
    if (!causal_ && !right_bound_) return set("right_bound", Attribute_value());
    int64_t const given = right_bound_.value_or(0);
    return set("right_bound", causal_ && given > 0 ? 0 : given);
  }

  bool causal_ = false;
  std::optional<int64_t> right_bound_;
};

}  // namespace graph

FUSEDNN_END_NAMESPACE
