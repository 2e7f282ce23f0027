#pragma once

#include "ops/attention_mask.h"
#include "ops/rows/rows.h"

#include <algorithm>

// What the rows of attention share: the softmax of one row of scores with its bounds, and the mask's
// operands.

namespace fusednn::ops {

/// Ports and attributes of the mask, equal in all rows of attention.
inline constexpr Port bias_port = {
    .name = "Bias", .doc = "added to the scaled scores; [1|B, 1|H, 1|S_q, 1|S_kv]", .kind = PortKind::optional};
inline constexpr Port length_q_port = {.name = "SEQ_LEN_Q",
                                       .doc = "live rows per batch; INT32 or INT64 [B, 1, 1, 1]",
                                       .kind = PortKind::optional,
                                       .role = PortRole::index};
inline constexpr Port length_kv_port = {.name = "SEQ_LEN_KV",
                                        .doc = "live keys per batch; INT32 or INT64 [B, 1, 1, 1]",
                                        .kind = PortKind::optional,
                                        .role = PortRole::index};
inline constexpr Port stats_port = {.name = "Stats",
                                    .doc = "[B, H, S_q, 1], the log-sum-exp of the row's scores",
                                    .kind = PortKind::optional,
                                    .default_dtype = DataType_t::FLOAT};
inline Attr const alignment_attr = {.name = "diagonal_alignment",
                                    .type = AttrType::enumeration,
                                    .doc =
                                        "where the diagonal lies: key i of row i (TOP_LEFT), or the last "
                                        "live key of the last live row (BOTTOM_RIGHT)",
                                    .default_value = static_cast<int64_t>(DiagonalAlignment_t::TOP_LEFT),
                                    .names = base::enum_names<DiagonalAlignment_t>};
inline constexpr Attr left_attr = {.name = "left_bound",
                                   .type = AttrType::integer,
                                   .doc = "row i sees keys j > diagonal - left_bound; open where unset"};
inline constexpr Attr right_attr = {.name = "right_bound",
                                    .type = AttrType::integer,
                                    .doc = "row i sees keys j <= diagonal + right_bound; open where unset"};
inline Attr const log2_attr = {
    .name = "stats_use_log2", .type = AttrType::boolean, .doc = "Stats to base 2, not e", .default_value = false};

/// The mask's operands in a node: the dims of its scores and the ports that hold them.
template <class R>
class MaskOperands {
 public:
  MaskOperands(RefNode<R> const& node, int64_t s_q, int64_t s_kv, size_t bias, size_t length_q, size_t length_kv)
      : node_(node.node),
        s_q_(s_q),
        s_kv_(s_kv),
        bias_(node.in[bias]),
        length_q_(node.in[length_q]),
        length_kv_(node.in[length_kv]) {}

  AttentionMask mask(int64_t b) const {
    auto length = [&](RefTensor<R> const* t, int64_t full) {
      return t ? static_cast<int64_t>(t->value[static_cast<size_t>(b)]) : full;
    };
    return mask_of(node_, length(length_q_, s_q_), length(length_kv_, s_kv_), s_q_, s_kv_);
  }
  bool has_bias() const { return bias_ != nullptr; }
  R bias(int64_t b, int64_t h, int64_t i, int64_t j) const { return bias_ ? bias_->value[at(b, h, i, j)] : R(0); }
  R bias_error(int64_t b, int64_t h, int64_t i, int64_t j) const { return bias_ ? bias_->bound[at(b, h, i, j)] : R(0); }
  /// A bias of -inf masks; whatever the score is.
  bool masked_by_bias(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return bias_ && bias_->value[at(b, h, i, j)] == -std::numeric_limits<R>::infinity();
  }

 private:
  size_t at(int64_t b, int64_t h, int64_t i, int64_t j) const {
    ir::Dims const& d = bias_->dims;
    auto pick = [&](size_t axis, int64_t index) { return d[axis] == 1 ? 0 : index; };
    return static_cast<size_t>(((pick(0, b) * d[1] + pick(1, h)) * d[2] + pick(2, i)) * d[3] + pick(3, j));
  }

