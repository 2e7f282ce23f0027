#include "engines/cpu/gemm.h"

#include "engines/cpu/parallel.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusednn::engines::cpu {

namespace {

constexpr int64_t kDepthBlock = 256;                 // a packed panel of B stays in the first-level cache
constexpr int64_t kPackedBytes = int64_t(4) << 20;   // of B between two barriers
constexpr int64_t kPanelBytes = int64_t(384) << 10;  // of C: with its A it fits the second-level cache
constexpr int64_t kLine = 64;
constexpr int64_t kFewRows = 4;
constexpr int64_t kScratchDepth = 64;               // of a block that is converted before it is interleaved
constexpr int64_t kParallelOps = int64_t(1) << 17;  // multiply-adds worth a second thread

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t unit) { return ceil_div(a, unit) * unit; }

// Parts of at most `most`, as equal as whole units allow.
int64_t even_part(int64_t total, int64_t most, int64_t unit) {
  int64_t const parts = std::max<int64_t>(ceil_div(total, std::max(most, unit)), 1);
  return std::max(round_up(ceil_div(total, parts), unit), unit);
}

}  // namespace

struct Gemm::Team {
  char const* a;
  char const* b;
  char* workspace;
  Epilogue epilogue;
  void* context;
  Barrier barrier;
  Counter packs, units;
};

Gemm::Gemm(GemmProblem problem, KernelTable const& kernels, int threads)
    : problem_(std::move(problem)), kernels_(kernels), gemm_(*kernels.gemm[static_cast<int>(problem_.compute)]) {
  for (GemmBatchAxis const& axis : problem_.batch) {
    batches_ *= axis.size;
    one_b_ = one_b_ && (axis.b_stride == 0 || axis.size == 1);
  }
  depth_block_ = even_part(problem_.k, kDepthBlock, 1);
  double const ops =
      double(batches_) * double(problem_.m) * double(problem_.n) * double(std::max<int64_t>(problem_.k, 1));
  int const useful = static_cast<int>(std::clamp(ops / double(kParallelOps), 1.0, double(threads)));
  if (problem_.m <= kFewRows && batches_ == 1) {
    schedule_ = Schedule::FEW_ROWS;
    plan_few_rows(useful);
  } else {
    int64_t const b_bytes = problem_.k * round_up(problem_.n, gemm_.columns) * gemm_.lane_bytes;
    bool const many = batches_ >= 4 * useful || useful == 1;
    if (!one_b_ && many && b_bytes <= kPackedBytes) schedule_ = Schedule::OWN_B;
    plan_shared(useful);
  }
  lay_out();
}

void Gemm::plan_shared(int threads) {
  int64_t const tile_rows = gemm_.rows, tile_columns = gemm_.columns, lane = gemm_.lane_bytes;
  int64_t const per_column = std::max<int64_t>(problem_.k, 1) * lane;
  column_block_ = problem_.whole_rows || schedule_ == Schedule::OWN_B
                      ? round_up(std::max<int64_t>(problem_.n, 1), tile_columns)
                      : even_part(problem_.n, std::max(kPackedBytes / per_column, 4 * tile_columns), tile_columns);
  panel_columns_ = column_block_;
  int64_t most_rows = std::max(kPanelBytes / (panel_columns_ * lane) / tile_rows * tile_rows, tile_rows);
  panel_rows_ = even_part(problem_.m, most_rows, tile_rows);
  workers_ = threads;
  if (schedule_ == Schedule::OWN_B) {
    workers_ = static_cast<int>(std::clamp<int64_t>(batches_, 1, threads));
    return;
  }
  // Enough panels that the last ones to finish leave little idle: first fewer rows, then fewer columns.
  int64_t const together = one_b_ ? batches_ : 1;
  auto panels = [&] { return together * ceil_div(problem_.m, panel_rows_) * ceil_div(column_block_, panel_columns_); };
  while (threads > 1 && panels() < 4 * threads && panel_rows_ > 4 * tile_rows)
    panel_rows_ = round_up(panel_rows_ / 2, tile_rows);
  while (threads > 1 && panels() < 2 * threads && !problem_.whole_rows && panel_columns_ > 4 * tile_columns)
    panel_columns_ = round_up(panel_columns_ / 2, tile_columns);
  while (threads > 1 && panels() < threads && panel_rows_ > tile_rows)
    panel_rows_ = round_up(panel_rows_ / 2, tile_rows);
}

void Gemm::plan_few_rows(int threads) {
  int64_t const tile_columns = gemm_.columns;
  panel_rows_ = problem_.m;
  panel_columns_ = std::min(round_up(std::max<int64_t>(problem_.n, 1), tile_columns),
                            even_part(problem_.n, ceil_div(problem_.n, 4 * threads), tile_columns));
  panel_columns_ = std::min<int64_t>(panel_columns_, 16 * tile_columns);
  column_block_ = panel_columns_;
  workers_ = static_cast<int>(std::min<int64_t>(threads, ceil_div(std::max<int64_t>(problem_.n, 1), panel_columns_)));
}

