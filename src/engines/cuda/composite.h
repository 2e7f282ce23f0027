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

/// A graph as regions. Where `joins` is false no loops share a region, so that Fusion::nodes gives the same; where
/// `reduces_again` is, Fusion::before_reduced does.
struct Split {
  std::shared_ptr<passes::Partition const> partition;
  bool joins = false;
  bool reduces_again = false;
};

/// `anchors` null: loops alone.
Split split(ir::OpGraph const& graph, AnchorKernels const* anchors, Fusion fusion);

/// The kernels of a split.
class Composite {
 public:
  Composite(ir::OpGraph const& graph, target::Gpu const& gpu, AnchorKernels const* anchors,
            passes::Partition const& partition);

  engine::Prepared prepare() const;
  /// Rough time of one execution: launches, memory traffic and the anchors' arithmetic.
  double estimate_seconds() const;

 private:
  int anchor_of(std::span<int const> nodes) const;

  ir::OpGraph const& graph_;
  target::Gpu const& gpu_;
  AnchorKernels const* anchors_;
  passes::Partition const& partition_;
};

}  // namespace fusednn::engines::cuda
