#include "gpu/capture.h"
#include "gpu/bound_graph.h"
#include "gpu/gpu_test.h"
#include "gpu/samples.h"

namespace fusednn::testing {
namespace {

class CapturedPlan : public Gpu, public ::testing::WithParamInterface<Sample> {};

/// The very first execute of a plan is recorded, in the strictest mode: code that were loaded only now, or memory that
/// were allocated, would break it. What was recorded is then right on other inputs too.
TEST_P(CapturedPlan, IsRecordedByItsFirstExecuteAndReplayed) {
  cuda::Stream const own = stream();
  handle_t const on_stream = handle_on(own);
  {
    graph::Graph g = GetParam().make();
    BoundGraph bound(on_stream, g);
    for (int64_t plan = 0; plan < bound.plans(); ++plan) {
      SCOPED_TRACE(bound.name(plan));
      bound.set_inputs(1);
      bound.poison();
      auto const before = bound.outputs();
      Capture capture(*context, own.raw());
      ASSERT_EQ(capture.begin(), 0);
      error_t const recorded = bound.execute(on_stream, plan);
      ASSERT_EQ(capture.end(), 0) << recorded.get_message();
      ASSERT_TRUE(recorded.is_good()) << recorded.get_message();
      EXPECT_GT(capture.nodes(), 0u);
      EXPECT_EQ(bound.outputs(), before) << "something ran while it was recorded";
      for (uint64_t seed : {1, 50, 1}) {
        bound.set_inputs(seed);
        bound.poison();
        ASSERT_EQ(capture.launch(), 0);
        auto const replayed = bound.outputs();
        bound.poison();
        EXPECT_GOOD(bound.execute(on_stream, plan));
        EXPECT_TRUE(replayed == bound.outputs()) << "seed " << seed << ": a replay differs from an execution";
        graph::Check_report report;
        EXPECT_GOOD(g.check_ext(on_stream, bound.pack(), bound.workspace(), report, plan));
        EXPECT_TRUE(report.matches) << report.message;
      }
    }
  }
  EXPECT_GOOD(destroy(on_stream));
}

INSTANTIATE_TEST_SUITE_P(Of, CapturedPlan, ::testing::ValuesIn(samples()),
                         [](auto const& info) { return info.param.name; });

}  // namespace
}  // namespace fusednn::testing
