#include "random/random_graph.h"

#include <chrono>
#include <cstdlib>

namespace fusednn::testing {
namespace {

/// Seeds are fixed, so that a failure repeats; FUSEDNN_TEST_SEED and FUSEDNN_TEST_SECONDS choose others and
/// more.
int64_t setting(char const* name, int64_t otherwise) {
  char const* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

TEST(RandomGraph, EveryPlanKeepsWithinItsBounds) {
  auto const start = std::chrono::steady_clock::now();
  std::chrono::seconds const budget(setting("FUSEDNN_TEST_SECONDS", 20));
  int64_t const first = setting("FUSEDNN_TEST_SEED", 0);
  int graphs = 0, plans = 0;
  for (int64_t seed = first; seed < first + 100000 && !HasFailure(); ++seed) {
    if (std::chrono::steady_clock::now() - start > budget) break;
    RandomGraph random(static_cast<uint64_t>(seed));
    error_t const e = random.graph.validate();
    ASSERT_TRUE(e.is_good()) << "seed " << seed << ": " << e.get_message();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + random.graph.to_json_ext());
    Judgement judgement;
    judgement.most_undetermined = INT64_MAX;
    GraphRun(random.graph).run(judgement);
    plans += static_cast<int>(random.graph.get_execution_plan_count());
    ++graphs;
  }
  EXPECT_GT(graphs, 0);
  EXPECT_GE(plans, graphs);
  std::printf("%d graphs, %d plans\n", graphs, plans);
}

}  // namespace
}  // namespace fusednn::testing
