#include "gpu/bound_graph.h"
#include "gpu/capture.h"
#include "gpu/child_process.h"
#include "gpu/gpu_test.h"
#include "gpu/samples.h"
#include "jit/temporary_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

// What building and executing cost the host. Printed, never asserted.

namespace fusednn::testing {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double build_milliseconds(handle_t handle, Sample const& sample) {
  graph::Graph g = sample.make();
  double const start = now();
  EXPECT_GOOD(g.build(handle, {HeurMode_t::A}));
  return 1e3 * (now() - start);
}

TEST(BuildTimesChild, PrintsThem) {
  if (!in_child()) GTEST_SKIP() << "runs in child processes";
  handle_t handle = nullptr;
  ASSERT_TRUE(create(&handle, Device::CUDA).is_good());
  std::string const state = std::getenv("FUSEDNN_TEST_STATE");
  for (Sample const& sample : samples()) {
    double const first = build_milliseconds(handle, sample);
    double again = 1e9;
    for (int i = 0; i < 5; ++i) again = std::min(again, build_milliseconds(handle, sample));
    std::printf("plan build, %-12s kernels %s: %8.2f ms; in memory: %6.3f ms\n", sample.name.c_str(), state.c_str(),
                first, again);
  }
  EXPECT_GOOD(destroy(handle));
}

class Times : public Gpu {};

TEST_F(Times, OfBuildingAPlan) {
  std::filesystem::path const folder =
      std::filesystem::path(::testing::TempDir()) / ("fusednn_times_" + std::to_string(getpid()));
  for (char const* state : {"nowhere", "on disk"}) {
    std::fflush(stdout);
    EXPECT_TRUE(ChildProcess("BuildTimesChild.PrintsThem",
                             {{"FUSEDNN_CACHE_DIR", folder.string()}, {"FUSEDNN_TEST_STATE", state}})
                    .succeeds());
  }
  std::filesystem::remove_all(folder);
}

/// The smallest of several means, in microseconds per call. The stream's queue never fills.
template <class F>
double microseconds(cuda::Stream const& stream, F&& call) {
  constexpr int calls = 100;
  double best = 1e9;
  int wrong = 0;
  for (int round = 0; round < 50; ++round) {
    double const start = now();
    for (int i = 0; i < calls; ++i) wrong += !call();
    best = std::min(best, 1e6 * (now() - start) / calls);
    EXPECT_TRUE(stream.synchronize());
  }
  EXPECT_EQ(wrong, 0);
  return best;
}

/// Against the same kernels with the same parameters, launched with nothing around.
TEST_F(Times, OfExecutingAPlan) {
  cuda::Stream const own = stream();
  handle_t const on_stream = handle_on(own);
  for (Sample const& sample : samples()) {
    graph::Graph g = sample.make();
    BoundGraph bound(on_stream, g);
    Capture capture(*context, own.raw());
    ASSERT_EQ(capture.begin(), 0);
    EXPECT_GOOD(bound.execute(on_stream, 0));
    ASSERT_EQ(capture.end(), 0);
    std::vector<RecordedKernel> const kernels = capture.kernels();
    if (kernels.size() != capture.nodes()) continue;  // fills and copies are no launches
    std::vector<void*> pointers;
    for (int64_t uid : g.get_variant_pack_uids_sorted()) pointers.push_back(bound.pack()[uid]);
    auto& pack = bound.pack();
    int const count = static_cast<int>(pointers.size());
    double const by_uid =
        microseconds(own, [&] { return g.execute_plan_at_index(on_stream, pack, bound.workspace(), 0).is_good(); });
    double const sorted = microseconds(own, [&] {
      return g.execute_plan_at_index(on_stream, pointers.data(), count, bound.workspace(), 0).is_good();
    });
    cuda::ContextScope const scope(*context);
    double const raw = microseconds(own, [&] {
      int failed = 0;
      for (RecordedKernel const& k : kernels)
        failed += context->driver().launch(&k.config, k.function, k.parameters, nullptr);
      return failed == 0;
    });
    std::printf("execute, %-12s %zu kernels: %.2f us; beyond raw launches: %.2f us by uid, %.2f us by place\n",
                sample.name.c_str(), kernels.size(), by_uid, by_uid - raw, sorted - raw);
  }
  EXPECT_GOOD(destroy(on_stream));
}

}  // namespace
}  // namespace fusednn::testing
