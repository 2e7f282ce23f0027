#pragma once

#include "codegen/loop_kernel.h"
#include "engine/engine.h"
#include "passes/loop_program.h"
#include "passes/partition.h"

// Plans of several kernels: the graph is split into regions, each one kernel (two where a reduction is split over
// blocks), with workspace in between.

namespace fusednn::engines::cuda {

/// The kernels of nodes that are more than loops: matmuls and attention, with the pointwise nodes that follow.
class AnchorKernels {
 public:
  virtual ~AnchorKernels() = default;
  /// Whether the node may start a region at all.
  virtual bool anchors(ir::Node const& node) const = 0;
  /// Whether one kernel takes the program, whose anchor is set. Only the values and stores are asked about: where
  /// tensors lie is not known yet.
  virtual bool takes(ir::OpGraph const& graph, passes::LoopProgram const& program) const = 0;
  virtual codegen::LoopKernels write(ir::OpGraph const& graph, passes::Partition const& partition,
                                     passes::LoopProgram const& program, codegen::LoopTarget const& target) const = 0;
  /// Whether each row of a result is computed the same, bit by bit, however many there are, where the graph asks for
  /// it.
  virtual bool batch_invariant() const { return false; }
  /// Seconds that the node takes, memory traffic aside.
  virtual double seconds(ir::OpGraph const& graph, ir::Node const& node, target::Gpu const& gpu) const = 0;
};

/// How much goes into one region.
enum class Fusion : int64_t {
  whole = 0,           ///< whatever one kernel can do
  before_reduced = 1,  ///< nothing that needs a reduction's result shares its kernel
  nodes = 2,           ///< each node alone, but for what follows an anchor
};

class Composite {
 public:
  /// `anchors` null: loops alone.
  Composite(ir::OpGraph const& graph, target::Gpu const& gpu, AnchorKernels const* anchors, Fusion fusion);

  engine::Prepared prepare() const;
  /// Rough time of one execution: launches, memory traffic and the anchors' arithmetic.
  double estimate_seconds() const;
  passes::Partition const& partition() const { return partition_; }

 private:
  bool fits(std::span<int const> nodes) const;
  int anchor_of(std::span<int const> nodes) const;

  ir::OpGraph const& graph_;
  target::Gpu const& gpu_;
  AnchorKernels const* anchors_;
  Fusion fusion_;
  passes::Partition partition_;
};

}  // namespace fusednn::engines::cuda
