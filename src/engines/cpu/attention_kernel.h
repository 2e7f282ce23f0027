#pragma once

#include "engine/engine.h"
#include "engines/cpu/attention.h"

namespace fusednn::engines::cpu {

/// Runs an attention node: binds the pointers of a problem whose sizes, types and strides are set.
class AttentionKernel : public engine::HostKernel {
 public:
  /// Indices of the step's operands and offsets in elements; operand -1: not there.
  struct Binding {
    int operand = -1;
    int64_t offset = 0;
  };
  struct Bindings {
    Binding q, k, v, o, stats, bias, seq_len_q, seq_len_kv;
    Binding scale;  ///< overrides problem.scale
    Storage scale_type = Storage::F32;
    int scratch = -1;
  };

  AttentionKernel(AttentionProblem const& problem, Bindings const& bindings, int threads);

  int64_t scratch_bytes() const { return static_cast<int64_t>(attention_scratch_bytes(problem_, workers_)); }
  int workers() const { return workers_; }
  void run(void* const* operands) const noexcept override;

 private:
  AttentionProblem problem_;
  Bindings bindings_;
  int workers_;
};

}  // namespace fusednn::engines::cpu
