#include "engines/cpu/attention_case.h"

#include "engines/cpu/kernels/attention_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace fusednn::testing {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class F>
auto with_type(DataType_t type, F&& f) {
  switch (type) {
    case DataType_t::FLOAT:
      return f(float{});
    case DataType_t::DOUBLE:
      return f(double{});
    case DataType_t::HALF:
      return f(half_t{});
    case DataType_t::BFLOAT16:
      return f(bfloat16_t{});
    case DataType_t::FP8_E4M3:
      return f(fp8_e4m3_t{});
    case DataType_t::FP8_E5M2:
      return f(fp8_e5m2_t{});
    case DataType_t::INT32:
      return f(int32_t{});
    case DataType_t::INT64:
      return f(int64_t{});
    default:
      throw std::invalid_argument("type");
  }
}

size_t span_of(DataType_t type, std::array<int64_t, 4> const& dims, std::array<int64_t, 4> const& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < 4; ++i) {
    if (dims[i] == 0) return 0;
    last += (dims[i] - 1) * strides[i];
  }
  return size_t(last + 1) * bytes_of(type);
}

}  // namespace

cpu::Storage storage_of(DataType_t type) {
  switch (type) {
    case DataType_t::FLOAT:
      return cpu::Storage::F32;
    case DataType_t::DOUBLE:
      return cpu::Storage::F64;
    case DataType_t::HALF:
      return cpu::Storage::F16;
    case DataType_t::BFLOAT16:
      return cpu::Storage::BF16;
    case DataType_t::FP8_E4M3:
      return cpu::Storage::E4M3;
    case DataType_t::FP8_E5M2:
      return cpu::Storage::E5M2;
    case DataType_t::INT32:
      return cpu::Storage::I32;
    case DataType_t::INT64:
      return cpu::Storage::I64;
    default:
      throw std::invalid_argument("type");
  }
}

size_t bytes_of(DataType_t type) {
  return with_type(type, [](auto x) { return sizeof(x); });
}

double unit_roundoff_of(DataType_t type) {
  return with_type(type, [](auto x) { return numeric_limits_of<decltype(x)>().unit_roundoff; });
}

Tensor::Tensor(DataType_t element, std::array<int64_t, 4> d, std::array<int64_t, 4> s)
    : type(element), dims(d), strides(s), buffer_(span_of(element, d, s)) {}

Tensor Tensor::packed(DataType_t type, std::array<int64_t, 4> dims, std::array<int, 4> order, int64_t gap) {
  std::array<int64_t, 4> strides{};
  int64_t next = 1 + gap;
  for (int i = 3; i >= 0; --i) {
    size_t const dim = size_t(order[size_t(i)]);
    strides[dim] = next;
    next = next * std::max<int64_t>(dims[dim], 1) + gap;
  }
  return {type, dims, strides};
}

int64_t Tensor::offset(std::array<int64_t, 4> const& at) const {
  int64_t sum = 0;
  for (size_t i = 0; i < 4; ++i) sum += at[i] * strides[i];
  return sum;
}

double Tensor::get(std::array<int64_t, 4> const& at) const {
  return with_type(type, [&](auto x) { return value_as<double>(static_cast<decltype(x) const*>(data())[offset(at)]); });
}

void Tensor::set(std::array<int64_t, 4> const& at, double value) {
  with_type(type, [&](auto x) { static_cast<decltype(x)*>(data())[offset(at)] = round_to<decltype(x)>(value); });
}

void Tensor::for_each(std::function<void(std::array<int64_t, 4> const&)> const& visit) const {
  for (int64_t a = 0; a < dims[0]; ++a) {
    for (int64_t b = 0; b < dims[1]; ++b) {
      for (int64_t c = 0; c < dims[2]; ++c) {
        for (int64_t d = 0; d < dims[3]; ++d) visit({a, b, c, d});
      }
    }
  }
}

