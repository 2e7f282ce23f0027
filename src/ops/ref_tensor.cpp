#include "ops/ref_tensor.h"

#include "base/numeric.h"

namespace fusednn::ops {

template <class R>
R unit_roundoff(DataType_t dtype) {
  TypeInfo const* info = type_info(dtype);
  return info ? static_cast<R>(info->limits.unit_roundoff) : R(0);
}

template <class R>
R smallest_step(DataType_t dtype) {
  TypeInfo const* info = type_info(dtype);
  return info && info->kind == TypeKind::FLOATING ? static_cast<R>(info->limits.min_subnormal) : R(0);
}

template <class R>
R largest(DataType_t dtype) {
  return static_cast<R>(type_info(dtype)->limits.max);
}

template <class R>
R round_value(DataType_t dtype, R value) {
  return visit_storage_type(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return value_as<R>(round_to<T>(value));
  });
}

template <class R>
void round_interval(DataType_t dtype, R& value, R& bound) {
  if (std::isinf(bound)) return;
  if (bound == 0 || std::isnan(value) || std::isinf(value)) {
    value = round_value(dtype, value);
    return;
  }
  bool const may_be_zero = std::fabs(value) <= bound;
  R low = round_value(dtype, value - bound);
  R high = round_value(dtype, value + bound);
  TypeInfo const& info = *type_info(dtype);
  // An exact type keeps the rounded value, so that an interval which rounds to one integer has a bound of 0; a
  // floating-point type keeps the unrounded one, which is nearer to the centre.
  if (info.kind != TypeKind::FLOATING || !std::isfinite(round_value(dtype, value))) value = round_value(dtype, value);
  if (std::isinf(value)) {
    bound = low == high ? R(0) : std::numeric_limits<R>::infinity();
    return;
  }
  bound = std::max(high - value, value - low) * (1 + 4 * std::numeric_limits<R>::epsilon());
  if (info.kind == TypeKind::BOOLEAN && (bound > 0 || may_be_zero)) bound = std::numeric_limits<R>::infinity();
}

long double load_element(DataType_t dtype, void const* data, int64_t offset) {
  return visit_storage_type(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return value_as<long double>(static_cast<T const*>(data)[offset]);
  });
}

void store_element(DataType_t dtype, void* data, int64_t offset, long double value) {
  visit_storage_type(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    static_cast<T*>(data)[offset] = round_to<T>(value);
  });
}

template <class R>
RefTensor<R> load(ir::Tensor const& tensor, void const* data) {
  RefTensor<R> t;
  t.resize(tensor.dims);
  IndexWalk walk(tensor.dims);
  visit_storage_type(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (size_t i = 0; i < t.size(); ++i, walk.next())
      t.value[i] = value_as<R>(static_cast<T const*>(data)[walk.offset(tensor.strides)]);
  });
  return t;
}

template <class R>
void store(ir::Tensor const& tensor, RefTensor<R> const& values, void* data) {
  IndexWalk walk(tensor.dims);
  visit_storage_type(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (size_t i = 0; i < values.size(); ++i, walk.next())
      static_cast<T*>(data)[walk.offset(tensor.strides)] = round_to<T>(values.value[i]);
  });
}

ir::Dims broadcast_strides(ir::Dims const& dims, ir::Dims const& space) {
  ir::Dims strides(dims.size(), 0);
  int64_t next = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == space[i]) strides[i] = next;
    next *= dims[i];
  }
  return strides;
}

#define FUSEDNN_INSTANTIATE(R)                                   \
  template R unit_roundoff<R>(DataType_t);                       \
  template R smallest_step<R>(DataType_t);                       \
  template R largest<R>(DataType_t);                             \
  template R round_value<R>(DataType_t, R);                      \
  template void round_interval<R>(DataType_t, R&, R&);           \
  template RefTensor<R> load<R>(ir::Tensor const&, void const*); \
  template void store<R>(ir::Tensor const&, RefTensor<R> const&, void*);
FUSEDNN_INSTANTIATE(double)
FUSEDNN_INSTANTIATE(long double)
#undef FUSEDNN_INSTANTIATE

}  // namespace fusednn::ops
