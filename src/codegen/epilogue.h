#pragma once

#include "codegen/kernel_text.h"
#include "codegen/loop_values.h"

// What a matmul or an attention does to each element of its result before anything is stored: the text of a
// functor.

namespace fusednn::codegen {

/// The arguments of a kernel that are tensors, p0, p1, ...
class KernelParameters {
 public:
  KernelParameters(ir::OpGraph const& graph, passes::Partition const& partition)
      : graph_(graph), partition_(partition) {}

  /// Adds one and returns an expression for a pointer to its memory. `apart`: nothing that the kernel writes
  /// lies there.
  std::string add(ir::TensorId t, bool written, bool apart);
  /// "Float::Raw const* __restrict__ p0, ", for all of them.
  std::string const& list() const { return list_; }
  std::vector<KernelOperand> const& operands() const { return operands_; }

 private:
  ir::OpGraph const& graph_;
  passes::Partition const& partition_;
  std::vector<KernelOperand> operands_;
  std::string list_;
};

/// Whether the program, which has an anchor, is pointwise.
bool is_pointwise_epilogue(passes::LoopProgram const& program);

/// Whether the program's indices and the offsets that they reach in its tensors fit 31 bits.
bool epilogue_fits_31_bits(passes::LoopProgram const& program);

struct Epilogue {
  std::string definition;  ///< "struct Epilogue {...};": called with the coordinates along the space and the
                           ///< anchor's value
  std::string object;      ///< an expression in the kernel that makes one
};

/// The functor of a pointwise program. Its memory becomes arguments, its sizes those of `text`, under the
/// name `s`.
Epilogue write_epilogue(ir::OpGraph const& graph, passes::LoopProgram const& program, KernelParameters& parameters,
                        KernelText& text);

/// Where elements with these dims and strides end: the largest offset that is reached.
int64_t reach(ir::Dims const& dims, ir::Dims const& strides, int64_t offset);
/// Strides with 0 along axes of one element.
ir::Dims stepping_strides(ir::Dims const& dims, ir::Dims const& strides);

/// The node that the program starts from.
ir::Node const& anchor_of(ir::OpGraph const& graph, passes::LoopProgram const& program);

/// A kernel of 256 threads that walks `tiles` tiles with what families/generic/<header> offers; `text` holds its body,
/// its name starts with `kind`. The description is left to the caller.
LoopKernel anchored_kernel(std::string_view kind, std::string_view header, int64_t tiles, bool narrow,
                           LoopValues const& values, Epilogue const& epilogue, KernelParameters const& parameters,
                           KernelText& text, LoopTarget const& target);

}  // namespace fusednn::codegen
