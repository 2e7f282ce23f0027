#include "engines/cuda/copy_graph.h"

#include "ir/layout.h"

namespace fusednn::engines::cuda {

namespace {

/// How elements of a type travel: as `pieces` integers, each in a lane of `lane`.
struct Carrier {
  DataType_t storage, lane;
  int64_t pieces;
};

Carrier carrier_of(DataType_t type) {
  switch (ir::storage_bits(type) / 8) {
    case 1:
      return {DataType_t::UINT8, DataType_t::INT32, 1};
    case 2:
      return {DataType_t::UINT8, DataType_t::INT32, 2};
    case 4:
      return {DataType_t::INT32, DataType_t::INT32, 1};
    default:
      return {DataType_t::INT32, DataType_t::INT32, 2};
  }
}

}  // namespace

CopyGraph::CopyGraph(ir::OpGraph const& whole, passes::Partition const& around, passes::Move const& move) {
  bool const same = move.from.type == move.to.type;
  // Doubles hold every stored value but for large 64-bit integers, which become floats in one rounding.
  bool const wide_integer = move.from.type == DataType_t::INT64 && move.to.type == DataType_t::FLOAT;
  Carrier const carrier = same ? carrier_of(move.from.type)
                               : Carrier{DataType_t::NOT_SET, wide_integer ? DataType_t::FLOAT : DataType_t::DOUBLE, 1};
  ir::Dims dims = move.dims;
  if (carrier.pieces > 1) dims.push_back(carrier.pieces);

  ir::Graph g;
  auto end = [&](passes::MoveEnd const& e) {
    ir::Tensor t;
    t.dtype = same ? carrier.storage : e.type;
    t.dims = dims;
    passes::Place place{passes::Place::Kind::workspace, ir::no_tensor, 0, {}};
    if (e.tensor != ir::no_tensor) {
      place = around.places[static_cast<size_t>(e.tensor)];
      ir::Tensor const& base = whole.tensor(place.base);
      t.alignment = base.alignment;
      t.pass_by_value = base.pass_by_value;
      t.value = base.value;
    }
    place.base = g.add(std::move(t));
    partition.places.push_back(std::move(place));
    passes::StridedView view = e.view;
    if (carrier.pieces > 1) {
      view.offset *= carrier.pieces;
      for (int64_t& s : view.strides) s *= carrier.pieces;
      view.strides.push_back(1);
    }
    return view;
  };
  passes::StridedView from = end(move.from), to = end(move.to);
  graph = std::make_shared<ir::OpGraph const>(std::move(g));

  program.space = dims;
  program.row_axes.assign(dims.size(), false);
  program.values.push_back({.op = passes::LoopValue::Op::load,
                            .type = carrier.lane,
                            .tensor = source,
                            .strides = std::move(from.strides),
                            .offset = from.offset});
  program.stores.push_back({0, target, std::move(to.strides), to.offset});
}

}  // namespace fusednn::engines::cuda
