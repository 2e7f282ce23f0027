#include "codegen/matmul_kernel.h"

#include "codegen/device_names.h"
#include "codegen/epilogue.h"

#include <algorithm>

namespace fusednn::codegen {

namespace {

constexpr int64_t tile = 64;  // kMatmulTile

}  // namespace

bool has_generic_matmul(ir::OpGraph const& graph, passes::LoopProgram const& program) {
  return is_pointwise_epilogue(program) && anchor_of(graph, program).op == ir::OpKind::matmul;
}

LoopKernels write_generic_matmul(ir::OpGraph const& graph, passes::Partition const& partition,
                                 passes::LoopProgram const& program, LoopTarget const& target) {
  ir::Node const& node = anchor_of(graph, program);
  ir::Dims const& c = program.space;
  size_t const rank = c.size();
  int64_t const m = c[rank - 2], n = c[rank - 1], k = graph.tensor(node.inputs[0]).dims[rank - 1];
  int64_t const tiles_m = (m + tile - 1) / tile, tiles_n = (n + tile - 1) / tile;
  int64_t tiles = tiles_m * tiles_n;
  for (size_t i = 0; i + 2 < rank; ++i) tiles *= c[i];
  if (tiles == 0) return {};

  struct Side {
    ir::TensorId id;
    std::string pointer;
    ir::Dims strides;
    int64_t offset;
  };
  KernelParameters parameters(graph, partition);
  bool narrow = epilogue_fits_31_bits(program) && k <= narrow_limit;
  auto side = [&](ir::TensorId t) {
    passes::StridedView const& view = partition.places[static_cast<size_t>(t)].view;
    ir::Dims const& dims = graph.tensor(t).dims;
    Side s{t, parameters.add(t, false, true), stepping_strides(dims, view.strides), view.offset};
    narrow = narrow && reach(dims, s.strides, s.offset) <= narrow_limit;
    return s;
  };
  Side const a = side(node.inputs[0]), b = side(node.inputs[1]);

  KernelText text;
  Epilogue const epilogue = write_epilogue(graph, program, parameters, text);
  text.indent(1);
  text.line("Epilogue const epilogue = {};", epilogue.object);
  text.line("Index const m = {}, n = {}, k = {};", text.size(m), text.size(n), text.size(k));
  text.open(fmt::format("for (Index tile = blockIdx.x; tile < {}; tile += gridDim.x)", text.size(tiles)));
  text.line("Index const n0 = tile % {} * generic::kMatmulTile;", text.size(tiles_n));
  text.line("Index const column_of_tiles = tile / {};", text.size(tiles_n));
  text.line("Index const m0 = column_of_tiles % {} * generic::kMatmulTile;", text.size(tiles_m));
  text.line("Index const batch{} = column_of_tiles / {};", rank - 2, text.size(tiles_m));
  for (size_t i = rank - 2; i-- > 0;) {
    text.line("Index const x{} = batch{} % {};", i, i + 1, text.size(c[i]));
    text.line("Index const batch{} = batch{} / {};", i, i + 1, text.size(c[i]));
  }
  std::string coordinates;
  for (size_t i = 0; i + 2 < rank; ++i) coordinates += fmt::format("x{}, ", i);
  auto matrix = [&](char const* name, Side const& x) {
    std::string start = fmt::format("{} + {}", x.pointer, text.size(x.offset));
    for (size_t i = 0; i + 2 < rank; ++i)
      if (x.strides[i] != 0) start += fmt::format(" + x{} * {}", i, text.size(x.strides[i]));
    text.line("generic::Matrix<{}, Index> const {}{{{}, {}, {}}};", storage_name(graph.tensor(x.id).dtype), name, start,
              text.size(x.strides[rank - 2]), text.size(x.strides[rank - 1]));
  };
  matrix("a", a);
  matrix("b", b);
  text.line("generic::matmul_tile<{0}, {1}, {2}>(a, b, m, n, k, m0, n0, [&](Index to_m, Index to_n, {0} sum) {{",
            lane_name(node.compute), a.strides[rank - 1] == 1, b.strides[rank - 2] == 1 && b.strides[rank - 1] != 1);
  text.line("  epilogue({}to_m, to_n, sum);", coordinates);
  text.line("}});");
  text.close();

  LoopKernel kernel = anchored_kernel("generic_matmul", "matmul.cuh", tiles, narrow, LoopValues(graph, program),
                                      epilogue, parameters, text, target);
  kernel.description = fmt::format("{}: {} x {} x {}, {} tiles of {} x {}", kernel.entry, m, n, k, tiles, tile, tile);
  return {{std::move(kernel)}, 0};
}

}  // namespace fusednn::codegen
