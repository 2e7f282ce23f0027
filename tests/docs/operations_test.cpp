#include "base/enum_names.h"
#include "ops/pointwise_table.h"
#include "ops/row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

// docs/operations.md is what the rows of src/ops say of themselves.
// FUSEDNN_GOLDEN=write ctest --preset release -R docs.Operations writes it anew.

namespace fusednn::ops {
namespace {

/// A cell of a table: '|' would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string_view type_of(Attr const& a) {
  switch (a.type) {
    case AttrType::boolean:
      return "boolean";
    case AttrType::integer:
      return "integer";
    case AttrType::real:
      return "real";
    case AttrType::integers:
      return "integers";
    case AttrType::integer_pairs:
      return "pairs of integers";
    case AttrType::enumeration:
      return a.names().type;
  }
  return "";
}

std::string default_of(Attr const& a) {
  if (a.required) return "required";
  if (auto const* b = std::get_if<bool>(&a.default_value)) return *b ? "true" : "false";
  if (auto const* i = std::get_if<int64_t>(&a.default_value))
    return a.type == AttrType::enumeration ? std::string(a.names().name(*i)) : fmt::format("{}", *i);
  if (auto const* d = std::get_if<double>(&a.default_value)) return fmt::format("{}", *d);
  if (auto const* l = std::get_if<std::vector<int64_t>>(&a.default_value))
    return fmt::format("[{}]", fmt::join(*l, ", "));
  return "unset";
}

std::string ports(std::string_view title, std::span<Port const> list) {
  if (list.empty()) return {};
  std::string text = fmt::format("\n| {} | | |\n| --- | --- | --- |\n", title);
  for (Port const& p : list) {
    std::string kind = p.kind == PortKind::required   ? "required"
                       : p.kind == PortKind::optional ? "optional"
                                                      : "one or more";
    if (p.default_dtype != DataType_t::NOT_SET)
      kind += fmt::format(", {} where no type is given", base::to_string(p.default_dtype));
    text += fmt::format("| {} | {} | {} |\n", p.kind == PortKind::variadic ? "0, 1, ..." : p.name, kind, cell(p.doc));
  }
  return text;
}

std::string section(OpRow const& r) {
  std::string text =
      fmt::format("\n## {}\n\n`Graph::{}`, in graph text `{}`.\n\n{}\n", r.builder, r.builder, r.tag, r.doc);
  text += ports("input", r.inputs) + ports("output", r.outputs);
  if (r.attrs.empty()) return text;
  text += "\n| attribute | type | default | |\n| --- | --- | --- | --- |\n";
  for (Attr const& a : r.attrs)
    text += fmt::format("| {} | {} | {} | {} |\n", a.name, type_of(a), default_of(a), cell(a.doc));
  return text;
}

/// A formula as the reference computes it, without the marks of C++.
std::string formula_of(PointwiseRow const& r) {
  std::string text(r.formula);
  auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
  };
  for (auto [from, to] : {std::pair("R(0.5)", "0.5"), {"<R>", ""}, {"R(", "("}, {"p.", ""}, {"(p, ", "("}})
    replace(from, to);
  return cell(text);
}

std::string modes() {
  std::string text =
      "\n### Modes of pointwise\n\n"
      "a, b and c are IN_0, IN_1 and IN_2. Compute types are FLOAT and DOUBLE, and INT32 where the table says so.\n\n"
      "| mode | inputs | formula | INT32 | parameters |\n| --- | --- | --- | --- | --- |\n";
  auto const& names = base::enum_names<PointwiseMode_t>();
  for (int i = 1; i < names.count; ++i) {
    PointwiseRow const& r = row(static_cast<PointwiseMode_t>(i));
    text += fmt::format("| {} | {} | `{}` | {} | {} |\n", names.name(i), r.arity,
                        r.mode == PointwiseMode_t::GEN_INDEX ? "index along the axis" : formula_of(r),
                        r.integer ? "yes" : "", fmt::join(r.parameters, ", "));
  }
  return text +
         "\n"
         "`sigmoid(x)` is 1 / (1 + exp(-x)), `log1p_exp(x)` is log(1 + exp(x)), `sqrt_half` is sqrt(1/2), and\n"
         "`tanh_argument(x)` is sqrt(2/pi) * (x + 0.044715 * x^3). `relu(x)` is x between the clips, the upper clip "
         "above\n"
         "them, and lower_clip + slope * (x - lower_clip) below. `relu_slope`, `gelu_slope`, `gelu_tanh_slope` and\n"
         "`swish_slope` are the derivatives of the forward modes.\n";
}

std::string page() {
  std::string text =
      "# Operations\n\nWhat each operation computes, takes and gives, as its row in `src/ops` says. Written from the "
      "rows by\n"
      "`tests/docs`; not by hand.\n";
  for (int i = 0; i < ir::op_kind_count; ++i) {
    OpRow const& r = row(static_cast<ir::OpKind>(i));
    if (r.tag.empty()) continue;  // internal
    text += section(r);
    if (r.kind == ir::OpKind::pointwise) text += modes();
  }
  return text;
}

TEST(Operations, ThePageSaysWhatTheRowsSay) {
  std::string const path = FUSEDNN_TEST_DATA "/../docs/operations.md";
  if (std::getenv("FUSEDNN_GOLDEN")) std::ofstream(path) << page();
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), page())
      << "write it anew: see the head of this test";
}

TEST(Operations, EveryRowDocumentsItself) {
  for (int i = 0; i < ir::op_kind_count; ++i) {
    OpRow const& r = row(static_cast<ir::OpKind>(i));
    EXPECT_FALSE(r.doc.empty()) << r.tag;
    for (Port const& p : r.inputs) EXPECT_FALSE(p.doc.empty()) << r.tag << " " << p.name;
    for (Port const& p : r.outputs) EXPECT_FALSE(p.doc.empty()) << r.tag << " " << p.name;
    for (Attr const& a : r.attrs) EXPECT_FALSE(a.doc.empty()) << r.tag << " " << a.name;
  }
}

}  // namespace
}  // namespace fusednn::ops
