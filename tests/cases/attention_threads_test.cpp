#include <fusednn.h>

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace fusednn {
namespace {

using graph::Graph;
using graph::Tensor_attributes;

constexpr int64_t kBatch = 2, kHeads = 3, kLength = 20, kWidth = 8;
constexpr size_t kElements = size_t(kBatch * kHeads * kLength * kWidth);

/// One thread's own operands.
struct Operands {
  explicit Operands(unsigned seed, int64_t workspace_bytes)
      : workspace(static_cast<size_t>(workspace_bytes)) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (auto* operand : {&q, &k, &v}) {
      for (float& x : *operand) x = normal(generator);
    }
    for (auto* length : {&len_q, &len_kv}) {
      for (int32_t& n : *length) n = static_cast<int32_t>(generator() % (kLength + 1));
    }
  }

  std::vector<float> execute(Graph const& graph, handle_t handle) {
    std::vector<float> o(kElements, -1);
    std::unordered_map<int64_t, void*> pack{{1, q.data()},     {2, k.data()},      {3, v.data()},
                                            {4, len_q.data()}, {5, len_kv.data()}, {6, o.data()}};
    if (graph.execute(handle, pack, workspace.data()).is_bad()) o.clear();
    return o;
  }

  std::vector<float> q = std::vector<float>(kElements), k = q, v = q;
  std::vector<int32_t> len_q = std::vector<int32_t>(kBatch), len_kv = len_q;
  std::vector<char> workspace;
};

TEST(AttentionThreads, OnePlanServesManyThreads) {
  Graph graph;
  graph.set_io_data_type(DataType_t::FLOAT)
      .set_intermediate_data_type(DataType_t::FLOAT)
      .set_compute_data_type(DataType_t::FLOAT);
  auto operand = [&](int64_t uid) {
    return graph.tensor(Tensor_attributes()
                            .set_uid(uid)
                            .set_dim({kBatch, kHeads, kLength, kWidth})
                            .set_stride({kHeads * kLength * kWidth, kLength * kWidth, kWidth, 1}));
  };
  auto length = [&](int64_t uid) {
    return graph.tensor(Tensor_attributes()
                            .set_uid(uid)
                            .set_data_type(DataType_t::INT32)
                            .set_dim({kBatch, 1, 1, 1})
                            .set_stride({1, 1, 1, 1}));
  };
  auto attributes =
      graph::SDPA_attributes().set_padding_mask(true).set_seq_len_q(length(4)).set_seq_len_kv(length(5));
  auto [o, stats] = graph.sdpa(operand(1), operand(2), operand(3), attributes);
  o->set_output(true).set_uid(6);
  handle_t handle;
  ASSERT_TRUE(create(&handle, Device::CPU).is_good());
  error_t const e = graph.build(handle, {HeurMode_t::A});
  ASSERT_TRUE(e.is_good()) << e.get_message();

  constexpr int threads = 8, rounds = 500, variants = 4;
  std::vector<std::vector<float>> expected;
  for (unsigned seed = 0; seed < variants; ++seed) {
    expected.push_back(Operands(seed, graph.get_workspace_size()).execute(graph, handle));
    ASSERT_EQ(expected.back().size(), kElements);
  }
  std::vector<int> wrong(threads);
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      unsigned const seed = static_cast<unsigned>(t % variants);
      Operands own(seed, graph.get_workspace_size());
      for (int i = 0; i < rounds; ++i) wrong[size_t(t)] += own.execute(graph, handle) != expected[seed];
    });
  }
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(threads));
  EXPECT_TRUE(destroy(handle).is_good());
}

}  // namespace
}  // namespace fusednn
