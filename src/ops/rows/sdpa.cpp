#include "ops/rows/attention.h"

#include "ir/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::ops {

namespace {

using base::Rule;

enum In { Q, K, V, ATTN_SCALE, BIAS, LENGTH_Q, LENGTH_KV, FIRST_UNSUPPORTED_IN };
enum Out { O, STATS, FIRST_UNSUPPORTED_OUT };
enum Axis { B, H, S, D };

bool ranks_fit(NodeContext& ctx) { return ctx.in(Q).rank() == 4 && ctx.in(K).rank() == 4 && ctx.in(V).rank() == 4; }

ir::Dims o_dims(NodeContext& ctx) {
  ir::Dims dims = ctx.in(Q).dims;
  dims[D] = ctx.in(V).dims[D];
  return dims;
}

ir::Dims stats_dims(NodeContext& ctx) {
  ir::Dims dims = ctx.in(Q).dims;
  dims[D] = 1;
  return dims;
}

void infer(NodeContext& ctx) {
  if (!ranks_fit(ctx)) return;
  ctx.infer_dims(O, o_dims(ctx));
  ctx.infer_strides(O, ctx.in(Q));
  ctx.infer_dims(STATS, stats_dims(ctx));
  ctx.infer_packed_strides(STATS);
}

void check_options(NodeContext& ctx) {
  ir::AttrSet const& a = ctx.attrs();
  auto refuse = [&](std::string_view what) { ctx.fail(Rule::sdpa_option_unsupported, "", what); };
  for (char const* name : {"alibi_mask", "is_mxfp8", "unfuse_fma"})
    if (a.get<bool>(name)) refuse(fmt::format("{} is true", name));
  for (char const* name : {"dropout_probability", "max_seq_len_kv"})
    if (a.is_set(name)) refuse(fmt::format("{} is set", name));
  DataType_t const core = a.get_enum<DataType_t>("mma_core_mode");
  if (core != DataType_t::NOT_SET && core != DataType_t::HALF && core != DataType_t::BFLOAT16 &&
      core != DataType_t::FLOAT)
    refuse(fmt::format("mma_core_mode is {}", base::to_string(core)));
  for (size_t port = FIRST_UNSUPPORTED_IN; port < ctx.in_count(); ++port)
    if (ctx.has_in(port)) ctx.fail(Rule::sdpa_option_unsupported, ctx.in(port).name, "is given");
  for (size_t port = FIRST_UNSUPPORTED_OUT; port < ctx.node().outputs.size(); ++port)
    if (ctx.has_out(port)) ctx.fail(Rule::sdpa_option_unsupported, ctx.out(port).name, "is asked for");

  bool const padding = a.get<bool>("padding_mask");
  for (size_t port : {LENGTH_Q, LENGTH_KV})
    if (ctx.has_in(port) != padding)
      ctx.fail(Rule::sdpa_padding, ctx.has_in(port) ? std::string_view(ctx.in(port).name) : std::string_view(),
               fmt::format("padding_mask is {}, {} is {}given", padding, port == LENGTH_Q ? "SEQ_LEN_Q" : "SEQ_LEN_KV",
                           ctx.has_in(port) ? "" : "not "));
  if (ctx.has_in(ATTN_SCALE)) {
    check_floating(ctx, ATTN_SCALE);
    if (a.is_set("attn_scale_value"))
      ctx.fail(Rule::sdpa_scale, ctx.in(ATTN_SCALE).name, "attn_scale_value is set too");
    if (ir::volume(ctx.in(ATTN_SCALE).dims) != 1)
      ctx.fail(Rule::sdpa_scale, ctx.in(ATTN_SCALE).name,
               fmt::format("dims [{}]", fmt::join(ctx.in(ATTN_SCALE).dims, ",")));
  }
  bool const stats = a.get<bool>("generate_stats");
  if (stats != ctx.has_out(STATS))
    ctx.fail(Rule::sdpa_stats, "",
             fmt::format("generate_stats is {}, Stats is {}an output", stats, stats ? "not " : ""));
  if (a.get<bool>("stats_use_log2") && !stats) ctx.fail(Rule::sdpa_stats, "", "stats_use_log2 without generate_stats");
}

void check(NodeContext& ctx) {
  if (ctx.node().compute == DataType_t::INT32) ctx.fail(Rule::integer_compute, "", "attention in INT32");
  for (size_t port : {Q, K, V}) {
    if (ctx.in(port).rank() != 4)
      return ctx.fail(Rule::sdpa_rank, ctx.in(port).name, fmt::format("rank {}", ctx.in(port).rank()));
    check_floating(ctx, port);
  }
  ir::Dims const &q = ctx.in(Q).dims, &k = ctx.in(K).dims, &v = ctx.in(V).dims;
  auto compare = [&](size_t axis, size_t left, size_t right) {
    ir::Tensor const &a = ctx.in(left), &b = ctx.in(right);
    if (a.dims[axis] != b.dims[axis])
      ctx.fail(Rule::sdpa_dims, b.name,
               fmt::format("dim[{}] = {}, '{}' has {}", axis, b.dims[axis], a.name, a.dims[axis]));
  };
  compare(B, Q, K);
  compare(B, Q, V);
  compare(D, Q, K);
  compare(S, K, V);
  for (size_t port : {K, V}) {
    int64_t const heads = ctx.in(port).dims[H];
    if (heads == 0 ? q[H] != 0 : q[H] % heads != 0)
      ctx.fail(Rule::sdpa_heads, ctx.in(port).name, fmt::format("{} heads, '{}' has {}", heads, ctx.in(Q).name, q[H]));
  }
  check_options(ctx);
  check_mask(ctx, {q[B], q[H], q[S], k[S]}, BIAS, LENGTH_Q, LENGTH_KV);
  if (q[B] == k[B] && q[B] == v[B]) ctx.expect_dims(O, o_dims(ctx));
  ctx.expect_dims(STATS, stats_dims(ctx));
}

/// Scaled, biased scores of one query row against the keys that it sees. A product of D terms errs by (D + 3)
/// u sum|q k| with the scaling, wherever an engine applies it; the sum with the bias is rounded once.
template <class R>
class Scores {
 public:
  Scores(RefNode<R> const& n) : q_(*n.in[Q]), k_(*n.in[K]), compute_(n.node.compute) {
    if (n.in[ATTN_SCALE]) {
      scale_ = n.in[ATTN_SCALE]->value[0];
      scale_error_ = n.in[ATTN_SCALE]->bound[0];
    } else if (auto value = n.node.attrs.template get_if<double>("attn_scale_value")) {
      scale_ = static_cast<R>(*value);
      round_interval(compute_, scale_, scale_error_);
    }
    undetermined_ = any_undetermined(q_) || any_undetermined(k_) || (n.in[BIAS] && any_undetermined(*n.in[BIAS]));
  }

