#pragma once

#include "codegen/loop_kernel.h"

#include <functional>
#include <string>

// The text of a loop program's values: what kernels of loops and the epilogues of other kernels have in
// common.

namespace fusednn::codegen {

class LoopValues {
 public:
  /// What a value is called where it is read.
  using Name = std::function<std::string(passes::ValueId)>;

  LoopValues(ir::OpGraph const& graph, passes::LoopProgram const& program) : graph_(graph), program_(program) {}

  passes::LoopValue const& value(passes::ValueId v) const { return program_.values[static_cast<size_t>(v)]; }
  ir::Node const& node(passes::LoopValue const& v) const { return graph_.nodes()[static_cast<size_t>(v.node)]; }
  ReductionMode_t mode_of(passes::LoopValue const& v) const { return node(v).attrs.get_enum<ReductionMode_t>("mode"); }
  /// Whether moments are taken about the mean.
  bool centred(passes::LoopValue const& v) const { return node(v).op == ir::OpKind::layernorm; }
  std::string_view storage(ir::TensorId t) const;
  bool is_index(passes::LoopValue const& v) const {
    return v.op == passes::LoopValue::Op::pointwise && v.mode == PointwiseMode_t::GEN_INDEX;
  }

  /// The axis of the space whose coordinate an index is; -1 where its tensor has one element along it.
  int index_axis(passes::LoopValue const& v) const;

  /// Of a value that is neither loaded nor the anchor's nor an index.
  std::string expression(passes::ValueId v, Name const& name) const;
  /// The reduction's result, of the fold of `count` elements.
  std::string finished(passes::LoopValue const& v, std::string const& folded, int64_t count) const;

  /// "<kind>_Add_ReluFwd": what the program computes.
  std::string entry_name(std::string_view kind) const;

 protected:
  ir::OpGraph const& graph_;
  passes::LoopProgram const& program_;

 private:
  std::string params(passes::LoopValue const& v, std::string_view lane) const;
};

/// The scalar that the tensor is, or is a view of, where it lies in host memory: kernels take it as an
/// argument. no_tensor for tensors in device memory.
ir::TensorId host_scalar(ir::OpGraph const& graph, passes::Partition const& partition, ir::TensorId t);
/// The operand that the tensor's memory, or its value, is.
KernelOperand tensor_operand(ir::OpGraph const& graph, passes::Partition const& partition, ir::TensorId t);

}  // namespace fusednn::codegen
