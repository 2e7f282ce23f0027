#include "base/numeric.h"
#include "engine/step_operands.h"
#include "engines/cpu/attention_kernel.h"
#include "engines/cpu/engines.h"
#include "engines/cpu/loop_kernel.h"
#include "ir/layout.h"
#include "passes/loop_program.h"
#include "passes/moves.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusednn::engines::cpu {

namespace {

using engine::StepOperands;
using ir::OpKind;
using ir::TensorId;
using passes::is_loop;
using passes::is_norm;

constexpr int64_t kWidestRow = int64_t(1) << 17;       // elements of a matmul's row that an epilogue may need whole
constexpr int64_t kLargestPartial = int64_t(1) << 20;  // elements of a result that each slice gathers for itself

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
  ir::Dims const& y = is_norm(n) ? graph.tensor(n.inputs[1]).dims : graph.tensor(n.outputs[0]).dims;
  for (size_t i = 0; i + 1 < x.size(); ++i)
    if (is_norm(n) ? y[i] != 1 : y[i] != x[i]) return false;
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
    if (!is_loop(node)) return false;
    if (node.op == OpKind::pointwise) continue;
    bool const again = is_norm(node) || used_inside(graph, nodes, node.outputs[0]);
    if (again && anchor >= 0 && !reduces_last_axis(graph, node)) return false;
    if (!again && ir::volume(graph.tensor(node.outputs[0]).dims).value_or(INT64_MAX) > kLargestPartial) return false;
  }
  return passes::is_loop_program(graph, nodes, anchor);
}

class Preparation {
 public:
  Preparation(ir::OpGraph const& graph, target::Target const& target)
      : graph_(graph),
        threads_(target.threads),
        partition_(passes::partition(graph, fits, engine::workspace_alignment)) {
    packed_ = engine::workspace_aligned(partition_.workspace_bytes);
    scratch_ = packed_;
    for (passes::Region const& region : partition_.regions) {
      ir::Node const& node = graph_.nodes()[static_cast<size_t>(region.nodes.front())];
      int64_t between = 0;
      if (passes::is_view(node))
        between = engine::workspace_aligned(passes::bytes_between(passes::moves_of(graph_, partition_, region)));
      if (node.op == OpKind::sdpa)
        for (TensorId t : node.outputs)
          if (t != ir::no_tensor && !written_by_attention(node, t))
            between += engine::workspace_aligned(8 * *ir::volume(graph_.tensor(t).dims));
      scratch_ = std::max(scratch_, packed_ + between);
    }
    prepared_.workspace_bytes = scratch_;
  }

  engine::Prepared run() {
    for (passes::Region const& region : partition_.regions) {
      if (region.outputs.empty()) continue;  // nobody reads its results
      ir::Node const& first = graph_.nodes()[static_cast<size_t>(region.nodes.front())];
      if (passes::is_copy(first))
        add_moves(region);
      else if (first.op == OpKind::sdpa)
        add_attention(first);
      else if (int const anchor = anchor_of(graph_, region.nodes); anchor >= 0)
        add_matmul(region, anchor);
      else
        add_loops(passes::loop_program(graph_, partition_, region, -1));
    }
    return std::move(prepared_);
  }

 private:
  passes::StridedView const& view(TensorId t) const { return partition_.places[static_cast<size_t>(t)].view; }

  CompileOptions options(StepOperands& operands) const {
    CompileOptions o;
    o.kernels = &kernels();
    o.threads = threads_;
    o.memory = [this, &operands](TensorId t) {
      ir::Tensor const& tensor = graph_.tensor(t);
      return TensorMemory{operands.tensor(t), storage_of(tensor.dtype), ir::volume(tensor.dims) == 0};
    };
    return o;
  }

  void add_step(std::string description, StepOperands operands, std::shared_ptr<engine::HostKernel const> kernel,
                int64_t scratch_bytes) {
    prepared_.workspace_bytes = std::max(prepared_.workspace_bytes, scratch_ + scratch_bytes);
    prepared_.steps.push_back({std::move(description), std::move(operands.list), std::move(kernel)});
  }

  void add_loops(passes::LoopProgram const& loops) {
    StepOperands operands(partition_);
    add_loops("loops", loops, options(operands), operands);
  }

