// Products in every lane type, layout and schedule against plain loops.

#include "engines/cpu/gemm.h"
#include "engines/cpu/isa_levels.h"

#include "base/numeric.h"

#include <cmath>
#include <random>
#include <vector>

namespace fusednn::engines::cpu {
namespace {

// Writes panels to C and counts how often each element was covered.
template <class T>
struct Sink {
  std::vector<T> c;
  std::vector<int> covered;
  int64_t m, n;
  bool whole_rows = true;

  static void take(void* context, int, GemmPanel const& p) {
    Sink& s = *static_cast<Sink*>(context);
    s.whole_rows = s.whole_rows && p.column == 0 && p.columns == s.n;
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) {
        size_t const at = static_cast<size_t>((p.batch * s.m + p.row + i) * s.n + p.column + j);
        s.c[at] = static_cast<T const*>(p.c)[i * p.ld + j];
        ++s.covered[at];
      }
    }
  }
};

class GemmTest : public EveryLevel {
 protected:
  template <class Lane, class Stored>
  void check(GemmProblem problem, int threads) {
    int64_t batches = 1, a_span = 1, b_span = 1;
    for (GemmBatchAxis const& axis : problem.batch) {
      batches *= axis.size;
      a_span += (axis.size - 1) * axis.a_stride;
      b_span += (axis.size - 1) * axis.b_stride;
    }
    auto const span = [](int64_t rows, int64_t columns, GemmMatrix const& x) {
      return std::max<int64_t>(rows - 1, 0) * x.row_stride + std::max<int64_t>(columns - 1, 0) * x.column_stride;
    };
    a_span += span(problem.m, problem.k, problem.a);
    b_span += span(problem.k, problem.n, problem.b);
    std::mt19937 random(1);
    std::uniform_int_distribution<int> small(-20, 20);
    auto const fill = [&](std::vector<Stored>& x) {
      for (Stored& v : x)
        v = round_to<Stored>(static_cast<float>(small(random)) / (std::is_integral_v<Stored> ? 1 : 8));
    };
    std::vector<Stored> a(static_cast<size_t>(a_span)), b(static_cast<size_t>(b_span));
    fill(a), fill(b);
    Gemm const gemm(problem, table(), threads);
    EXPECT_LE(gemm.workers(), threads);
    size_t const guard = 64;
    std::vector<char> memory(static_cast<size_t>(gemm.workspace_bytes()) + 64 + guard,
                             char(0xff));  // NaN, -1
    char* const workspace = memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & 63);
    size_t const elements = static_cast<size_t>(batches * problem.m * problem.n);
    Sink<Lane> sink{std::vector<Lane>(elements, Lane(-1)), std::vector<int>(elements, 0), problem.m, problem.n};
    gemm.run(a.data(), b.data(), workspace, Sink<Lane>::take, &sink);
    EXPECT_TRUE(!problem.whole_rows || sink.whole_rows);
    for (size_t i = 0; i < guard; ++i)
      EXPECT_EQ(workspace[static_cast<size_t>(gemm.workspace_bytes()) + i], char(0xff));
    for (int64_t batch = 0; batch < batches; ++batch) {
      int64_t rest = batch, a_offset = 0, b_offset = 0;
      for (size_t i = problem.batch.size(); i-- > 0;) {
        a_offset += rest % problem.batch[i].size * problem.batch[i].a_stride;
        b_offset += rest % problem.batch[i].size * problem.batch[i].b_stride;
        rest /= problem.batch[i].size;
      }
      for (int64_t i = 0; i < problem.m; ++i) {
        for (int64_t j = 0; j < problem.n; ++j) {
          double exact = 0;  // products of short numbers: exact in double, and in float lanes too
          for (int64_t k = 0; k < problem.k; ++k) {
            exact += value_as<double>(
                         a[static_cast<size_t>(a_offset + i * problem.a.row_stride + k * problem.a.column_stride)]) *
                     value_as<double>(
                         b[static_cast<size_t>(b_offset + k * problem.b.row_stride + j * problem.b.column_stride)]);
          }
          size_t const at = static_cast<size_t>((batch * problem.m + i) * problem.n + j);
          ASSERT_EQ(sink.covered[at], 1) << "batch " << batch << " [" << i << ", " << j << "]";
          ASSERT_EQ(static_cast<double>(sink.c[at]), exact) << "batch " << batch << " [" << i << ", " << j << "]";
        }
      }
    }
  }
};

