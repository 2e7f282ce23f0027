#include "random/random_graph.h"

#include <algorithm>
#include <numeric>

namespace fusednn::testing {

namespace {

using namespace fusednn::graph;
using enum PointwiseMode_t;

std::vector<PointwiseMode_t> const unary = {SQRT,
                                            RELU_FWD,
                                            TANH_FWD,
                                            SIGMOID_FWD,
                                            ELU_FWD,
                                            GELU_FWD,
                                            SOFTPLUS_FWD,
                                            SWISH_FWD,
                                            ERF,
                                            IDENTITY,
                                            GELU_APPROX_TANH_FWD,
                                            GEN_INDEX,
                                            EXP,
                                            LOG,
                                            NEG,
                                            ABS,
                                            CEIL,
                                            COS,
                                            FLOOR,
                                            RSQRT,
                                            SIN,
                                            LOGICAL_NOT,
                                            TAN,
                                            RECIPROCAL};
std::vector<PointwiseMode_t> const binary = {
    ADD,         MUL,     MAX,      MIN,          RELU_BWD,  TANH_BWD,
    SIGMOID_BWD, ELU_BWD, GELU_BWD, SOFTPLUS_BWD, SWISH_BWD, GELU_APPROX_TANH_BWD,
    MOD,         POW,     SUB,      ADD_SQUARE,   DIV,       CMP_EQ,
    CMP_NEQ,     CMP_GT,  CMP_GE,   CMP_LT,       CMP_LE,    LOGICAL_AND,
    LOGICAL_OR};
std::vector<PointwiseMode_t> const integer_unary = {RELU_FWD, IDENTITY, GEN_INDEX, NEG, ABS, LOGICAL_NOT};
std::vector<PointwiseMode_t> const integer_binary = {ADD,        MUL, MAX,    MIN,    SUB,
                                                     ADD_SQUARE, MOD, CMP_EQ, CMP_LT, LOGICAL_AND};
std::vector<ReductionMode_t> const reductions = {
    ReductionMode_t::ADD,   ReductionMode_t::MUL,   ReductionMode_t::MIN,
    ReductionMode_t::MAX,   ReductionMode_t::AMAX,  ReductionMode_t::AVG,
    ReductionMode_t::NORM1, ReductionMode_t::NORM2, ReductionMode_t::MUL_NO_ZEROS};
std::vector<ReductionMode_t> const integer_reductions = {ReductionMode_t::ADD, ReductionMode_t::MIN,
                                                         ReductionMode_t::MAX, ReductionMode_t::AMAX};
constexpr size_t most_elements = 4000;

}  // namespace

RandomGraph::RandomGraph(uint64_t seed) : graph(make_graph()), engine_(seed) {
  wide_ = chance(15);
  integer_ = chance(20);
  int64_t const rank = pick(1, 5);
  Dims dims;
  std::vector<int64_t> const sizes = {1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33};
  for (int64_t i = 0; i < rank; ++i) dims.push_back(chance(2) ? 0 : pick_from(sizes));
  while (volume(dims) > most_elements) *std::max_element(dims.begin(), dims.end()) = 2;
  new_input(dims);
  for (int64_t n = pick(1, 12); n > 0; --n) add_node();
  if (!std::any_of(entries_.begin(), entries_.end(), [](Entry const& e) { return e.produced; }))
    add_pointwise(entries_.front().tensor);
  int outputs = 0;
  for (size_t i = entries_.size(); i-- > 0;) {
    Entry const& e = entries_[i];
    if (!e.produced || (outputs > 0 && !chance(30))) continue;
    output(e.tensor, "out" + std::to_string(outputs++));
    if (chance(30)) e.tensor->set_dim(e.dims).set_stride(random_strides(e.dims, false));
    if (chance(40)) e.tensor->set_data_type(random_type());
  }
}

int64_t RandomGraph::pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
}
template <class T>
T const& RandomGraph::pick_from(std::vector<T> const& list) {
  return list[static_cast<size_t>(pick(0, static_cast<int64_t>(list.size()) - 1))];
}
bool RandomGraph::chance(int percent) { return pick(0, 99) < percent; }

