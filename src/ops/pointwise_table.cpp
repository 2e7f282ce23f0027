#include "ops/pointwise_table.h"

#include <cmath>
#include <iterator>

namespace fusednn::ops {

namespace {

using std::abs, std::ceil, std::cos, std::erf, std::erfc, std::exp, std::expm1, std::floor, std::fmod, std::isnan;
using std::log, std::log1p, std::pow, std::sin, std::sqrt, std::tan, std::tanh;

template <class R>
constexpr R sqrt_half = R(0.707106781186547524400844362104849039L);
template <class R>
constexpr R sqrt_2_over_pi = R(0.797884560802865355879892119868763737L);
template <class R>
constexpr R inv_sqrt_2pi = R(0.398942280401432677939946059934381868L);

template <class R>
R sigmoid(R x) {
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}
template <class R>
R relu(PointwiseParams<R> const& p, R x) {
  if (isnan(x)) return x;
  R const slope = p.relu_lower_clip_slope;
  if (x < p.relu_lower_clip)
    return p.relu_lower_clip + (slope == 0 ? 0 : slope * (x - p.relu_lower_clip));  // not 0 * inf
  return x < p.relu_upper_clip ? x : p.relu_upper_clip;
}
template <class R>
R relu_slope(PointwiseParams<R> const& p, R x) {
  if (isnan(x)) return x;
  if (x <= p.relu_lower_clip) return p.relu_lower_clip_slope;
  return x < p.relu_upper_clip || std::isinf(p.relu_upper_clip) ? R(1) : R(0);
}
/// log(1 + exp(z)) without overflow.
template <class R>
R log1p_exp(R z) {
  return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}
template <class R>
R tanh_argument(R x) {
  return sqrt_2_over_pi<R> * (x + R(0.044715L) * x * x * x);
}
template <class R>
R gelu_tanh_slope(R x) {
  R const t = tanh(tanh_argument(x));
  R const inner = sqrt_2_over_pi<R> * (1 + 3 * R(0.044715L) * x * x);
  R const tail = 1 - t * t;
  return R(0.5) * (1 + t) + (tail == 0 ? R(0) : R(0.5) * x * tail * inner);
}
template <class R>
R gelu_slope(R x) {
  R const density = inv_sqrt_2pi<R> * exp(-x * x / 2);
  return R(0.5) * erfc(-x * sqrt_half<R>) + (density == 0 ? R(0) : x * density);
}
template <class R>
R swish_slope(R beta, R x) {
  R const s = sigmoid(beta * x), tail = sigmoid(-beta * x);
  return s + (tail == 0 || s == 0 ? R(0) : beta * x * s * tail);
}

using Names = std::span<std::string_view const>;
constexpr std::string_view relu_names[] = {"relu_lower_clip", "relu_upper_clip", "relu_lower_clip_slope"};
constexpr std::string_view swish_names[] = {"swish_beta"};
constexpr std::string_view elu_names[] = {"elu_alpha"};
constexpr std::string_view softplus_names[] = {"softplus_beta"};
constexpr std::string_view axis_names[] = {"axis"};

// MODE(name, arity, Python name, formula in a, b, c and p; error of an evaluation as a multiple of the unit roundoff,
//      times a magnitude; flags, parameters)
// The magnitude is |result| (written r) where good evaluations have a small relative error, and the size of the terms
// where terms may cancel.
// A formula here is text of the operations page too; the formatter would take its product for a pointer.
// clang-format off
#define FUSEDNN_POINTWISE_ROWS(MODE)                                                                                   \
  MODE(ADD, 2, "add", a + b, 1, abs(r), integer)                                                                       \
  MODE(MUL, 2, "mul", a * b, 1, abs(r), integer)                                                                       \
  MODE(SQRT, 1, "sqrt", sqrt(a), 2, abs(r), real)                                                                      \
  MODE(MAX, 2, "max", isnan(a) || a > b ? a : b, 0, R(0), integer)                                                     \
  MODE(MIN, 2, "min", isnan(a) || a < b ? a : b, 0, R(0), integer)                                                     \
  MODE(RELU_FWD, 1, "relu", relu(p, a), 3, abs(r) + abs(p.relu_lower_clip_slope * (a - p.relu_lower_clip)), integer,   \
       relu_names)                                                                                                     \
  MODE(TANH_FWD, 1, "tanh", tanh(a), 10, abs(r), real)                                                                 \
  MODE(SIGMOID_FWD, 1, "sigmoid", sigmoid(a), 10, abs(r), real)                                                        \
  MODE(ELU_FWD, 1, "elu", a > 0 ? a : p.elu_alpha * expm1(a), 10, abs(r), real, elu_names)                             \
  MODE(GELU_FWD, 1, "gelu", R(0.5) * a * erfc(-a * sqrt_half<R>), 10, abs(a), real)                                    \
  MODE(SOFTPLUS_FWD, 1, "softplus", log1p_exp(p.softplus_beta * a) / p.softplus_beta, 10,                              \
       abs(r) * (1 + abs(p.softplus_beta * a)), real, softplus_names)                                                  \
  MODE(SWISH_FWD, 1, "swish", a * sigmoid(p.swish_beta * a), 10, abs(r) * (1 + abs(p.swish_beta * a)), real,           \
       swish_names)                                                                                                    \
  MODE(RELU_BWD, 2, "relu_backward", a * relu_slope(p, b), 1, abs(r), real, relu_names)                                \
  MODE(TANH_BWD, 2, "tanh_backward", a * (1 - tanh(b) * tanh(b)), 20, abs(a), real)                                    \
  MODE(SIGMOID_BWD, 2, "sigmoid_backward", a * sigmoid(b) * sigmoid(-b), 20, abs(a), real)                             \
  MODE(ELU_BWD, 2, "elu_backward", b > 0 ? a : a * p.elu_alpha * exp(b), 12, abs(r), real, elu_names)                  \
  MODE(GELU_BWD, 2, "gelu_backward", a * gelu_slope(b), 20, abs(a) * (1 + abs(gelu_slope(b))), real)                   \
  MODE(SOFTPLUS_BWD, 2, "softplus_backward", a * sigmoid(p.softplus_beta * b), 12,                                     \
       abs(r) * (1 + abs(p.softplus_beta * b)), real, softplus_names)                                                  \
  MODE(SWISH_BWD, 2, "swish_backward", a * swish_slope(p.swish_beta, b), 20, abs(a) * (1 + abs(p.swish_beta * b)),     \
       real, swish_names)                                                                                              \
  MODE(ERF, 1, "erf", erf(a), 10, abs(r), real)                                                                        \
  MODE(IDENTITY, 1, "identity", a, 0, R(0), integer)                                                                   \
  MODE(GELU_APPROX_TANH_BWD, 2, "gelu_approx_tanh_backward", a * gelu_tanh_slope(b), 40, abs(a), real)                 \
  MODE(GELU_APPROX_TANH_FWD, 1, "gelu_approx_tanh",                                                                    \
       R(0.5) * a * (1 + tanh(tanh_argument(a))), 20, abs(a), real)                                                    \
  MODE(GEN_INDEX, 1, "gen_index", a, 0, R(0), integer, axis_names)                                                     \
  MODE(BINARY_SELECT, 3, "binary_select", c != 0 ? a : b, 0, R(0), integer)                                            \
  MODE(EXP, 1, "exp", exp(a), 10, abs(r), real)                                                                        \
  MODE(LOG, 1, "log", log(a), 10, abs(r), real)                                                                        \
  MODE(NEG, 1, "neg", -a, 0, R(0), integer)                                                                            \
  MODE(MOD, 2, "mod", fmod(a, b), 0, R(0), jumps_integer)                                                              \
  MODE(POW, 2, "pow", pow(a, b), 16, abs(r), real)                                                                     \
  MODE(ABS, 1, "abs", abs(a), 0, R(0), integer)                                                                        \
  MODE(CEIL, 1, "ceil", ceil(a), 0, R(0), jumps)                                                                       \
  MODE(COS, 1, "cos", cos(a), 8, abs(r), real)                                                                         \
  MODE(FLOOR, 1, "floor", floor(a), 0, R(0), jumps)                                                                    \
  MODE(RSQRT, 1, "rsqrt", 1 / sqrt(a), 4, abs(r), real)                                                                \
  MODE(SIN, 1, "sin", sin(a), 8, abs(r), real)                                                                         \
  MODE(LOGICAL_NOT, 1, "logical_not", R(a == 0), 0, R(0), jumps_integer)                                               \
  MODE(TAN, 1, "tan", tan(a), 16, abs(r), real)                                                                        \
  MODE(SUB, 2, "sub", a - b, 1, abs(r), integer)                                                                       \
  MODE(ADD_SQUARE, 2, "add_square", a + b * b, 2, abs(a) + b * b, integer)                                             \
  MODE(DIV, 2, "div", a / b, 2, abs(r), real)                                                                          \
  MODE(CMP_EQ, 2, "cmp_eq", R(a == b), 0, R(0), jumps_integer)                                                         \
  MODE(CMP_NEQ, 2, "cmp_neq", R(a != b), 0, R(0), jumps_integer)                                                       \
  MODE(CMP_GT, 2, "cmp_gt", R(a > b), 0, R(0), jumps_integer)                                                          \
  MODE(CMP_GE, 2, "cmp_ge", R(a >= b), 0, R(0), jumps_integer)                                                         \
  MODE(CMP_LT, 2, "cmp_lt", R(a < b), 0, R(0), jumps_integer)                                                          \
  MODE(CMP_LE, 2, "cmp_le", R(a <= b), 0, R(0), jumps_integer)                                                         \
  MODE(LOGICAL_AND, 2, "logical_and", R(a != 0 && b != 0), 0, R(0), jumps_integer)                                     \
  MODE(LOGICAL_OR, 2, "logical_or", R(a != 0 || b != 0), 0, R(0), jumps_integer)                                       \
  MODE(RECIPROCAL, 1, "reciprocal", 1 / a, 2, abs(r), real)
// clang-format on

struct Flags {
  bool discontinuous, integer;
};
constexpr Flags real{false, false}, integer{false, true}, jumps{true, false}, jumps_integer{true, true};

#define FUSEDNN_EVALUATE(NAME, ARITY, PYTHON, FORMULA, ULPS, MAGNITUDE, ...)                                   \
  template <class R>                                                                                           \
  R value_##NAME([[maybe_unused]] PointwiseParams<R> const& p, [[maybe_unused]] R a, [[maybe_unused]] R b,     \
                 [[maybe_unused]] R c) {                                                                       \
    return FORMULA;                                                                                            \
  }                                                                                                            \
  template <class R>                                                                                           \
  R magnitude_##NAME([[maybe_unused]] PointwiseParams<R> const& p, [[maybe_unused]] R a, [[maybe_unused]] R b, \
                     [[maybe_unused]] R c) {                                                                   \
    [[maybe_unused]] R const r = value_##NAME<R>(p, a, b, c);                                                  \
    return MAGNITUDE;                                                                                          \
  }
