#include "rules/firing.h"

#include "ops/validate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace fusednn::tests {

std::string refusal(ir::Graph draft) {
  base::Result<ir::OpGraphPtr> const result = ops::validate(std::move(draft));
  return result.ok() ? std::string() : base::join(result.errors());
}

std::string refusal(RowCase const& c) { return refusal(draft_of(c)); }

namespace {

std::vector<Firing> all_firings() {
  std::vector<Firing> all;
  for (auto const& list :
       {tensor_firings(), operation_firings(), attention_firings(), life_cycle_firings(), cuda_firings()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// The line of the messages that speaks of the rule; empty where none does.
std::string line_of(std::string const& messages, base::RuleRow const& rule) {
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);)
    if (line.find(fmt::format("[{}]", rule.id)) != std::string::npos) return line;
  return {};
}

TEST(Rules, EachFiresWithItsKindAndNamesWhatIsWrong) {
  for (Firing const& f : all_firings()) {
    base::RuleRow const& rule = base::row(f.rule);
    SCOPED_TRACE(rule.id);
    std::string const messages = f.fire();
    std::string const line = line_of(messages, rule);
    ASSERT_FALSE(line.empty()) << "all that was said: " << messages;
    EXPECT_NE(line.find(fmt::format("{}:", base::to_string(rule.kind))), std::string::npos) << line;
    EXPECT_NE(line.find(rule.text), std::string::npos) << line;
    for (std::string const& name : f.names)
      EXPECT_NE(line.find(name), std::string::npos) << name << " not in: " << line;
  }
}

// Rules of graph text are fired, and counted in the same way, by the tests of src/serial.
TEST(Rules, NoneIsLeftOut) {
  std::set<std::string_view> fired;
  for (Firing const& f : all_firings()) fired.insert(base::row(f.rule).id);
  for (base::RuleRow const& rule : base::rule_table)
    EXPECT_TRUE(rule.id.starts_with("json_") || fired.count(rule.id)) << "no test fires " << rule.id;
}

TEST(Rules, AllErrorsOfAGraphAreListed) {
  RowCase c;
  c.op = ir::OpKind::matmul;
  c.inputs = {{"A", {{1, 2, 3}, {}}}, {"B", {{1, 4, 5}, {}}}, {"M_override", {{1, 1, 1}, {}}}};
  c.outputs = {{"C", {}}};
  ir::Graph draft = draft_of(c);
  draft.tensors[0].alignment = 3;
  std::string const messages = refusal(draft);
  for (char const* rule : {"matmul_inner_dim", "matmul_override_unsupported", "tensor_alignment"})
    EXPECT_NE(messages.find(rule), std::string::npos) << rule << " not in: " << messages;
}

}  // namespace
}  // namespace fusednn::tests
