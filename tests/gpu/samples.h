#pragma once

#include "support/graph_run.h"

namespace fusednn::testing {

/// A graph of each kind that becomes kernels of another form.
struct Sample {
  std::string name;
  graph::Graph (*make)();
};
inline void PrintTo(Sample const& sample, std::ostream* to) { *to << sample.name; }
std::vector<Sample> const& samples();

}  // namespace fusednn::testing
