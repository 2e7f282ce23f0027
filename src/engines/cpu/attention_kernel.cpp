#include "engines/cpu/attention_kernel.h"

#include <algorithm>

namespace fusednn::engines::cpu {

namespace {

constexpr double kWorthAThread = 50000;  // multiply-adds

void* at(void* const* operands, AttentionKernel::Binding b, Storage type) {
  if (b.operand < 0 || !operands[b.operand]) return nullptr;
  return static_cast<char*>(operands[b.operand]) + b.offset * bytes_of(type);
}

}  // namespace

AttentionKernel::AttentionKernel(AttentionProblem const& problem, Bindings const& bindings, int threads)
    : problem_(problem), bindings_(bindings) {
  double const rows =
      static_cast<double>(problem.b) * static_cast<double>(problem.hq) * static_cast<double>(problem.sq);
  double const work = rows * static_cast<double>(problem.skv) * static_cast<double>(problem.dqk + problem.dv);
  workers_ = static_cast<int>(std::clamp(work / kWorthAThread, 1.0, static_cast<double>(threads)));
}

void AttentionKernel::run(void* const* operands) const noexcept {
  AttentionProblem p = problem_;
  p.q.data = at(operands, bindings_.q, p.q.type);
  p.k.data = at(operands, bindings_.k, p.k.type);
  p.v.data = at(operands, bindings_.v, p.v.type);
  p.o.data = at(operands, bindings_.o, p.o.type);
  p.stats.data = at(operands, bindings_.stats, p.stats.type);
  p.bias.data = at(operands, bindings_.bias, p.bias.type);
  p.seq_len_q.data = at(operands, bindings_.seq_len_q, p.seq_len_q.type);
  p.seq_len_kv.data = at(operands, bindings_.seq_len_kv, p.seq_len_kv.type);
  if (void* const scale = at(operands, bindings_.scale, bindings_.scale_type)) {
    auto const load = kernels().load[static_cast<int>(bindings_.scale_type)];
    float in_float = 0;
    load[static_cast<int>(Compute::F32)](&in_float, scale, 1, 1);
    p.scale = in_float;
    if (p.in_double) load[static_cast<int>(Compute::F64)](&p.scale, scale, 1, 1);
  }
  run_attention(p, operands[bindings_.scratch], workers_);
}

}  // namespace fusednn::engines::cpu
