#include "ops/golden.h"

#include "base/enum_names.h"
#include "ops/row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace fusednn::tests {

namespace {

using nlohmann::json;

ir::OpKind op_of(std::string const& name) {
  static std::map<std::string, ir::OpKind> const names = {
#define FUSEDNN_NAME(id) {#id, ir::OpKind::id},
      FUSEDNN_OP_KINDS(FUSEDNN_NAME)
#undef FUSEDNN_NAME
  };
  return names.at(name);
}

DataType_t dtype_of(json const& name) { return *base::from_string<DataType_t>(name.get<std::string>()); }

double number_of(json const& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr) : value.get<double>();
}

Values values_of(json const& list) {
  Values values;
  for (json const& v : list) values.push_back(number_of(v));
  return values;
}

ir::AttrValue attr_of(ops::Attr const& attr, json const& value) {
  switch (attr.type) {
    case ops::AttrType::boolean:
      return value.get<bool>();
    case ops::AttrType::integer:
      return value.get<int64_t>();
    case ops::AttrType::real:
      return number_of(value);
    case ops::AttrType::integers:
    case ops::AttrType::integer_pairs:
      return value.get<std::vector<int64_t>>();
    case ops::AttrType::enumeration:
      return *attr.names().value(value.get<std::string>());
  }
  return {};
}

Golden golden_of(json const& text) {
  Golden golden;
  golden.name = text.at("name");
  RowCase& node = golden.node;
  node.op = op_of(text.at("op"));
  node.compute = dtype_of(text.at("compute"));
  for (auto const& [name, value] : text.at("attrs").items())
    node.attrs[name] = attr_of(*ops::row(node.op).find_attr(name), value);
  for (auto const& [port, t] : text.at("inputs").items())
    node.inputs[port] = {t.at("dims"), values_of(t.at("values")), dtype_of(t.at("dtype"))};
  for (auto const& [port, t] : text.at("outputs").items()) {
    node.outputs[port] = {t.at("dims"), dtype_of(t.at("dtype"))};
    golden.expected[port] = values_of(t.at("values"));
  }
  return golden;
}

bool agrees(long double value, long double bound, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(value);
  if (std::isinf(expected) || std::isinf(value)) return value == static_cast<long double>(expected);
  return std::fabs(value - expected) <= bound + tolerance * std::max(1.0, std::fabs(expected));
}

}  // namespace

std::vector<Golden> const& goldens() {
  static std::vector<Golden> const all = [] {
    std::vector<Golden> list;
    for (char const* family : {"attention", "movement", "norms", "pointwise", "reduction"}) {
      std::ifstream file(fmt::format("{}/golden/{}.json", FUSEDNN_TEST_DATA, family));
      for (json const& text : json::parse(file)) list.push_back(golden_of(text));
    }
    return list;
  }();
  return all;
}

std::string kind_of(RowCase const& node) {
  std::string const op(ops::row(node.op).builder.empty() ? "internal" : ops::row(node.op).builder);
  auto mode = node.attrs.find("mode");
  if (mode == node.attrs.end()) return op;
  auto const& names = ops::row(node.op).find_attr("mode")->names();
  return fmt::format("{} {}", op, names.name(std::get<int64_t>(mode->second)));
}

RowCase in_float(RowCase node) {
  auto narrow = [](DataType_t& t) { t = t == DataType_t::DOUBLE ? DataType_t::FLOAT : t; };
  narrow(node.compute);
  for (auto& [port, in] : node.inputs) narrow(in.dtype);
  for (auto& [port, out] : node.outputs) narrow(out.dtype);
  return node;
}

std::string disagreement(Golden const& golden, RowCase const& node) {
  base::Result<ReferenceValues> const result = reference_of(node);
  if (!result) return base::join(result.errors());
  for (auto const& [port, expected] : golden.expected) {
    auto at = result.value().find(port);
    if (at == result.value().end()) return fmt::format("no output {}", port);
    ops::RefTensor<long double> const& found = at->second;
    if (found.dims != golden.node.outputs.at(port).dims)
      return fmt::format("{} has dims [{}]", port, fmt::join(found.dims, ","));
    double const tolerance = node.compute == DataType_t::INT32 ? 0 : 1e-12;
    for (size_t i = 0; i < expected.size(); ++i) {
      bool const in_double = node.compute != DataType_t::FLOAT;
      if (!agrees(found.value[i], in_double ? 0 : found.bound[i], expected[i], tolerance))
        return fmt::format("{} element {}: {} instead of {}, bound {}", port, i, found.value[i], expected[i],
                           found.bound[i]);
    }
  }
  return {};
}

}  // namespace fusednn::tests
