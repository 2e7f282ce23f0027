#pragma once

#include "ir/graph.h"

#include <cmath>
#include <limits>

// Values of the reference: for each element the value, in higher precision, and a bound on how far a right engine's
// result may lie from it. A bound of +inf marks an element at the jump of a discontinuous operation, where no bound
// exists: any value passes, and the element is counted as undetermined.

namespace fusednn::ops {

template <class R>
struct RefTensor {
  ir::Dims dims;
  std::vector<R> value;  ///< row-major
  std::vector<R> bound;

  size_t size() const { return value.size(); }
  void resize(ir::Dims const& d) {
    dims = d;
    size_t n = 1;
    for (int64_t x : d) n *= static_cast<size_t>(x);
    value.assign(n, R(0));
    bound.assign(n, R(0));
  }
};

/// Half the distance between neighbours at 1: 2^-24 for FLOAT; 0 for integer types.
template <class R>
R unit_roundoff(DataType_t dtype);

/// Smallest positive value of a floating-point type: what an underflow may lose. 0 for integer types.
template <class R>
R smallest_step(DataType_t dtype);

/// Largest finite value of a type.
template <class R>
R largest(DataType_t dtype);

/// Rounds one value to a storage type, once, by the type's own rules (ties to even; saturation where the type
/// saturates).
template <class R>
R round_value(DataType_t dtype, R value);

/// Rounds a value that lies within `bound` of the true one, and widens the bound by what rounding can add: rounding
/// is monotone, so the rounded ends of the interval enclose every rounded true value.
template <class R>
void round_interval(DataType_t dtype, R& value, R& bound);

/// All elements of a tensor, in place.
template <class R>
void round_tensor(DataType_t dtype, RefTensor<R>& t) {
  for (size_t i = 0; i < t.size(); ++i) round_interval(dtype, t.value[i], t.bound[i]);
}

/// Reads a tensor from memory by its dims, strides and type; all bounds are 0.
template <class R>
RefTensor<R> load(ir::Tensor const& tensor, void const* data);

/// Writes one value, rounded, at an element offset.
void store_element(DataType_t dtype, void* data, int64_t offset, long double value);
/// Reads one value at an element offset.
long double load_element(DataType_t dtype, void const* data, int64_t offset);

/// Writes all values by the tensor's dims, strides and type.
template <class R>
void store(ir::Tensor const& tensor, RefTensor<R> const& values, void* data);

/// Reduces an integral value modulo 2^32 to INT32, as wrapping arithmetic does. |value| < 2^63.
template <class R>
R wrap_int32(R value) {
  return static_cast<R>(
      static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(static_cast<int64_t>(value)))));
}

/// Steps through the indices of `dims` in row-major order, keeping element offsets for several stride sets.
class IndexWalk {
 public:
  explicit IndexWalk(ir::Dims dims) : dims_(std::move(dims)), index_(dims_.size(), 0) {}
  ir::Dims const& index() const { return index_; }
  void next() {
    for (size_t i = dims_.size(); i-- > 0;) {
      if (++index_[i] < dims_[i]) return;
      index_[i] = 0;
    }
  }
  int64_t offset(ir::Dims const& strides) const {
    int64_t o = 0;
    for (size_t i = 0; i < strides.size(); ++i) o += index_[i] * strides[i];
    return o;
  }

 private:
  ir::Dims dims_;
  ir::Dims index_;
};

/// Row-major strides of `dims` as seen from a space of `space` dims of the same rank: 0 where a dim of 1 is
/// broadcast.
ir::Dims broadcast_strides(ir::Dims const& dims, ir::Dims const& space);

}  // namespace fusednn::ops