  Score<R> at(size_t q_row, size_t k_row, int64_t key, MaskOperands<R> const& m, int64_t b, int64_t h,
              int64_t i) const {
    size_t const width = static_cast<size_t>(q_.dims[D]);
    R sum = 0, magnitude = 0, carried = 0;
    R const *q = q_.value.data() + q_row * width, *q_error = q_.bound.data() + q_row * width;
    R const *k = k_.value.data() + k_row * width, *k_error = k_.bound.data() + k_row * width;
    for (size_t d = 0; d < width; ++d) {
      R const qm = std::fabs(q[d]), km = std::fabs(k[d]);
      sum += q[d] * k[d];
      magnitude += qm * km;
      carried += qm * k_error[d] + (km + k_error[d]) * q_error[d];
    }
    R const n = static_cast<R>(width), u = unit_roundoff<R>(compute_), step = smallest_step<R>(compute_);
    R const factor = std::fabs(scale_) + scale_error_;
    Score<R> s{key, sum * scale_, 0};
    s.bound =
        factor * (carried + (n + 3) * u * (magnitude + carried) + n * step) + std::fabs(sum) * scale_error_ + step;
    if (std::isfinite(s.value) && magnitude > largest<R>(compute_)) s.bound = std::numeric_limits<R>::infinity();
    if (m.has_bias()) {
      s.value += m.bias(b, h, i, key);
      s.bound += m.bias_error(b, h, i, key);
    }
    s.bound = settled(s.value, s.bound, undetermined_);
    round_interval(compute_, s.value, s.bound);
    return s;
  }