Dims RandomGraph::random_strides(Dims const& dims, bool may_broadcast) {
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (chance(40)) std::shuffle(order.begin(), order.end(), engine_);
  Dims strides(dims.size(), 1);
  int64_t next = chance(15) ? 2 : 1;
  for (size_t i = order.size(); i-- > 0;) {
    size_t const axis = static_cast<size_t>(order[i]);
    if (may_broadcast && chance(8)) {
      strides[axis] = 0;
      continue;
    }
    strides[axis] = next;
    next *= std::max<int64_t>(dims[axis], 1);
    if (chance(20)) next += pick(1, 5);
    if (dims[axis] == 1 && chance(30)) strides[axis] = pick(0, 97);
  }
  return strides;
}

DataType_t RandomGraph::random_type() {
  using enum DataType_t;
  static std::vector<DataType_t> const types = {FLOAT,    FLOAT, FLOAT, HALF,  BFLOAT16, FP8_E4M3,
                                                FP8_E5M2, INT8,  UINT8, INT32, BOOLEAN};
  if (wide_ && chance(30)) return chance(50) ? DOUBLE : INT64;
  return pick_from(types);
}

DataType_t RandomGraph::compute_type() {
  if (wide_ && chance(40)) return DataType_t::DOUBLE;
  return DataType_t::FLOAT;
}

TensorPtr RandomGraph::record(TensorPtr const& tensor, Dims const& dims) {
  entries_.push_back({tensor, dims, true});
  if (chance(15)) tensor->set_data_type(random_type());
  return tensor;
}

Dims RandomGraph::dims_of(TensorPtr const& tensor) const {
  return std::find_if(entries_.begin(), entries_.end(), [&](Entry const& e) { return e.tensor == tensor; })->dims;
}

TensorPtr RandomGraph::new_input(Dims const& dims, DataType_t dtype) {
  if (dtype == DataType_t::NOT_SET) dtype = chance(60) ? DataType_t::FLOAT : random_type();
  auto t = input(graph, "in" + std::to_string(names_++), dims, dtype, random_strides(dims, true));
  entries_.push_back({t, dims, false});
  return t;
}

TensorPtr RandomGraph::tensor_of(Dims const& dims) {
  std::vector<TensorPtr> fitting;
  for (Entry const& e : entries_)
    if (e.dims == dims) fitting.push_back(e.tensor);
  return fitting.empty() ? new_input(dims) : pick_from(fitting);
}

TensorPtr RandomGraph::operand(Dims const& dims) {
  if (chance(60)) return tensor_of(dims);
  if (chance(10)) return graph.tensor(Tensor_attributes(static_cast<float>(pick(-20, 20)) / 8));
  Dims own = dims;
  if (chance(40))
    for (int64_t& d : own)
      if (chance(50)) d = 1;
  return new_input(own);
}

void RandomGraph::add_node() {
  TensorPtr const x = entries_[static_cast<size_t>(pick(0, static_cast<int64_t>(entries_.size()) - 1))].tensor;
  switch (pick(0, 19)) {
    case 0:
    case 1:
      add_view(x);
      return;
    case 2:
      add_concatenate(x);
      return;
    case 3:
    case 4:
      add_matmul(x);
      return;
    case 5:
    case 6:
    case 7:
    case 8:
      add_reduction(x);
      return;
    case 9:
      add_norm(x);
      return;
    case 10:
      if (chance(40)) return void(add_attention());
      [[fallthrough]];
    default:
      add_pointwise(x);
  }
}

