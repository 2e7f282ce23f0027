#pragma once

#include <fusednn/enums.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// CUDA's 16-bit types, by name only: scalars of these types are taken without including CUDA headers here.
struct __half;
struct __nv_bfloat16;

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

namespace detail {
template <class S>
struct scalar_type : std::integral_constant<DataType_t, DataType_t::NOT_SET> {};
template <>
struct scalar_type<float> : std::integral_constant<DataType_t, DataType_t::FLOAT> {};
template <>
struct scalar_type<double> : std::integral_constant<DataType_t, DataType_t::DOUBLE> {};
template <>
struct scalar_type<int32_t> : std::integral_constant<DataType_t, DataType_t::INT32> {};
template <>
struct scalar_type<int64_t> : std::integral_constant<DataType_t, DataType_t::INT64> {};
template <>
struct scalar_type<__half> : std::integral_constant<DataType_t, DataType_t::HALF> {};
template <>
struct scalar_type<__nv_bfloat16> : std::integral_constant<DataType_t, DataType_t::BFLOAT16> {};

template <class S>
inline constexpr bool is_scalar = scalar_type<S>::value != DataType_t::NOT_SET;
}  // namespace detail

/// A host scalar: its type and its bits, in the low bytes.
struct Scalar_value {
  DataType_t type = DataType_t::NOT_SET;
  uint64_t bits = 0;

  Scalar_value() = default;
  template <class S, class = std::enable_if_t<detail::is_scalar<S>>>
  Scalar_value(S const& value) : type(detail::scalar_type<S>::value) {
    std::memcpy(&bits, &value, sizeof(S));
  }
  bool operator==(Scalar_value const& o) const { return type == o.type && bits == o.bits; }
  bool operator!=(Scalar_value const& o) const { return !(*this == o); }
};

/// A tensor of a graph: logical dims, strides in elements, a storage type, and where its data comes from.
///
/// What is left unset is inferred by `Graph::validate` (output dims and strides) or taken from the graph's defaults
/// (types). Memory layout is expressed by strides alone.
class Tensor_attributes {
 public:
  using uid_t = int64_t;

  Tensor_attributes() = default;
  /// A pass-by-value scalar of dims {1}.
  template <class S, class = std::enable_if_t<detail::is_scalar<S>>>
  Tensor_attributes(S const& scalar)
      : data_type_(detail::scalar_type<S>::value), dim_{1}, stride_{1}, pass_by_value_(true), value_(scalar) {}

  std::string const& get_name() const { return name_; }
  Tensor_attributes& set_name(std::string const& value) { return name_ = value, *this; }

  DataType_t get_data_type() const { return data_type_; }
  Tensor_attributes& set_data_type(DataType_t value) { return data_type_ = value, *this; }

  std::vector<int64_t> get_dim() const { return dim_; }
  Tensor_attributes& set_dim(std::vector<int64_t> const& value) { return dim_ = value, *this; }

  /// Strides in elements, one per dim.
  std::vector<int64_t> get_stride() const { return stride_; }
  Tensor_attributes& set_stride(std::vector<int64_t> const& value) { return stride_ = value, *this; }

  /// Number of elements: the product of the dims; -1 where it does not fit 64 bits.
  int64_t get_volume() const {
    int64_t volume = 1;
    for (int64_t d : dim_)
      if (__builtin_mul_overflow(volume, d, &volume)) return -1;
    return volume;
  }

  bool get_is_virtual() const { return is_virtual_; }
  Tensor_attributes& set_is_virtual(bool value) { return is_virtual_ = value, *this; }
  /// An output is written to memory; without this an operation's result stays virtual.
  Tensor_attributes& set_output(bool value) { return is_virtual_ = !value, *this; }

  bool get_is_pass_by_value() const { return pass_by_value_; }
  /// The variant pack holds a host pointer to this tensor's one value.
  Tensor_attributes& set_is_pass_by_value(bool value) { return pass_by_value_ = value, *this; }
  std::optional<Scalar_value> get_pass_by_value() const { return value_; }

  /// A pass-by-value scalar with a value that an execute may replace through the variant pack.
  Tensor_attributes& set_pass_by_value(Scalar_value value) {
    value_ = value;
    data_type_ = value.type;
    pass_by_value_ = true;
    if (dim_.empty()) dim_ = stride_ = {1};
    return *this;
  }

  /// Bakes the value into plans; the tensor then has no place in the variant pack.
  Tensor_attributes& set_compile_time_constant(Scalar_value value) {
    compile_time_constant_ = true;
    return set_pass_by_value(value);
  }
  bool get_is_compile_time_constant() const { return compile_time_constant_; }
  /// A pass-by-value scalar whose value may be changed through the variant pack at each execute.
  Tensor_attributes& set_as_runtime_parameter() {
    pass_by_value_ = true;
    compile_time_constant_ = false;
    return *this;
  }

  TensorReordering_t get_reordering_type() const { return reordering_; }
  Tensor_attributes& set_reordering_type(TensorReordering_t value) { return reordering_ = value, *this; }

  /// Alignment in bytes that each pointer bound to this tensor has; default 16.
  int64_t get_alignment() const { return alignment_; }
  Tensor_attributes& set_alignment(int64_t value) { return alignment_ = value, *this; }

  int64_t get_vector_count() const { return vector_count_; }
  int64_t get_vector_dimension() const { return vector_dimension_; }
  Tensor_attributes& set_vector_count_and_dimension(int64_t count, int64_t dimension) {
    vector_count_ = count;
    vector_dimension_ = dimension;
    return *this;
  }

  bool has_uid() const { return uid_.has_value(); }
  uid_t get_uid() const { return uid_.value_or(0); }
  Tensor_attributes& set_uid(uid_t value) { return uid_ = value, *this; }
  Tensor_attributes& clear_uid() { return uid_.reset(), *this; }

  /// Offsets, in elements, at which each batch's rows begin ([B+1,1,1,1], INT32 or INT64).
  std::shared_ptr<Tensor_attributes> get_ragged_offset() const { return ragged_offset_; }
  Tensor_attributes& set_ragged_offset(std::shared_ptr<Tensor_attributes> value) {
    return ragged_offset_ = std::move(value), *this;
  }

 private:
  std::string name_;
  DataType_t data_type_ = DataType_t::NOT_SET;
  std::vector<int64_t> dim_;
  std::vector<int64_t> stride_;
  bool is_virtual_ = false;
  bool pass_by_value_ = false;
  bool compile_time_constant_ = false;
  std::optional<Scalar_value> value_;
  TensorReordering_t reordering_ = TensorReordering_t::NONE;
  int64_t alignment_ = 16;
  int64_t vector_count_ = 1;
  int64_t vector_dimension_ = -1;
  std::optional<uid_t> uid_;
  std::shared_ptr<Tensor_attributes> ragged_offset_;
};

}  // namespace graph

FUSEDNN_END_NAMESPACE
