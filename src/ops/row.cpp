#include "ops/row.h"

#include "ir/layout.h"
#include "ops/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <iterator>

namespace fusednn::ops {

namespace {

OpRow const* const table[] = {
#define FUSEDNN_ROW(id) &id##_row,
    FUSEDNN_OP_KINDS(FUSEDNN_ROW)
#undef FUSEDNN_ROW
};
static_assert(std::size(table) == ir::op_kind_count, "each operation has its row");

int find_port(std::span<Port const> ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name && ports[i].kind != PortKind::variadic) return static_cast<int>(i);
  if (!ports.empty() && ports.back().kind == PortKind::variadic) {
    int index = -1;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (error == std::errc() && end == name.data() + name.size() && index >= 0 && index < (1 << 20)) return index;
  }
  return -1;
}

std::string port_name(std::span<Port const> ports, size_t i) {
  bool const variadic = !ports.empty() && ports.back().kind == PortKind::variadic && i + 1 >= ports.size();
  return variadic || i >= ports.size() ? fmt::format("{}", i) : std::string(ports[i].name);
}

}  // namespace

OpRow const& row(ir::OpKind kind) { return *table[static_cast<int>(kind)]; }

OpRow const* row_by_tag(std::string_view tag) {
  for (OpRow const* r : table)
    if (!tag.empty() && r->tag == tag) return r;
  return nullptr;
}

int OpRow::find_input(std::string_view name) const { return find_port(inputs, name); }
int OpRow::find_output(std::string_view name) const { return find_port(outputs, name); }
std::string OpRow::input_name(size_t i) const { return port_name(inputs, i); }
std::string OpRow::output_name(size_t i) const { return port_name(outputs, i); }

Attr const* OpRow::find_attr(std::string_view name) const {
  for (Attr const& a : attrs)
    if (a.name == name) return &a;
  return nullptr;
}

void NodeContext::infer_strides(size_t port, ir::Tensor const& like) {
  if (!has_out(port)) return;
  ir::Tensor& t = out(port);
  if (t.strides.empty() && !t.dims.empty()) t.strides = ir::strides_in_order_of(t.dims, like.strides);
}

void NodeContext::infer_packed_strides(size_t port) {
  if (!has_out(port)) return;
  ir::Tensor& t = out(port);
  if (t.strides.empty() && !t.dims.empty()) t.strides = ir::packed_strides(t.dims);
}

void NodeContext::expect_dims(size_t port, ir::Dims const& dims) {
  if (!has_out(port) || out(port).dims.empty() || out(port).dims == dims) return;
  fail(base::Rule::node_output_dims, out(port).name,
       fmt::format("dims [{}], expected [{}]", fmt::join(out(port).dims, ","), fmt::join(dims, ",")));
}

}  // namespace fusednn::ops