TensorPtr RandomGraph::add_pointwise(TensorPtr x) {
  Dims const dims = dims_of(x);
  bool const integer = integer_ && chance(40);
  Pointwise_attributes a;
  a.set_compute_data_type(integer ? DataType_t::INT32 : compute_type());
  if (chance(7)) return record(graph.pointwise(x, operand(dims), operand(dims), a.set_mode(BINARY_SELECT)), dims);
  if (chance(55)) {
    PointwiseMode_t const mode = pick_from(integer ? integer_binary : binary);
    return record(graph.pointwise(x, operand(dims), a.set_mode(mode)), dims);
  }
  PointwiseMode_t const mode = pick_from(integer ? integer_unary : unary);
  a.set_mode(mode);
  if (mode == GEN_INDEX) a.set_axis(pick(0, static_cast<int64_t>(dims.size()) - 1));
  if (mode == RELU_FWD && chance(50)) {
    a.set_relu_lower_clip(chance(50) ? 0.25f : -0.5f);
    if (chance(50)) a.set_relu_upper_clip(0.75f);
    if (!integer && chance(50)) a.set_relu_lower_clip_slope(0.125f);
  }
  if (mode == SWISH_FWD && chance(50)) a.set_swish_beta(1.5f);
  if (mode == ELU_FWD && chance(50)) a.set_elu_alpha(0.5f);
  if (mode == SOFTPLUS_FWD && chance(50)) a.set_softplus_beta(2);
  return record(graph.pointwise(x, a), dims);
}

TensorPtr RandomGraph::add_reduction(TensorPtr x) {
  Dims dims = dims_of(x);
  for (int64_t& d : dims)
    if (chance(50)) d = 1;
  bool const integer = integer_ && chance(30);
  auto y = graph.reduction(x, Reduction_attributes()
                                  .set_mode(pick_from(integer ? integer_reductions : reductions))
                                  .set_compute_data_type(integer ? DataType_t::INT32 : compute_type()));
  y->set_dim(dims);
  return record(y, dims);
}

TensorPtr RandomGraph::add_view(TensorPtr x) {
  Dims const dims = dims_of(x);
  size_t const rank = dims.size();
  switch (pick(0, 2)) {
    case 0: {
      std::vector<int64_t> order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), engine_);
      Dims y;
      for (int64_t axis : order) y.push_back(dims[static_cast<size_t>(axis)]);
      return record(graph.transpose(x, Transpose_attributes().set_permutation(order)), y);
    }
    case 1: {
      std::vector<std::pair<int64_t, int64_t>> slices;
      std::vector<int64_t> steps;
      Dims y;
      for (int64_t d : dims) {
        int64_t const start = pick(0, std::max<int64_t>(d - 1, 0)), limit = pick(start, d), step = pick(1, 2);
        slices.emplace_back(start, limit);
        steps.push_back(step);
        y.push_back((limit - start + step - 1) / step);
      }
      return record(graph.slice(x, Slice_attributes().set_slices(slices).set_strides(steps)), y);
    }
    default: {
      // Two neighbouring axes become one, and one axis becomes two.
      Dims y = dims;
      if (y.size() > 1) {
        size_t const at = static_cast<size_t>(pick(0, static_cast<int64_t>(y.size()) - 2));
        y[at] *= y[at + 1];
        y.erase(y.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      }
      size_t const at = static_cast<size_t>(pick(0, static_cast<int64_t>(y.size()) - 1));
      for (int64_t factor : {3, 2, 1})
        if (y[at] % factor == 0) {
          y[at] /= factor;
          y.insert(y.begin() + static_cast<std::ptrdiff_t>(at), factor);
          break;
        }
      return record(graph.reshape(x, Reshape_attributes().set_dim(y).set_reshape_mode(ReshapeMode_t::LOGICAL)), y);
    }
  }
}

TensorPtr RandomGraph::add_concatenate(TensorPtr x) {
  Dims dims = dims_of(x);
  size_t const axis = static_cast<size_t>(pick(0, static_cast<int64_t>(dims.size()) - 1));
  std::vector<TensorPtr> inputs = {x};
  int64_t total = dims[axis];
  for (int64_t n = pick(0, 2); n >= 0; --n) {
    Dims own = dims;
    if (chance(50)) own[axis] = pick(0, 3);
    TensorPtr const t = own == dims && chance(30) ? x : new_input(own);
    inputs.push_back(t);
    total += own[axis];
  }
  dims[axis] = total;
  if (volume(dims) > most_elements) return x;
  return record(graph.concatenate(inputs, Concatenate_attributes().set_axis(static_cast<int64_t>(axis))), dims);
}

