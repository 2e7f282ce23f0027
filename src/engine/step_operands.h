#pragma once

#include "engine/engine.h"
#include "passes/partition.h"

namespace fusednn::engine {

/// The operands of one step, each once.
class StepOperands {
 public:
  explicit StepOperands(passes::Partition const& partition) : partition_(partition) {}

  /// Index of the operand in whose memory the tensor lies.
  int tensor(ir::TensorId t) {
    passes::Place const& place = partition_.places[static_cast<size_t>(t)];
    return place.kind == passes::Place::Kind::workspace ? add(Operand::workspace(place.workspace_offset))
                                                        : add(Operand::tensor(place.base));
  }
  int add(Operand o) {
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].kind == o.kind && list[i].value == o.value) return static_cast<int>(i);
    list.push_back(o);
    return static_cast<int>(list.size()) - 1;
  }

  std::vector<Operand> list;

 private:
  passes::Partition const& partition_;
};

}  // namespace fusednn::engine
