#include "plan/plan.h"

#include "ir/layout.h"

#include <alloca.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

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

namespace {

void run_on_host(engine::Step const& step, void* const* operands) {
  auto at = [&](size_t i, int64_t offset) { return static_cast<std::byte*>(operands[i]) + offset; };
  if (auto const* kernel = std::get_if<std::shared_ptr<engine::HostKernel const>>(&step.work)) (*kernel)->run(operands);
  if (auto const* fill = std::get_if<engine::Fill>(&step.work))
    for (int64_t i = 0; i < fill->bytes; i += int64_t{sizeof(fill->word)})
      std::memcpy(at(0, fill->offset + i), &fill->word, sizeof(fill->word));
  if (auto const* copy = std::get_if<engine::Copy>(&step.work))
    std::memcpy(at(0, copy->to_offset), at(1, copy->from_offset), static_cast<size_t>(copy->bytes));
}

}  // namespace

Plan::Plan(ir::OpGraphPtr graph, target::Target target, std::string engine, engine::Prepared prepared,
           std::shared_ptr<DeviceProgram const> program)
    : graph_(std::move(graph)),
      target_(std::move(target)),
      engine_(std::move(engine)),
      prepared_(std::move(prepared)),
      program_(std::move(program)),
      slots_(slots_of(*graph_)) {
  std::vector<int64_t> slot_of(graph_->tensors().size(), -1);
  for (size_t s = 0; s < slots_.size(); ++s) {
    slot_of[static_cast<size_t>(slots_[s].tensor)] = static_cast<int64_t>(s);
    ir::Tensor const& t = graph_->tensor(slots_[s].tensor);
    // GPU kernels are made for the alignment that the tensor declares; those of the CPU take any element's.
    int64_t const element = std::max(ir::storage_bits(t.dtype) / 8, 1);
    bool const declared = target_.device == Device::CUDA && !t.pass_by_value;
    alignments_.push_back(declared ? std::max(element, t.alignment) : element);
  }
  for (engine::Step const& step : prepared_.steps) {
    auto& list = sources_.emplace_back();
    for (engine::Operand o : step.operands) {
      if (o.kind == engine::Operand::Kind::workspace)
        list.push_back({Source::Kind::workspace, o.value});
      else if (int64_t slot = slot_of[static_cast<size_t>(o.value)]; slot >= 0)
        list.push_back({Source::Kind::slot, slot});
      else
        list.push_back({Source::Kind::constant, o.value});
    }
    most_operands_ = std::max(most_operands_, list.size());
  }
}

void* Plan::resolve(Source source, void* const* pointers, std::byte* workspace) const {
  auto constant = [&](ir::TensorId id) { return const_cast<uint64_t*>(&graph_->tensor(id).value->bits); };
  switch (source.kind) {
    case Source::Kind::workspace:
      return workspace + source.value;
    case Source::Kind::constant:
      return constant(static_cast<ir::TensorId>(source.value));
    case Source::Kind::slot:
      break;
  }
  size_t const slot = static_cast<size_t>(source.value);
  return pointers[slot] ? pointers[slot] : slots_[slot].optional ? constant(slots_[slot].tensor) : nullptr;
}

base::Status Plan::execute(void* const* pointers, void* workspace, void* stream) const {
  for (size_t s = 0; s < slots_.size(); ++s) {
    ir::Tensor const& t = graph_->tensor(slots_[s].tensor);
    if (!pointers[s]) {
      // An empty tensor has no memory to point to.
      if (slots_[s].optional || ir::volume(t.dims) == 0) continue;
      return make_error(Rule::execute_null_pointer, {{}, t.name}, fmt::format("uid {} is null", slots_[s].uid));
    }
    if (reinterpret_cast<uintptr_t>(pointers[s]) % static_cast<uintptr_t>(alignments_[s]))
      return make_error(Rule::execute_alignment, {{}, t.name},
                        fmt::format("uid {} is bound to {}, its alignment is {} bytes", slots_[s].uid,
                                    fmt::ptr(pointers[s]), alignments_[s]));
  }
  auto* base = static_cast<std::byte*>(workspace);
  if (workspace_bytes() > 0 && !base)
    return make_error(Rule::execute_workspace, {},
                      fmt::format("workspace is null, {} bytes are needed", workspace_bytes()));
  // Engines count on aligned workspace; the room for it is part of the size that the plan reports.
  base += -reinterpret_cast<uintptr_t>(base) % static_cast<uintptr_t>(engine::workspace_alignment);
  void** operands = static_cast<void**>(alloca((most_operands_ + 1) * sizeof(void*)));
  auto resolve_step = [&](size_t i) -> void* const* {
    for (size_t k = 0; k < sources_[i].size(); ++k) operands[k] = resolve(sources_[i][k], pointers, base);
    return operands;
  };
  if (program_) return program_->run(static_cast<cuda::RawStream>(stream), resolve_step);
  for (size_t i = 0; i < sources_.size(); ++i) run_on_host(prepared_.steps[i], resolve_step(i));
  return base::success();
}

}  // namespace fusednn::plan
