#pragma once

#include <fusednn.h>

#include <optional>
#include <string>
#include <vector>

namespace tool {

/// What came of one plan.
struct PlanOutcome {
  int64_t index = 0;
  fusednn::graph::Plan_info info;
  std::vector<double> seconds;  ///< of each timed run; empty where the plan did not run
  std::optional<fusednn::graph::Check_report> check;

  double median_seconds() const;
};

void print_outcomes(std::vector<PlanOutcome> const& outcomes, std::string const& device, bool json);

}  // namespace tool
