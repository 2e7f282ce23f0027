#pragma once

#include "engines/cpu/kernels/gemm_kernels.h"
#include "engines/cpu/kernels/table.h"

#include <cstdint>
#include <string>
#include <vector>

// Batched matrix products by panels: C panel = A[rows, K] B[K, columns] in scratch memory, which an epilogue
// takes over while it is in the cache. A and B may have any strides and storage type; both are converted to
// the lane type as they are packed.

namespace fusednn::engines::cpu {

struct GemmMatrix {
  Storage storage = Storage::F32;
  int64_t row_stride = 0;  // elements
  int64_t column_stride = 0;
};

struct GemmBatchAxis {
  int64_t size;
  int64_t a_stride;  // elements; 0 where broadcast
  int64_t b_stride;
};

struct GemmProblem {
  Compute compute = Compute::F32;
  int64_t m = 0, n = 0, k = 0;
  GemmMatrix a, b;
  std::vector<GemmBatchAxis> batch;  // outermost first
  bool whole_rows = false;           // the epilogue needs all columns of a row at once
  bool same_bits_per_row = false;    // whatever the number of rows
  bool in_slices = false;            // panels are shared out in workers() slices, the same ones at each run
};

// Part of C, ready for the epilogue. Rows lie `ld` lanes apart.
struct GemmPanel {
  int64_t batch;  // index in row-major order of the batch axes
  int64_t row, rows;
  int64_t column, columns;
  void* c;
  int64_t ld;
  int64_t slice;  // in 0 .. workers() - 1 where the problem asks for slices; no two run at once
};

class Gemm {
 public:
  enum class Schedule {
    SHARED,    // all workers pack a block of B's columns, then share out the panels that use it
    OWN_B,     // a worker takes whole batches, with the B of each
    FEW_ROWS,  // B is read once, column by column, unpacked where its layout allows
  };

  // `threads` is the most that execution may use.
  Gemm(GemmProblem problem, KernelTable const& kernels, int threads);

  GemmProblem const& problem() const { return problem_; }
  Schedule schedule() const { return schedule_; }
  std::string describe() const;
  int workers() const { return workers_; }
  int64_t workspace_bytes() const { return shared_bytes_ + workers_ * worker_bytes_; }
  // Largest panel that an epilogue is given.
  int64_t panel_rows() const { return panel_rows_; }
  int64_t panel_columns() const { return panel_columns_; }

  // Calls epilogue(context, worker, panel) once for each panel of C, on up to workers() threads at a time;
  // panels cover C exactly. Allocates nothing.
  using Epilogue = void (*)(void* context, int worker, GemmPanel const& panel);
  void run(void const* a, void const* b, void* workspace, Epilogue epilogue, void* context) const;

 private:
  struct Team;
  void plan_shared(int threads);
  void plan_few_rows(int threads);
  void run_shared(Team& team, int worker) const;
  void run_own_b(Team& team, int worker) const;
  void run_few_rows(Team& team, int worker) const;
  void lay_out();
  template <class Compute>
  void share_out(Team& team, int64_t units, Compute const& compute) const;

  // Offsets of A and B for a batch, in elements.
  void offsets(int64_t batch, int64_t& a, int64_t& b) const;
  // dst[k * width + i] = src[i * stride + k * depth_stride] for i < count, 0 up to width.
  void pack(char* dst, int width, int64_t count, int64_t depth, char const* src, GemmMatrix const& matrix, bool rows,
            char* scratch) const;
  void pack_b(char* dst, char const* b, int64_t column, int64_t columns, char* scratch) const;
  void multiply(char const* a, char const* b_packed, int64_t rows, int64_t columns, char* c, int64_t ld, char* a_packed,
                char* scratch) const;

  GemmProblem problem_;
  KernelTable const& kernels_;
  GemmKernels const& gemm_;
  Schedule schedule_ = Schedule::SHARED;
  int workers_ = 1;
  int64_t batches_ = 1;
  bool one_b_ = true;         // every batch has the same B
  int64_t column_block_ = 0;  // columns of B packed at a time, a multiple of the tile's
  int64_t panel_rows_ = 0;
  int64_t panel_columns_ = 0;
  int64_t panel_ld_ = 0;  // lanes between rows of a panel of C
  int64_t depth_block_ = 0;
  int64_t shared_bytes_ = 0;  // packed B, or C of few whole rows
  int64_t worker_bytes_ = 0;  // the parts below, in this order
  int64_t own_b_bytes_ = 0, a_bytes_ = 0, c_bytes_ = 0, scratch_bytes_ = 0;
};

}  // namespace fusednn::engines::cpu
