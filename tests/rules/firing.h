#pragma once

#include "base/result.h"
#include "ops/row_case.h"

#include <fusednn.h>

#include <functional>
#include <string>
#include <vector>

// A table of refusals: for each rule a way to break it, and what the message must name.

namespace fusednn::tests {

struct Firing {
  base::Rule rule;
  std::vector<std::string> names;     ///< node, tensor, values: parts of the message
  std::function<std::string()> fire;  ///< breaks the rule and returns all messages
};

/// Messages of a case that validation refuses, empty where it does not.
std::string refusal(RowCase const& c);
std::string refusal(ir::Graph draft);

// The table, by what the rules are about.
std::vector<Firing> tensor_firings();
std::vector<Firing> operation_firings();
std::vector<Firing> attention_firings();
std::vector<Firing> life_cycle_firings();
std::vector<Firing> cuda_firings();

}  // namespace fusednn::tests
