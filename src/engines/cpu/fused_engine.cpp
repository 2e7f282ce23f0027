#include "engines/cpu/engines.h"
#include "engines/cpu/loop_kernel.h"
#include "ir/layout.h"
#include "passes/loop_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fusednn::engines::cpu {

namespace {

using ir::OpKind;
using ir::TensorId;

constexpr int64_t kWidestRow = int64_t(1) << 17;        // elements of a matmul's row that an epilogue may need whole
constexpr int64_t kLargestPartial = int64_t(1) << 20;   // elements of a result that each slice gathers for itself

bool is_norm(OpKind op) { return op == OpKind::layernorm || op == OpKind::rmsnorm; }
bool is_loop(OpKind op) { return op == OpKind::pointwise || op == OpKind::reduction || is_norm(op); }

/// The node that a region's loops start from: its matmul, where it has one.
int anchor_of(ir::OpGraph const& graph, std::span<int const> nodes) {
  for (int n : nodes)
    if (graph.nodes()[static_cast<size_t>(n)].op == OpKind::matmul) return n;
  return -1;
}

/// Whether the reduction's result is used by other nodes of the region.
bool used_inside(ir::OpGraph const& graph, std::span<int const> nodes, TensorId t) {
  auto const consumers = graph.consumers(t);
  return std::any_of(consumers.begin(), consumers.end(),
                     [&](int c) { return std::find(nodes.begin(), nodes.end(), c) != nodes.end(); });
}

/// Of a matmul's epilogue, only whole rows are at hand at once.
bool reduces_last_axis(ir::OpGraph const& graph, ir::Node const& n) {
  ir::Dims const& x = graph.tensor(n.inputs[0]).dims;
  ir::Dims const& y = is_norm(n.op) ? graph.tensor(n.inputs[1]).dims : graph.tensor(n.outputs[0]).dims;
  for (size_t i = 0; i + 1 < x.size(); ++i)
    if (is_norm(n.op) ? y[i] != 1 : y[i] != x[i]) return false;
  return x.back() <= kWidestRow;
}

bool fits(ir::OpGraph const& graph, std::span<int const> nodes) {
  if (nodes.size() == 1) return true;
  int const anchor = anchor_of(graph, nodes);
  for (int n : nodes) {
    ir::Node const& node = graph.nodes()[static_cast<size_t>(n)];
    if (n == anchor) {
      if (n != nodes.front()) return false;
      continue;
    }
    if (!is_loop(node.op)) return false;
    if (node.op == OpKind::pointwise) continue;
    bool const again = is_norm(node.op) || used_inside(graph, nodes, node.outputs[0]);
    if (again && anchor >= 0 && !reduces_last_axis(graph, node)) return false;
    if (!again && ir::volume(graph.tensor(node.outputs[0]).dims).value_or(INT64_MAX) > kLargestPartial) return false;
  }
  return passes::is_loop_program(graph, nodes, anchor);
}

/// The pointers of one step, each once.
class StepOperands {
 public:
  StepOperands(passes::Partition const& partition) : partition_(partition) {}

  int tensor(TensorId t) {
    passes::Place const& place = partition_.places[static_cast<size_t>(t)];
    return place.kind == passes::Place::Kind::workspace ? add(engine::Operand::workspace(place.workspace_offset))
                                                        : add(engine::Operand::tensor(place.base));
  }
  int add(engine::Operand o) {
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].kind == o.kind && list[i].value == o.value) return static_cast<int>(i);
    list.push_back(o);
    return static_cast<int>(list.size()) - 1;
  }

  std::vector<engine::Operand> list;

 private:
  passes::Partition const& partition_;
};

class Preparation {
 public:
  Preparation(ir::OpGraph const& graph, target::Target const& target)
      : graph_(graph), threads_(target.threads), partition_(passes::partition(graph, fits, engine::workspace_alignment)) {
    packed_ = aligned(partition_.workspace_bytes);
    scratch_ = packed_;
    for (passes::Region const& region : partition_.regions) {
      ir::Node const& node = graph_.nodes()[static_cast<size_t>(region.nodes.front())];
      if (!passes::is_view(node) || passes::view_of_output(graph_.graph(), node, view(node.inputs[0]))) continue;
      ir::Tensor const& x = graph_.tensor(node.inputs[0]);
      scratch_ = std::max(scratch_, packed_ + aligned(*ir::storage_bytes(x.dtype, *ir::volume(x.dims))));
    }
    prepared_.workspace_bytes = scratch_;
  }

