#include "npy.h"
#include "tool_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>

namespace tool {
namespace {

using nlohmann::json;
using testing::HasSubstr;

template <class T>
std::vector<std::byte> bytes_of(std::vector<T> const& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_of(NpyArray const& array) {
  std::vector<T> values(array.data.size() / sizeof(T));
  std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

template <class T>
std::string npy_file(std::string const& name, std::string_view type, std::vector<int64_t> const& shape,
                     std::vector<T> const& values) {
  std::string const path = scratch(name);
  write_npy(path, type, shape, bytes_of(values));
  return path;
}

/// y = mode(x) over [2, 3] of a type, rows 4 elements apart.
std::string unary_graph(std::string const& type, std::string const& mode = "IDENTITY") {
  json graph = {{"context", {{"compute_data_type", type == "INT64" ? "DOUBLE" : "FLOAT"}}}};
  graph["nodes"] = {{{"tag", "POINTWISE"}, {"mode", mode}, {"inputs", {{"IN_0", "x"}}}, {"outputs", {{"OUT_0", "y"}}}}};
  json const tensor = {{"dim", {2, 3}}, {"stride", {4, 1}}, {"data_type", type}};
  graph["tensors"] = {{"x", tensor}, {"y", tensor}};
  return graph.dump();
}

TEST(CliRun, EveryPlanIsTimedAndChecked) {
  ToolResult const r = run_tool({"run", dump("mm_val.json"), "--all-plans", "--check", "--repeat", "3"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("plan 0 MATMUL_POINTWISE_POINTWISE_eng"));
  EXPECT_THAT(r.out, HasSubstr("[cpu.reference]"));
  EXPECT_THAT(r.out, HasSubstr("of 3, worst error"));
  EXPECT_THAT(r.out, HasSubstr("% of its bound in 16 elements"));
  EXPECT_EQ(r.err, "") << "no progress bar where standard error is no terminal";
}

TEST(CliRun, SpeaksToMachines) {
  ToolResult const r = run_tool({"run", dump("mm_val.json"), "--all-plans", "--check", "--repeat", "2", "--json"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  json const out = json::parse(r.out);
  EXPECT_EQ(out.at("device"), "cpu");
  ASSERT_FALSE(out.at("plans").empty());
  for (json const& plan : out.at("plans")) {
    EXPECT_TRUE(plan.at("built"));
    EXPECT_EQ(plan.at("seconds").size(), 2u);
    EXPECT_TRUE(plan.at("check").at("matches"));
    EXPECT_EQ(plan.at("check").at("elements"), 16);
    EXPECT_FALSE(plan.at("kernels").empty());
  }
}

TEST(CliRun, ReadsInputsAndWritesOutputs) {
  std::vector<float> a(32), b(32);
  for (size_t i = 0; i < 32; ++i) a[i] = float(i % 5), b[i] = float(i % 3) - 1;
  std::string const out = scratch("y.npy");
  ToolResult const r =
      run_tool({"run", dump("mm_val.json"), "--input", "0::A=" + npy_file("a.npy", "f4", {1, 4, 8}, a), "--input",
                "0::B=" + npy_file("b.npy", "f4", {1, 8, 4}, b), "--output", "2::OUT_0=" + out});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  NpyArray const y = read_npy(out);
  EXPECT_EQ(y.type, "f4");
  EXPECT_EQ(y.shape, (std::vector<int64_t>{1, 4, 4}));
  std::vector<float> const values = values_of<float>(y);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += a[8 * i + k] * b[4 * k + j];
      // The graph adds 0.1 as a half.
      EXPECT_NEAR(values[4 * i + j], sum * 0.1f + 0.0999755859375f, 1e-5f) << i << "," << j;
    }
}

TEST(CliRun, FortranOrderAndStridesAreFollowed) {
  std::string const graph = scratch_file("unary.json", unary_graph("FLOAT", "NEG"));
  std::string file = read_text(npy_file<float>("c.npy", "f4", {2, 3}, {1, 4, 2, 5, 3, 6}));
  file.replace(file.find("False"), 5, "True ");
  std::string const out = scratch("neg.npy");
  for (std::string const& input :
       {scratch_file("fortran.npy", file), npy_file<float>("plain.npy", "f4", {2, 3}, {1, 2, 3, 4, 5, 6})}) {
    ToolResult const r = run_tool({"run", graph, "--input", "x=" + input, "--output", "y=" + out});
    ASSERT_EQ(r.exit_code, 0) << r.err;
    EXPECT_EQ(values_of<float>(read_npy(out)), (std::vector<float>{-1, -2, -3, -4, -5, -6})) << input;
  }
}

TEST(CliRun, EveryTypeTravels) {
  struct Case {
    char const *type, *npy;
    size_t bytes;
  };
  for (Case c : {Case{"FLOAT", "f4", 4},
                 {"DOUBLE", "f8", 8},
                 {"HALF", "f2", 2},
                 {"BFLOAT16", "u2", 2},
                 {"FP8_E4M3", "u1", 1},
                 {"FP8_E5M2", "u1", 1},
                 {"INT8", "i1", 1},
                 {"UINT8", "u1", 1},
                 {"INT32", "i4", 4},
                 {"INT64", "i8", 8},
                 {"BOOLEAN", "b1", 1}}) {
    std::string const graph = scratch_file("type.json", unary_graph(c.type)), out = scratch("type.npy");
    ToolResult r = run_tool({"run", graph, "--check", "--all-plans", "--repeat", "1", "--output", "y=" + out});
    ASSERT_EQ(r.exit_code, 0) << c.type << "\n" << r.err << r.out;
    NpyArray const y = read_npy(out);
    EXPECT_EQ(y.type, c.npy);
    EXPECT_EQ(y.data.size(), 6 * c.bytes);
    r = run_tool({"run", graph, "--input", "x=" + out, "--output", "y=" + scratch("again.npy")});
    ASSERT_EQ(r.exit_code, 0) << c.type << "\n" << r.err;
    EXPECT_EQ(read_npy(scratch("again.npy")).data, y.data) << c.type;
  }
}

TEST(CliRun, InputFilesThatDoNotFitExitWithThree) {
  std::string const graph = scratch_file("unary.json", unary_graph("FLOAT"));
  std::string const good = npy_file<float>("good.npy", "f4", {2, 3}, {1, 2, 3, 4, 5, 6});
  struct Case {
    std::string file;
    char const* reason;
  };
  for (Case const& c :
       {Case{npy_file<double>("f8.npy", "f8", {2, 3}, {1, 2, 3, 4, 5, 6}), "holds type 'f8', the tensor is FLOAT"},
        {npy_file<float>("shape.npy", "f4", {3, 2}, {1, 2, 3, 4, 5, 6}),
         "has shape [3, 2], the tensor has dims [2, 3]"},
        {npy_file<float>("rank.npy", "f4", {6}, {1, 2, 3, 4, 5, 6}), "has shape [6]"},
        {scratch_file("short.npy", read_text(good).substr(0, 140)), "bytes of data, its header says 24"},
        {scratch_file("text.npy", "hello"), "not a .npy file"},
        {scratch("missing.npy"), "cannot be opened"}}) {
    ToolResult const r = run_tool({"run", graph, "--input", "x=" + c.file});
    EXPECT_EQ(r.exit_code, 3) << c.file;
    EXPECT_THAT(r.err, HasSubstr("input 'x'"));
    EXPECT_THAT(r.err, HasSubstr(c.reason));
  }
}

TEST(CliRun, ASeedGivesTheSameData) {
  std::string const graph = scratch_file("unary.json", unary_graph("FLOAT"));
  auto output = [&](char const* seed) {
    EXPECT_EQ(run_tool({"run", graph, "--seed", seed, "--output", "y=" + scratch("seed.npy")}).exit_code, 0);
    return read_text(scratch("seed.npy"));
  };
  std::string const one = output("1");
  EXPECT_EQ(output("1"), one);
  EXPECT_NE(output("2"), one);
}

TEST(CliRun, LengthsAndEpsilonsMakeSense) {
  json graph = json::parse(read_text(dump("sdpa_val.json")));
  for (json& t : graph["tensors"])
    t["dim"] = t["dim"].empty() ? json::array() : json({2, 4, 16, 32}),
    t["stride"] = t["dim"].empty() ? json::array() : json({2048, 512, 32, 1});
  json const lengths = {{"dim", {2, 1, 1, 1}}, {"stride", {1, 1, 1, 1}}, {"data_type", "INT32"}};
  graph["tensors"]["lq"] = graph["tensors"]["lk"] = lengths;
  graph["nodes"][0]["inputs"]["SEQ_LEN_Q"] = "lq";
  graph["nodes"][0]["inputs"]["SEQ_LEN_KV"] = "lk";
  graph["nodes"][0]["padding_mask"] = true;
  ToolResult const r = run_tool({"run", "-", "--check", "--all-plans", "--repeat", "1"}, graph.dump());
  EXPECT_EQ(r.exit_code, 0) << r.err << r.out;
}

TEST(CliRun, MemoryThatIsNotThereExitsWithFive) {
  json graph = json::parse(unary_graph("FLOAT"));
  for (json& t : graph["tensors"]) t["stride"] = {int64_t(1) << 50, 1};
  ToolResult const r = run_tool({"run", "-"}, graph.dump());
  EXPECT_EQ(r.exit_code, 5);
  EXPECT_THAT(r.err, HasSubstr("tensor 'x' needs 4503599627370508 bytes"));
}

TEST(CliRun, ADeviceThatIsNotThereExitsWithFour) {
  ToolResult const r = run_tool({"run", dump("mm_val.json"), "--device", "cuda"});
  EXPECT_EQ(r.exit_code, 4);
  EXPECT_THAT(r.err, HasSubstr("CUDA driver"));
}

TEST(CliRun, OutputsThatCannotBeWrittenExitWithFive) {
  ToolResult const r = run_tool({"run", dump("mm_val.json"), "--output", "2::OUT_0=" + scratch("no/such/folder.npy")});
  EXPECT_EQ(r.exit_code, 5);
  EXPECT_THAT(r.err, HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace tool
