#include "codegen/attention_kernel.h"
#include "codegen/matmul_kernel.h"
#include "engines/cuda/composite_engine.h"
#include "engines/cuda/engines.h"
#include "ir/layout.h"

namespace fusednn::engines::cuda {

namespace {

using ir::OpKind;

class GenericKernels : public AnchorKernels {
 public:
  bool anchors(ir::Node const& node) const override { return node.op == OpKind::matmul || node.op == OpKind::sdpa; }

  bool takes(ir::OpGraph const& graph, passes::LoopProgram const& program) const override {
    return is_matmul(graph, program) ? codegen::has_generic_matmul(graph, program)
                                     : codegen::has_generic_attention(graph, program);
  }

  codegen::LoopKernels write(ir::OpGraph const& graph, passes::Partition const& partition,
                             passes::LoopProgram const& program, codegen::LoopTarget const& target) const override {
    return is_matmul(graph, program) ? codegen::write_generic_matmul(graph, partition, program, target)
                                     : codegen::write_generic_attention(graph, partition, program, target);
  }

  // Tiles start at multiples of their size, and sums run along the depth, or the keys, in one order.
  bool batch_invariant() const override { return true; }

  double seconds(ir::OpGraph const& graph, ir::Node const& node, target::Gpu const& gpu) const override {
    auto volume = [&](ir::TensorId t) { return static_cast<double>(ir::volume(graph.tensor(t).dims).value_or(0)); };
    ir::Dims const& a = graph.tensor(node.inputs[0]).dims;
    double const multiply_adds =
        node.op == OpKind::matmul
            ? volume(node.outputs[0]) * static_cast<double>(a.back())
            : volume(node.inputs[0]) * 2 * static_cast<double>(graph.tensor(node.inputs[1]).dims[2]);
    // 128 multiply-adds per multiprocessor and clock, of which plain tiles keep about a quarter busy.
    return multiply_adds / (0.25 * 128 * gpu.multiprocessors * gpu.clock_hz);
  }

 private:
  static bool is_matmul(ir::OpGraph const& graph, passes::LoopProgram const& program) {
    return graph.nodes()[static_cast<size_t>(program.anchor)].op == OpKind::matmul;
  }
};

}  // namespace

engine::Engine const& generic_engine() {
  static GenericKernels const kernels;
  static CompositeEngine const engine(
      {"cuda.generic", "matmul and attention in plain multiply-adds, generated loops around them", true}, &kernels);
  return engine;
}

}  // namespace fusednn::engines::cuda