TensorPtr RandomGraph::add_matmul(TensorPtr x) {
  Dims const a = dims_of(x);
  size_t const rank = a.size();
  if (rank < 3) return x;
  Dims b = a, c = a;
  b[rank - 2] = a[rank - 1];
  b[rank - 1] = c[rank - 1] = pick(1, 9);
  for (size_t i = 0; i + 2 < rank; ++i)
    if (chance(30)) b[i] = 1;
  if (volume(b) > most_elements || volume(c) > most_elements) return x;
  bool const integer = integer_ && chance(50);
  auto y = graph.matmul(x, chance(70) ? new_input(b) : tensor_of(b),
                        Matmul_attributes().set_compute_data_type(integer ? DataType_t::INT32 : compute_type()));
  return record(y, c);
}

TensorPtr RandomGraph::add_norm(TensorPtr x) {
  Dims const dims = dims_of(x);
  Dims scale(dims.size(), 1);
  for (size_t i = 0; i < dims.size(); ++i)
    if (i + 1 == dims.size() || chance(30)) scale[i] = dims[i];
  bool const training = chance(60);
  NormFwdPhase_t const phase = training ? NormFwdPhase_t::TRAINING : NormFwdPhase_t::INFERENCE;
  Dims stats = dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (scale[i] != 1) stats[i] = 1;
  DataType_t const compute = compute_type();
  if (chance(50)) {
    auto [y, mean, inverse] = graph.layernorm(
        x, new_input(scale, DataType_t::FLOAT), new_input(scale, DataType_t::FLOAT),
        Layernorm_attributes().set_forward_phase(phase).set_epsilon(1e-3f).set_compute_data_type(compute));
    if (training) {
      entries_.push_back({mean, stats, true});
      entries_.push_back({inverse, stats, true});
    }
    return record(y, dims);
  }
  Rmsnorm_attributes a;
  a.set_forward_phase(phase).set_epsilon(1e-3f).set_compute_data_type(compute);
  if (chance(50)) a.set_bias(new_input(scale, DataType_t::FLOAT));
  auto [y, inverse] = graph.rmsnorm(x, new_input(scale, DataType_t::FLOAT), a);
  if (training) entries_.push_back({inverse, stats, true});
  return record(y, dims);
}

TensorPtr RandomGraph::add_attention() {
  int64_t const b = pick(1, 2), groups = pick(1, 2), h_kv = pick(1, 2), s_q = pick(1, 9), s_kv = pick(1, 9);
  int64_t const d = pick(1, 8), d_v = chance(50) ? d : pick(1, 8), h = groups * h_kv;
  SDPA_attributes a;
  a.set_generate_stats(chance(50)).set_compute_data_type(DataType_t::FLOAT).set_attn_scale(0.5f);
  if (chance(25))
    a.set_causal_mask(true);
  else if (chance(25))
    a.set_causal_mask_bottom_right(true);
  else if (chance(25))
    a.set_diagonal_band_left_bound(pick(1, 5)).set_diagonal_band_right_bound(pick(0, 3));
  if (chance(40))
    a.set_bias(new_input({chance(50) ? 1 : b, chance(50) ? 1 : h, chance(50) ? 1 : s_q, chance(50) ? 1 : s_kv},
                         DataType_t::FLOAT));
  if (chance(40)) {
    a.set_padding_mask(true);
    a.set_seq_len_q(new_input({b, 1, 1, 1}, DataType_t::INT32));
    a.set_seq_len_kv(new_input({b, 1, 1, 1}, DataType_t::INT32));
  }
  DataType_t const type = chance(60) ? DataType_t::FLOAT : chance(50) ? DataType_t::HALF : DataType_t::BFLOAT16;
  auto [o, stats] = graph.sdpa(new_input({b, h, s_q, d}, type), new_input({b, h_kv, s_kv, d}, type),
                               new_input({b, h_kv, s_kv, d_v}, type), a);
  if (stats) entries_.push_back({stats, {b, h, s_q, 1}, true});
  return record(o, {b, h, s_q, d_v});
}

}  // namespace fusednn::testing
