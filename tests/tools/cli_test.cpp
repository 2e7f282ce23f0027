#include "tool_process.h"

#include <fusednn/version.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tool {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Cli, WrongUsageExitsWithTwo) {
  for (std::vector<std::string> const& arguments : std::vector<std::vector<std::string>>{
           {},
           {"fly"},
           {"run"},
           {"explain"},
           {"show"},
           {"compile", dump("mm_val.json")},
           {"compile", "--arch", "sm_80"},
           {"run", dump("mm_val.json"), "--nonsense"},
           {"run", dump("mm_val.json"), "--device", "tpu"},
           {"run", dump("mm_val.json"), "--repeat", "0"},
           {"run", dump("mm_val.json"), "--repeat", "many"},
           {"run", dump("mm_val.json"), "--seed", "-1"},
           {"run", dump("mm_val.json"), "--seed", "1e3"},
           {"run", dump("mm_val.json"), "--input"},
           {"run", dump("mm_val.json"), "--input", "nofile"},
           {"run", dump("mm_val.json"), "--input", "=x.npy"},
           {"run", dump("mm_val.json"), "--input", "0::A="},
           {"run", dump("mm_val.json"), "--input", "0::A=x.npy", "--input", "0::A=y.npy"},
           {"run", dump("mm_val.json"), "--input", "nobody=x.npy"},
           {"run", dump("mm_val.json"), "--output", "0::A=x.npy"},
           {"show", dump("mm_val.json"), "--dot", "--json"},
           {"show", dump("mm_val.json"), "--seq-len-q", "3"},
           {"env", "surplus"}}) {
    ToolResult const r = run_tool(arguments);
    EXPECT_EQ(r.exit_code, 2) << testing::PrintToString(arguments) << "\n" << r.err;
    EXPECT_FALSE(r.err.empty()) << testing::PrintToString(arguments);
  }
}

TEST(Cli, UnknownNamesAreAnsweredWithTheKnownOnes) {
  EXPECT_THAT(run_tool({"run", dump("mm_val.json"), "--input", "nobody=x.npy"}).err, HasSubstr("0::A (uid "));
  EXPECT_THAT(run_tool({"run", dump("mm_val.json"), "--output", "nobody=x.npy"}).err, HasSubstr("2::OUT_0 (uid "));
}

TEST(Cli, NumbersThatAreNoneOrTooSmallAreNamed) {
  EXPECT_THAT(run_tool({"run", dump("mm_val.json"), "--repeat", "0"}).err,
              HasSubstr("--repeat: '0' is not a whole number of at least 1"));
  EXPECT_THAT(run_tool({"run", dump("mm_val.json"), "--seed=-1"}).err,
              HasSubstr("--seed: '-1' is not a whole number of at least 0"));
}

TEST(Cli, AnUnknownSubcommandIsAnsweredWithTheKnownOnes) {
  EXPECT_THAT(run_tool({"fly"}).err, HasSubstr("no subcommand 'fly'; there are run, explain, compile, show, env"));
}