  void add_loops(std::string const& what, passes::LoopProgram const& loops, CompileOptions const& options,
                 StepOperands& operands) {
    CompiledLoops compiled = compile_loops(loops, graph_, options);
    std::string const text = compiled.program.describe();
    int const scratch = operands.add(engine::Operand::workspace(scratch_));
    auto kernel = std::make_shared<LoopKernel>(std::move(compiled.program), threads_, scratch);
    int64_t const bytes = kernel->scratch_bytes();
    add_step(fmt::format("{}: {}; {} workers", what, text, kernel->workers()), std::move(operands), kernel, bytes);
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

  void add_attention(ir::Node const& node) {
    enum In { Q, K, V, ATTN_SCALE, BIAS, LENGTH_Q, LENGTH_KV };
    enum Out { O, STATS };
    StepOperands operands(partition_);
    AttentionProblem p;
    AttentionKernel::Bindings bindings;
    auto const input = [&](TensorId t, AttentionInput& x, AttentionKernel::Binding& b) {
      if (t == ir::no_tensor) return false;
      ir::Tensor const& tensor = graph_.tensor(t);
      x.type = storage_of(tensor.dtype);
      for (size_t i = 0; i < tensor.dims.size(); ++i) x.strides[i] = tensor.dims[i] == 1 ? 0 : view(t).strides[i];
      b = {operands.tensor(t), view(t).offset};
      return true;
    };
    input(node.input(Q), p.q, bindings.q);
    input(node.input(K), p.k, bindings.k);
    input(node.input(V), p.v, bindings.v);
    p.with_bias = input(node.input(BIAS), p.bias, bindings.bias);
    p.with_seq_len_q = input(node.input(LENGTH_Q), p.seq_len_q, bindings.seq_len_q);
    p.with_seq_len_kv = input(node.input(LENGTH_KV), p.seq_len_kv, bindings.seq_len_kv);
    ir::Dims const &q = graph_.tensor(node.input(Q)).dims, &k = graph_.tensor(node.input(K)).dims,
                   &v = graph_.tensor(node.input(V)).dims;
    p.b = q[0], p.hq = q[1], p.sq = q[2], p.dqk = q[3];
    p.hk = k[1], p.hv = v[1], p.skv = k[2], p.dv = v[3];
    p.in_double = node.compute == DataType_t::DOUBLE;
    p.scale = node.attrs.get_if<double>("attn_scale_value").value_or(1);
    if (!p.in_double) p.scale = static_cast<float>(p.scale);
    p.left_bound = node.attrs.get_if<int64_t>("left_bound").value_or(AttentionProblem::unbounded);
    p.right_bound = node.attrs.get_if<int64_t>("right_bound").value_or(AttentionProblem::unbounded);
    p.bottom_right =
        node.attrs.get_enum<DiagonalAlignment_t>("diagonal_alignment") == DiagonalAlignment_t::BOTTOM_RIGHT;
    p.stats_base_2 = node.attrs.get<bool>("stats_use_log2");
    if (TensorId const scale = node.input(ATTN_SCALE); scale != ir::no_tensor) {
      bindings.scale = {operands.tensor(scale), view(scale).offset};
      bindings.scale_type = storage_of(graph_.tensor(scale).dtype);
    }

    DataType_t const wide = p.in_double ? DataType_t::DOUBLE : DataType_t::FLOAT;
    struct Conversion {
      TensorId to;
      Elements from;
    };
    std::vector<Conversion> conversions;
    int64_t end = packed_;
    auto const output = [&](TensorId t, AttentionOutput& x, AttentionKernel::Binding& b) {
      ir::Tensor const& tensor = graph_.tensor(t);
      passes::StridedView where = view(t);
      if (written_by_attention(node, t)) {
        x.type = storage_of(tensor.dtype);
        b = {operands.tensor(t), where.offset};
      } else {
        x.type = storage_of(wide);
        where = {0, ir::packed_strides(tensor.dims)};
        b = {operands.add(engine::Operand::workspace(end)), 0};
        end += engine::workspace_aligned(8 * *ir::volume(tensor.dims));
        if (placed(t)) conversions.push_back({t, {wide, b.operand, where}});
      }
      std::copy(where.strides.begin(), where.strides.end(), x.strides);
    };
    output(node.output(O), p.o, bindings.o);
    if (TensorId const stats = node.output(STATS); stats != ir::no_tensor && placed(stats)) {
      output(stats, p.stats, bindings.stats);
      p.with_stats = true;
    }
    bindings.scratch = operands.add(engine::Operand::workspace(scratch_));
    auto kernel = std::make_shared<AttentionKernel>(p, bindings, threads_);
    std::vector<engine::Operand> const pointers = operands.list;
    int64_t const bytes = kernel->scratch_bytes();
    add_step(fmt::format("attention: {}x{} heads, {} queries, {} keys, widths {} and {}; {} workers", p.b, p.hq, p.sq,
                         p.skv, p.dqk, p.dv, kernel->workers()),
             std::move(operands), kernel, bytes);
    for (Conversion const& c : conversions) {
      StepOperands rest(partition_);
      int const from = rest.add(pointers[static_cast<size_t>(c.from.operand)]), to = rest.tensor(c.to);
      ir::Tensor const& y = graph_.tensor(c.to);
      copy(node, y.dims, {c.from.type, from, c.from.view}, {y.dtype, to, view(c.to)}, rest);
    }
  }

  bool placed(TensorId t) const {
    return partition_.places[static_cast<size_t>(t)].kind != passes::Place::Kind::nowhere;
  }

  /// Results of other types than the kernel writes, and an O that nobody reads, pass through memory of their own.
  bool written_by_attention(ir::Node const& node, TensorId t) const {
    DataType_t const type = graph_.tensor(t).dtype;
    if (t != node.outputs[0]) return type == DataType_t::FLOAT || type == DataType_t::DOUBLE;
    return placed(t) && type_info(type)->kind == TypeKind::FLOATING;
  }

  void add_moves(passes::Region const& region) {
    ir::Node const& node = graph_.nodes()[static_cast<size_t>(region.nodes.front())];
    for (passes::Move const& m : passes::moves_of(graph_, partition_, region)) {
      StepOperands operands(partition_);
      auto end = [&](passes::MoveEnd const& e) {
        bool const between = e.tensor == ir::no_tensor;
        int const operand = between ? operands.add(engine::Operand::workspace(packed_)) : operands.tensor(e.tensor);
        return Elements{e.type, operand, e.view};
      };
      Elements const from = end(m.from), to = end(m.to);
      copy(node, m.dims, from, to, operands);
    }
  }

  /// One end of a copy.
  struct Elements {
    DataType_t type;
    int operand;
    passes::StridedView view;
  };

  void copy(ir::Node const& node, ir::Dims const& dims, Elements const& from, Elements const& to,
            StepOperands operands) {
    if (from.type != to.type) return convert(node, dims, from, to, std::move(operands));
    std::vector<LoopAxis> axes;
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back({dims[i], 0, {from.view.strides[i], to.view.strides[i]}});
    auto kernel = std::make_shared<CopyKernel>(std::move(axes), ir::storage_bits(from.type) / 8,
                                               CopyKernel::Array{from.operand, from.view.offset},
                                               CopyKernel::Array{to.operand, to.view.offset});
    add_step(fmt::format("copy for '{}'", node.name), std::move(operands), kernel, 0);
  }

  void convert(ir::Node const& node, ir::Dims const& dims, Elements const& from, Elements const& to,
               StepOperands operands) {
    // Doubles hold every stored value but for large 64-bit integers, which become floats in one rounding.
    bool const wide_integer = from.type == DataType_t::INT64 && to.type == DataType_t::FLOAT;
    constexpr TensorId source = 0, target = 1;
    passes::LoopProgram loops;
    loops.space = dims;
    loops.row_axes.assign(dims.size(), false);
    loops.values.push_back({.op = passes::LoopValue::Op::load,
                            .type = wide_integer ? DataType_t::FLOAT : DataType_t::DOUBLE,
                            .tensor = source,
                            .strides = from.view.strides,
                            .offset = from.view.offset});
    loops.stores.push_back({0, target, to.view.strides, to.view.offset});
    CompileOptions o = options(operands);
    o.memory = [&](TensorId t) {
      Elements const& e = t == source ? from : to;
      return TensorMemory{e.operand, storage_of(e.type), ir::volume(dims) == 0};
    };
    add_loops(fmt::format("copy for '{}'", node.name), loops, o, operands);
  }

  ir::OpGraph const& graph_;
  int threads_;
  passes::Partition partition_;
  int64_t packed_;   ///< where results lie between the steps of one region, in the workspace
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
    for (ir::Node const& n : graph.nodes()) {
      bool const known = n.op == OpKind::matmul || n.op == OpKind::sdpa || is_loop(n) || passes::is_copy(n);
      if (!known)
        s.refusals.push_back(base::make_error(base::Rule::engine_operation, {n.name, {}}, "is of another kind"));
    }
    if (s.refusals.empty()) s.configs.push_back({});
    return s;
  }

  engine::Notes notes(ir::OpGraph const& graph, engine::Config const&) const override {
    engine::Notes notes{{}, {NumericalNote_t::STRICT_NAN_PROP}};
    if (graph.context().batch_invariant) notes.behavior.push_back(BehaviorNote_t::BATCH_INVARIANT_ext);
    return notes;
  }

  double estimate_seconds(ir::OpGraph const& graph, target::Target const& target,
                          engine::Config const&) const override {
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
};

}  // namespace

engine::Engine const& fused_engine() {
  static FusedEngine const engine;
  return engine;
}

}  // namespace fusednn::engines::cpu
