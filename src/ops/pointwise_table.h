#pragma once

#include <fusednn/enums.h>

#include <span>
#include <string_view>
#include <type_traits>

namespace fusednn::ops {

/// Parameters of a pointwise node, defaults filled in.
template <class R>
struct PointwiseParams {
  R relu_lower_clip = 0;
  R relu_upper_clip = 0;  ///< infinity where unset
  R relu_lower_clip_slope = 0;
  R swish_beta = 1;
  R elu_alpha = 1;
  R softplus_beta = 1;
};

template <class R>
struct PointwiseFns {
  using Fn = R (*)(PointwiseParams<R> const&, R a, R b, R c);
  Fn value = nullptr;
  Fn magnitude = nullptr;  ///< what an evaluation's error is relative to
};

/// One pointwise mode. The reference formulas are independent of the engines' functors (kernels/math).
struct PointwiseRow {
  PointwiseMode_t mode = PointwiseMode_t::NOT_SET;
  int arity = 0;            ///< inputs
  std::string_view python;  ///< name in Python
  std::string_view formula;
  PointwiseFns<double> in_double;
  PointwiseFns<long double> in_long_double;
  double ulps = 0;             ///< error of an engine's own evaluation: ulps * unit roundoff * magnitude
  bool discontinuous = false;  ///< jumps: elements whose operands lie within their bounds of a jump are undetermined
  bool integer = false;        ///< defined for INT32 compute
  /// Names of the parameters that the mode reads.
  std::span<std::string_view const> parameters = {};

  template <class R>
  PointwiseFns<R> const& fns() const {
    if constexpr (std::is_same_v<R, double>)
      return in_double;
    else
      return in_long_double;
  }
};

/// Row of a mode; NOT_SET has an empty one.
PointwiseRow const& row(PointwiseMode_t mode);

}  // namespace fusednn::ops
