#include "codegen/loop_values.h"

#include "codegen/device_names.h"
#include "ir/layout.h"

#include <fmt/format.h>

#include <cmath>

namespace fusednn::codegen {

using passes::LoopValue;
using passes::no_value;
using passes::ValueId;
using Op = LoopValue::Op;

namespace {

std::string number(double x, std::string_view lane) {
  if (std::isinf(x)) return fmt::format("{}<{}>()", x > 0 ? "highest" : "lowest", lane);
  return fmt::format("{}({:.17g})", lane, x);
}

}  // namespace

std::string_view LoopValues::storage(ir::TensorId t) const { return storage_name(graph_.tensor(t).dtype); }

int LoopValues::index_axis(LoopValue const& v) const {
  int64_t const axis = node(v).attrs.get<int64_t>("axis");
  ir::Dims const& dims = graph_.tensor(node(v).outputs[0]).dims;
  return dims[static_cast<size_t>(axis)] == 1 ? -1 : static_cast<int>(axis);
}

std::string LoopValues::params(LoopValue const& v, std::string_view lane) const {
  if (v.node < 0 || node(v).op != ir::OpKind::pointwise) return fmt::format("PointwiseParams<{}>()", lane);
  std::string list;
  bool any = false;
  struct Parameter {
    char const* name;
    double otherwise;
  };
  for (Parameter p : {Parameter{"relu_lower_clip", 0},
                      {"relu_upper_clip", INFINITY},
                      {"relu_lower_clip_slope", 0},
                      {"swish_beta", 1},
                      {"elu_alpha", 1},
                      {"softplus_beta", 1}}) {
    auto const set = node(v).attrs.get_if<double>(p.name);
    any = any || set;
    list += (list.empty() ? "" : ", ") + number(set.value_or(p.otherwise), lane);
  }
  bool const clips = v.mode == PointwiseMode_t::RELU_FWD || v.mode == PointwiseMode_t::RELU_BWD;
  return any || clips ? fmt::format("PointwiseParams<{}>{{{}}}", lane, list)
                      : fmt::format("PointwiseParams<{}>()", lane);
}

std::string LoopValues::expression(ValueId id, Name const& name) const {
  LoopValue const& v = value(id);
  std::string_view const lane = lane_name(v.type);
  switch (v.op) {
    case Op::pointwise: {
      // Clips and slope are real numbers; an integer result loses its fraction.
      if (v.mode == PointwiseMode_t::RELU_FWD && v.type == DataType_t::INT32)
        return fmt::format("truncated(math::ReluFwd::call(double({}), {}))", name(v.a), params(v, "double"));
      std::string operands;
      for (ValueId o : {v.a, v.b, v.c})
        if (o != no_value) operands += name(o) + ", ";
      return fmt::format("math::{}::call({}{})", functor_name(v.mode), operands, params(v, lane));
    }
    case Op::cast:
      return fmt::format("cast<{}>({})", lane, name(v.a));
    case Op::round:
      return fmt::format("round_to<{}>({})", storage(v.tensor), name(v.a));
    case Op::normalize:
      return fmt::format("normalized({}, {}, r{})", name(v.a), centred(value(v.b)) ? fmt::format("mean{}", v.b) : "0.0",
                         v.b);
    case Op::mean:
      return fmt::format("{}(mean{})", lane, v.a);
    case Op::inverse:
      return fmt::format("{}(r{})", lane, v.a);
    case Op::reduce: {  // over no axis
      std::string_view const fold = fold_name(mode_of(v));
      return finished(v, fmt::format("{}::take({}::start<{}>(), {})", fold, fold, lane, name(v.a)), 1);
    }
    case Op::load:
    case Op::anchor:
    case Op::moments:
      break;
  }
  return "";
}

std::string LoopValues::finished(LoopValue const& v, std::string const& folded, int64_t count) const {
  std::string_view const lane = lane_name(v.type);
  if (mode_of(v) == ReductionMode_t::AVG) return count == 0 ? folded : fmt::format("{} / {}({})", folded, lane, count);
  if (mode_of(v) == ReductionMode_t::NORM2)
    return fmt::format("math::Sqrt::call({}, PointwiseParams<{}>())", folded, lane);
  return folded;
}

std::string LoopValues::entry_name(std::string_view kind) const {
  std::string name(kind);
  std::string_view last;
  for (LoopValue const& v : program_.values) {
    std::string_view const part = v.op == Op::pointwise ? functor_name(v.mode)
                                  : v.op == Op::reduce  ? fold_name(mode_of(v))
                                  : v.op == Op::moments ? "Moments"
                                                        : "";
    if (!part.empty() && part != last && name.size() < 60) name += fmt::format("_{}", last = part);
  }
  return name;
}

ir::TensorId host_scalar(ir::OpGraph const& graph, passes::Partition const& partition, ir::TensorId t) {
  passes::Place const& place = partition.places[static_cast<size_t>(t)];
  if (place.kind != passes::Place::Kind::caller) return ir::no_tensor;
  ir::Tensor const& base = graph.tensor(place.base);
  return base.pass_by_value || base.value ? place.base : ir::no_tensor;
}

KernelOperand tensor_operand(ir::OpGraph const& graph, passes::Partition const& partition, ir::TensorId t) {
  ir::TensorId const scalar = host_scalar(graph, partition, t);
  if (scalar == ir::no_tensor) return {KernelOperand::Kind::tensor, t};
  return {KernelOperand::Kind::scalar, t, ir::storage_bits(graph.tensor(scalar).dtype) / 8};
}

}  // namespace fusednn::codegen
