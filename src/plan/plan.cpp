#include "plan/plan.h"

#include "ir/layout.h"

#include <alloca.h>
#include <fmt/format.h>

#include <algorithm>

namespace fusednn::plan {

using base::make_error;
using base::Rule;

std::vector<Slot> slots_of(ir::OpGraph const& graph) {
  std::vector<Slot> slots;
  for (auto const* list : {&graph.inputs(), &graph.outputs()})
    for (ir::TensorId id : *list) {
      ir::Tensor const& t = graph.tensor(id);
      slots.push_back({*t.uid, id, t.value.has_value()});
    }
  std::sort(slots.begin(), slots.end(), [](Slot const& a, Slot const& b) { return a.uid < b.uid; });
  return slots;
}

Plan::Plan(ir::OpGraphPtr graph, target::Target target, std::string engine, engine::Prepared prepared)
    : graph_(std::move(graph)), target_(target), engine_(std::move(engine)), prepared_(std::move(prepared)),
      slots_(slots_of(*graph_)) {
  std::vector<int64_t> slot_of(graph_->tensors().size(), -1);
  for (size_t s = 0; s < slots_.size(); ++s) {
    slot_of[static_cast<size_t>(slots_[s].tensor)] = static_cast<int64_t>(s);
    ir::Tensor const& t = graph_->tensor(slots_[s].tensor);
    element_bytes_.push_back(std::max(ir::storage_bits(t.dtype) / 8, 1));
  }
  for (engine::Step const& step : prepared_.steps) {
    auto& list = sources_.emplace_back();
    for (engine::Operand o : step.operands) {
      if (o.kind == engine::Operand::Kind::workspace) list.push_back({Source::Kind::workspace, o.value});
      else if (int64_t slot = slot_of[static_cast<size_t>(o.value)]; slot >= 0) list.push_back({Source::Kind::slot, slot});
      else list.push_back({Source::Kind::constant, o.value});
    }
    most_operands_ = std::max(most_operands_, list.size());
  }
}

void* Plan::resolve(Source source, void* const* pointers, std::byte* workspace) const {
  auto constant = [&](ir::TensorId id) {
    return const_cast<uint64_t*>(&graph_->tensor(id).value->bits);
  };
  switch (source.kind) {
    case Source::Kind::workspace: return workspace + source.value;
    case Source::Kind::constant: return constant(static_cast<ir::TensorId>(source.value));
    case Source::Kind::slot: break;
  }
  size_t const slot = static_cast<size_t>(source.value);
  return pointers[slot] ? pointers[slot] : slots_[slot].optional ? constant(slots_[slot].tensor) : nullptr;
}

base::Status Plan::execute(void* const* pointers, void* workspace) const {
  for (size_t s = 0; s < slots_.size(); ++s) {
    ir::Tensor const& t = graph_->tensor(slots_[s].tensor);
    if (!pointers[s]) {
      // An empty tensor has no memory to point to.
      if (slots_[s].optional || ir::volume(t.dims) == 0) continue;
      return make_error(Rule::execute_null_pointer, {{}, t.name}, fmt::format("uid {} is null", slots_[s].uid));
    }
    if (reinterpret_cast<uintptr_t>(pointers[s]) % static_cast<uintptr_t>(element_bytes_[s]))
      return make_error(Rule::execute_alignment, {{}, t.name},
                        fmt::format("uid {} is bound to {}, its type takes {} bytes", slots_[s].uid,
                                    fmt::ptr(pointers[s]), element_bytes_[s]));
  }
  auto* base = static_cast<std::byte*>(workspace);
  if (workspace_bytes() > 0 && !base)
    return make_error(Rule::execute_workspace, {}, fmt::format("workspace is null, {} bytes are needed", workspace_bytes()));
  // Engines count on aligned workspace; the room for it is part of the size that the plan reports.
  base += -reinterpret_cast<uintptr_t>(base) % static_cast<uintptr_t>(engine::workspace_alignment);
  void** operands = static_cast<void**>(alloca((most_operands_ + 1) * sizeof(void*)));
  for (size_t i = 0; i < sources_.size(); ++i) {
    for (size_t k = 0; k < sources_[i].size(); ++k) operands[k] = resolve(sources_[i][k], pointers, base);
    prepared_.steps[i].host->run(operands);
  }
  return base::success();
}

}  // namespace fusednn::plan