void Tensor::fill(std::function<double(std::array<int64_t, 4> const&)> const& value) {
  for_each([&](auto const& at) { set(at, value(at)); });
}

void Tensor::fill_normal(unsigned seed, double scale) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  fill([&](auto const&) { return scale * normal(generator); });
}

bool Tensor::gaps_untouched() const {
  std::vector<bool> element(buffer_.size());
  size_t const width = bytes_of(type);
  for_each([&](auto const& at) {
    size_t const first = size_t(offset(at)) * width;
    for (size_t i = 0; i < width; ++i) element[first + i] = true;
  });
  for (size_t i = 0; i < element.size(); ++i) {
    if (!element[i] && buffer_.bytes()[i] != GuardedBuffer::poison) return false;
  }
  return true;
}

AttentionCase::AttentionCase(int64_t b, int64_t hq, int64_t hk, int64_t hv, int64_t sq, int64_t skv, int64_t dqk,
                             int64_t dv, DataType_t type)
    : q(Tensor::packed(type, {b, hq, sq, dqk})),
      k(Tensor::packed(type, {b, hk, skv, dqk})),
      v(Tensor::packed(type, {b, hv, skv, dv})),
      o(Tensor::packed(type, {b, hq, sq, dv})),
      stats(Tensor::packed(DataType_t::FLOAT, {b, hq, sq, 1})),
      in_double(type == DataType_t::DOUBLE) {
  q.fill_normal(1);
  k.fill_normal(2);
  v.fill_normal(3);
}

void AttentionCase::set_lengths(std::vector<int64_t> const& lengths_q, std::vector<int64_t> const& lengths_kv,
                                DataType_t type) {
  // Every other element is poison, so that a stride that is ignored shows.
  auto make = [&](std::vector<int64_t> const& lengths) {
    Tensor t(type, {q.dims[0], 1, 1, 1}, {2, 7, 7, 7});
    t.fill([&](auto const& at) { return double(lengths[size_t(at[0])]); });
    return t;
  };
  if (!lengths_q.empty()) seq_len_q.emplace(make(lengths_q));
  if (!lengths_kv.empty()) seq_len_kv.emplace(make(lengths_kv));
}

void AttentionCase::set_bias(DataType_t type, std::array<int64_t, 4> dims,
                             std::function<double(std::array<int64_t, 4> const&)> const& value) {
  bias.emplace(Tensor::packed(type, dims));
  bias->fill(value);
}

AttentionProblem AttentionCase::problem() const {
  AttentionProblem p;
  p.b = q.dims[0];
  p.hq = q.dims[1];
  p.hk = k.dims[1];
  p.hv = v.dims[1];
  p.sq = q.dims[2];
  p.skv = k.dims[2];
  p.dqk = q.dims[3];
  p.dv = v.dims[3];
  p.q = q.operand<cpu::AttentionInput>();
  p.k = k.operand<cpu::AttentionInput>();
  p.v = v.operand<cpu::AttentionInput>();
  p.o = o.operand<cpu::AttentionOutput>();
  p.with_stats = with_stats;
  p.with_bias = bias.has_value();
  p.with_seq_len_q = seq_len_q.has_value();
  p.with_seq_len_kv = seq_len_kv.has_value();
  p.stats = stats.operand<cpu::AttentionOutput>();
  if (bias) {
    p.bias = bias->operand<cpu::AttentionInput>();
    for (size_t i = 0; i < 4; ++i) {
      if (bias->dims[i] == 1) p.bias.strides[i] = 0;
    }
  }
  if (seq_len_q) p.seq_len_q = seq_len_q->operand<cpu::AttentionInput>();
  if (seq_len_kv) p.seq_len_kv = seq_len_kv->operand<cpu::AttentionInput>();
  p.in_double = in_double;
  p.scale = scale;
  p.left_bound = left_bound;
  p.right_bound = right_bound;
  p.bottom_right = bottom_right;
  p.stats_base_2 = stats_base_2;
  return p;
}