void Gemm::lay_out() {
  int64_t const lane = gemm_.lane_bytes;
  auto block = [](int64_t bytes) { return round_up(bytes, 64); };
  int64_t const packed = block(problem_.k * column_block_ * lane);
  // Rows of C a multiple of 1 KiB apart would crowd into few sets of the first-level cache.
  panel_ld_ = panel_columns_ + (panel_columns_ * lane % 1024 == 0 ? kLine / lane : 0);
  bool const few = schedule_ == Schedule::FEW_ROWS;
  int64_t const all_columns = round_up(problem_.n, gemm_.columns);
  shared_bytes_ = schedule_ == Schedule::SHARED ? packed
                  : few && problem_.whole_rows  ? block(problem_.m * all_columns * lane)
                                                : 0;
  own_b_bytes_ = schedule_ == Schedule::OWN_B ? packed : few ? block(problem_.k * gemm_.columns * lane) : 0;
  a_bytes_ = block((few ? problem_.k : depth_block_) * round_up(panel_rows_, gemm_.rows) * lane);
  c_bytes_ = few && problem_.whole_rows ? 0 : block(panel_rows_ * panel_ld_ * lane);
  scratch_bytes_ = block(kScratchDepth * std::max(gemm_.rows, gemm_.columns) * lane);
  worker_bytes_ = own_b_bytes_ + a_bytes_ + c_bytes_ + scratch_bytes_;
}

void Gemm::offsets(int64_t batch, int64_t& a, int64_t& b) const {
  a = b = 0;
  for (size_t i = problem_.batch.size(); i-- > 0;) {
    GemmBatchAxis const& axis = problem_.batch[i];
    int64_t const index = batch % axis.size;
    batch /= axis.size;
    a += index * axis.a_stride;
    b += index * axis.b_stride;
  }
}

void Gemm::pack(char* dst, int width, int64_t count, int64_t depth, char const* src, GemmMatrix const& matrix,
                bool rows, char* scratch) const {
  int64_t const stride = rows ? matrix.row_stride : matrix.column_stride;
  int64_t const depth_stride = rows ? matrix.column_stride : matrix.row_stride;
  int64_t const bytes = bytes_of(matrix.storage), lane = gemm_.lane_bytes;
  auto const load = kernels_.load[static_cast<int>(matrix.storage)][static_cast<int>(problem_.compute)];
  bool const is_lane = matrix.storage == storage_of(problem_.compute);
  if (stride == 1 || depth_stride != 1) {
    // A run across the panel for each step in depth.
    char zeros[8] = {};
    for (int64_t k = 0; k < depth; ++k) {
      load(dst + k * width * lane, src + k * depth_stride * bytes, stride, count);
      if (count < width)
        kernels_.splat[static_cast<int>(problem_.compute)](dst + (k * width + count) * lane, zeros, width - count);
    }
  } else if (is_lane) {
    gemm_.interleave(dst, width, src, stride, static_cast<int>(count), depth);
  } else {
    for (int64_t k = 0; k < depth; k += kScratchDepth) {
      int64_t const run = std::min(kScratchDepth, depth - k);
      for (int64_t i = 0; i < count; ++i)
        load(scratch + i * kScratchDepth * lane, src + (i * stride + k) * bytes, 1, run);
      gemm_.interleave(dst + k * width * lane, width, scratch, kScratchDepth, static_cast<int>(count), run);
    }
  }
}

void Gemm::pack_b(char* dst, char const* b, int64_t column, int64_t columns, char* scratch) const {
  char const* const src = b + column * problem_.b.column_stride * bytes_of(problem_.b.storage);
  pack(dst, gemm_.columns, columns, problem_.k, src, problem_.b, false, scratch);
}

