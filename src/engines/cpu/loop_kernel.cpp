#include "engines/cpu/loop_kernel.h"

#include "engines/cpu/parallel.h"
#include "engines/cpu/tile_executor.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

namespace fusednn::engines::cpu {

namespace {

constexpr double kWorthAThread = 20000;               // nanoseconds of work, against 1 us for a parallel region
constexpr int64_t kStackScratch = int64_t(32) << 10;  // bytes per thread; small plans then need no workspace
constexpr int64_t kLine = 64;

char* aligned(void* memory) {
  return static_cast<char*>(memory) + (-reinterpret_cast<uintptr_t>(memory) & (kLine - 1));
}

int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }

}  // namespace

LoopKernel::LoopKernel(TileProgram program, int threads, int scratch)
    : program_(std::move(program)), scratch_(scratch) {
  int64_t const groups = group_count(program_, whole_box(program_));
  double const worth = std::min(program_.nanoseconds / kWorthAThread, double(threads));
  workers_ = static_cast<int>(std::clamp<int64_t>(std::min<int64_t>(groups, int64_t(worth)), 1, threads));
  // Partial results are gathered per slice, so there are few; otherwise a late thread should hold up little work.
  slices_ = program_.terminals.empty() ? std::min<int64_t>(groups, workers_ == 1 ? 1 : 8 * workers_) : workers_;
}

int64_t LoopKernel::scratch_bytes() const {
  if (on_stack()) return 0;
  return workers_ * program_.scratch_bytes + slices_ * program_.partial_bytes;
}

bool LoopKernel::on_stack() const {
  return program_.scratch_bytes <= kStackScratch && slices_ * program_.partial_bytes <= kStackScratch;
}

void LoopKernel::run(void* const* operands) const noexcept {
  if (!on_stack()) {
    char* const scratch = static_cast<char*>(operands[scratch_]);
    return run(operands, scratch + workers_ * program_.scratch_bytes,
               [&](int worker) { return scratch + worker * program_.scratch_bytes; });
  }
  char* const partials = aligned(alloca(static_cast<size_t>(slices_ * program_.partial_bytes + kLine)));
  run(operands, partials, [](int) { return nullptr; });
}

template <class Scratch>
void LoopKernel::run(void* const* operands, char* partials, Scratch const& scratch) const {
  TileBox const box = whole_box(program_);
  int64_t const groups = group_count(program_, box);
  Counter next;
  Barrier barrier;
  in_parallel(workers_, barrier, [&](int worker) {
    char* memory = scratch(worker);
    if (!memory) memory = aligned(alloca(static_cast<size_t>(program_.scratch_bytes + kLine)));
    for (int64_t s; (s = next.next()) < slices_;) {
      char* const own = partials + s * program_.partial_bytes;
      start_partials(program_, own);
      run_groups(program_, operands, memory, own, box, {}, s * groups / slices_, (s + 1) * groups / slices_);
    }
  });
  finish_terminals(program_, operands, partials, slices_);
}

MatmulKernel::MatmulKernel(TileProgram epilogue, Gemm gemm, Matrix a, Matrix b, int scratch)
    : program_(std::move(epilogue)), gemm_(std::move(gemm)), a_(a), b_(b), scratch_(scratch) {}

int64_t MatmulKernel::scratch_bytes() const {
  return round_up(gemm_.workspace_bytes(), 64) + gemm_.workers() * (program_.scratch_bytes + program_.partial_bytes);
}

void MatmulKernel::run(void* const* operands) const noexcept {
  GemmProblem const& problem = gemm_.problem();
  char* const workspace = static_cast<char*>(operands[scratch_]);
  struct Context {
    TileProgram const& program;
    GemmProblem const& problem;
    void* const* operands;
    char* scratch;
    char* partials;
  };
  char* const scratch = workspace + round_up(gemm_.workspace_bytes(), 64);
  Context context{program_, problem, operands, scratch, scratch + gemm_.workers() * program_.scratch_bytes};
  for (int s = 0; s < gemm_.workers(); ++s) start_partials(program_, context.partials + s * program_.partial_bytes);
  TileBox const all = whole_box(program_);
  if (std::find(program_.axes.begin(), program_.axes.end(), 0) != program_.axes.end()) {
    // No panel comes, but reductions over nothing have results.
    run_groups(program_, operands, scratch, context.partials, all, {}, 0, group_count(program_, all));
  } else {
    auto const bytes = [](GemmMatrix const& m) { return bytes_of(m.storage); };
    char const* const a = static_cast<char const*>(operands[a_.operand]) + a_.offset * bytes(problem.a);
    char const* const b = static_cast<char const*>(operands[b_.operand]) + b_.offset * bytes(problem.b);
    auto const take = [](void* opaque, int worker, GemmPanel const& panel) {
      Context const& c = *static_cast<Context const*>(opaque);
      TileProgram const& p = c.program;
      TileBox box;
      int64_t batch = panel.batch;
      for (size_t i = c.problem.batch.size(); i-- > 0;) {
        box.low[i] = batch % c.problem.batch[i].size;
        box.high[i] = box.low[i] + 1;
        batch /= c.problem.batch[i].size;
      }
      size_t const row = c.problem.batch.size(), column = row + 1;
      box.low[row] = panel.row, box.high[row] = panel.row + panel.rows;
      box.low[column] = panel.column, box.high[column] = panel.column + panel.columns;
      int64_t const slice = c.problem.in_slices ? panel.slice : 0;
      run_groups(p, c.operands, c.scratch + worker * p.scratch_bytes, c.partials + slice * p.partial_bytes, box,
                 {panel.c, panel.ld}, 0, group_count(p, box));
    };
    gemm_.run(a, b, workspace, take, &context);
  }
  finish_terminals(program_, operands, context.partials, gemm_.workers());
}

CopyKernel::CopyKernel(std::vector<LoopAxis> axes, int64_t element_bytes, Array from, Array to)
    : axes_(normalize_axes(std::move(axes), 0, 1)), bytes_(element_bytes), from_(from), to_(to) {
  if (axes_.empty()) axes_.push_back({1, 0, {1, 1}});
}

void CopyKernel::run(void* const* operands) const noexcept {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < axes_.size(); ++i) rows *= axes_[i].size;
  LoopAxis const& inner = axes_.back();
  char const* const from = static_cast<char const*>(operands[from_.operand]) + from_.offset * bytes_;
  char* const to = static_cast<char*>(operands[to_.operand]) + to_.offset * bytes_;
  bool const run = inner.strides[0] == 1 && inner.strides[1] == 1;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rest = row, source = 0, target = 0;
    for (size_t i = axes_.size() - 1; i-- > 0;) {
      int64_t const index = rest % axes_[i].size;
      rest /= axes_[i].size;
      source += index * axes_[i].strides[0];
      target += index * axes_[i].strides[1];
    }
    char const* const s = from + source * bytes_;
    char* const t = to + target * bytes_;
    if (run) {
      std::memcpy(t, s, static_cast<size_t>(inner.size * bytes_));
    } else {
      for (int64_t i = 0; i < inner.size; ++i)
        std::memcpy(t + i * inner.strides[1] * bytes_, s + i * inner.strides[0] * bytes_, static_cast<size_t>(bytes_));
    }
  }
}

}  // namespace fusednn::engines::cpu
