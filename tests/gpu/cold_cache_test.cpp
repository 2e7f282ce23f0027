#include "gpu/bound_graph.h"
#include "gpu/child_process.h"
#include "gpu/gpu_test.h"
#include "gpu/samples.h"
#include "jit/temporary_folder.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <list>
#include <thread>

// Many processes that start with one empty folder of compiled kernels. Where there is no GPU they compile for an
// architecture and execute nothing.

namespace fusednn::testing {
namespace {

namespace fs = std::filesystem;

class ColdCache : public jit::TemporaryFolder {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder);
    if (std::string const text = describe_cuda_ext(); text.find("loaded, version") == text.npos)
      GTEST_SKIP() << "there is no run-time compiler:\n" << text;
  }

  std::map<std::string, std::string> environment(std::string const& mode = "") const {
    return {{"FUSEDNN_CACHE_DIR", cache()}, {"FUSEDNN_JIT", mode}, {"FUSEDNN_TEST_GO", go()}};
  }
  std::string cache() const { return (folder / "cache").string(); }
  std::string go() const { return (folder / "go").string(); }
  std::vector<std::string> left_over() const {
    std::vector<std::string> names;
    for (fs::directory_entry const& entry : fs::directory_iterator(cache()))
      if (entry.path().extension() != ".kernel") names.push_back(entry.path().filename());
    return names;
  }
};

constexpr char const* child = "ColdCacheChild.BuildsAndRunsEveryPlan";

TEST(ColdCacheChild, BuildsAndRunsEveryPlan) {
  if (!in_child()) GTEST_SKIP() << "runs in child processes";
  handle_t handle = nullptr;
  bool const device = create(&handle, Device::CUDA).is_good();
  if (!device) EXPECT_GOOD(create_for_arch_ext(&handle, "sm_90a"));
  // All begin at once, with everything but the plans in place.
  while (!fs::exists(std::getenv("FUSEDNN_TEST_GO"))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (Sample const& sample : samples()) {
    SCOPED_TRACE(sample.name);
    graph::Graph g = sample.make();
    if (!device) {
      EXPECT_GOOD(g.build(handle, {HeurMode_t::A}, BuildPlanPolicy_t::ALL));
      continue;
    }
    BoundGraph bound(handle, g);
    for (int64_t plan = 0; plan < bound.plans(); ++plan) {
      bound.poison();
      graph::Check_report report;
      EXPECT_GOOD(g.check_ext(handle, bound.pack(), bound.workspace(), report, plan));
      EXPECT_TRUE(report.matches) << report.message;
    }
  }
  EXPECT_GOOD(destroy(handle));
}

TEST_F(ColdCache, IsFilledBySixteenProcessesAtOnce) {
  std::list<ChildProcess> processes;
  for (int i = 0; i < 16; ++i) processes.emplace_back(child, environment());
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::ofstream(go()).flush();
  for (ChildProcess& process : processes) EXPECT_TRUE(process.succeeds());
  EXPECT_THAT(left_over(), ::testing::IsEmpty());
  EXPECT_TRUE(ChildProcess(child, environment("forbid")).succeeds()) << "the folder lacks kernels";
}

TEST_F(ColdCache, SurvivesProcessesThatAreKilled) {
  std::ofstream(go()).flush();
  std::list<ChildProcess> processes;
  for (int i = 0; i < 8; ++i) processes.emplace_back(child, environment());
  for (ChildProcess& process : processes) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    process.kill();
  }
  processes.clear();
  EXPECT_TRUE(ChildProcess(child, environment()).succeeds());
  EXPECT_TRUE(ChildProcess(child, environment("forbid")).succeeds()) << "the folder lacks kernels";
}

}  // namespace
}  // namespace fusednn::testing