  engine::Prepared run() {
    for (passes::Region const& region : partition_.regions) {
      if (region.outputs.empty()) continue;  // nobody reads its results
      ir::Node const& first = graph_.nodes()[static_cast<size_t>(region.nodes.front())];
      if (passes::is_view(first)) copy_view(first);
      else if (first.op == OpKind::concatenate) copy_concatenate(first);
      else if (int const anchor = anchor_of(graph_, region.nodes); anchor >= 0) add_matmul(region, anchor);
      else add_loops(passes::loop_program(graph_, partition_, region, -1));
    }
    return std::move(prepared_);
  }

 private:
  static int64_t aligned(int64_t bytes) {
    return (bytes + engine::workspace_alignment - 1) / engine::workspace_alignment * engine::workspace_alignment;
  }

  passes::StridedView const& view(TensorId t) const { return partition_.places[static_cast<size_t>(t)].view; }

  CompileOptions options(StepOperands& operands) const {
    CompileOptions o;
    o.kernels = &kernels();
    o.threads = threads_;
    o.operand = [&operands](TensorId t) { return operands.tensor(t); };
    return o;
  }

  void add_step(std::string description, StepOperands operands, std::shared_ptr<engine::HostKernel const> kernel,
                int64_t scratch_bytes) {
    prepared_.workspace_bytes = std::max(prepared_.workspace_bytes, scratch_ + scratch_bytes);
    prepared_.steps.push_back({std::move(description), std::move(operands.list), std::move(kernel)});
  }

  void add_loops(passes::LoopProgram const& loops) {
    StepOperands operands(partition_);
    add_loops(loops, options(operands), operands);
  }

  void add_loops(passes::LoopProgram const& loops, CompileOptions const& options, StepOperands& operands) {
    CompiledLoops compiled = compile_loops(loops, graph_, options);
    std::string const text = compiled.program.describe();
    int const scratch = operands.add(engine::Operand::workspace(scratch_));
    auto kernel = std::make_shared<LoopKernel>(std::move(compiled.program), threads_, scratch);
    int64_t const bytes = kernel->scratch_bytes();
    add_step(fmt::format("loops: {}; {} workers", text, kernel->workers()), std::move(operands), kernel, bytes);
  }

  void add_matmul(passes::Region const& region, int anchor) {
    ir::Node const& node = graph_.nodes()[static_cast<size_t>(anchor)];
    TensorId const ta = node.inputs[0], tb = node.inputs[1];
    ir::Tensor const &a = graph_.tensor(ta), &b = graph_.tensor(tb);
    size_t const rank = a.dims.size();
    ir::Dims const &sa = view(ta).strides, &sb = view(tb).strides;
    ir::Dims a_strides(rank, 0), b_strides(rank, 0);
    for (size_t i = 0; i + 2 < rank; ++i) {
      if (a.dims[i] != 1) a_strides[i] = sa[i];
      if (b.dims[i] != 1) b_strides[i] = sb[i];
    }
    a_strides[rank - 2] = sa[rank - 2];
    b_strides[rank - 1] = sb[rank - 1];

    StepOperands operands(partition_);
    CompileOptions o = options(operands);
    o.anchor_strides = {a_strides, b_strides};
    CompiledLoops compiled = compile_loops(passes::loop_program(graph_, partition_, region, anchor), graph_, o);
    TileProgram& program = compiled.program;
    std::vector<LoopAxis> const& axes = compiled.axes;
    size_t const n = axes.size(), arrays = axes.back().strides.size();
    GemmProblem problem;
    problem.compute = lane_of(node.compute);
    problem.m = axes[n - 2].size;
    problem.n = axes[n - 1].size;
    problem.k = a.dims[rank - 1];
    problem.a = {storage_of(a.dtype), axes[n - 2].strides[arrays - 2], sa[rank - 1]};
    problem.b = {storage_of(b.dtype), sb[rank - 2], axes[n - 1].strides[arrays - 1]};
    for (size_t i = 0; i + 2 < n; ++i)
      problem.batch.push_back({axes[i].size, axes[i].strides[arrays - 2], axes[i].strides[arrays - 1]});
    problem.whole_rows = program.reduced[n - 1];
    problem.in_slices = !program.terminals.empty();
    problem.same_bits_per_row = graph_.context().batch_invariant;
    Gemm gemm(std::move(problem), kernels(), threads_);
    std::string text = fmt::format("matmul {}; epilogue: {}", gemm.describe(), program.describe());
    int const scratch = operands.add(engine::Operand::workspace(scratch_));
    auto kernel = std::make_shared<MatmulKernel>(std::move(program), std::move(gemm),
                                                 MatmulKernel::Matrix{operands.tensor(ta), view(ta).offset},
                                                 MatmulKernel::Matrix{operands.tensor(tb), view(tb).offset}, scratch);
    int64_t const bytes = kernel->scratch_bytes();
    add_step(std::move(text), std::move(operands), kernel, bytes);
  }

