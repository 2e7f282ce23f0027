#pragma once

#include "engines/cpu/attention.h"

namespace fusednn::engines::cpu {

/// The attention kernel as compiled for one instruction set. A task is one block of query rows of the heads
/// that share a K head and a V head, against all keys; tasks are independent of one another.
struct AttentionKernels {
  int64_t (*task_count)(AttentionProblem const&);
  size_t (*scratch_bytes)(AttentionProblem const&);
  /// Tasks begin .. end - 1, one after the other.
  void (*run_tasks)(AttentionProblem const&, int64_t begin, int64_t end, void* scratch);
};

}  // namespace fusednn::engines::cpu