  ir::Node const& node_;
  int64_t s_q_, s_kv_;
  RefTensor<R> const *bias_, *length_q_, *length_kv_;
};

/// One visible key of a row.
template <class R>
struct Score {
  int64_t key;
  R value, bound;
};

/// Softmax of one row: weights exp(s - max) with the absolute error of each, and their sum.
template <class R>
struct SoftmaxRow {
  std::vector<R> weight, error;  ///< by position in the list of scores
  R sum = 0, sum_error = 0;
  R stats = 0, stats_bound = 0;
  bool empty = false;         ///< no key is visible, or all scores are -inf: the row's result is 0
  bool not_a_number = false;  ///< a score is NaN or +inf
  bool undetermined = false;  ///< a score has no bound
  /// Least value that the sum of weights may have; not positive where the errors swamp it.
  R least_sum() const { return sum - sum_error; }
};

/// Errors of scores enter exp relatively: |exp(s + d) - exp(s)| <= exp(s) (exp(|d|) - 1). The subtraction of
/// the maximum adds two roundings, exp itself 10 ulps, and weights below the smallest normal number may be
/// lost.
template <class R>
SoftmaxRow<R> softmax_row(std::vector<Score<R>> const& scores, DataType_t compute, bool base_2) {
  SoftmaxRow<R> row;
  R const inf = std::numeric_limits<R>::infinity();
  R const u = unit_roundoff<R>(compute), lost = smallest_step<R>(compute) / (2 * u);
  R max = -inf, widest = 0;
  for (Score<R> const& s : scores) {
    max = std::max(max, s.value);
    row.undetermined = row.undetermined || std::isinf(s.bound);
    row.not_a_number = row.not_a_number || std::isnan(s.value) || s.value == inf;
  }
  row.empty = max == -inf && !row.not_a_number && !row.undetermined;
  R const nan = std::numeric_limits<R>::quiet_NaN();
  row.stats = row.empty ? -inf : row.not_a_number ? nan : R(0);
  row.stats_bound = row.undetermined ? inf : R(0);
  row.weight.assign(scores.size(), row.empty ? R(0) : nan);
  row.error.assign(scores.size(), row.undetermined ? inf : R(0));
  if (row.empty || row.not_a_number || row.undetermined) return row;
  for (size_t k = 0; k < scores.size(); ++k) {
    R const below = scores[k].value - max;
    R const weight = row.weight[k] = std::exp(below);
    R const d = scores[k].bound + 2 * u * std::fabs(below) + 12 * u;
    row.error[k] = below == -inf ? R(0) : (weight > 0 ? weight * std::expm1(d) : std::exp(below + d)) + lost;
    row.sum += weight;
    row.sum_error += row.error[k];
    if (below != -inf) widest = std::max(widest, d);
  }
  R const n = static_cast<R>(scores.size());
  R const log_sum = std::log(row.sum);
  R const share = row.sum_error / row.sum;
  R const carried = share < 1 ? std::min(widest, -std::log1p(-share)) : widest;
  row.stats = max + log_sum;
  row.stats_bound = carried + u * (n + 12 + 2 * std::fabs(max) + 4 * log_sum + 2 * std::fabs(row.stats));
  if (base_2) {
    R const log2_e = R(1.442695040888963407359924681001892137L);
    row.stats *= log2_e;
    row.stats_bound = log2_e * row.stats_bound + 2 * u * std::fabs(row.stats);
  }
  return row;
}

/// o[c] = sum_k weight[k] v[k][c] / sum, with bounds; v's rows begin at `v + key * width`. With w = weight /
/// sum and relative errors t of the weights, o' - o = sum w t (v - o) / sum w (1 + t): errors common to all
/// keys cancel. Where the errors swamp the sum, o' still lies among the values it averages.
template <class R>
void weigh(SoftmaxRow<R> const& row, std::vector<Score<R>> const& scores, R const* v, R const* v_error, size_t width,
           DataType_t compute, R* o, R* bound) {
  R const inf = std::numeric_limits<R>::infinity();
  if (row.empty || row.not_a_number || row.undetermined) {
    std::fill_n(o, width, row.not_a_number ? std::numeric_limits<R>::quiet_NaN() : R(0));
    std::fill_n(bound, width, row.undetermined ? inf : R(0));
    return;
  }
  struct Column {
    R magnitude = 0, from_v = 0, from_weights = 0, spread = 0, largest = 0;
    bool lost = false;  // an infinite value under a weight that may underflow to 0
  };
  std::vector<Column> columns(width);
  R const u = unit_roundoff<R>(compute), step = smallest_step<R>(compute);
  std::fill_n(o, width, R(0));
  for (size_t k = 0; k < scores.size(); ++k) {
    R const weight = row.weight[k], high = weight + row.error[k];
    R const *value = v + static_cast<size_t>(scores[k].key) * width, *error = v_error + (value - v);
    for (size_t c = 0; c < width; ++c) {
      o[c] += weight * value[c];
      columns[c].magnitude += high * (std::fabs(value[c]) + error[c]);
      columns[c].from_v += high * error[c];
      columns[c].largest = std::max(columns[c].largest, std::fabs(value[c]) + error[c]);
      columns[c].lost = columns[c].lost || (std::isinf(value[c]) && weight < 4 * step / u);
    }
  }
  for (size_t c = 0; c < width; ++c) o[c] /= row.sum;
  for (size_t k = 0; k < scores.size(); ++k) {
    R const *value = v + static_cast<size_t>(scores[k].key) * width, *error = v_error + (value - v);
    for (size_t c = 0; c < width; ++c) {
      R const distance = std::fabs(value[c] - o[c]);
      columns[c].from_weights += row.error[k] * distance;
      columns[c].spread = std::max(columns[c].spread, distance + error[c]);
    }
  }
  R const accumulation = (2 * static_cast<R>(scores.size()) + 10) * u, least = row.least_sum();
  for (size_t c = 0; c < width; ++c) {
    Column const& x = columns[c];
    if (std::isnan(o[c]) || std::isinf(o[c])) {
      bound[c] = x.lost || std::isinf(x.from_v) ? inf : R(0);
      continue;
    }
    bound[c] = x.spread + accumulation * x.largest;
    if (least > 0) bound[c] = std::min(bound[c], (x.from_v + x.from_weights + accumulation * x.magnitude) / least);
    bound[c] += static_cast<R>(scores.size()) * step;
    if (!(x.magnitude <= largest<R>(compute))) bound[c] = inf;
  }
}

/// False, with an error, where the tensor at a port is of an integer or boolean type.
bool check_floating(NodeContext& ctx, size_t port);
/// Checks that are the same in all rows of attention: the mask's bounds, bias and lengths. `scores` has
/// rank 4.
void check_mask(NodeContext& ctx, ir::Dims const& scores, size_t bias, size_t length_q, size_t length_kv);

}  // namespace fusednn::ops
