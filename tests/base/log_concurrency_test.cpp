#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/log.h"

namespace fusednn {
namespace {

TEST(LogConcurrency, ManyThreadsLogWhileTheCallbackChanges) {
  constexpr int writers = 4, lines = 500;
  std::atomic<int> heard{0};
  set_log_level(LogLevel::INFO);
  set_log_callback([&](LogLevel, std::string_view) { ++heard; });
  std::vector<std::thread> threads;
  for (int t = 0; t < writers; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < lines; ++i) log(LogLevel::INFO, "thread {} line {}", t, i);
    });
  }
  for (int i = 0; i < lines; ++i) {
    set_log_callback([&](LogLevel, std::string_view) { ++heard; });
  }
  for (std::thread& thread : threads) thread.join();
  set_log_callback(nullptr);
  set_log_level(LogLevel::OFF);
  EXPECT_EQ(heard, writers * lines);
}

}  // namespace
}  // namespace fusednn