// C[rows, columns] = A B, A at its first row and B packed from its first column.
void Gemm::multiply(char const* a, char const* b_packed, int64_t rows, int64_t columns, char* c, int64_t ld,
                    char* a_packed, char* scratch) const {
  int64_t const lane = gemm_.lane_bytes, k_all = problem_.k;
  int64_t const a_bytes = bytes_of(problem_.a.storage);
  if (k_all == 0) {
    char zeros[8] = {};
    for (int64_t i = 0; i < rows; ++i)
      kernels_.splat[static_cast<int>(problem_.compute)](c + i * ld * lane, zeros, columns);
  }
  for (int64_t k = 0; k < k_all; k += depth_block_) {
    int64_t const depth = std::min(depth_block_, k_all - k);
    for (int64_t i = 0; i < rows; i += gemm_.rows) {
      char const* const src = a + (i * problem_.a.row_stride + k * problem_.a.column_stride) * a_bytes;
      pack(a_packed + i * depth * lane, gemm_.rows, std::min<int64_t>(gemm_.rows, rows - i), depth, src, problem_.a,
           true, scratch);
    }
    for (int64_t j = 0; j < columns; j += gemm_.columns) {
      char const* const b = b_packed + (j * k_all + k * gemm_.columns) * lane;
      char const* const next = b + k_all * gemm_.columns * lane;
      int64_t const lines = j + gemm_.columns < columns ? depth * gemm_.columns * lane / kLine : 0;
      for (int64_t i = 0, line = 0; i < rows; i += gemm_.rows) {
        // The next strip of B comes from the third-level cache, a share of it beside each tile.
        for (int64_t const end = std::min(lines * (i + gemm_.rows) / rows, lines); line < end; ++line)
          __builtin_prefetch(next + line * kLine, 0, 3);
        gemm_.tile(static_cast<int>(std::min<int64_t>(gemm_.rows, rows - i)), depth, a_packed + i * depth * lane, b,
                   gemm_.columns, c + (i * ld + j) * lane, ld, k > 0);
      }
    }
  }
}

// Calls compute(unit, slice) for each unit, on whichever worker is free.
template <class Compute>
void Gemm::share_out(Team& team, int64_t units, Compute const& compute) const {
  int64_t const n = problem_.in_slices ? workers_ : units;
  for (int64_t slice; (slice = team.units.next()) < n;)
    for (int64_t unit = slice * units / n; unit < (slice + 1) * units / n; ++unit) compute(unit, slice);
}

void Gemm::run_shared(Team& team, int worker) const {
  int64_t const lane = gemm_.lane_bytes;
  char* const packed = team.workspace;
  char* const own = team.workspace + shared_bytes_ + worker * worker_bytes_;
  char* const a_packed = own + own_b_bytes_;
  char* const c = a_packed + a_bytes_;
  char* const scratch = c + c_bytes_;
  int64_t const distinct = one_b_ ? 1 : batches_, together = one_b_ ? batches_ : 1;
  int64_t const row_panels = ceil_div(problem_.m, panel_rows_);
  for (int64_t group = 0; group < distinct; ++group) {
    int64_t a_offset, b_offset;
    offsets(group, a_offset, b_offset);
    char const* const b = team.b + b_offset * bytes_of(problem_.b.storage);
    for (int64_t block = 0; block < problem_.n; block += column_block_) {
      int64_t const block_columns = std::min(column_block_, problem_.n - block);
      int64_t const strips = ceil_div(block_columns, gemm_.columns);
      if (worker == 0) team.units.reset();
      for (int64_t strip; (strip = team.packs.next()) < strips;) {
        int64_t const column = strip * gemm_.columns;
        pack_b(packed + column * problem_.k * lane, b, block + column,
               std::min<int64_t>(gemm_.columns, block_columns - column), scratch);
      }
      team.barrier.wait();
      if (worker == 0) team.packs.reset();
      int64_t const column_panels = ceil_div(block_columns, panel_columns_);
      share_out(team, together * row_panels * column_panels, [&](int64_t unit, int64_t slice) {
        int64_t const column = unit % column_panels * panel_columns_;
        int64_t const row = unit / column_panels % row_panels * panel_rows_;
        int64_t const batch = group + unit / column_panels / row_panels;
        offsets(batch, a_offset, b_offset);
        int64_t const rows = std::min(panel_rows_, problem_.m - row);
        int64_t const columns = std::min(panel_columns_, block_columns - column);
        GemmPanel const panel{batch, row, rows, block + column, columns, c, panel_ld_, slice};
        multiply(team.a + (a_offset + row * problem_.a.row_stride) * bytes_of(problem_.a.storage),
                 packed + column * problem_.k * lane, panel.rows, panel.columns, c, panel.ld, a_packed, scratch);
        team.epilogue(team.context, worker, panel);
      });
      team.barrier.wait();
    }
  }
}

void Gemm::run_own_b(Team& team, int worker) const {
  int64_t const lane = gemm_.lane_bytes;
  char* const packed = team.workspace + shared_bytes_ + worker * worker_bytes_;
  char* const a_packed = packed + own_b_bytes_;
  char* const c = a_packed + a_bytes_;
  char* const scratch = c + c_bytes_;
  int64_t last_b = -1;
  share_out(team, batches_, [&](int64_t batch, int64_t slice) {
    int64_t a_offset, b_offset;
    offsets(batch, a_offset, b_offset);
    for (int64_t column = 0; column < problem_.n && b_offset != last_b; column += gemm_.columns) {
      pack_b(packed + column * problem_.k * lane, team.b + b_offset * bytes_of(problem_.b.storage), column,
             std::min<int64_t>(gemm_.columns, problem_.n - column), scratch);
    }
    last_b = b_offset;
    for (int64_t row = 0; row < problem_.m; row += panel_rows_) {
      int64_t const rows = std::min(panel_rows_, problem_.m - row);
      GemmPanel const panel{batch, row, rows, 0, problem_.n, c, panel_ld_, slice};
      multiply(team.a + (a_offset + row * problem_.a.row_stride) * bytes_of(problem_.a.storage), packed, panel.rows,
               panel.columns, c, panel.ld, a_packed, scratch);
      team.epilogue(team.context, worker, panel);
    }
  });
}

