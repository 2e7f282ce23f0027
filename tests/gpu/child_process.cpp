#include "gpu/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace fusednn::testing {

namespace {

constexpr char const* mark = "FUSEDNN_GPU_TEST_CHILD";

}  // namespace

bool in_child() { return std::getenv(mark) != nullptr; }

ChildProcess::ChildProcess(std::string const& test, std::map<std::string, std::string> const& environment)
    : process_(fork()) {
  if (process_ != 0) return;
  for (auto const& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  setenv(mark, "1", 1);
  for (char const* name : {"GTEST_OUTPUT", "GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(name);
  std::string const filter = "--gtest_filter=" + test;
  execl("/proc/self/exe", "test_gpu", filter.c_str(), "--gtest_brief=1", static_cast<char*>(nullptr));
  _exit(127);
}

ChildProcess::~ChildProcess() {
  kill();
  (void)succeeds();
}

void ChildProcess::kill() {
  if (process_ > 0) ::kill(process_, SIGKILL);
}

bool ChildProcess::succeeds() {
  int status = 0;
  if (process_ <= 0 || waitpid(process_, &status, 0) != process_) return false;
  process_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace fusednn::testing
