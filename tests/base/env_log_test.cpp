#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/env.h"
#include "base/log.h"

namespace fusednn {
namespace {

TEST(Env, EveryVariableHasARow) {
  for (EnvVarInfo const& row : env_table()) {
    EXPECT_EQ(std::string(row.name).rfind("FUSEDNN_", 0), 0u) << row.name;
    EXPECT_NE(std::string(row.meaning), "");
    EXPECT_NE(std::string(row.default_value), "");
  }
}

TEST(Env, ThreadCountIsAPositiveNumberOrNothing) {
  auto const with = [](char const* value) {
    setenv("FUSEDNN_NUM_THREADS", value, 1);
    auto const count = env_num_threads();
    unsetenv("FUSEDNN_NUM_THREADS");
    return count;
  };
  EXPECT_EQ(with("3"), 3);
  for (char const* bad : {"", "0", "-2", "4x", "x", "99999999999"}) EXPECT_EQ(with(bad), std::nullopt) << bad;
  EXPECT_EQ(env_num_threads(), std::nullopt);
}

TEST(Log, SettingIsALevelAFileOrBoth) {
  auto const expect = [](std::string_view text, LogLevel level, std::string_view file) {
    EXPECT_EQ(parse_log_setting(text).level, level) << text;
    EXPECT_EQ(parse_log_setting(text).file, file) << text;
  };
  expect("", LogLevel::OFF, "");
  expect("0", LogLevel::OFF, "");
  expect("2", LogLevel::INFO, "");
  expect("1:/var/log/f", LogLevel::ERROR, "/var/log/f");
  expect("out.log", LogLevel::DEBUG, "out.log");
  expect("30", LogLevel::DEBUG, "30");
}

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override {
    set_log_callback(nullptr);
    set_log_level(LogLevel::OFF);
  }
};

TEST_F(LogTest, LevelsFilter) {
  std::vector<std::string> lines;
  set_log_callback([&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  set_log_level(LogLevel::INFO);
  log(LogLevel::ERROR, "a{}", 1);
  log(LogLevel::INFO, "b{}", 2);
  log(LogLevel::DEBUG, "c{}", 3);
  log(LogLevel::OFF, "never");
  EXPECT_EQ(lines, (std::vector<std::string>{"a1", "b2"}));
  EXPECT_EQ(log_level(), LogLevel::INFO);
}

TEST_F(LogTest, WithoutACallbackLinesGoToStandardError) {
  set_log_level(LogLevel::ERROR);
  testing::internal::CaptureStderr();
  log(LogLevel::ERROR, "here");
  log(LogLevel::INFO, "not here");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[fusednn error] here\n");
}

TEST_F(LogTest, ACallbackMayLogAndReplaceItself) {
  int calls = 0;
  set_log_level(LogLevel::INFO);
  set_log_callback([&](LogLevel, std::string_view) {
    if (++calls == 1) log(LogLevel::INFO, "nested");
    set_log_callback([&](LogLevel, std::string_view) { calls += 100; });
  });
  log(LogLevel::INFO, "outer");
  EXPECT_EQ(calls, 2);
  log(LogLevel::INFO, "later");
  EXPECT_EQ(calls, 102);
}

}  // namespace
}  // namespace fusednn