void Gemm::run_few_rows(Team& team, int worker) const {
  int64_t const lane = gemm_.lane_bytes, m = problem_.m, n = problem_.n, k = problem_.k;
  char* const strip = team.workspace + shared_bytes_ + worker * worker_bytes_;
  char* const a_packed = strip + own_b_bytes_;
  char* const c_own = a_packed + a_bytes_;
  char* const scratch = c_own + c_bytes_;
  bool const is_lane = problem_.b.storage == storage_of(problem_.compute);
  bool const by_dots =
      is_lane && problem_.b.row_stride == 1 && problem_.b.column_stride != 1 && !problem_.same_bits_per_row;
  bool const in_place = is_lane && problem_.b.column_stride == 1;
  int64_t const a_bytes = bytes_of(problem_.a.storage);
  auto const load = kernels_.load[static_cast<int>(problem_.a.storage)][static_cast<int>(problem_.compute)];
  if (by_dots) {
    for (int64_t i = 0; i < m; ++i)
      load(a_packed + i * k * lane, team.a + i * problem_.a.row_stride * a_bytes, problem_.a.column_stride, k);
  } else {
    pack(a_packed, gemm_.rows, m, k, team.a, problem_.a, true, scratch);
  }
  int64_t const ld = problem_.whole_rows ? round_up(n, gemm_.columns) : panel_ld_;
  share_out(team, ceil_div(n, panel_columns_), [&](int64_t unit, int64_t slice) {
    int64_t const column = unit * panel_columns_, columns = std::min(panel_columns_, n - column);
    char* const c = problem_.whole_rows ? team.workspace + column * lane : c_own;
    for (int64_t j = 0; j < columns; j += gemm_.columns) {
      int64_t const wide = std::min<int64_t>(gemm_.columns, columns - j);
      char const* b = team.b + (column + j) * problem_.b.column_stride * bytes_of(problem_.b.storage);
      if (by_dots) {
        gemm_.dot(static_cast<int>(m), static_cast<int>(wide), k, a_packed, k, b, problem_.b.column_stride,
                  c + j * lane, ld, false);
        continue;
      }
      int64_t ldb = problem_.b.row_stride;
      if (!in_place || wide < gemm_.columns) {
        pack_b(strip, team.b, column + j, wide, scratch);
        b = strip;
        ldb = gemm_.columns;
      }
      // In the same blocks as the other schedules, so that a row's bits are the same.
      for (int64_t d = 0; d < std::max<int64_t>(k, 1); d += depth_block_) {
        gemm_.tile(static_cast<int>(m), std::min(depth_block_, k - d), a_packed + d * gemm_.rows * lane,
                   b + d * ldb * lane, ldb, c + j * lane, ld, d > 0);
      }
    }
    if (!problem_.whole_rows) team.epilogue(team.context, worker, {0, 0, m, column, columns, c, ld, slice});
  });
  if (!problem_.whole_rows) return;
  team.barrier.wait();
  if (worker == 0) team.epilogue(team.context, worker, {0, 0, m, 0, n, team.workspace, ld, 0});
}

std::string Gemm::describe() const {
  constexpr char const* names[] = {"shared B", "B per batch", "few rows"};
  return fmt::format("{}x{}x{} x {} batches, {}, panels of {}x{}, {} workers", problem_.m, problem_.n, problem_.k,
                     batches_, names[static_cast<int>(schedule_)], panel_rows_, panel_columns_, workers_);
}

void Gemm::run(void const* a, void const* b, void* workspace, Epilogue epilogue, void* context) const {
  if (batches_ == 0 || problem_.m == 0 || problem_.n == 0) return;
  Team team{static_cast<char const*>(a),
            static_cast<char const*>(b),
            static_cast<char*>(workspace),
            epilogue,
            context,
            {},
            {},
            {}};
  in_parallel(workers_, team.barrier, [&](int worker) {
    switch (schedule_) {
      case Schedule::SHARED:
        return run_shared(team, worker);
      case Schedule::OWN_B:
        return run_own_b(team, worker);
      case Schedule::FEW_ROWS:
        return run_few_rows(team, worker);
    }
  });
}

}  // namespace fusednn::engines::cpu
