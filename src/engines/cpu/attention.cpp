#include "engines/cpu/attention.h"

#include "engines/cpu/kernels/attention_table.h"

#include <omp.h>

#include <algorithm>

namespace fusednn::engines::cpu {

size_t attention_scratch_bytes(AttentionProblem const& problem, int threads) {
  return kernels().attention->scratch_bytes(problem) * size_t(threads);
}

void run_attention(AttentionProblem const& problem, void* scratch, int threads) {
  AttentionKernels const& k = *kernels().attention;
  int64_t const tasks = k.task_count(problem);
  if (threads == 1 || tasks <= 1) return k.run_tasks(problem, 0, tasks, scratch);

  size_t const per_thread = k.scratch_bytes(problem);
  // Several chunks per thread even out masked rows; chunks of several tasks share the set-up.
  int64_t const chunk = std::clamp<int64_t>(tasks / (threads * int64_t(16)), 1, 16);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int64_t begin = 0; begin < tasks; begin += chunk) {
    k.run_tasks(problem, begin, std::min(begin + chunk, tasks),
                static_cast<char*>(scratch) + per_thread * size_t(omp_get_thread_num()));
  }
}

}  // namespace fusednn::engines::cpu
