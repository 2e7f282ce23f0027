#include "engines/cpu/kernels/isa.h"

#include "engines/cpu/kernels/attention_tile.h"

namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA {

namespace {

template <class T>
int64_t count_tasks(AttentionProblem const& p) {
  Blocking<T> const blocking(p);
  return p.b * blocking.groups * blocking.tasks_per_group;
}

template <class T>
void run(AttentionProblem const& p, int64_t begin, int64_t end, void* scratch) {
  Blocking<T> const blocking(p);
  Task<T> task(p, blocking, scratch);
  for (int64_t i = begin; i < end; ++i) task.run(i);
}

int64_t task_count(AttentionProblem const& p) { return p.in_double ? count_tasks<double>(p) : count_tasks<float>(p); }

size_t scratch_bytes(AttentionProblem const& p) {
  return p.in_double ? size_t(Blocking<double>(p).total) * sizeof(double)
                     : size_t(Blocking<float>(p).total) * sizeof(float);
}

void run_tasks(AttentionProblem const& p, int64_t begin, int64_t end, void* scratch) {
  return p.in_double ? run<double>(p, begin, end, scratch) : run<float>(p, begin, end, scratch);
}

}  // namespace

void fill_attention(KernelTable& t) {
  static constexpr AttentionKernels kernels{task_count, scratch_bytes, run_tasks};
  t.attention = &kernels;
}

}  // namespace fusednn::engines::cpu::FUSEDNN_CPU_ISA