FUSEDNN_POINTWISE_ROWS(FUSEDNN_EVALUATE)

PointwiseRow make_row(PointwiseMode_t mode, int arity, std::string_view python, std::string_view formula,
                      PointwiseFns<double> in_double, PointwiseFns<long double> in_long_double, double ulps,
                      Flags flags, Names parameters = {}) {
  return {mode,          arity,     python, formula, in_double, in_long_double, ulps, flags.discontinuous,
          flags.integer, parameters};
}

PointwiseRow const table[] = {{},
#define FUSEDNN_TABLE_ROW(NAME, ARITY, PYTHON, FORMULA, ULPS, MAGNITUDE, ...)                                \
  make_row(PointwiseMode_t::NAME, ARITY, PYTHON, #FORMULA, {value_##NAME<double>, magnitude_##NAME<double>}, \
           {value_##NAME<long double>, magnitude_##NAME<long double>}, ULPS, __VA_ARGS__),
                              FUSEDNN_POINTWISE_ROWS(FUSEDNN_TABLE_ROW)
#undef FUSEDNN_TABLE_ROW
};

#define FUSEDNN_ORDER(NAME, ...) PointwiseMode_t::NAME,
constexpr PointwiseMode_t row_order[] = {PointwiseMode_t::NOT_SET, FUSEDNN_POINTWISE_ROWS(FUSEDNN_ORDER)};
#undef FUSEDNN_ORDER
constexpr bool rows_follow_the_enumeration() {
  for (size_t i = 0; i < std::size(row_order); ++i)
    if (row_order[i] != static_cast<PointwiseMode_t>(i)) return false;
  return true;
}
#define FUSEDNN_COUNT(NAME) +1
static_assert(std::size(row_order) == 1 FUSEDNN_POINTWISE_MODES(FUSEDNN_COUNT), "each mode has its row");
#undef FUSEDNN_COUNT
static_assert(rows_follow_the_enumeration());

}  // namespace

PointwiseRow const& row(PointwiseMode_t mode) { return table[static_cast<size_t>(mode)]; }

}  // namespace fusednn::ops
