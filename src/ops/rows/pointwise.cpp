#include "ops/pointwise_table.h"
#include "ops/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace fusednn::ops {

namespace {

using base::Rule;

PointwiseMode_t mode_of(ir::Node const& node) { return node.attrs.get_enum<PointwiseMode_t>("mode"); }

/// Broadcast dims of the inputs that are given; empty where they do not broadcast. Inputs of fewer dims
/// (scalars of dims {1}) count as all ones. `misfit` receives the first input that does not go with those before it.
ir::Dims broadcast_dims(NodeContext& ctx, size_t* misfit = nullptr) {
  ir::Dims dims;
  for (size_t i = 0; i < ctx.in_count(); ++i)
    if (ctx.has_in(i) && ctx.in(i).dims.size() > dims.size()) dims.assign(ctx.in(i).dims.size(), 1);
  for (size_t i = 0; i < ctx.in_count(); ++i) {
    if (!ctx.has_in(i)) continue;
    ir::Dims const& d = ctx.in(i).dims;
    if (d == ir::Dims{1}) continue;
    if (misfit) *misfit = i;
    if (d.size() != dims.size()) return {};
    for (size_t k = 0; k < dims.size(); ++k) {
      if (d[k] != dims[k] && d[k] != 1 && dims[k] != 1) return {};
      if (dims[k] == 1) dims[k] = d[k];
    }
  }
  return dims;
}

void infer(NodeContext& ctx) {
  ctx.infer_dims(0, broadcast_dims(ctx));
  if (!ctx.has_out(0) || ctx.out(0).dims.empty()) return;
  for (size_t i = 0; i < ctx.in_count(); ++i)
    if (ctx.has_in(i) && ctx.in(i).dims == ctx.out(0).dims) return ctx.infer_strides(0, ctx.in(i));
  if (ctx.has_in(0)) ctx.infer_strides(0, ctx.in(0));
}

void check(NodeContext& ctx) {
  PointwiseMode_t const mode = mode_of(ctx.node());
  PointwiseRow const& r = row(mode);
  if (r.arity == 0) return ctx.fail(Rule::pointwise_mode, "", "mode is NOT_SET");
  int given = 0;
  for (size_t i = 0; i < ctx.in_count(); ++i) given += ctx.has_in(i);
  if (given != r.arity)
    return ctx.fail(Rule::pointwise_arity, "",
                    fmt::format("{} inputs given, {} takes {}", given, base::to_string(mode), r.arity));
  for (auto const& [name, value] : ctx.attrs().all()) {
    if (name == "mode" || !ctx.attrs().is_set(name)) continue;
    if (std::find(r.parameters.begin(), r.parameters.end(), name) == r.parameters.end())
      ctx.fail(Rule::pointwise_parameter, "", fmt::format("'{}' is set, mode is {}", name, base::to_string(mode)));
  }
  auto lower = ctx.attrs().get_if<double>("relu_lower_clip"), upper = ctx.attrs().get_if<double>("relu_upper_clip");
  if (upper && !(lower.value_or(0) <= *upper))
    ctx.fail(Rule::pointwise_clip_order, "", fmt::format("lower {}, upper {}", lower.value_or(0), *upper));
  if (ctx.node().compute == DataType_t::INT32 && !r.integer)
    ctx.fail(Rule::integer_compute, "", fmt::format("{} in INT32", base::to_string(mode)));
  size_t misfit = 0;
  ir::Dims const dims = broadcast_dims(ctx, &misfit);
  if (dims.empty()) {
    std::string found = fmt::format("dims [{}]", fmt::join(ctx.in(misfit).dims, ","));
    for (size_t i = 0; i < ctx.in_count(); ++i)
      if (ctx.has_in(i) && i != misfit)
        found += fmt::format(", those of '{}' are [{}]", ctx.in(i).name, fmt::join(ctx.in(i).dims, ","));
    return ctx.fail(Rule::pointwise_broadcast, ctx.in(misfit).name, found);
  }
  if (mode == PointwiseMode_t::GEN_INDEX) {
    auto axis = ctx.attrs().get_if<int64_t>("axis");
    if (!axis || *axis < 0 || *axis >= static_cast<int64_t>(dims.size()))
      ctx.fail(Rule::pointwise_axis, "",
               axis ? fmt::format("axis {}, rank {}", *axis, dims.size()) : std::string("axis is not set"));
  }
  ctx.expect_dims(0, dims);
}

template <class R>
PointwiseParams<R> params_of(ir::AttrSet const& attrs) {
  PointwiseParams<R> p;
  auto read = [&](std::string_view name, R& field, R otherwise) {
    field = static_cast<R>(attrs.get_if<double>(name).value_or(static_cast<double>(otherwise)));
  };
  read("relu_lower_clip", p.relu_lower_clip, R(0));
  read("relu_upper_clip", p.relu_upper_clip, std::numeric_limits<R>::infinity());
  read("relu_lower_clip_slope", p.relu_lower_clip_slope, R(0));
  read("swish_beta", p.swish_beta, R(1));
  read("elu_alpha", p.elu_alpha, R(1));
  read("softplus_beta", p.softplus_beta, R(1));
  return p;
}

template <class R>
R distance(R x, R y) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  R d = std::fabs(x - y);
  return std::isnan(d) ? std::numeric_limits<R>::infinity() : d;
}

