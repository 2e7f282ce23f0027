#include "codegen/epilogue.h"

#include "codegen/device_names.h"

#include <algorithm>

namespace fusednn::codegen {

using passes::LoopProgram;
using passes::LoopStore;
using passes::LoopValue;
using passes::ValueId;
using Op = LoopValue::Op;

std::string KernelParameters::add(ir::TensorId t, bool written, bool apart) {
  std::string const name = fmt::format("p{}", operands_.size());
  std::string_view const storage = storage_name(graph_.tensor(t).dtype);
  operands_.push_back(tensor_operand(graph_, partition_, t));
  if (operands_.back().kind == KernelOperand::Kind::scalar) {
    list_ += fmt::format("const __grid_constant__ {}::Raw {}, ", storage, name);
    return "&" + name;
  }
  list_ += fmt::format("{}::Raw{}* {}{}, ", storage, written ? "" : " const", apart ? "__restrict__ " : "", name);
  return name;
}

bool is_pointwise_epilogue(LoopProgram const& program) {
  return program.anchor >= 0 && std::all_of(program.values.begin(), program.values.end(), [](LoopValue const& v) {
           return v.op == Op::load || v.op == Op::anchor || v.op == Op::pointwise || v.op == Op::cast ||
                  v.op == Op::round;
         });
}

int64_t reach(ir::Dims const& dims, ir::Dims const& strides, int64_t offset) {
  for (size_t i = 0; i < dims.size(); ++i) offset += std::max<int64_t>(dims[i] - 1, 0) * strides[i];
  return offset;
}

ir::Dims stepping_strides(ir::Dims const& dims, ir::Dims const& strides) {
  ir::Dims result(dims.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1) result[i] = strides[i];
  return result;
}

bool epilogue_fits_31_bits(LoopProgram const& program) {
  int64_t volume = 1;
  for (int64_t d : program.space) {
    if (d > narrow_limit / std::max<int64_t>(volume, 1)) return false;
    volume *= d;
  }
  for (LoopValue const& v : program.values)
    if (v.op == Op::load && reach(program.space, v.strides, v.offset) > narrow_limit) return false;
  return std::all_of(program.stores.begin(), program.stores.end(),
                     [&](LoopStore const& s) { return reach(program.space, s.strides, s.offset) <= narrow_limit; });
}

ir::Node const& anchor_of(ir::OpGraph const& graph, LoopProgram const& program) {
  return graph.nodes()[static_cast<size_t>(program.anchor)];
}

LoopKernel anchored_kernel(std::string_view kind, std::string_view header, int64_t tiles, bool narrow,
                           LoopValues const& values, Epilogue const& epilogue, KernelParameters const& parameters,
                           KernelText& text, LoopTarget const& target) {
  LoopKernel kernel;
  kernel.entry = values.entry_name(kind);
  kernel.operands = parameters.operands();
  kernel.sizes = text.take_sizes();
  kernel.grid_x = static_cast<uint32_t>(std::min<int64_t>(tiles, INT32_MAX));
  kernel.block_x = 256;
  kernel.source.name = kernel.entry;
  kernel.source.arch = target.arch;
  kernel.source.text = fmt::format(
      "#include \"families/generic/{}\"\n\nusing namespace fusednn;\nusing namespace fusednn::loop;\n\n{}\n{}\n"
      "extern \"C\" __global__ void __launch_bounds__(256, 1) {}({}const __grid_constant__ Sizes s) {{\n{}}}\n",
      header, index_and_sizes(narrow, kernel.sizes.size()), epilogue.definition, kernel.entry, parameters.list(),
      text.take_text());
  return kernel;
}

Epilogue write_epilogue(ir::OpGraph const& graph, LoopProgram const& program, KernelParameters& parameters,
                        KernelText& text) {
  LoopValues const values(graph, program);
  std::string members, pointers;
  int count = 0;
  auto member = [&](ir::TensorId t, bool written) {
    members += fmt::format("  {}::Raw{}* m{};\n", values.storage(t), written ? "" : " const", count);
    pointers += parameters.add(t, written, false) + ", ";
    return fmt::format("m{}", count++);
  };
  auto offset = [&](ir::Dims const& strides, int64_t start) {
    std::string sum = start ? text.size(start) : "";
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] == 0) continue;
      std::string const term =
          strides[i] == 1 ? fmt::format("x{}", i) : fmt::format("x{} * {}", i, text.size(strides[i]));
      sum += (sum.empty() ? "" : " + ") + term;
    }
    return sum.empty() ? "0" : sum;
  };
  std::string coordinates;
  for (size_t i = 0; i < program.space.size(); ++i) coordinates += fmt::format("Index x{}, ", i);
  std::string_view const anchor_lane = lane_name(anchor_of(graph, program).compute);

  text.indent(1);
  text.open(fmt::format("FUSEDNN_DEVICE void operator()({}{} anchor) const", coordinates, anchor_lane));
  auto name = [](ValueId v) { return fmt::format("t{}", v); };
  for (size_t i = 0; i < program.values.size(); ++i) {
    ValueId const v = static_cast<ValueId>(i);
    LoopValue const& x = program.values[i];
    std::string_view const lane = lane_name(x.type);
    std::string from;
    if (x.op == Op::load) {
      std::string const memory = member(x.tensor, false);
      from = fmt::format("{}::load<{}>({}[{}])", values.storage(x.tensor), lane, memory, offset(x.strides, x.offset));
    } else if (x.op == Op::anchor) {
      from = "anchor";
    } else if (values.is_index(x)) {
      int const axis = values.index_axis(x);
      from = axis < 0 ? fmt::format("{}(0)", lane) : fmt::format("static_cast<{}>(x{})", lane, axis);
    } else {
      from = values.expression(v, name);
    }
    text.line("{} const t{} = {};", lane, v, from);
  }
  for (LoopStore const& s : program.stores) {
    std::string const memory = member(s.tensor, true);
    text.line("{}[{}] = {}::store(t{});", memory, offset(s.strides, s.offset), values.storage(s.tensor), s.value);
  }
  text.close();
  return {fmt::format("struct Epilogue {{\n{}  Sizes const& s;\n\n{}}};\n", members, text.take_text()),
          fmt::format("Epilogue{{{}s}}", pointers)};
}

}  // namespace fusednn::codegen
