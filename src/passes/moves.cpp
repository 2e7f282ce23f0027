#include "passes/moves.h"

#include "ir/layout.h"

#include <algorithm>

namespace fusednn::passes {

namespace {

using ir::TensorId;

class Mover {
 public:
  Mover(ir::OpGraph const& graph, Partition const& partition) : graph_(graph), partition_(partition) {}

  std::vector<Move> view(ir::Node const& node) const {
    TensorId const in = node.inputs[0], out = node.outputs[0];
    ir::Tensor const &x = graph_.tensor(in), &y = graph_.tensor(out);
    if (auto source = view_of_output(graph_.graph(), node, place(in).view))
      return {{y.dims, {in, x.dtype, *source}, end(out)}};
    // In row-major order of the input into packed memory, which then has the output's shape.
    return {{x.dims, end(in), {ir::no_tensor, x.dtype, {0, ir::packed_strides(x.dims)}}},
            {y.dims, {ir::no_tensor, x.dtype, {0, ir::packed_strides(y.dims)}}, end(out)}};
  }

  std::vector<Move> concatenation(ir::Node const& node) const {
    std::vector<Move> moves;
    TensorId const out = node.outputs[0];
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      TensorId const in = node.inputs[port];
      StridedView const slot = slot_of_input(graph_.graph(), node, port, place(out).view);
      if (!lies_at(in, out, slot))
        moves.push_back({graph_.tensor(in).dims, end(in), {out, graph_.tensor(out).dtype, slot}});
    }
    return moves;
  }

 private:
  Place const& place(TensorId t) const { return partition_.places[static_cast<size_t>(t)]; }
  MoveEnd end(TensorId t) const { return {t, graph_.tensor(t).dtype, place(t).view}; }

  /// Whether the producer has written the tensor where the concatenation wants it.
  bool lies_at(TensorId t, TensorId memory, StridedView const& slot) const {
    Place const &p = place(t), &q = place(memory);
    return p.kind == q.kind && p.base == q.base && p.view.offset == slot.offset && p.view.strides == slot.strides;
  }

  ir::OpGraph const& graph_;
  Partition const& partition_;
};

}  // namespace

bool is_copy(ir::Node const& node) { return is_view(node) || node.op == ir::OpKind::concatenate; }

std::vector<Move> moves_of(ir::OpGraph const& graph, Partition const& partition, Region const& region) {
  ir::Node const& node = graph.nodes()[static_cast<size_t>(region.nodes.front())];
  Mover const mover(graph, partition);
  return is_view(node) ? mover.view(node) : mover.concatenation(node);
}

int64_t bytes_between(std::vector<Move> const& moves) {
  int64_t bytes = 0;
  for (Move const& m : moves)
    if (m.to.tensor == ir::no_tensor) bytes = std::max(bytes, *ir::storage_bytes(m.to.type, *ir::volume(m.dims)));
  return bytes;
}

}  // namespace fusednn::passes