void AttentionCase::run(int threads, std::byte scratch_fill) {
  poison_outputs();
  AttentionProblem const p = problem();
  GuardedBuffer scratch(cpu::attention_scratch_bytes(p, threads));
  scratch.fill(scratch_fill);
  cpu::run_attention(p, scratch.data(), threads);
}

void AttentionCase::run_on(cpu::KernelTable const& level) {
  poison_outputs();
  AttentionProblem const p = problem();
  cpu::AttentionKernels const& kernels = *level.attention;
  GuardedBuffer scratch(kernels.scratch_bytes(p));
  for (int64_t task = kernels.task_count(p) - 1; task >= 0; --task)
    kernels.run_tasks(p, task, task + 1, scratch.data());
}

void AttentionCase::poison_outputs() {
  o = Tensor(o.type, o.dims, o.strides);
  stats = Tensor(stats.type, stats.dims, stats.strides);
}

bool AttentionCase::sees(int64_t batch, int64_t head, int64_t i, int64_t j) const {
  auto length = [&](std::optional<Tensor> const& lengths, int64_t limit) {
    return lengths ? std::clamp<int64_t>(int64_t(lengths->get({batch, 0, 0, 0})), 0, limit) : limit;
  };
  int64_t const len_q = length(seq_len_q, q.dims[2]);
  int64_t const len_kv = length(seq_len_kv, k.dims[2]);
  int64_t const offset = bottom_right ? len_kv - len_q : 0;
  if (i >= len_q || j >= len_kv) return false;
  __extension__ using Wide = __int128;
  if (right_bound != AttentionProblem::unbounded && j > Wide(i) + offset + right_bound) return false;
  if (left_bound != AttentionProblem::unbounded && j <= Wide(i) + offset - left_bound) return false;
  if (!bias) return true;
  auto at = [&](size_t dim, int64_t index) { return bias->dims[dim] == 1 ? 0 : index; };
  return bias->get({at(0, batch), at(1, head), at(2, i), at(3, j)}) != -kInf;
}

/// Exact values and how far an evaluation in floating point may be from them.
struct AttentionCase::Row {
  std::vector<double> o, o_bound;
  double stats = -kInf, stats_bound = 0;
};

