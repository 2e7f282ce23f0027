#include "gpu/bound_graph.h"
#include "gpu/capture.h"
#include "gpu/gpu_test.h"
#include "gpu/samples.h"

#include <list>
#include <thread>

namespace fusednn::testing {
namespace {

class Streams : public Gpu, public ::testing::WithParamInterface<Sample> {};

/// One thread's handle, stream, operands and what every plan makes of them.
struct Party {
  Party(cuda::Stream stream, handle_t handle, graph::Graph& g, uint64_t seed)
      : stream(std::move(stream)), handle(handle), bound(handle, g, seed) {
    for (int64_t plan = 0; plan < bound.plans(); ++plan) {
      bound.poison();
      EXPECT_GOOD(bound.execute(handle, plan));
      expected.push_back(bound.outputs());
    }
  }

  cuda::Stream stream;
  handle_t handle;
  BoundGraph bound;
  std::vector<std::vector<std::vector<std::byte>>> expected;
  int wrong = 0;
};

/// One plan runs in eight threads on eight streams at once, each with its own operands.
TEST_P(Streams, ServeManyThreadsAtOnce) {
  graph::Graph g = GetParam().make();
  std::list<Party> parties;
  for (uint64_t i = 0; i < 8; ++i) {
    cuda::Stream own = stream();
    handle_t const on_stream = handle_on(own);
    parties.emplace_back(std::move(own), on_stream, g, 100 * i);
  }
  std::vector<std::thread> threads;
  for (Party& p : parties)
    threads.emplace_back([&p] {
      for (int round = 0; round < 10; ++round)
        for (int64_t plan = 0; plan < p.bound.plans(); ++plan) {
          p.bound.poison();
          // Several in a row keep the streams busy side by side.
          for (int i = 0; i < 5; ++i) p.wrong += p.bound.execute(p.handle, plan).is_bad();
          p.wrong += p.bound.outputs() != p.expected[static_cast<size_t>(plan)];
        }
    });
  for (std::thread& t : threads) t.join();
  std::vector<handle_t> handles;
  for (Party& p : parties) {
    EXPECT_EQ(p.wrong, 0);
    handles.push_back(p.handle);
  }
  parties.clear();
  for (handle_t h : handles) EXPECT_GOOD(destroy(h));
}

/// While a stream that waits for the default one is recorded, using the default one is an error. A plan runs on
/// another.
TEST_P(Streams, AreTheOnlyOnesThatAPlanUses) {
  cuda::RawStream recorded = nullptr;
  {
    cuda::ContextScope const scope(*context);
    ASSERT_EQ(context->driver().stream_create(&recorded, 0), 0);
  }
  cuda::Stream const used = stream();
  handle_t const on_stream = handle_on(used);
  {
    graph::Graph g = GetParam().make();
    BoundGraph bound(on_stream, g);
    Capture capture(*context, recorded);
    ASSERT_EQ(capture.begin(), 0);
    for (int64_t plan = 0; plan < bound.plans(); ++plan) EXPECT_GOOD(bound.execute(on_stream, plan));
    EXPECT_EQ(capture.end(), 0);
    EXPECT_EQ(capture.nodes(), 0u);
    EXPECT_TRUE(used.synchronize());
  }
  EXPECT_EQ(context->driver().stream_destroy(recorded), 0);
  EXPECT_GOOD(destroy(on_stream));
}

/// Building a plan, which loads code, breaks no recording that another stream has open.
TEST_P(Streams, MayBeRecordedWhilePlansAreBuilt) {
  cuda::Stream const recorded = stream();
  Capture capture(*context, recorded.raw());
  ASSERT_EQ(capture.begin(), 0);
  {
    graph::Graph g = GetParam().make();
    EXPECT_GOOD(g.build(handle, {HeurMode_t::A}, BuildPlanPolicy_t::ALL));
  }
  EXPECT_EQ(capture.end(), 0);
}

INSTANTIATE_TEST_SUITE_P(Of, Streams, ::testing::ValuesIn(samples()), [](auto const& info) { return info.param.name; });

}  // namespace
}  // namespace fusednn::testing