 private:
  RefTensor<R> const &q_, &k_;
  DataType_t compute_;
  R scale_ = 1, scale_error_ = 0;
  bool undetermined_ = false;
};

template <class R>
void reference(RefNode<R>& n) {
  RefTensor<R> const &q = *n.in[Q], &k = *n.in[K], &v = *n.in[V];
  RefTensor<R>& o = *n.out[O];
  int64_t const batches = q.dims[B], heads = q.dims[H], rows = q.dims[S], keys = k.dims[S];
  size_t const width = static_cast<size_t>(v.dims[D]);
  bool const base_2 = n.node.attrs.template get<bool>("stats_use_log2");
  Scores<R> const scores(n);
  MaskOperands<R> const operands(n, rows, keys, BIAS, LENGTH_Q, LENGTH_KV);
  std::vector<Score<R>> visible;
  auto head_of = [&](RefTensor<R> const& t, int64_t b, int64_t h) {
    return static_cast<size_t>((b * t.dims[H] + h / (heads / t.dims[H])) * keys);
  };
  for (int64_t b = 0; b < batches; ++b) {
    AttentionMask const mask = operands.mask(b);
    for (int64_t h = 0; h < heads; ++h) {
      size_t const k_head = head_of(k, b, h), v_head = head_of(v, b, h) * width;
      for (int64_t i = 0; i < rows; ++i) {
        size_t const row = static_cast<size_t>((b * heads + h) * rows + i);
        visible.clear();
        for (int64_t j = mask.first_key(i); j < mask.end_key(i); ++j)
          if (!operands.masked_by_bias(b, h, i, j))
            visible.push_back(scores.at(row, k_head + static_cast<size_t>(j), j, operands, b, h, i));
        SoftmaxRow<R> const softmax = softmax_row(visible, n.node.compute, base_2);
        weigh(softmax, visible, v.value.data() + v_head, v.bound.data() + v_head, width, n.node.compute,
              o.value.data() + row * width, o.bound.data() + row * width);
        if (n.out[STATS]) {
          n.out[STATS]->value[row] = softmax.stats;
          n.out[STATS]->bound[row] = softmax.stats_bound;
        }
      }
    }
  }
}

constexpr Port unsupported(std::string_view name) {
  return {
      .name = name, .doc = "not supported: refused where given", .kind = PortKind::optional, .role = PortRole::index};
}

constexpr Port inputs[] = {
    {.name = "Q", .doc = "[B, H, S_q, D]"},
    {.name = "K", .doc = "[B, H_k, S_kv, D]; H is a multiple of H_k"},
    {.name = "V", .doc = "[B, H_v, S_kv, D_v]; H is a multiple of H_v"},
    {.name = "Attn_scale", .doc = "one element, multiplies the scores", .kind = PortKind::optional},
    bias_port,
    length_q_port,
    length_kv_port,
    unsupported("CU_SEQ_LEN_Q"),
    unsupported("CU_SEQ_LEN_KV"),
    unsupported("Seed"),
    unsupported("Offset"),
    unsupported("Dropout_mask"),
    unsupported("Dropout_scale"),
    unsupported("Page_table_K"),
    unsupported("Page_table_V"),
    unsupported("Block_mask"),
    unsupported("Descale_Q"),
    unsupported("Descale_K"),
    unsupported("Descale_V"),
    unsupported("Descale_S"),
    unsupported("Scale_S"),
    unsupported("Scale_O"),
    unsupported("SINK_TOKEN"),
};
constexpr Port outputs[] = {
    {.name = "O", .doc = "[B, H, S_q, D_v]; memory order of Q"},
    stats_port,
    unsupported("Max"),
    unsupported("Sum_exp"),
    unsupported("RNG_DUMP"),
    unsupported("Amax_S"),
    unsupported("Amax_O"),
};
Attr const attrs[] = {
    {.name = "generate_stats", .type = AttrType::boolean, .doc = "also output Stats", .default_value = false},
    log2_attr,
    {.name = "attn_scale_value", .type = AttrType::real, .doc = "multiplies the scores; 1 where unset"},
    {.name = "padding_mask",
     .type = AttrType::boolean,
     .doc = "rows and keys end at SEQ_LEN_Q and SEQ_LEN_KV",
     .default_value = false},
    alignment_attr,
    left_attr,
    right_attr,
    {.name = "implementation",
     .type = AttrType::enumeration,
     .doc = "accepted for cudnn_frontend's sake; no effect",
     .default_value = static_cast<int64_t>(AttentionImplementation_t::AUTO),
     .names = base::enum_names<AttentionImplementation_t>},
    {.name = "mma_core_mode",
     .type = AttrType::enumeration,
     .doc = "likewise; 8-bit types are refused",
     .default_value = static_cast<int64_t>(DataType_t::HALF),
     .names = base::enum_names<DataType_t>},
    {.name = "alibi_mask", .type = AttrType::boolean, .doc = "true is not supported", .default_value = false},
    {.name = "is_mxfp8", .type = AttrType::boolean, .doc = "true is not supported", .default_value = false},
    {.name = "unfuse_fma", .type = AttrType::boolean, .doc = "true is not supported", .default_value = false},
    {.name = "dropout_probability", .type = AttrType::real, .doc = "not supported where set"},
    {.name = "max_seq_len_kv", .type = AttrType::integer, .doc = "not supported where set"},
};

}  // namespace

OpRow const sdpa_row = {
    .kind = ir::OpKind::sdpa,
    .tag = "SDPA",
    .builder = "sdpa",
    .doc =
        "O = softmax(attn_scale * Q K^T + Bias) V over the keys that each row sees. Row i sees key j when "
        "both are below "
        "their lengths, i + offset - left_bound < j <= i + offset + right_bound, and Bias is not -inf; "
        "offset is 0 "
        "(TOP_LEFT) or length_kv - length_q (BOTTOM_RIGHT). A row that sees nothing, or lies beyond "
        "SEQ_LEN_Q, has O = "
        "0 and Stats = -inf. What a row does not see never reaches it, NaN included. A NaN or +inf score "
        "makes the "
        "row NaN. Head h of Q reads heads h / (H / H_k) of K and h / (H / H_v) of V.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
};

}  // namespace fusednn::ops