/// Whether tan has a pole in [x - e, x + e].
template <class R>
bool crosses_pole(R x, R e) {
  R const pi = R(3.141592653589793238462643383279502884L);
  return std::floor((x - e) / pi + R(0.5)) != std::floor((x + e) / pi + R(0.5));
}

/// How far the result may move while each operand stays within its error: the mode is evaluated at the
/// corners of the operands' error boxes, which is exact for monotone modes, and safe about a smooth extremum,
/// where a corner lies at least as far from the extremum as the centre does. Jumps and poles that corners do
/// not show are looked at too: at 0, where two operands meet, at multiples of a divisor, and at the poles of
/// tan.
template <class R>
R carried_error(PointwiseRow const& r, PointwiseParams<R> const& p, R const (&v)[3], R const (&e)[3], R value) {
  PointwiseFns<R> const& fns = r.fns<R>();
  R const infinity = std::numeric_limits<R>::infinity();
  R carried = 0;
  auto evaluate = [&](R const(&x)[3]) { carried = std::max(carried, distance(fns.value(p, x[0], x[1], x[2]), value)); };
  for (int corner = 1; corner < 1 << (2 * r.arity); ++corner) {
    // Two bits per operand: 1 adds its error, 2 subtracts it, 3 puts it at 0 where that lies between.
    R x[3];
    bool skip = false;
    for (int i = 0; i < 3; ++i) {
      int const move = i < r.arity ? (corner >> (2 * i)) & 3 : 0;
      skip = skip || (move != 0 && e[i] == 0) || (move == 3 && std::fabs(v[i]) > e[i]);
      x[i] = move == 3 ? R(0) : v[i] + (move == 1 ? e[i] : move == 2 ? -e[i] : R(0));
    }
    if (!skip) evaluate(x);
  }
  if (e[0] + e[1] + e[2] == 0) return 0;
  // An undetermined operand makes the result so, unless a select passes it over.
  for (int i = r.mode == PointwiseMode_t::BINARY_SELECT ? 2 : 0; i < r.arity; ++i)
    if (std::isinf(e[i])) return infinity;
  if (r.arity == 2 && std::fabs(v[0] - v[1]) <= e[0] + e[1]) evaluate({v[0], v[0], v[2]});
  if (r.discontinuous && carried > 0) return infinity;
  if (r.mode == PointwiseMode_t::MOD && 2 * e[0] >= std::fabs(v[1])) return infinity;
  if (r.mode == PointwiseMode_t::TAN && crosses_pole(v[0], e[0])) return infinity;
  return carried * (1 + 4 * std::numeric_limits<R>::epsilon());  // the differences are themselves rounded
}

