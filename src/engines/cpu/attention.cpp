#include "engines/cpu/attention.h"

#include "engines/cpu/kernels/attention_table.h"
#include "engines/cpu/parallel.h"

#include <algorithm>

namespace fusednn::engines::cpu {

size_t attention_scratch_bytes(AttentionProblem const& problem, int threads) {
  return kernels().attention->scratch_bytes(problem) * size_t(threads);
}

void run_attention(AttentionProblem const& problem, void* scratch, int threads) {
  AttentionKernels const& k = *kernels().attention;
  int64_t const tasks = k.task_count(problem);
  size_t const per_worker = k.scratch_bytes(problem);
  int const workers = static_cast<int>(std::min<int64_t>(threads, tasks));
  // Several chunks per worker even out masked rows; a chunk of several tasks shares the set-up.
  int64_t const chunk = workers > 1 ? std::clamp<int64_t>(tasks / (16 * workers), 1, 16) : tasks;
  Counter next;
  Barrier barrier;
  in_parallel(workers, barrier, [&](int worker) {
    char* const own = static_cast<char*>(scratch) + per_worker * size_t(worker);
    for (int64_t begin; (begin = next.next() * chunk) < tasks;) {
      k.run_tasks(problem, begin, std::min(begin + chunk, tasks), own);
    }
  });
}

}  // namespace fusednn::engines::cpu
