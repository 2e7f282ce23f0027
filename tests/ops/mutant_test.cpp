#include "ops/golden.h"
#include "ops/row.h"
#include "ops/validate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

// Mistakes that a row could hold, made on purpose: each must be noticed by some golden value. And, from the
// table: each attribute and each input must matter, or be refused where it is given.

namespace fusednn::tests {
namespace {

using base::ErrorKind;
using ir::OpKind;

std::vector<ops::OpRow const*> all_rows() {
  std::vector<ops::OpRow const*> rows;
  for (int i = 0; i < ir::op_kind_count; ++i) rows.push_back(&ops::row(static_cast<OpKind>(i)));
  return rows;
}

std::vector<Golden const*> goldens_of(ops::OpRow const& row) {
  std::vector<Golden const*> list;
  for (Golden const& g : goldens())
    if (g.node.op == row.kind) list.push_back(&g);
  return list;
}

/// The case without the dims of its outputs, where inference knows them.
RowCase blank(RowCase c) {
  bool const users = c.op == OpKind::reduction || (c.op == OpKind::reshape && !c.attrs.count("dim"));
  if (users) return c;
  for (auto& [port, out] : c.outputs) out.dims = {};
  return c;
}

/// Whether some golden case of the row no longer agrees once `mutate` has changed it; it returns false for
/// cases that it does not apply to.
template <class Mutate>
bool noticed(ops::OpRow const& row, Mutate mutate) {
  for (Golden const* g : goldens_of(row)) {
    RowCase mutant = blank(g->node);
    if (mutate(mutant) && !disagreement(*g, mutant).empty()) return true;
  }
  return false;
}

/// Whether validation refuses some changed case as unsupported: an option that nothing honours.
template <class Mutate>
bool refused_as_unsupported(ops::OpRow const& row, Mutate mutate) {
  for (Golden const* g : goldens_of(row)) {
    RowCase mutant = g->node;
    if (!mutate(mutant)) continue;
    auto graph = ops::validate(draft_of(mutant));
    if (!graph && std::any_of(graph.errors().begin(), graph.errors().end(),
                              [](base::Error const& e) { return e.kind() == ErrorKind::unsupported; }))
      return true;
  }
  return false;
}

std::vector<ir::AttrValue> other_values(ops::Attr const& attr, ir::AttrValue const& now) {
  std::vector<ir::AttrValue> values;
  switch (attr.type) {
    case ops::AttrType::boolean:
      values = {true, false};
      break;
    case ops::AttrType::integer:
      values = {int64_t(0), int64_t(1), int64_t(2)};
      break;
    case ops::AttrType::real:
      values = {0.5, 0.75, -0.5};
      break;
    case ops::AttrType::integers:
    case ops::AttrType::integer_pairs: {
      auto const* list = std::get_if<ir::Dims>(&now);
      if (!list) break;
      for (size_t i = 0; i + 1 < list->size(); ++i) {
        ir::Dims swapped = *list;
        std::swap(swapped[i], swapped[i + 1]);
        values.push_back(swapped);
      }
      for (size_t i = 0; i < list->size(); ++i) {
        ir::Dims more = *list;
        ++more[i];
        values.push_back(more);
      }
      break;
    }
    case ops::AttrType::enumeration:
      for (int64_t i = 0; i < attr.names().count; ++i) values.push_back(i);
  }
  std::erase(values, now);
  return values;
}

/// What is accepted although it changes no value, with the reason.
std::set<std::string> const without_effect = {
    "reduction.is_deterministic",  // all engines are; it filters plans
    "reshape.reshape_mode",        // what strides may be, not what values are
    "reshape.stride",              // layout
    "concatenate.in_place_index",  // where a buffer may lie
    "sdpa.implementation",         // cudnn_frontend's choice between two of its own
};

std::string full_name(ops::OpRow const& row, std::string_view part) {
  std::string const op(row.builder.empty() ? row.kind == OpKind::masked_softmax ? "masked_softmax" : "live_key_matmul"
                                           : row.builder);
  return fmt::format("{}.{}", op, part);
}

TEST(Mutants, ASignDies) {
  for (ops::OpRow const* row : all_rows())
    for (ops::Port const& port : row->outputs) {
      bool seen = false, died = false;
      for (Golden const* g : goldens_of(*row)) {
        auto expected = g->expected.find(std::string(port.name));
        if (expected == g->expected.end()) continue;
        seen = true;
        Golden negated = *g;
        for (double& v : negated.expected[std::string(port.name)]) v = -v;
        died = died || !disagreement(negated, g->node).empty();
      }
      bool const offered =
          refused_as_unsupported(*row, [&](RowCase& c) { return c.outputs[std::string(port.name)], true; });
      EXPECT_TRUE(died || (!seen && offered)) << full_name(*row, port.name);
    }
}

TEST(Mutants, APortOrderDies) {
  for (ops::OpRow const* row : all_rows())
    for (size_t i = 0; i < row->inputs.size(); ++i)
      for (size_t j = i + 1; j < row->inputs.size(); ++j) {
        std::string const a(row->inputs[i].name), b(row->inputs[j].name);
        bool together = false;
        bool const died = noticed(*row, [&](RowCase& c) {
          if (!c.inputs.count(a) || !c.inputs.count(b)) return false;
          together = true;
          std::swap(c.inputs[a], c.inputs[b]);
          return true;
        });
        EXPECT_TRUE(died || !together) << full_name(*row, a) << " and " << b;
      }
  // Inputs of a variadic port.
  EXPECT_TRUE(noticed(ops::row(OpKind::concatenate), [](RowCase& c) {
    if (c.inputs.size() < 2) return false;
    std::swap(c.inputs["0"], c.inputs["1"]);
    return true;
  }));
}

TEST(Mutants, ADefaultDies) {
  for (ops::OpRow const* row : all_rows())
    for (ops::Attr const& attr : row->attrs) {
      std::string const name(attr.name);
      if (attr.required || without_effect.count(full_name(*row, name))) continue;
      auto change = [&](ir::AttrValue const& value) {
        return [&, value](RowCase& c) { return !c.attrs.count(name) && (c.attrs[name] = value, true); };
      };
      ir::AttrValue const from =
          attr.type == ops::AttrType::integers ? ir::AttrValue(ir::Dims{2, 3, 4}) : attr.default_value;
      bool died = false;
      for (ir::AttrValue const& value : other_values(attr, from))
        died = died || noticed(*row, change(value)) || refused_as_unsupported(*row, change(value));
      EXPECT_TRUE(died) << full_name(*row, name) << ": another default would not be noticed";
    }
}

TEST(Mutants, AnIgnoredAttributeDies) {
  for (ops::OpRow const* row : all_rows())
    for (ops::Attr const& attr : row->attrs) {
      std::string const name(attr.name);
      if (attr.required || without_effect.count(full_name(*row, name))) continue;
      bool set = false;
      bool const died = noticed(*row, [&](RowCase& c) {
        if (!c.attrs.count(name)) return false;
        set = true;
        return c.attrs.erase(name) == 1;
      });
      bool unsupported = false;
      for (ir::AttrValue const& value : other_values(attr, attr.default_value))
        unsupported =
            unsupported || refused_as_unsupported(*row, [&](RowCase& c) { return c.attrs[name] = value, true; });
      EXPECT_TRUE(died || (!set && unsupported)) << full_name(*row, name) << ": nothing notices that it is ignored";
    }
}

TEST(Mutants, AnotherModeDies) {
  for (OpKind op : {OpKind::pointwise, OpKind::reduction}) {
    ops::OpRow const& row = ops::row(op);
    std::map<int64_t, std::vector<Golden const*>> by_mode;
    for (Golden const* g : goldens_of(row)) by_mode[std::get<int64_t>(g->node.attrs.at("mode"))].push_back(g);
    for (auto const& [mode, cases] : by_mode)
      for (int64_t other = 1; other < row.find_attr("mode")->names().count; ++other) {
        if (other == mode) continue;
        bool died = false;
        for (Golden const* g : cases) {
          RowCase mutant = g->node;
          mutant.attrs["mode"] = other;
          died = died || !disagreement(*g, mutant).empty();
        }
        EXPECT_TRUE(died) << row.find_attr("mode")->names().name(mode) << " computed as "
                          << row.find_attr("mode")->names().name(other);
      }
  }
}

TEST(Liveness, EachAttributeMattersOrIsRefused) {
  for (ops::OpRow const* row : all_rows())
    for (ops::Attr const& attr : row->attrs) {
      if (without_effect.count(full_name(*row, attr.name))) continue;
      std::string const name(attr.name);
      bool changes = false, accepted = false, unsupported = false;
      for (Golden const* g : goldens_of(*row)) {
        auto set = g->node.attrs.find(name);
        ir::AttrValue const now = set == g->node.attrs.end() ? attr.default_value : set->second;
        for (ir::AttrValue const& value : other_values(attr, now)) {
          RowCase changed = blank(g->node);
          changed.attrs[name] = value;
          auto result = reference_of(changed);
          accepted = accepted || result.ok();
          changes = changes || (result.ok() && !disagreement(*g, changed).empty());
          unsupported = unsupported || (!result && result.error().kind() == ErrorKind::unsupported);
        }
        if (changes) break;
      }
      EXPECT_TRUE(changes || unsupported || !accepted) << full_name(*row, attr.name);
    }
}

TEST(Liveness, EachInputMattersOrIsRefused) {
  for (ops::OpRow const* row : all_rows())
    for (ops::Port const& port : row->inputs) {
      std::string const name(port.name);
      auto with_values = [&](auto&& value) {
        return noticed(*row, [&](RowCase& c) {
          auto at = c.inputs.find(name);
          if (at == c.inputs.end()) return false;
          for (size_t i = 0; i < at->second.values.size(); ++i) at->second.values[i] = value(at->second.values[i], i);
          return true;
        });
      };
      bool const matters = with_values([](double v, size_t i) { return v * 0.5 - double(i % 3); }) ||
                           with_values([](double v, size_t) { return v - 1; }) ||
                           with_values([](double v, size_t i) { return i == 0 ? -INFINITY : v; });
      bool const refused = refused_as_unsupported(*row, [&](RowCase& c) {
        bool const absent = !c.inputs.count(name);
        c.inputs[name] = {{1, 1, 1, 1}, {0}, DataType_t::INT32};
        return absent;
      });
      EXPECT_TRUE(matters || refused) << full_name(*row, port.name);
    }
}

}  // namespace
}  // namespace fusednn::tests
