#pragma once

// One task of attention: a block of query rows against all keys they see, one key block after another, with a
// running maximum and sum per row. Scores are held transposed, keys down and queries along the lanes: K is
// read as it lies (broadcast), softmax needs no reduction across lanes, and the probabilities are already in
// the order in which the second product broadcasts them.

#include "engines/cpu/kernels/attention_blocking.h"
#include "engines/cpu/kernels/attention_gemm.h"

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {

inline int64_t sequence_length(AttentionInput const& lengths, int64_t batch, int64_t limit) {
  char const* const at = element(lengths, batch, 0, 0, 0);
  int64_t const n = lengths.type == Storage::I64 ? *reinterpret_cast<int64_t const*>(at)
                                                 : int64_t(*reinterpret_cast<int32_t const*>(at));
  return min_of(max_of(n, 0), limit);
}

/// Rows of `n` elements become columns of `out`.
template <class T>
inline void transpose_rows(T const* const* rows, int64_t n, T* out, int64_t out_stride) {
  constexpr int W = lanes<T>;
  int64_t c = 0;
  for (; c + W <= n; c += W) {
    V<T> block[W];
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) block[i] = load<T>(rows[i] + c);
    transpose<T>(block);
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) store<T>(out + (c + i) * out_stride, block[i]);
  }
  for (; c < n; ++c) {
    for (int i = 0; i < W; ++i) out[c * out_stride + i] = rows[i][c];
  }
}

template <class T>
class Task {
 public:
  Task(AttentionProblem const& problem, Blocking<T> const& blocking, void* scratch)
      : p_(problem), blocking_(blocking), scratch_(static_cast<T*>(scratch)) {}

  void run(int64_t task) {
    int64_t const per_batch = blocking_.groups * blocking_.tasks_per_group;
    batch_ = task / per_batch;
    head_ = task % per_batch / blocking_.tasks_per_group * blocking_.group;
    first_row_ = task % blocking_.tasks_per_group * blocking_.q_block;
    rows_ = min_of(blocking_.q_block, blocking_.rows - first_row_);
    vectors_ = (rows_ + lanes<T> - 1) / lanes<T>;
    place_lanes();
    bool any_key = false;
    if (source_ >= 0) {
      pack_queries();
      int64_t low = see_low_[source_], high = see_high_[source_];
      for (int64_t r = 0; r < rows_; ++r) {
        low = min_of(low, see_low_[r]);
        high = max_of(high, see_high_[r]);
      }
      // Blocks start at multiples of the block size, whatever the mask, so that a row's rounding does not
      // depend on the rows beside it.
      for (int64_t block = low / kKeyBlock * kKeyBlock; block < high; block += kKeyBlock) {
        key_begin_ = max_of(block, low);
        keys_ = min_of(block + kKeyBlock, high) - key_begin_;
        visit_keys(!any_key);
        any_key = true;
      }
    }
    write(any_key);
  }

 private:
  struct Row {
    int64_t head, index;
  };

  Row row_of(int64_t lane) const {
    int64_t const row = first_row_ + lane;
    return {head_ + row % blocking_.group, row / blocking_.group};
  }

  /// Which keys each lane sees. A lane without any (a dead row, or none at all) repeats the row of lane
  /// `source_`, so that the loops know no special lanes, and is not written.
  void place_lanes() {
    int64_t const len_q = p_.with_seq_len_q ? sequence_length(p_.seq_len_q, batch_, p_.sq) : p_.sq;
    int64_t const len_kv = p_.with_seq_len_kv ? sequence_length(p_.seq_len_kv, batch_, p_.skv) : p_.skv;
    int64_t const offset = p_.bottom_right ? len_kv - len_q : 0;
    constexpr int64_t far = int64_t(1) << 61;
    source_ = -1;
    for (int64_t lane = 0; lane < rows_; ++lane) {
      int64_t const i = row_of(lane).index;
      int64_t low = 0, high = len_kv;
      if (p_.left_bound != AttentionProblem::unbounded) {
        low = max_of(low, i + offset + 1 - max_of(min_of(p_.left_bound, far), -far));
      }
      if (p_.right_bound != AttentionProblem::unbounded) {
        high = min_of(high, i + offset + 1 + max_of(min_of(p_.right_bound, far), -far));
      }
      live_[lane] = i < len_q && low < high;
      see_low_[lane] = low;
      see_high_[lane] = high;
      if (live_[lane] && source_ < 0) source_ = lane;
    }
    if (source_ < 0) return;
    for (int64_t lane = 0; lane < vectors_ * lanes<T>; ++lane) {
      bool const live = lane < rows_ && live_[lane];
      origin_[lane] = live ? lane : source_;
      see_low_[lane] = see_low_[origin_[lane]];
      see_high_[lane] = see_high_[origin_[lane]];
      max_[lane] = -infinity<T>;
      sum_[lane] = 0;
    }
  }

