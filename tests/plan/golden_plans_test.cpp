#include "base/enum_names.h"
#include "engines/cpu/kernels/table.h"
#include "ops/validate.h"
#include "plan/engine_list.h"
#include "plan/plan_list.h"
#include "serial/graph_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

// Which plans a graph has on a target, so that a change of engine, of the number of kernels or of workspace is seen.
// The listing is tests/golden/plans.txt; FUSEDNN_GOLDEN=write ctest --preset release -R GoldenPlans writes it anew.

namespace fusednn::plan {
namespace {

char const* const graphs[] = {
    "../examples/graphs/layernorm.json",
    "../examples/graphs/matmul_bias_gelu.json",
    "../examples/graphs/matmul_fp8_amax.json",
    "../examples/graphs/sdpa_causal.json",
    "serial/dumps/mm_val.json",
    "serial/dumps/sdpa_val.json",
};

std::string const folder = FUSEDNN_TEST_DATA "/";

std::string text_of(std::string const& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

target::Target four_threads() {
  target::Target t;
  t.threads = 4;
  return t;
}

std::string listing_of(PlanList const& list) {
  std::string text;
  for (Candidate const& c : list.candidates()) {
    text += fmt::format("{} [{}]", c.name, engines_for(list.target().device)[static_cast<size_t>(c.engine_id)]->name());
    for (BehaviorNote_t n : c.notes.behavior) text += fmt::format(" {}", base::to_string(n));
    for (NumericalNote_t n : c.notes.numeric) text += fmt::format(" {}", base::to_string(n));
    text += '\n';
    if (!c.plan) return text + fmt::format("  not built: {}\n", c.barred);
    text += fmt::format("  workspace {}\n", c.plan->workspace_bytes());
    for (engine::Step const& s : c.plan->prepared().steps) text += fmt::format("  - {}\n", s.description);
  }
  return text;
}

std::string listing_of(char const* path, target::Target const& target) {
  base::Result<ir::Graph> draft = serial::from_json(text_of(folder + path));
  if (!draft) return base::join(draft.errors());
  // Scalars and tensors are bound by uid, which only a facade gives.
  for (size_t i = 0; i < draft->tensors.size(); ++i) draft->tensors[i].uid = static_cast<int64_t>(i);
  base::Result<ir::OpGraphPtr> graph = ops::validate(std::move(*draft));
  if (!graph) return base::join(graph.errors());
  PlanList list(*graph, target);
  base::Status status = list.add_modes({HeurMode_t::A});
  if (status) status = list.build(BuildPlanPolicy_t::ALL, false);
  return status ? listing_of(list) : base::join(status.errors());
}

std::string listing(target::Target const& target) {
  std::string text;
  for (char const* path : graphs)
    text +=
        fmt::format("== {} on {}, {} threads\n{}", std::string_view(path).substr(std::string_view(path).rfind('/') + 1),
                    target.name(), target.threads, listing_of(path, target));
  return text;
}

/// What holds for every CPU: tiles, and with them workspace, depend on the width of its vectors.
std::string without_sizes(std::string const& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  workspace")) continue;
    out += (line.starts_with("  - ") ? line.substr(0, line.find_first_of(" :", 4)) : line) + '\n';
  }
  return out;
}

TEST(GoldenPlans, AreThoseOfTheListing) {
  std::string const path = folder + "golden/plans.txt";
  std::string now = listing(four_threads());
  if (std::getenv("FUSEDNN_GOLDEN")) {
    ASSERT_STREQ(engines::cpu::kernels().name, "isa_v3")
        << "the listing is that of a CPU with AVX2 and without AVX-512";
    std::ofstream(path) << now;
  }
  std::string golden = text_of(path);
  if (std::string_view(engines::cpu::kernels().name) != "isa_v3")
    golden = without_sizes(golden), now = without_sizes(now);
  EXPECT_EQ(now, golden) << "where the change is meant, write the listing anew: see the head of this test";
}

}  // namespace
}  // namespace fusednn::plan
