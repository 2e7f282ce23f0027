#include "support/test_device.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace fusednn {
namespace {

using graph::Graph;
using graph::Tensor_attributes;
using testing::DeviceMemory;

constexpr int64_t kBatch = 2, kHeads = 3, kLength = 20, kWidth = 8;
constexpr size_t kElements = size_t(kBatch * kHeads * kLength * kWidth);

/// One thread's own operands.
class Operands {
 public:
  Operands(handle_t handle, unsigned seed, int64_t workspace_bytes)
      : handle_(handle), workspace_(handle, static_cast<size_t>(workspace_bytes)) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(kElements, -1);
    std::vector<int32_t> lengths(kBatch);
    for (int64_t uid : {1, 2, 3}) {
      for (float& x : values) x = normal(generator);
      add(uid, values);
    }
    for (int64_t uid : {4, 5}) {
      for (int32_t& n : lengths) n = static_cast<int32_t>(generator() % (kLength + 1));
      add(uid, lengths);
    }
    add(6, values);
  }

  std::vector<float> execute(Graph const& graph) {
    std::vector<float> o(kElements, -1);
    memory_.back().write(o.data(), kElements * sizeof(float));
    error_t const e = graph.execute(handle_, pack_, workspace_.data());
    memory_.back().read(o.data(), kElements * sizeof(float));
    if (e.is_bad()) o.clear();
    return o;
  }

 private:
  template <class T>
  void add(int64_t uid, std::vector<T> const& values) {
    memory_.emplace_back(handle_, values.size() * sizeof(T)).write(values.data(), values.size() * sizeof(T));
    pack_[uid] = memory_.back().data();
  }

  handle_t handle_;
  DeviceMemory workspace_;
  std::vector<DeviceMemory> memory_;
  std::unordered_map<int64_t, void*> pack_;
};

/// A handle of the test device.
struct Handle {
  Handle() { EXPECT_TRUE(testing::create_handle(&raw).is_good()); }
  ~Handle() { EXPECT_TRUE(destroy(raw).is_good()); }
  Handle(Handle const&) = delete;
  Handle& operator=(Handle const&) = delete;
  handle_t raw = nullptr;
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
  auto attributes = graph::SDPA_attributes().set_padding_mask(true).set_seq_len_q(length(4)).set_seq_len_kv(length(5));
  auto [o, stats] = graph.sdpa(operand(1), operand(2), operand(3), attributes);
  o->set_output(true).set_uid(6);
  Handle const handle;
  error_t const e = graph.build(handle.raw, {HeurMode_t::A});
  ASSERT_TRUE(e.is_good()) << e.get_message();
  if (!testing::can_execute()) GTEST_SKIP() << "there is no device to execute on";

  constexpr int threads = 8, rounds = 500, variants = 4;
  std::vector<std::vector<float>> expected;
  for (unsigned seed = 0; seed < variants; ++seed) {
    expected.push_back(Operands(handle.raw, seed, graph.get_workspace_size()).execute(graph));
    ASSERT_EQ(expected.back().size(), kElements);
  }
  std::vector<int> wrong(threads);
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      unsigned const seed = static_cast<unsigned>(t % variants);
      Handle const own_handle;
      Operands own(own_handle.raw, seed, graph.get_workspace_size());
      for (int i = 0; i < rounds; ++i) wrong[size_t(t)] += own.execute(graph) != expected[seed];
    });
  }
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(threads));
}

}  // namespace
}  // namespace fusednn