  /// Rows `first` .. of an operand, one per lane, become columns of `out`.
  template <class RowPointer>
  void pack_lanes(AttentionInput const& in, int64_t n, T* out, RowPointer row_pointer) {
    constexpr int W = lanes<T>;
    bool const in_place = in.type == kStorageOf<T> && (in.strides[3] == 1 || n == 1);
    int64_t const stage_stride = max_of(max_of(p_.dqk, p_.dv), kKeyBlock);
    for (int64_t first = 0; first < vectors_ * W; first += W) {
      T const* rows[W];
      for (int i = 0; i < W; ++i) {
        Row const row = row_of(origin_[first + i]);
        char const* const at = row_pointer(row);
        if (in_place) {
          rows[i] = reinterpret_cast<T const*>(at);
        } else if (i > 0 && origin_[first + i] == origin_[first + i - 1]) {
          rows[i] = rows[i - 1];
        } else {
          T* const stage = scratch_ + blocking_.staging + i * stage_stride;
          load_row(in.type, at, in.strides[3], n, stage);
          rows[i] = stage;
        }
      }
      transpose_rows<T>(rows, n, out + first, blocking_.q_block);
    }
  }

  void pack_queries() {
    pack_lanes(p_.q, p_.dqk, scratch_ + blocking_.q,
               [this](Row row) { return element(p_.q, batch_, row.head, row.index, 0); });
  }

  void visit_keys(bool first) {
    score();
    bool some_unseen = false;
    if (p_.with_bias) some_unseen = add_bias();
    if (mask()) some_unseen = true;
    soften();
    weigh(first, some_unseen);
  }

  struct Rows {
    T const* data;
    int64_t stride;
  };

  /// The block's rows of K or V as T, `padded` wide: where they lie, or converted into `panel`.
  Rows key_rows(AttentionInput const& in, int64_t head, bool in_place, int64_t width, int64_t padded, T* panel) const {
    char const* const first = element(in, batch_, head, key_begin_, 0);
    if (in_place) return {reinterpret_cast<T const*>(first), in.strides[2]};
    for (int64_t j = 0; j < keys_; ++j) {
      T* const row = panel + j * padded;
      load_row(in.type, element(in, batch_, head, key_begin_ + j, 0), in.strides[3], width, row);
      for (int64_t c = width; c < padded; ++c) row[c] = 0;
    }
    return {panel, padded};
  }

  void score() {
    Rows const keys =
        key_rows(p_.k, head_ / (p_.hq / p_.hk), blocking_.k_in_place, p_.dqk, p_.dqk, scratch_ + blocking_.k);
    T const factor = T(p_.scale);
    Product<T> g{};
    g.a = keys.data;
    g.a_stride = keys.stride;
    g.b = scratch_ + blocking_.q;
    g.b_stride = blocking_.q_block;
    g.c = scratch_ + blocking_.scores;
    g.c_stride = blocking_.q_block;
    g.factor = &factor;
    g.k = p_.dqk;
    product<T, Order::row_major, Epilogue::scale>(g, keys_, vectors_);
  }

  /// Whether the bias hides any key of the block from any lane.
  bool add_bias() {
    T* const bias = scratch_ + blocking_.bias;
    if (blocking_.bias_per_key) {
      load_row(p_.bias.type, element(p_.bias, batch_, head_, 0, key_begin_), p_.bias.strides[3], keys_, bias);
    } else {
      pack_lanes(p_.bias, keys_, bias,
                 [this](Row row) { return element(p_.bias, batch_, row.head, row.index, key_begin_); });
    }
    T* s = scratch_ + blocking_.scores;
    V<T> const minus_inf = splat<T>(-infinity<T>);
    M<T> hidden{};
    for (int64_t j = 0; j < keys_; ++j, s += blocking_.q_block) {
      for (int64_t c = 0; c < vectors_ * lanes<T>; c += lanes<T>) {
        V<T> const b = blocking_.bias_per_key ? splat<T>(bias[j]) : load<T>(bias + j * blocking_.q_block + c);
        M<T> const hides = b == minus_inf;
        hidden |= hides;
        store<T>(s + c, hides ? minus_inf : load<T>(s + c) + b);
      }
    }
    return any<T>(hidden);
  }

