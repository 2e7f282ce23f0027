#include "ir/layout.h"
#include "ops/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

// Layer norm and RMS norm: the same rows of a table, with and without the mean.

namespace fusednn::ops {

namespace {

using base::Rule;

enum In { X, SCALE, BIAS, EPSILON };
constexpr size_t Y = 0;

/// Dims of the statistics: 1 along the axes that are normalised, which are those where the scale has more
/// than one element (or none). An axis of size 1 is its own mean, so counting it in or out changes nothing.
ir::Dims statistics_dims(ir::Dims dims, ir::Dims const& scale) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (scale[i] != 1) dims[i] = 1;
  return dims;
}

bool scale_fits(ir::Dims const& x, ir::Dims const& scale) {
  if (x.size() != scale.size()) return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (scale[i] != 1 && scale[i] != x[i]) return false;
  return true;
}

void infer(NodeContext& ctx) {
  ir::Tensor const& x = ctx.in(X);
  ctx.infer_dims(Y, x.dims);
  ctx.infer_strides(Y, x);
  if (!scale_fits(x.dims, ctx.in(SCALE).dims)) return;
  for (size_t port = 1; port < ctx.node().outputs.size(); ++port) {
    ctx.infer_dims(port, statistics_dims(x.dims, ctx.in(SCALE).dims));
    ctx.infer_strides(port, x);
  }
}

void check(NodeContext& ctx) {
  ir::Tensor const &x = ctx.in(X), &scale = ctx.in(SCALE);
  auto const phase = ctx.attrs().get_enum<NormFwdPhase_t>("forward_phase");
  if (phase == NormFwdPhase_t::NOT_SET) ctx.fail(Rule::norm_phase, "", "forward_phase is NOT_SET");
  if (ctx.node().compute == DataType_t::INT32) ctx.fail(Rule::integer_compute, "", "a norm in INT32");
  if (!scale_fits(x.dims, scale.dims))
    return ctx.fail(
        Rule::norm_scale_dims, scale.name,
        fmt::format("dims [{}], those of '{}' are [{}]", fmt::join(scale.dims, ","), x.name, fmt::join(x.dims, ",")));
  if (ctx.has_in(BIAS) && ctx.in(BIAS).dims != scale.dims)
    ctx.fail(Rule::norm_bias_dims, ctx.in(BIAS).name,
             fmt::format("dims [{}], those of '{}' are [{}]", fmt::join(ctx.in(BIAS).dims, ","), scale.name,
                         fmt::join(scale.dims, ",")));
  if (ir::volume(ctx.in(EPSILON).dims) != 1)
    ctx.fail(Rule::norm_epsilon, ctx.in(EPSILON).name, fmt::format("dims [{}]", fmt::join(ctx.in(EPSILON).dims, ",")));
  ctx.expect_dims(Y, x.dims);
  for (size_t port = 1; port < ctx.node().outputs.size(); ++port) {
    if (phase != NormFwdPhase_t::NOT_SET && ctx.has_out(port) != (phase == NormFwdPhase_t::TRAINING))
      ctx.fail(Rule::norm_statistics, ctx.has_out(port) ? std::string_view(ctx.out(port).name) : std::string_view(),
               fmt::format("output {} is {}given, forward_phase is {}", port, ctx.has_out(port) ? "" : "not ",
                           base::to_string(phase)));
    ctx.expect_dims(port, statistics_dims(x.dims, scale.dims));
  }
}

/// Statistics of the elements that share a mean.
template <class R>
struct Group {
  R sum = 0, errors = 0;          ///< of the elements; of their errors
  R deviations = 0, squares = 0;  ///< sums of |x - mean| and of its square
  R mixed = 0;                    ///< what the elements' errors e bring into the squares: sum of 2 |x - mean| e + e^2
  R mean = 0, mean_error = 0;
  R inverse = 0, inverse_error = 0;  ///< 1 / sqrt(variance + epsilon)
};

template <class R>
struct Accuracy {
  R unit, step;  ///< unit roundoff and smallest value of the compute type
  R largest;     ///< beyond which a sum of squares is lost
};

/// The mean is as good as a sum of differences to one of the elements (or a wider accumulator) makes it, and
/// rounded once: it errs by n u avg|x - mean| + 2 u |mean|, so that data with a large common offset keeps its
/// meaning.
template <class R>
void finish_mean(Group<R>& g, R n, Accuracy<R> const& a) {
  R const spread = g.deviations + g.errors;
  g.mean_error = settled(g.mean, g.errors / n + a.unit * (spread + 2 * std::fabs(g.mean)), std::isinf(g.errors));
}

/// The mean's error c is common to all differences, which sum to 0, so their squares feel it as c^2 alone;
/// each is also off by its own element's error and by rounding.
template <class R>
void finish_inverse(Group<R>& g, R n, Accuracy<R> const& a, R epsilon, R epsilon_error) {
  R const c = g.mean_error;
  R const variance = n == 0 ? R(0) : g.squares / n;
  R carried = n == 0 ? R(0) : (g.mixed + 2 * c * g.errors) / n + c * c;
  R const inside = variance + epsilon;
  carried += (n + 6) * a.unit * (variance + carried + std::fabs(epsilon)) + epsilon_error + a.step;
  g.inverse = 1 / std::sqrt(inside);
  g.inverse_error = std::numeric_limits<R>::infinity();
  if ((std::isnan(variance) || std::isnan(epsilon)) && !std::isinf(g.errors)) {
    g.inverse_error = 0;
  } else if (inside - carried > 0 && g.squares <= a.largest) {
    R const high = 1 / std::sqrt(inside - carried), low = 1 / std::sqrt(inside + carried);
    g.inverse_error = std::max(high - g.inverse, g.inverse - low) + 4 * a.unit * high + a.step;
  }
}

/// `centred` for layer norm, whose statistics are MEAN and INV_VARIANCE; RMS norm has the latter alone.
template <class R, bool centred>
void reference(RefNode<R>& n) {
  RefTensor<R> const &x = *n.in[X], &scale = *n.in[SCALE];
  RefTensor<R> const* bias = n.in[BIAS];
  RefTensor<R>& y = *n.out[Y];
  // FLOAT engines keep squares in a wider range than FLOAT's; nothing is wider than DOUBLE's.
  DataType_t const compute = n.node.compute;
  Accuracy<R> const accuracy = {
      n.unit(), smallest_step<R>(compute),
      compute == DataType_t::FLOAT ? std::numeric_limits<R>::infinity() : largest<R>(compute)};
  R const u = accuracy.unit, step = accuracy.step;
  ir::Dims const dims = statistics_dims(x.dims, scale.dims);
  ir::Dims const to_group = broadcast_strides(dims, x.dims), to_scale = broadcast_strides(scale.dims, x.dims);
  std::vector<Group<R>> groups(static_cast<size_t>(ir::volume(dims).value_or(0)));
  R const count = groups.empty() ? R(0) : static_cast<R>(x.size() / groups.size());
  auto group_at = [&](IndexWalk const& walk) -> Group<R>& {
    return groups[static_cast<size_t>(walk.offset(to_group))];
  };
  IndexWalk walk(x.dims);
  if (centred) {
    for (size_t i = 0; i < x.size(); ++i, walk.next()) group_at(walk).sum += x.value[i];
    for (Group<R>& g : groups) g.mean = count == 0 ? R(0) : g.sum / count;
  }
  walk = IndexWalk(x.dims);
  for (size_t i = 0; i < x.size(); ++i, walk.next()) {
    Group<R>& g = group_at(walk);
    R const d = std::fabs(x.value[i] - g.mean), e = x.bound[i];
    g.errors += e;
    g.deviations += d;
    g.squares += d * d;
    g.mixed += (2 * d + e) * e;
  }
  for (Group<R>& g : groups) {
    if (centred && count > 0) finish_mean(g, count, accuracy);
    finish_inverse(g, count, accuracy, n.in[EPSILON]->value[0], n.in[EPSILON]->bound[0]);
  }

  walk = IndexWalk(x.dims);
  for (size_t i = 0; i < x.size(); ++i, walk.next()) {
    Group<R> const& g = group_at(walk);
    size_t const at = static_cast<size_t>(walk.offset(to_scale));
    R const s = scale.value[at], s_error = scale.bound[at];
    R const b = bias ? bias->value[at] : R(0), b_error = bias ? bias->bound[at] : R(0);
    R const d = x.value[i] - g.mean;
    R d_error = x.bound[i] + g.mean_error;
    d_error += u * (std::fabs(d) + d_error);
    R const t = d * g.inverse;
    R const t_error = std::fabs(d) * g.inverse_error + (g.inverse + g.inverse_error) * d_error;
    y.value[i] = t * s + b;
    R const product_error = std::fabs(t) * s_error + (std::fabs(s) + s_error) * t_error;
    R const bound = product_error + b_error + u * (5 * (std::fabs(t * s) + product_error) + std::fabs(y.value[i])) +
                    step * (2 + std::fabs(s) + std::fabs(d));
    y.bound[i] = settled(y.value[i], bound, std::isinf(g.errors + s_error + b_error));
  }
  auto write = [&](size_t port, R Group<R>::*value, R Group<R>::*error) {
    if (port >= n.out.size() || !n.out[port]) return;
    for (size_t i = 0; i < groups.size(); ++i) {
      n.out[port]->value[i] = groups[i].*value;
      n.out[port]->bound[i] = groups[i].*error;
    }
  };
  if (centred) write(1, &Group<R>::mean, &Group<R>::mean_error);
  write(centred ? 2 : 1, &Group<R>::inverse, &Group<R>::inverse_error);
}

template <class R>
void layernorm_reference(RefNode<R>& n) {
  reference<R, true>(n);
}
template <class R>
void rmsnorm_reference(RefNode<R>& n) {
  reference<R, false>(n);
}

constexpr Port x_port = {.name = "X", .doc = "any dims"};
constexpr Port scale_port = {.name = "SCALE", .doc = "dims of X, but 1 where not normalised"};
constexpr std::string_view bias_doc = "dims of SCALE";
constexpr Port epsilon_port = {.name = "EPSILON", .doc = "one element, added to the variance"};
constexpr Port y_port = {.name = "Y", .doc = "dims and memory order of X"};
constexpr Port inverse_port = {.name = "INV_VARIANCE",
                               .doc = "1 / sqrt(variance + EPSILON), 1 where normalised; TRAINING",
                               .kind = PortKind::optional,
                               .default_dtype = DataType_t::FLOAT};

constexpr Port layernorm_inputs[] = {x_port, scale_port, {.name = "BIAS", .doc = bias_doc}, epsilon_port};
constexpr Port layernorm_outputs[] = {
    y_port,
    {.name = "MEAN",
     .doc = "dims of X, 1 where normalised; TRAINING",
     .kind = PortKind::optional,
     .default_dtype = DataType_t::FLOAT},
    inverse_port,
};
constexpr Port rmsnorm_inputs[] = {
    x_port, scale_port, {.name = "BIAS", .doc = bias_doc, .kind = PortKind::optional}, epsilon_port};
constexpr Port rmsnorm_outputs[] = {y_port, inverse_port};

Attr const attrs[] = {
    {.name = "forward_phase",
     .type = AttrType::enumeration,
     .doc = "TRAINING also writes the statistics",
     .required = true,
     .names = base::enum_names<NormFwdPhase_t>},
};

}  // namespace

OpRow const layernorm_row = {
    .kind = ir::OpKind::layernorm,
    .tag = "LAYER_NORM",
    .builder = "layernorm",
    .doc =
        "Y = (X - mean) / sqrt(variance + EPSILON) * SCALE + BIAS, mean and variance (of the population, "
        "from "
        "differences to the mean) over the axes along which SCALE has more than one element. Squares of "
        "FLOAT data do not overflow. "
        "Over no elements the mean and the variance are 0.",
    .inputs = layernorm_inputs,
    .outputs = layernorm_outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(layernorm_reference),
};

OpRow const rmsnorm_row = {
    .kind = ir::OpKind::rmsnorm,
    .tag = "RMS_NORM",
    .builder = "rmsnorm",
    .doc =
        "Y = X / sqrt(mean(X^2) + EPSILON) * SCALE + BIAS, the mean over the axes along which SCALE has more "
        "than one "
        "element. Squares of FLOAT data do not overflow. Over no elements the mean is 0.",
    .inputs = rmsnorm_inputs,
    .outputs = rmsnorm_outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(rmsnorm_reference),
};

}  // namespace fusednn::ops