TEST(Cli, TellsItsVersion) {
  ToolResult const r = run_tool({"--version"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, testing::MatchesRegex("fusednn [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Cli, HelpDocumentsExitCodes) {
  ToolResult const r = run_tool({"--help"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, HasSubstr("Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 invalid input or graph"));
  for (char const* command : {"run", "explain", "compile", "show", "env"}) {
    EXPECT_THAT(r.out, HasSubstr(command));
    EXPECT_EQ(run_tool({command, "--help"}).exit_code, 0);
  }
}

TEST(Cli, CompilesForGpusThatNeedNotBeThere) {
  EXPECT_EQ(run_tool({"compile", scratch("missing.json"), "--arch", "sm_90a"}).exit_code, 3);
  ToolResult r = run_tool({"compile", dump("mm_val.json"), "--arch", "sm_12"});
  EXPECT_EQ(r.exit_code, 4);
  EXPECT_THAT(r.err, HasSubstr("'sm_12', there are sm_80"));
  ASSERT_EQ(setenv("FUSEDNN_CACHE_DIR", scratch("kernels").c_str(), 1), 0);
  if (r = run_tool({"compile", dump("mm_val.json"), "--arch", "sm_90a,sm_80"}); r.out.find("NVRTC") == r.out.npos) {
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("mm_val.json for sm_90a: "));
    EXPECT_THAT(r.out, HasSubstr("mm_val.json for sm_80: "));
    EXPECT_THAT(r.out, HasSubstr("kernel cache: " + scratch("kernels")));
    // What lies in the cache needs no compiler any more.
    ASSERT_EQ(setenv("FUSEDNN_JIT", "forbid", 1), 0);
    EXPECT_EQ(run_tool({"compile", dump("mm_val.json"), "--arch", "sm_80"}).exit_code, 0);
    EXPECT_EQ(run_tool({"compile", dump("mm_val.json"), "--arch", "sm_89"}).exit_code, 4);
    unsetenv("FUSEDNN_JIT");
  } else {
    EXPECT_EQ(r.exit_code, 4) << "there is no compiler";
  }
  unsetenv("FUSEDNN_CACHE_DIR");
}

TEST(Cli, ExplainsForGpusThatNeedNotBeThere) {
  ToolResult const r = run_tool({"explain", dump("mm_val.json"), "--device", "sm_80"});
  EXPECT_THAT(r.out, HasSubstr("engines on sm_80"));
  EXPECT_EQ(run_tool({"explain", dump("mm_val.json"), "--device", "tpu"}).exit_code, 4);
}

TEST(Cli, GraphsThatCannotBeReadExitWithThree) {
  for (char const* command : {"run", "explain", "show"}) {
    ToolResult r = run_tool({command, scratch("missing.json")});
    EXPECT_EQ(r.exit_code, 3);
    EXPECT_THAT(r.err, HasSubstr("missing.json: cannot be opened"));
    r = run_tool({command, scratch("")});
    EXPECT_EQ(r.exit_code, 3);
    EXPECT_THAT(r.err, HasSubstr("cannot be read")) << "a folder";
    r = run_tool({command, "-"}, "{\"nodes\": [}");
    EXPECT_EQ(r.exit_code, 3);
    EXPECT_THAT(r.err, HasSubstr("line 1"));
    r = run_tool({command, dump("ln_val.json")});
    EXPECT_EQ(r.exit_code, 3);
    EXPECT_THAT(r.err, HasSubstr("tensor '::Y'"));
  }
}

TEST(Cli, UnsupportedExitsWithFour) {
  for (char const* command : {"run", "explain", "show"}) {
    ToolResult const r = run_tool({command, dump("conv_val.json")});
    EXPECT_EQ(r.exit_code, 4);
    EXPECT_THAT(r.err, HasSubstr("CONV_FPROP"));
  }
}

/// y = EXP(x), with a name that is not unique.
std::string invalid_graph() {
  return R"({"nodes": [{"tag": "POINTWISE", "name": "e", "mode": "EXP", "inputs": {"IN_0": "x"}, "outputs": {"OUT_0": "y"}}],
             "tensors": {"x": {"dim": [2], "stride": [1]}, "y": {}}})";
}

TEST(Cli, InvalidGraphsAreShownAndExplainedWithTheirErrors) {
  ToolResult r = run_tool({"show", "-"}, invalid_graph());
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_THAT(r.out, HasSubstr("POINTWISE (IN_0=x) -> OUT_0=y"));
  EXPECT_THAT(r.err, HasSubstr("tensor_no_dtype"));
  r = run_tool({"explain", "-"}, invalid_graph());
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_THAT(r.out, HasSubstr("tensor 'x': no data type"));
  EXPECT_FALSE(json::parse(run_tool({"explain", "-", "--json"}, invalid_graph()).out).at("valid"));
  EXPECT_EQ(run_tool({"run", "-"}, invalid_graph()).exit_code, 3);
}

TEST(Cli, ShowPrintsTheCompletedGraph) {
  ToolResult r = run_tool({"show", dump("mm_raw.json")});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("MATMUL (A=0::A B=0::B) -> C=0::C"));
  EXPECT_THAT(r.out, HasSubstr("mode = \"MUL\""));
  EXPECT_THAT(r.out, HasSubstr("value 0.1"));
  EXPECT_THAT(r.out, testing::ContainsRegex("2::OUT_0 +FLOAT +\\[1,4,4\\]"));
  r = run_tool({"show", dump("mm_raw.json"), "--dot"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, StartsWith("digraph"));
}

TEST(Cli, ShowWritesTextThatLoads) {
  ToolResult const first = run_tool({"show", dump("mm_raw.json"), "--json"});
  EXPECT_EQ(first.exit_code, 0);
  ToolResult const second = run_tool({"show", "-", "--json"}, first.out);
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
}

TEST(Cli, ShowPrintsMasks) {
  ToolResult r = run_tool({"show", dump("sdpa_val.json"), "--mask"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("att\n1......"));
  EXPECT_THAT(r.out, HasSubstr("\n" + std::string(64, '1') + "\n"));
  r = run_tool({"show", dump("mm_val.json"), "--mask"});
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_THAT(r.err, HasSubstr("no attention node"));
}

TEST(Cli, ExplainListsEnginesAndPlans) {
  ToolResult const r = run_tool({"explain", dump("mm_val.json")});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("cpu.reference"));
  EXPECT_THAT(r.out, HasSubstr("MATMUL_POINTWISE_POINTWISE_eng"));
  json const machine = json::parse(run_tool({"explain", dump("mm_val.json"), "--json"}).out);
  EXPECT_TRUE(machine.at("valid"));
  EXPECT_FALSE(machine.at("plans").empty());
}

TEST(Cli, EnvNamesVersionsDevicesAndVariables) {
  ToolResult const r = run_tool({"env"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, HasSubstr("threads"));
  EXPECT_THAT(r.out, HasSubstr("FUSEDNN_NUM_THREADS"));
  json const machine = json::parse(run_tool({"env", "--json"}).out);
  EXPECT_EQ(machine.at("library"), machine.at("headers"));
  EXPECT_THAT(machine.at("devices").at("cpu").get<std::string>(), StartsWith("cpu"));
  EXPECT_GE(machine.at("variables").size(), 2u);
}

}  // namespace
}  // namespace tool