  /// Sets what the band and the lengths hide to -inf; whether there was any.
  bool mask() {
    int64_t seen_by_all_low = key_begin_, seen_by_all_high = key_begin_ + keys_;
    for (int64_t lane = 0; lane < rows_; ++lane) {
      seen_by_all_low = max_of(seen_by_all_low, see_low_[lane]);
      seen_by_all_high = min_of(seen_by_all_high, see_high_[lane]);
    }
    if (seen_by_all_low == key_begin_ && seen_by_all_high == key_begin_ + keys_) return false;
    seen_by_all_low = min_of(seen_by_all_low - key_begin_, keys_);
    seen_by_all_high = max_of(seen_by_all_high - key_begin_, seen_by_all_low);

    for (int64_t c = 0; c < vectors_; ++c) {
      M<T> low{}, high{};
      for (int i = 0; i < lanes<T>; ++i) {
        int64_t const lane = c * lanes<T> + i;
        low[i] = Int<T>(min_of(max_of(see_low_[lane] - key_begin_, 0), kKeyBlock));
        high[i] = Int<T>(min_of(max_of(see_high_[lane] - key_begin_, 0), kKeyBlock));
      }
      T* const s = scratch_ + blocking_.scores + c * lanes<T>;
      for (int64_t j = 0; j < keys_; ++j) {
        if (j == seen_by_all_low) j = seen_by_all_high;
        if (j >= keys_) break;
        T* const at = s + j * blocking_.q_block;
        M<T> const key = splat_int<T>(Int<T>(j));
        M<T> const seen = (key >= low) & (key < high);
        store<T>(at, seen ? load<T>(at) : splat<T>(-infinity<T>));
      }
    }
    return true;
  }

  /// Scores to probabilities relative to the running maximum; updates maximum and sum, leaves in factor_ what
  /// turns earlier sums into the new ones.
  void soften() {
    int64_t c = 0;
    for (; c + 4 <= vectors_; c += 4) soften_vectors<4>(c * lanes<T>);
    for (; c < vectors_; ++c) soften_vectors<1>(c * lanes<T>);
  }

  template <int nv>
  void soften_vectors(int64_t lane) {
    constexpr int W = lanes<T>;
    T* const s = scratch_ + blocking_.scores + lane;
    int64_t const stride = blocking_.q_block;
    V<T> const minus_inf = splat<T>(-infinity<T>);
    V<T> top[nv], sum[nv];
#pragma GCC unroll 4
    for (int u = 0; u < nv; ++u) top[u] = load<T>(max_ + lane + u * W);
    for (int64_t j = 0; j < keys_; ++j) {
#pragma GCC unroll 4
      for (int u = 0; u < nv; ++u) {
        V<T> const x = load<T>(s + j * stride + u * W);
        top[u] = x > top[u] ? x : top[u];
      }
    }
#pragma GCC unroll 4
    for (int u = 0; u < nv; ++u) {
      V<T> const before = load<T>(max_ + lane + u * W);
      store<T>(max_ + lane + u * W, top[u]);
      // With no finite score so far, -inf - 0 stays -inf and gives 0, where -inf - -inf would give NaN.
      top[u] = top[u] == minus_inf ? splat<T>(0) : top[u];
      store<T>(factor_ + lane + u * W, exp_nonpositive<T>(before - top[u]));
      sum[u] = splat<T>(0);
    }
    for (int64_t j = 0; j < keys_; ++j) {
#pragma GCC unroll 4
      for (int u = 0; u < nv; ++u) {
        V<T> const e = exp_nonpositive<T>(load<T>(s + j * stride + u * W) - top[u]);
        sum[u] += e;
        store<T>(s + j * stride + u * W, e);
      }
    }
#pragma GCC unroll 4
    for (int u = 0; u < nv; ++u) {
      T* const total = sum_ + lane + u * W;
      store<T>(total, load<T>(total) * load<T>(factor_ + lane + u * W) + sum[u]);
    }
  }