  /// A view that strides could not express in place, or whose result the caller wants.
  void copy_view(ir::Node const& node) {
    TensorId const in = node.inputs[0], out = node.outputs[0];
    ir::Dims const &from = graph_.tensor(in).dims, &to = graph_.tensor(out).dims;
    StepOperands operands(partition_);
    if (auto source = passes::view_of_output(graph_.graph(), node, view(in))) {
      int const x = operands.tensor(in), y = operands.tensor(out);
      return copy(node, to, {in, x, *source}, {out, y, view(out)}, operands);
    }
    // In row-major order of the input into packed memory, which then has the output's shape.
    engine::Operand const packed = engine::Operand::workspace(packed_);
    int const x = operands.tensor(in), gathered = operands.add(packed);
    copy(node, from, {in, x, view(in)}, {in, gathered, {0, ir::packed_strides(from)}}, operands);
    StepOperands rest(partition_);
    int const source = rest.add(packed), y = rest.tensor(out);
    copy(node, to, {in, source, {0, ir::packed_strides(to)}}, {out, y, view(out)}, rest);
  }

  void copy_concatenate(ir::Node const& node) {
    TensorId const out = node.outputs[0];
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      TensorId const in = node.inputs[port];
      passes::StridedView const slot = passes::slot_of_input(graph_.graph(), node, port, view(out));
      if (lies_at(in, out, slot)) continue;
      StepOperands operands(partition_);
      int const x = operands.tensor(in), y = operands.tensor(out);
      copy(node, graph_.tensor(in).dims, {in, x, view(in)}, {out, y, slot}, operands);
    }
  }

  /// Whether the producer has written the tensor where the concatenation wants it.
  bool lies_at(TensorId t, TensorId memory, passes::StridedView const& slot) const {
    passes::Place const &p = partition_.places[static_cast<size_t>(t)], &q = partition_.places[static_cast<size_t>(memory)];
    return p.kind == q.kind && p.base == q.base && p.view.offset == slot.offset && p.view.strides == slot.strides;
  }

  /// One end of a copy.
  struct Elements {
    TensorId tensor;  ///< gives the data type
    int operand;
    passes::StridedView view;
  };

  void copy(ir::Node const& node, ir::Dims const& dims, Elements const& from, Elements const& to, StepOperands operands) {
    DataType_t const from_type = graph_.tensor(from.tensor).dtype, to_type = graph_.tensor(to.tensor).dtype;
    if (from_type != to_type) return convert(dims, from, to, std::move(operands));
    std::vector<LoopAxis> axes;
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back({dims[i], 0, {from.view.strides[i], to.view.strides[i]}});
    auto kernel = std::make_shared<CopyKernel>(std::move(axes), ir::storage_bits(from_type) / 8,
                                               CopyKernel::Array{from.operand, from.view.offset},
                                               CopyKernel::Array{to.operand, to.view.offset});
    add_step(fmt::format("copy for '{}'", node.name), std::move(operands), kernel, 0);
  }

  void convert(ir::Dims const& dims, Elements const& from, Elements const& to, StepOperands operands) {
    // Doubles hold every stored value but for large 64-bit integers, which become floats in one rounding.
    bool const wide_integer =
        graph_.tensor(from.tensor).dtype == DataType_t::INT64 && graph_.tensor(to.tensor).dtype == DataType_t::FLOAT;
    passes::LoopProgram loops;
    loops.space = dims;
    loops.row_axes.assign(dims.size(), false);
    loops.values.push_back({.op = passes::LoopValue::Op::load,
                            .type = wide_integer ? DataType_t::FLOAT : DataType_t::DOUBLE,
                            .tensor = from.tensor,
                            .strides = from.view.strides,
                            .offset = from.view.offset});
    loops.stores.push_back({0, to.tensor, to.view.strides, to.view.offset});
    CompileOptions o = options(operands);
    o.operand = [&](TensorId t) { return t == from.tensor ? from.operand : to.operand; };
    add_loops(loops, o, operands);
  }

  ir::OpGraph const& graph_;
  int threads_;
  passes::Partition partition_;
  int64_t packed_;   ///< where a reshape that strides cannot express gathers its input, in the workspace
  int64_t scratch_;  ///< where the steps' scratch memory starts
  engine::Prepared prepared_;
};

