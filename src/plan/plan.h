#pragma once

#include "plan/device_program.h"

#include <memory>
#include <string>
#include <vector>

namespace fusednn::plan {

/// A tensor that the caller binds at execute.
struct Slot {
  int64_t uid;
  ir::TensorId tensor;
  bool optional;  ///< a scalar with a value of its own: a null pointer means that value
};

/// The tensors that the caller binds, by ascending uid. Each tensor of the graph has a uid by now.
std::vector<Slot> slots_of(ir::OpGraph const& graph);

/// A built plan. Immutable: any number of threads may execute it at once, each with its own workspace.
class Plan {
 public:
  /// `program`: what runs the steps where the target is CUDA.
  Plan(ir::OpGraphPtr graph, target::Target target, std::string engine, engine::Prepared prepared,
       std::shared_ptr<DeviceProgram const> program = nullptr);

  engine::Prepared const& prepared() const { return prepared_; }
  target::Target const& target() const { return target_; }
  /// Bytes that the caller provides, at any alignment.
  int64_t workspace_bytes() const {
    return prepared_.workspace_bytes ? prepared_.workspace_bytes + engine::workspace_alignment - 1 : 0;
  }

  /// `pointers[i]` is bound to slot i. On CUDA the work is enqueued on `stream`. Returns a broken rule, or success.
  /// Allocates nothing on success.
  base::Status execute(void* const* pointers, void* workspace, void* stream) const;

 private:
  struct Source {
    enum class Kind : uint8_t { slot, constant, workspace } kind;
    int64_t value;  ///< slot index, TensorId or byte offset
  };
  void* resolve(Source source, void* const* pointers, std::byte* workspace) const;

  ir::OpGraphPtr graph_;
  target::Target target_;
  std::string engine_;
  engine::Prepared prepared_;
  std::shared_ptr<DeviceProgram const> program_;
  std::vector<Slot> slots_;
  std::vector<int64_t> alignments_;           ///< per slot: bytes that every pointer must be a multiple of
  std::vector<std::vector<Source>> sources_;  ///< per step, per operand
  size_t most_operands_ = 0;
};

}  // namespace fusednn::plan