  void weigh(bool first, bool some_unseen) {
    if (p_.dv == 0) return;
    int64_t const head = head_ / (p_.hq / p_.hv);
    T* const panel = scratch_ + blocking_.v;
    int64_t const width = blocking_.dv_padded;
    Rows values = key_rows(p_.v, head, blocking_.v_in_place, p_.dv, width, panel);
    // A hidden key has probability 0, but 0 * NaN is NaN: such values are left out here and added row by row
    // below.
    bool const patch = some_unseen && !all_finite(values);
    if (patch) {
      for (int64_t j = 0; j < keys_; ++j) {
        for (int64_t c = 0; c < width; c += lanes<T>) {
          V<T> const x = load<T>(values.data + j * values.stride + c);
          store<T>(panel + j * width + c, x - x == splat<T>(0) ? x : splat<T>(0));
        }
      }
      values = {panel, width};
    }
    Product<T> g{};
    g.b = values.data;
    g.b_stride = values.stride;
    g.a = scratch_ + blocking_.scores;
    g.a_stride = blocking_.q_block;
    g.c = scratch_ + blocking_.o;
    g.c_stride = blocking_.dv_padded;
    g.factor = factor_;
    g.k = keys_;
    int64_t const vectors = blocking_.dv_padded / lanes<T>;
    if (first) {
      product<T, Order::column_major, Epilogue::overwrite>(g, rows_, vectors);
    } else {
      product<T, Order::column_major, Epilogue::accumulate>(g, rows_, vectors);
    }
    if (patch) add_nonfinite_values(head);
  }

  bool all_finite(Rows values) const {
    V<T> zero[2] = {splat<T>(0), splat<T>(0)};
    for (int64_t j = 0; j < keys_; ++j) {
      for (int64_t c = 0; c < blocking_.dv_padded; c += lanes<T>) {
        zero[c / lanes<T> & 1] += load<T>(values.data + j * values.stride + c) * splat<T>(0);
      }
    }
    V<T> const sum = zero[0] + zero[1];
    return !any<T>(sum != sum);
  }

  void add_nonfinite_values(int64_t head) {
    T* const row = scratch_ + blocking_.staging;
    T const* const bias = scratch_ + blocking_.bias;
    for (int64_t j = 0; j < keys_; ++j) {
      load_row(p_.v.type, element(p_.v, batch_, head, key_begin_ + j, 0), p_.v.strides[3], p_.dv, row);
      T const* const weights = scratch_ + blocking_.scores + j * blocking_.q_block;
      for (int64_t lane = 0; lane < rows_; ++lane) {
        bool seen = key_begin_ + j >= see_low_[lane] && key_begin_ + j < see_high_[lane];
        if (p_.with_bias) {
          seen &= bias[blocking_.bias_per_key ? j : j * blocking_.q_block + lane] != -infinity<T>;
        }
        if (!seen) continue;
        T* const o = scratch_ + blocking_.o + lane * blocking_.dv_padded;
        for (int64_t c = 0; c < p_.dv; ++c) {
          if (row[c] - row[c] != 0) o[c] += weights[lane] * row[c];
        }
      }
    }
  }

  void write(bool any_key) {
    for (int64_t lane = 0; lane < rows_; ++lane) {
      Row const row = row_of(lane);
      bool const empty = !any_key || !live_[lane] || sum_[lane] == 0;
      T* const o = scratch_ + blocking_.o + lane * blocking_.dv_padded;
      for (int64_t c = 0; c < blocking_.dv_padded; c += lanes<T>) {
        store<T>(o + c, empty ? splat<T>(0) : load<T>(o + c) / splat<T>(sum_[lane]));
      }
      store_row(p_.o.type, o, p_.dv, element(p_.o, batch_, row.head, row.index, 0), p_.o.strides[3]);
      if (!p_.with_stats) continue;
      double stat = empty ? -infinity<double> : double(max_[lane]) + __builtin_log(double(sum_[lane]));
      if (p_.stats_base_2) stat *= 1.44269504088896340736;
      store_row(p_.stats.type, &stat, 1, element(p_.stats, batch_, row.head, row.index, 0), 1);
    }
  }

  AttentionProblem const& p_;
  Blocking<T> const& blocking_;
  T* const scratch_;
  int64_t batch_ = 0, head_ = 0, first_row_ = 0, rows_ = 0, vectors_ = 0;
  int64_t source_ = -1;
  int64_t key_begin_ = 0, keys_ = 0;
  bool live_[kQueryBlock];
  int64_t origin_[kQueryBlock], see_low_[kQueryBlock], see_high_[kQueryBlock];
  alignas(64) T max_[kQueryBlock];
  alignas(64) T sum_[kQueryBlock];
  alignas(64) T factor_[kQueryBlock];
};

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
