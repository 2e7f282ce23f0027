#include "engines/cuda/composite.h"

#include "engine/step_operands.h"
#include "engines/cuda/copy_graph.h"
#include "ir/layout.h"
#include "passes/moves.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusednn::engines::cuda {

namespace {

using engine::StepOperands;
using engine::workspace_aligned;
using ir::TensorId;

// Each tensor brings a pointer and a stride for each axis; arguments end at 4096 bytes.
constexpr size_t most_tensors = 32;

size_t count_tensors(ir::OpGraph const& graph, std::span<int const> nodes) {
  std::vector<TensorId> seen;
  for (int n : nodes) {
    ir::Node const& node = graph.nodes()[static_cast<size_t>(n)];
    for (auto const* list : {&node.inputs, &node.outputs})
      for (TensorId t : *list)
        if (t != ir::no_tensor) seen.push_back(t);
  }
  std::sort(seen.begin(), seen.end());
  return static_cast<size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

bool reduces_again(passes::LoopProgram const& program) {
  return std::find(program.row_axes.begin(), program.row_axes.end(), true) != program.row_axes.end();
}

engine::Step step_of(codegen::LoopKernel const& kernel, passes::Partition const& partition, int64_t partials,
                     auto&& tensor_operand) {
  StepOperands operands(partition);
  auto device = std::make_shared<engine::DeviceKernel>();
  device->source = kernel.source;
  device->entry = kernel.entry;
  device->grid = {kernel.grid_x, kernel.grid_y, 1};
  device->block = {kernel.block_x, kernel.block_y, 1};
  using Kind = codegen::KernelOperand::Kind;
  for (codegen::KernelOperand const& o : kernel.operands) {
    uint32_t const index =
        static_cast<uint32_t>(o.kind == Kind::partial ? operands.add(engine::Operand::workspace(partials + o.bytes))
                                                      : tensor_operand(operands, o.tensor));
    if (o.kind == Kind::scalar)
      device->arguments.add_scalar(index, static_cast<uint32_t>(o.bytes));
    else
      device->arguments.add_pointer(index);
  }
  device->arguments.add(kernel.sizes.data(), kernel.sizes.size() * sizeof(int64_t), alignof(int64_t));
  return {kernel.description, std::move(operands.list), std::move(device)};
}

int anchor_among(ir::OpGraph const& graph, AnchorKernels const* anchors, std::span<int const> nodes) {
  for (int n : nodes)
    if (anchors && anchors->anchors(graph.nodes()[static_cast<size_t>(n)])) return n;
  return -1;
}

}  // namespace

Split split(ir::OpGraph const& graph, AnchorKernels const* anchors, Fusion fusion) {
  Split result;
  auto fits = [&](ir::OpGraph const&, std::span<int const> nodes) {
    if (nodes.size() == 1) return true;
    int const anchor = anchor_among(graph, anchors, nodes);
    if (fusion == Fusion::nodes && anchor < 0) return false;
    if (count_tensors(graph, nodes) > most_tensors) return false;
    for (int n : nodes)
      if (n != anchor && !passes::is_loop(graph.nodes()[static_cast<size_t>(n)])) return false;
    if (anchor >= 0 && anchor != nodes.front()) return false;
    std::optional<passes::LoopProgram> const program = passes::loop_program_anywhere(graph, nodes, anchor);
    if (!program) return false;
    if (anchor >= 0) return anchors->takes(graph, *program);
    bool const again = reduces_again(*program);
    if ((fusion == Fusion::before_reduced && again) || !codegen::has_loop_kernel(graph, *program)) return false;
    result.joins = true;
    result.reduces_again = result.reduces_again || again;
    return true;
  };
  result.partition =
      std::make_shared<passes::Partition const>(passes::partition(graph, fits, engine::workspace_alignment));
  return result;
}

Composite::Composite(ir::OpGraph const& graph, target::Gpu const& gpu, AnchorKernels const* anchors,
                     passes::Partition const& partition)
    : graph_(graph), gpu_(gpu), anchors_(anchors), partition_(partition) {}

int Composite::anchor_of(std::span<int const> nodes) const { return anchor_among(graph_, anchors_, nodes); }

engine::Prepared Composite::prepare() const {
  engine::Prepared prepared;
  codegen::LoopTarget const target{gpu_.arch, gpu_.multiprocessors};
  int64_t const between = workspace_aligned(partition_.workspace_bytes);
  prepared.workspace_bytes = between;
  auto add = [&](codegen::LoopKernels const& kernels, int64_t partials, auto&& tensor_operand) {
    prepared.workspace_bytes = std::max(prepared.workspace_bytes, partials + workspace_aligned(kernels.partial_bytes));
    for (codegen::LoopKernel const& k : kernels.kernels)
      prepared.steps.push_back(step_of(k, partition_, partials, tensor_operand));
  };
  auto in_place = [](StepOperands& operands, TensorId t) { return operands.tensor(t); };
  for (passes::Region const& region : partition_.regions) {
    if (region.outputs.empty()) continue;  // nobody reads its results
    if (passes::is_copy(graph_.nodes()[static_cast<size_t>(region.nodes.front())])) {
      std::vector<passes::Move> const moves = passes::moves_of(graph_, partition_, region);
      int64_t const packed_bytes = workspace_aligned(passes::bytes_between(moves));
      for (passes::Move const& move : moves) {
        CopyGraph const copy(graph_, partition_, move);
        add(codegen::write_loop_kernels(*copy.graph, copy.partition, copy.program, target), between + packed_bytes,
            [&](StepOperands& operands, TensorId t) {
              TensorId const end = t == CopyGraph::source ? move.from.tensor : move.to.tensor;
              return end == ir::no_tensor ? operands.add(engine::Operand::workspace(between)) : operands.tensor(end);
            });
      }
      continue;
    }
    int const anchor = anchor_of(region.nodes);
    passes::LoopProgram const program = passes::loop_program(graph_, partition_, region, anchor);
    add(anchor < 0 ? codegen::write_loop_kernels(graph_, partition_, program, target)
                   : anchors_->write(graph_, partition_, program, target),
        between, in_place);
  }
  return prepared;
}

double Composite::estimate_seconds() const {
  constexpr double launch = 2.5e-6;   // of a small kernel behind another, measured on an H200
  constexpr double reachable = 0.85;  // of the memory's bandwidth
  double seconds = 0;
  auto bytes = [&](TensorId t) {
    ir::Tensor const& tensor = graph_.tensor(t);
    return static_cast<double>(ir::volume(tensor.dims).value_or(0)) * ir::storage_bits(tensor.dtype) / 8;
  };
  for (passes::Region const& region : partition_.regions) {
    double moved = 0;
    for (auto const* list : {&region.inputs, &region.outputs})
      for (TensorId t : *list) moved += bytes(t);
    double const memory = moved / (reachable * gpu_.memory_bytes_per_second);
    int const anchor = anchor_of(region.nodes);
    double const work = anchor < 0 ? 0 : anchors_->seconds(graph_, graph_.nodes()[static_cast<size_t>(anchor)], gpu_);
    seconds += launch + std::max(memory, work);
  }
  return seconds;
}

}  // namespace fusednn::engines::cuda