GemmProblem problem_of(int64_t m, int64_t n, int64_t k, Storage storage = Storage::F32,
                       Compute compute = Compute::F32) {
  GemmProblem p;
  p.compute = compute;
  p.m = m, p.n = n, p.k = k;
  p.a = {storage, k, 1};
  p.b = {storage, n, 1};
  return p;
}

TEST_P(GemmTest, EdgesOfTiles) {
  for (int64_t m : {1, 2, 4, 5, 12, 13, 25, 100})
    for (int64_t n : {1, 15, 16, 17, 33, 65})
      for (int64_t k : {1, 3, 17}) check<float, float>(problem_of(m, n, k), 2);
}

TEST_P(GemmTest, EmptyDimensions) {
  check<float, float>(problem_of(0, 8, 4), 2);
  check<float, float>(problem_of(4, 0, 4), 2);
  check<float, float>(problem_of(4, 8, 0), 2);
  check<float, float>(problem_of(40, 80, 0), 2);
  check<float, float>(problem_of(0, 0, 0), 2);
}

TEST_P(GemmTest, DepthInSeveralBlocks) {
  check<float, float>(problem_of(30, 70, 600), 2);
  check<float, float>(problem_of(2, 70, 600), 2);
  check<double, double>(problem_of(30, 20, 300, Storage::F64, Compute::F64), 1);
}

TEST_P(GemmTest, EveryLayout) {
  for (int64_t m : {3, 20}) {
    for (int layout = 0; layout < 9; ++layout) {
      GemmProblem p = problem_of(m, 40, 70);
      auto const set = [](GemmMatrix& x, int which, int64_t rows, int64_t columns) {
        if (which == 0) x.row_stride = columns + 3, x.column_stride = 1;
        if (which == 1) x.row_stride = 1, x.column_stride = rows + 5;
        if (which == 2) x.row_stride = 2 * columns + 1, x.column_stride = 2;
      };
      set(p.a, layout % 3, p.m, p.k);
      set(p.b, layout / 3, p.k, p.n);
      check<float, float>(p, 3);
      p.whole_rows = true;
      check<float, float>(p, 3);
    }
  }
}

TEST_P(GemmTest, StorageTypesAreConvertedOnTheWay) {
  for (int64_t m : {2, 30}) {
    for (bool transposed : {false, true}) {
      auto const p = [&](Storage s, Compute c) {
        GemmProblem x = problem_of(m, 37, 130, s, c);
        if (transposed) x.b.row_stride = 1, x.b.column_stride = x.k, x.a.row_stride = 1, x.a.column_stride = x.m;
        return x;
      };
      check<float, half_t>(p(Storage::F16, Compute::F32), 2);
      check<float, bfloat16_t>(p(Storage::BF16, Compute::F32), 2);
      check<float, fp8_e4m3_t>(p(Storage::E4M3, Compute::F32), 2);
      check<int32_t, int8_t>(p(Storage::I8, Compute::I32), 2);
      check<int32_t, int32_t>(p(Storage::I32, Compute::I32), 2);
      check<double, float>(p(Storage::F32, Compute::F64), 2);
    }
  }
}

TEST_P(GemmTest, BatchesWithBroadcastOperands) {
  for (int64_t batch : {1, 2, 9}) {
    for (int which = 0; which < 4; ++which) {
      GemmProblem p = problem_of(20, 40, 30);
      p.batch = {{batch, which & 1 ? 0 : 600 * 3, which & 2 ? 0 : 1200 * 3},
                 {3, which & 1 ? 0 : 600, which & 2 ? 0 : 1200}};
      check<float, float>(p, 2);
      check<float, float>(p, 1);
      p.m = 2;
      check<float, float>(p, 2);
    }
  }
}

TEST_P(GemmTest, IntegersWrap) {
  GemmProblem p = problem_of(6, 16, 2, Storage::I32, Compute::I32);
  Gemm const gemm(p, table(), 1);
  std::vector<int32_t> const a(12, 1 << 30), b(32, 3);
  std::vector<char> memory(static_cast<size_t>(gemm.workspace_bytes()) + 64);
  Sink<int32_t> sink{std::vector<int32_t>(96), std::vector<int>(96), 6, 16};
  gemm.run(a.data(), b.data(), memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & 63), Sink<int32_t>::take,
           &sink);
  for (int32_t c : sink.c) EXPECT_EQ(c, static_cast<int32_t>(6u << 30));
}

FUSEDNN_EVERY_LEVEL(GemmTest);

}  // namespace
}  // namespace fusednn::engines::cpu
