#include "base/result.h"

#include <fmt/format.h>

namespace fusednn::base {

Error make_error(Rule rule, Where where, std::string_view found) {
  std::string place;
  if (!where.node.empty()) place += fmt::format(" node '{}'", where.node);
  if (!where.tensor.empty()) place += fmt::format(" tensor '{}'", where.tensor);
  RuleRow const& r = row(rule);
  return {rule, fmt::format("{}:{}{} {}; rule: {} [{}]", to_string(r.kind), place, place.empty() ? "" : ":", found,
                            r.text, r.id)};
}

std::string join(std::vector<Error> const& errors) {
  std::string text;
  for (Error const& e : errors) text += (text.empty() ? "" : "\n") + e.message;
  return text;
}

}  // namespace fusednn::base
