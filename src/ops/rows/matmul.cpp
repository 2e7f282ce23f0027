#include "ops/rows/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusednn::ops {

namespace {

using base::Rule;

enum In { A, B, M_OVERRIDE, N_OVERRIDE, K_OVERRIDE };

bool shapes_agree(ir::Tensor const& a, ir::Tensor const& b) { return a.rank() == b.rank() && a.rank() >= 3; }

ir::Dims product_dims(ir::Tensor const& a, ir::Tensor const& b) {
  size_t rank = a.dims.size();
  ir::Dims dims(rank);
  for (size_t i = 0; i + 2 < rank; ++i) dims[i] = a.dims[i] == 1 ? b.dims[i] : a.dims[i];
  dims[rank - 2] = a.dims[rank - 2];
  dims[rank - 1] = b.dims[rank - 1];
  return dims;
}

void infer(NodeContext& ctx) {
  if (!shapes_agree(ctx.in(A), ctx.in(B))) return;
  ctx.infer_dims(0, product_dims(ctx.in(A), ctx.in(B)));
  ctx.infer_packed_strides(0);
}

void check(NodeContext& ctx) {
  ir::Tensor const &a = ctx.in(A), &b = ctx.in(B);
  if (!shapes_agree(a, b))
    return ctx.fail(Rule::matmul_rank, a.name, fmt::format("rank {}, '{}' has rank {}", a.rank(), b.name, b.rank()));
  size_t rank = a.dims.size();
  if (a.dims[rank - 1] != b.dims[rank - 2])
    ctx.fail(
        Rule::matmul_inner_dim, a.name,
        fmt::format("dim[{}] = {}, '{}' dim[{}] = {}", rank - 1, a.dims[rank - 1], b.name, rank - 2, b.dims[rank - 2]));
  for (size_t i = 0; i + 2 < rank; ++i)
    if (a.dims[i] != b.dims[i] && a.dims[i] != 1 && b.dims[i] != 1)
      return ctx.fail(Rule::matmul_batch, a.name,
                      fmt::format("dim[{}] = {}, '{}' has {}", i, a.dims[i], b.name, b.dims[i]));
  for (size_t port : {M_OVERRIDE, N_OVERRIDE, K_OVERRIDE})
    if (ctx.has_in(port)) ctx.fail(Rule::matmul_override_unsupported, ctx.in(port).name, "is given");
  if (double const padding = ctx.attrs().get<double>("padding_value"); padding != 0)
    ctx.fail(Rule::matmul_override_unsupported, "", fmt::format("padding_value is {}", padding));
  ctx.expect_dims(0, product_dims(a, b));
}

/// |error| <= (K + 1) u sum|a b| for a sum of K products in any order (N. Higham, Accuracy and Stability, 3.1), plus
/// what the operands' own errors bring in. Integer products and sums wrap.
template <class R>
void reference(RefNode<R>& n) {
  RefTensor<R> const &a = *n.in[A], &b = *n.in[B];
  RefTensor<R>& c = *n.out[0];
  size_t rank = c.dims.size();
  int64_t const M = c.dims[rank - 2], N = c.dims[rank - 1], K = a.dims[rank - 1];
  bool const integer = n.node.compute == DataType_t::INT32, undetermined = any_undetermined(a) || any_undetermined(b);
  R const accumulation = R(K + 1) * n.unit(), underflow = R(K) * smallest_step<R>(n.node.compute);
  R const max = largest<R>(n.node.compute);
  ir::Dims batch(c.dims.begin(), c.dims.end() - 2);
  auto operand_strides = [&](RefTensor<R> const& t) {
    ir::Dims s = broadcast_strides(ir::Dims(t.dims.begin(), t.dims.end() - 2), batch);
    for (int64_t& x : s) x *= t.dims[rank - 2] * t.dims[rank - 1];
    return s;
  };
  ir::Dims const sa = operand_strides(a), sb = operand_strides(b);
  IndexWalk walk(batch);
  std::vector<R> magnitude(static_cast<size_t>(N)), carried(static_cast<size_t>(N));
  for (size_t out = 0; out < c.size(); walk.next())
    for (int64_t i = 0; i < M; ++i, out += static_cast<size_t>(N)) {
      std::fill(magnitude.begin(), magnitude.end(), R(0));
      std::fill(carried.begin(), carried.end(), R(0));
      R* value = c.value.data() + out;
      for (int64_t k = 0; k < K; ++k) {
        size_t ia = static_cast<size_t>(walk.offset(sa) + i * K + k);
        size_t ib = static_cast<size_t>(walk.offset(sb) + k * N);
        R const av = a.value[ia], ae = a.bound[ia], am = std::fabs(av);
        R const *bv = b.value.data() + ib, *be = b.bound.data() + ib;
        for (int64_t j = 0; j < N; ++j) {
          value[j] += av * bv[j];
          if (integer) value[j] = wrap_int32(value[j]);
          R const bm = std::fabs(bv[j]);
          magnitude[static_cast<size_t>(j)] += am * bm;
          carried[static_cast<size_t>(j)] += am * be[j] + bm * ae + ae * be[j];
        }
      }
      for (int64_t j = 0; j < N; ++j) {
        size_t o = out + static_cast<size_t>(j);
        size_t s = static_cast<size_t>(j);
        R bound = carried[s];
        if (!integer) bound += accumulation * (magnitude[s] + carried[s]) + underflow;
        // Terms of both signs may overflow although their sum does not.
        if (!integer && magnitude[s] > max && magnitude[s] != std::fabs(c.value[o]))
          bound = std::numeric_limits<R>::infinity();
        c.bound[o] = settled(c.value[o], bound, undetermined);
      }
    }
}

constexpr Port inputs[] = {
    {.name = "A", .doc = "[B.., M, K]"},
    {.name = "B", .doc = "[B.., K, N]; batch dims broadcast against A's"},
    {.name = "M_override", .doc = "live rows per batch", .kind = PortKind::optional, .role = PortRole::index},
    {.name = "N_override", .doc = "live columns per batch", .kind = PortKind::optional, .role = PortRole::index},
    {.name = "K_override", .doc = "live products per batch", .kind = PortKind::optional, .role = PortRole::index},
};
constexpr Port outputs[] = {{.name = "C", .doc = "[B.., M, N], row-major unless strides are given"}};
Attr const attrs[] = {
    {.name = "padding_value", .type = AttrType::real, .doc = "what lies beyond the live sizes", .default_value = 0.0},
};

}  // namespace

OpRow const matmul_row = {
    .kind = ir::OpKind::matmul,
    .tag = "MATMUL",
    .builder = "matmul",
    .doc =
        "C[b,m,n] = sum_k A[b,m,k] B[b,k,n], accumulated in the compute type. Transposition is expressed by "
        "strides. K = 0 gives 0.",
    .inputs = inputs,
    .outputs = outputs,
    .attrs = attrs,
    .infer = infer,
    .check = check,
    .reference = FUSEDNN_REFERENCE(reference),
};

}  // namespace fusednn::ops