class FusedEngine : public engine::Engine {
 public:
  std::string_view name() const override { return "cpu.fused"; }
  std::string_view summary() const override {
    return "matmul panels with their epilogues, and loops over tiles, vectorised for the CPU at hand";
  }

  engine::Support support(ir::OpGraph const& graph, target::Target const&) const override {
    engine::Support s;
    for (ir::Tensor const& t : graph.tensors())
      if (t.ragged_offset != ir::no_tensor)
        s.refusals.push_back(base::make_error(base::Rule::engine_ragged, {{}, t.name}, "has ragged offsets"));
    for (ir::Node const& n : graph.nodes()) check(n, s.refusals);
    if (s.refusals.empty()) s.configs.push_back({});
    return s;
  }

  engine::Notes notes(ir::OpGraph const& graph, engine::Config const&) const override {
    engine::Notes notes{{}, {NumericalNote_t::STRICT_NAN_PROP}};
    if (graph.context().batch_invariant) notes.behavior.push_back(BehaviorNote_t::BATCH_INVARIANT_ext);
    return notes;
  }

  double estimate_seconds(ir::OpGraph const& graph, target::Target const& target, engine::Config const&) const override {
    double nanoseconds = 1000;
    for (ir::Node const& n : graph.nodes()) {
      double const out = static_cast<double>(ir::volume(graph.tensor(n.outputs[0]).dims).value_or(0));
      double const in = static_cast<double>(ir::volume(graph.tensor(n.inputs[0]).dims).value_or(0));
      double const depth = n.op == OpKind::matmul ? static_cast<double>(graph.tensor(n.inputs[0]).dims.back()) : 10;
      nanoseconds += 0.05 * std::max(out * depth, in);
    }
    return nanoseconds * 1e-9 / std::max(target.threads, 1);
  }

  base::Result<engine::Prepared> prepare(ir::OpGraphPtr const& graph, target::Target const& target,
                                         engine::Config const&) const override {
    return Preparation(*graph, target).run();
  }

 private:
  static void check(ir::Node const& n, std::vector<base::Error>& refusals) {
    bool const known = n.op == OpKind::matmul || is_loop(n.op) || passes::is_view(n) || n.op == OpKind::concatenate;
    if (!known) refusals.push_back(base::make_error(base::Rule::engine_operation, {n.name, {}}, "is of another kind"));
    if (n.op != OpKind::pointwise || n.compute != DataType_t::INT32) return;
    for (char const* name : {"relu_lower_clip", "relu_upper_clip", "relu_lower_clip_slope"})
      if (auto const value = n.attrs.get_if<double>(name); value && *value != std::floor(*value))
        refusals.push_back(base::make_error(base::Rule::engine_dtype, {n.name, {}},
                                            fmt::format("'{}' is {} in INT32", name, *value)));
  }
};

}  // namespace

engine::Engine const& fused_engine() {
  static FusedEngine const engine;
  return engine;
}

}  // namespace fusednn::engines::cpu