AttentionCase::Row AttentionCase::evaluate(int64_t batch, int64_t head, int64_t i) const {
  int64_t const skv = k.dims[2], dqk = q.dims[3], dv = v.dims[3];
  int64_t const head_k = head / (q.dims[1] / k.dims[1]), head_v = head / (q.dims[1] / v.dims[1]);
  double const u = in_double ? 0x1p-53 : 0x1p-24;
  double const tiny = in_double ? 0x1p-1074 : 0x1p-149;
  Row row{std::vector<double>(size_t(dv)), std::vector<double>(size_t(dv)), -kInf, 0};

  std::vector<int64_t> keys;
  std::vector<double> score, error;
  double top = -kInf;
  for (int64_t j = 0; j < skv; ++j) {
    if (!sees(batch, head, i, j)) continue;
    double dot = 0, size = 0;
    for (int64_t d = 0; d < dqk; ++d) {
      double const term = q.get({batch, head, i, d}) * k.get({batch, head_k, j, d});
      dot += term;
      size += std::fabs(term);
    }
    double s = dot * scale;
    double e = double(dqk + 3) * u * size * std::fabs(scale);
    if (bias) {
      auto at = [&](size_t dim, int64_t index) { return bias->dims[dim] == 1 ? 0 : index; };
      double const added = bias->get({at(0, batch), at(1, head), at(2, i), at(3, j)});
      s += added;
      e += u * (std::fabs(s) + std::fabs(added));
    }
    keys.push_back(j);
    score.push_back(s);
    error.push_back(e);
    if (s > top) top = s;
  }
  if (keys.empty() || top == -kInf) {
    bool const poisoned = std::any_of(score.begin(), score.end(), [](double s) { return std::isnan(s); });
    if (poisoned) {
      std::fill(row.o.begin(), row.o.end(), NAN);
      row.stats = NAN;
    }
    return row;
  }

  double sum = 0, mean_error = 0;
  double const n = double(keys.size());
  for (size_t t = 0; t < keys.size(); ++t) {
    // Relative error of e^(s - top): the score's, the subtraction's, the exponential's, one rescaling per
    // block.
    error[t] += u * std::fabs(score[t] - top) + (8 + n / 16) * u;
    score[t] = std::exp(score[t] - top);
    sum += score[t];
    mean_error += score[t] * error[t];
  }
  mean_error = mean_error / sum + n * u;
  double const out = unit_roundoff_of(o.type);
  for (int64_t c = 0; c < dv; ++c) {
    double value = 0, bound = 0;
    for (size_t t = 0; t < keys.size(); ++t) {
      double const x = v.get({batch, head_v, keys[t], c});
      value += score[t] * x;
      bound += (score[t] * (error[t] + mean_error + n * u) + tiny) * std::fabs(x);
    }
    row.o[size_t(c)] = value / sum;
    row.o_bound[size_t(c)] = bound / sum * (1 + out) + (out + 4 * u) * std::fabs(value / sum) +
                             with_type(o.type, [](auto x) { return numeric_limits_of<decltype(x)>().min_subnormal; });
  }
  double const factor = stats_base_2 ? 1 / std::log(2.0) : 1;
  row.stats = (top + std::log(sum)) * factor;
  row.stats_bound = (mean_error + 4 * u * (1 + std::fabs(top))) * factor + 0x1p-23 * std::fabs(row.stats);
  return row;
}

void AttentionCase::check() const {
  auto near = [](double value, double expected, double bound) {
    if (std::isnan(expected)) return std::isnan(value);
    if (std::isinf(expected)) return value == expected;
    return std::fabs(value - expected) <= bound;
  };
  int failures = 0;
  for (int64_t b = 0; b < q.dims[0]; ++b) {
    for (int64_t h = 0; h < q.dims[1]; ++h) {
      for (int64_t i = 0; i < q.dims[2] && failures < 5; ++i) {
        Row const row = evaluate(b, h, i);
        std::string const where = std::to_string(b) + "," + std::to_string(h) + "," + std::to_string(i);
        for (int64_t c = 0; c < v.dims[3]; ++c) {
          double const value = o.get({b, h, i, c});
          if (near(value, row.o[size_t(c)], row.o_bound[size_t(c)])) continue;
          ++failures;
          ADD_FAILURE() << "O[" << where << "," << c << "] = " << value << ", expected " << row.o[size_t(c)]
                        << " within " << row.o_bound[size_t(c)];
          break;
        }
        if (with_stats && !near(stats.get({b, h, i, 0}), row.stats, row.stats_bound)) {
          ++failures;
          ADD_FAILURE() << "Stats[" << where << "] = " << stats.get({b, h, i, 0}) << ", expected " << row.stats
                        << " within " << row.stats_bound;
        }
      }
    }
  }
  EXPECT_TRUE(o.gaps_untouched());
  EXPECT_TRUE(stats.gaps_untouched());
}

void AttentionCase::verify() {
  for (cpu::KernelTable const* level : levels()) {
    SCOPED_TRACE(level->name);
    run_on(*level);
    check();
  }
}

std::vector<cpu::KernelTable const*> levels() {
  std::vector<cpu::KernelTable const*> found;
  for (int isa = 0; isa < cpu::kIsaCount; ++isa) {
    if (cpu::KernelTable const* level = cpu::kernels_of(cpu::Isa(isa))) found.push_back(level);
  }
  return found;
}

}  // namespace fusednn::testing