/// An engine's own evaluation errs by ulps * u * magnitude, on top of what the operands' errors bring in.
template <class R>
void reference(RefNode<R>& n) {
  PointwiseMode_t const mode = mode_of(n.node);
  PointwiseRow const& r = row(mode);
  PointwiseParams<R> const p = params_of<R>(n.node.attrs);
  PointwiseFns<R> const& fns = r.fns<R>();
  RefTensor<R>& y = *n.out[0];
  R const error = static_cast<R>(r.ulps) * n.unit();
  R const underflow = n.unit() == 0 ? R(0) : static_cast<R>(r.ulps) * smallest_step<R>(n.node.compute);
  bool const integer = n.node.compute == DataType_t::INT32;
  ir::Dims strides[3];
  for (int i = 0; i < r.arity; ++i) {
    ir::Dims dims = n.in[static_cast<size_t>(i)]->dims;
    if (dims.size() < y.dims.size()) dims.assign(y.dims.size(), 1);
    strides[i] = broadcast_strides(dims, y.dims);
  }
  IndexWalk walk(y.dims);
  int64_t const axis = mode == PointwiseMode_t::GEN_INDEX ? n.node.attrs.template get<int64_t>("axis") : 0;
  for (size_t o = 0; o < y.size(); ++o, walk.next()) {
    if (mode == PointwiseMode_t::GEN_INDEX) {
      y.value[o] = static_cast<R>(walk.index()[static_cast<size_t>(axis)]);
      continue;
    }
    R v[3] = {}, e[3] = {};
    for (int i = 0; i < r.arity; ++i) {
      size_t at = static_cast<size_t>(walk.offset(strides[i]));
      v[i] = n.in[static_cast<size_t>(i)]->value[at];
      e[i] = n.in[static_cast<size_t>(i)]->bound[at];
    }
    R const value = fns.value(p, v[0], v[1], v[2]);
    R const carried = carried_error(r, p, v, e, value);
    y.value[o] = integer ? wrap_int32(std::isnan(value) ? R(0) : value) : value;
    R magnitude = fns.magnitude(p, v[0], v[1], v[2]);
    if (std::isnan(magnitude)) magnitude = std::fabs(value);  // 0 * inf
    R const own = error == 0 ? R(0) : error * magnitude + underflow;
    bool const exact = !std::isfinite(value) && carried == 0;
    y.bound[o] = exact ? R(0) : std::isinf(carried) ? carried : carried + own;
  }
}

constexpr Port inputs[] = {
    {.name = "IN_0", .doc = "any dims"},
    {.name = "IN_1", .doc = "broadcasts against IN_0", .kind = PortKind::optional},
    {.name = "IN_2", .doc = "broadcasts against IN_0; the mask of BINARY_SELECT", .kind = PortKind::optional},
};
constexpr Port outputs[] = {{.name = "OUT_0", .doc = "broadcast dims; memory order of the first input of these dims"}};
Attr const attrs[] = {
    {.name = "mode",
     .type = AttrType::enumeration,
     .doc = "what is computed",
     .required = true,
     .names = base::enum_names<PointwiseMode_t>},
    {.name = "axis", .type = AttrType::integer, .doc = "axis whose index GEN_INDEX writes"},
    {.name = "relu_lower_clip", .type = AttrType::real, .doc = "0 where unset"},
    {.name = "relu_upper_clip", .type = AttrType::real, .doc = "infinity where unset"},
    {.name = "relu_lower_clip_slope", .type = AttrType::real, .doc = "slope below the lower clip; 0 where unset"},
    {.name = "elu_alpha", .type = AttrType::real, .doc = "1 where unset"},
    {.name = "softplus_beta", .type = AttrType::real, .doc = "1 where unset"},
    {.name = "swish_beta", .type = AttrType::real, .doc = "1 where unset"},
};

}  // namespace

OpRow const pointwise_row = {
    .kind = ir::OpKind::pointwise,
    .tag = "POINTWISE",
    .builder = "pointwise",
    .doc =
        "OUT_0 = mode(IN_0, IN_1, IN_2) with numpy-style broadcast. Backward modes take (dy, x), x the input "
        "of the "
        "forward mode. NaN in gives NaN out.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
};

}  // namespace fusednn::ops
