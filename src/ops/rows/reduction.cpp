#include "ops/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace fusednn::ops {

namespace {

using base::Rule;
using Mode = ReductionMode_t;

Mode mode_of(ir::Node const& node) { return node.attrs.get_enum<Mode>("mode"); }

void infer(NodeContext& ctx) {
  ctx.infer_dims(0, ctx.in(0).dims);
  ctx.infer_strides(0, ctx.in(0));
}

bool defined_for_integers(Mode mode) { return mode != Mode::AVG && mode != Mode::NORM1 && mode != Mode::NORM2; }

void check(NodeContext& ctx) {
  Mode const mode = mode_of(ctx.node());
  if (mode == Mode::NOT_SET) return ctx.fail(Rule::reduction_mode, "", "mode is NOT_SET");
  if (ctx.node().compute == DataType_t::INT32 && !defined_for_integers(mode))
    ctx.fail(Rule::integer_compute, "", fmt::format("{} in INT32", base::to_string(mode)));
  ir::Tensor const &x = ctx.in(0), &y = ctx.out(0);
  bool fits = x.dims.size() == y.dims.size();
  for (size_t i = 0; fits && i < x.dims.size(); ++i) fits = y.dims[i] == x.dims[i] || y.dims[i] == 1;
  if (!fits)
    ctx.fail(Rule::reduction_dims, y.name,
             fmt::format("dims [{}], those of '{}' are [{}]", fmt::join(y.dims, ","), x.name, fmt::join(x.dims, ",")));
}

/// What the elements of one result have gathered: the value; the sum (product) of magnitudes that rounding
/// errors are relative to; what the operands' own errors bring in.
template <class R>
struct Gathered {
  R value, magnitude, carried;
  R low, high;           ///< ends between which MIN, MAX and AMAX may lie; for products, those of any partial product
  bool inexact = false;  ///< whether any operand has an error
};

template <class R>
constexpr R infinity = std::numeric_limits<R>::infinity();

template <class R>
Gathered<R> identity_of(Mode mode) {
  switch (mode) {
    case Mode::MUL:
    case Mode::MUL_NO_ZEROS:
      return {1, 1, 1, 1, 1};
    case Mode::MAX:
      return {-infinity<R>, 0, 0, -infinity<R>, -infinity<R>};
    case Mode::MIN:
      return {infinity<R>, 0, 0, infinity<R>, infinity<R>};
    default:
      return {0, 0, 0, 0, 0};
  }
}

/// NaN where either is.
template <class R>
R larger(R a, R b) {
  return std::isnan(a) || a > b ? a : b;
}
template <class R>
R smaller(R a, R b) {
  return std::isnan(a) || a < b ? a : b;
}

template <class R>
void gather(Mode mode, Gathered<R>& g, R x, R e) {
  R const m = std::fabs(x);
  g.inexact = g.inexact || e > 0;
  switch (mode) {
    case Mode::NORM1:
      x = m;
      [[fallthrough]];
    case Mode::ADD:
    case Mode::AVG:
      g.value += x;
      g.magnitude += m;
      g.carried += e;
      return;
    case Mode::NORM2:
      g.value += m * m;
      g.magnitude += m * m;
      g.carried += e * (2 * m + e);
      return;
    case Mode::MUL_NO_ZEROS:
      if (m <= e && e > 0) g.carried = infinity<R>;  // in or out: a jump
      if (x == 0) return;
      [[fallthrough]];
    case Mode::MUL:
      g.value *= x;
      g.magnitude *= m;
      g.carried *= m + e;  // the largest product; the difference to the magnitude is what errors bring in
      g.low *= std::min(m, R(1));
      g.high *= std::max(m, R(1));
      return;
    case Mode::AMAX:
      x = m;
      g.low = std::max(g.low, m - e);
      g.high = std::max(g.high, m + e);
      g.value = larger(g.value, x);
      return;
    case Mode::MAX:
      g.low = std::max(g.low, x - e);
      g.high = std::max(g.high, x + e);
      g.value = larger(g.value, x);
      return;
    case Mode::MIN:
      g.low = std::min(g.low, x - e);
      g.high = std::min(g.high, x + e);
      g.value = smaller(g.value, x);
      return;
    case Mode::NOT_SET:
      return;
  }
}

/// A finite result is undetermined where one of its partial sums or products may leave the compute type's
/// range.
template <class R>
bool may_overflow(Mode mode, Gathered<R> const& g, R max) {
  if (mode == Mode::MUL || mode == Mode::MUL_NO_ZEROS) return g.high > max && (g.low < 1 || std::fabs(g.value) <= max);
  if (mode == Mode::AVG || mode == Mode::NORM2) return g.magnitude > max;
  return g.magnitude > max && g.magnitude != std::fabs(g.value);  // terms of one sign overflow as their sum does
}

/// Turns what was gathered from `n` elements into value and bound. Sums of n terms in any order err by at
/// most n u sum|x|, products by n u |x1 ... xn| (N. Higham, Accuracy and Stability, 3.1).
template <class R>
void finish(Mode mode, Gathered<R> const& g, R n, DataType_t compute, R& value, R& bound) {
  R const u = unit_roundoff<R>(compute);
  R const step = smallest_step<R>(compute);
  R const max = u == 0 ? R(INT32_MAX) : largest<R>(compute);
  bool const product = mode == Mode::MUL || mode == Mode::MUL_NO_ZEROS;
  value = g.value;
  bound = 0;
  if (mode == Mode::MAX || mode == Mode::MIN || mode == Mode::AMAX) {
    if (g.low != g.high) bound = std::max(g.high - value, value - g.low);
  } else if (u == 0) {
    if (g.inexact) bound = g.magnitude + g.carried > max ? infinity<R> : product ? g.carried - g.magnitude : g.carried;
  } else if (std::isfinite(value)) {
    R const carried = !g.inexact ? R(0) : product ? g.carried - g.magnitude : g.carried;
    bound = carried + n * u * (g.magnitude + carried);
    if (product) bound += n * step * g.high;
    if (mode == Mode::NORM2) bound += n * step;
    if (std::isnan(bound) || may_overflow(mode, g, max)) bound = infinity<R>;
    if (mode == Mode::AVG && n > 0) {
      value /= n;
      bound = bound / n + 2 * u * (std::fabs(value) + bound / n) + step;
    }
    if (mode == Mode::NORM2) {
      R const root = std::sqrt(value), high = std::sqrt(value + bound) - root;
      bound = std::max(root - std::sqrt(std::max(value - bound, R(0))), high) + 2 * u * (root + high);
      value = root;
    }
  } else if (g.carried == infinity<R> && !std::isnan(value)) {
    bound = infinity<R>;
  }
  if (std::isnan(value)) bound = 0;
  if (std::isinf(value) && bound > 0) bound = infinity<R>;
}

template <class R>
void reference(RefNode<R>& n) {
  Mode const mode = mode_of(n.node);
  RefTensor<R> const& x = *n.in[0];
  RefTensor<R>& y = *n.out[0];
  bool const integer = n.node.compute == DataType_t::INT32;
  std::vector<Gathered<R>> gathered(y.size(), identity_of<R>(mode));
  ir::Dims const strides = broadcast_strides(y.dims, x.dims);
  IndexWalk walk(x.dims);
  for (size_t i = 0; i < x.size(); ++i, walk.next()) {
    Gathered<R>& g = gathered[static_cast<size_t>(walk.offset(strides))];
    gather(mode, g, x.value[i], x.bound[i]);
    if (integer && mode != Mode::AMAX) g.value = wrap_int32(g.value);
  }
  R const count = y.size() ? static_cast<R>(x.size() / y.size()) : R(0);
  for (size_t o = 0; o < y.size(); ++o) {
    finish(mode, gathered[o], count, n.node.compute, y.value[o], y.bound[o]);
    if (integer && std::isfinite(y.value[o])) y.value[o] = wrap_int32(y.value[o]);
  }
}

constexpr Port inputs[] = {{.name = "X", .doc = "any dims"}};
constexpr Port outputs[] = {{.name = "Y", .doc = "dims of X, or 1 where an axis is reduced; those of X unless given"}};
Attr const attrs[] = {
    {.name = "mode",
     .type = AttrType::enumeration,
     .doc = "what is computed",
     .required = true,
     .names = base::enum_names<Mode>},
    {.name = "is_deterministic",
     .type = AttrType::boolean,
     .doc = "only plans whose result is the same bits at each run",
     .default_value = false},
};

}  // namespace

OpRow const reduction_row = {
    .kind = ir::OpKind::reduction,
    .tag = "REDUCTION",
    .builder = "reduction",
    .doc =
        "Y = mode over the axes where Y has 1 and X has not. ADD sum, MUL product, MIN, MAX, AMAX max|x|, "
        "AVG mean, "
        "NORM1 sum|x|, NORM2 sqrt(sum x^2), MUL_NO_ZEROS product of the non-zero elements. Nothing reduces "
        "to the "
        "identity: 0; 1 for products; -inf for MAX, +inf for MIN (in INT32 the smallest and the largest "
        "value). "
        "MIN, MAX and AMAX keep NaN. INT32 wraps.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
};

}  // namespace fusednn::ops
