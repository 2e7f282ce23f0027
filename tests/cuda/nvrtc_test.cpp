#include "cuda/nvrtc.h"

#include "cuda/nvrtc_places.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace fusednn::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Nvrtc_places : public ::testing::Test {
 protected:
  Nvrtc_places() : root(fs::path(::testing::TempDir()) / ("nvrtc" + std::to_string(getpid()))) {}
  ~Nvrtc_places() override { fs::remove_all(root); }

  std::string put(fs::path const& file) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "not a library";
    return (root / file).string();
  }
  std::string at(fs::path const& folder) { return (root / folder).string(); }

  fs::path root;
};

TEST_F(Nvrtc_places, AreTriedByVersionThenPlace) {
  std::string const toolkit12 = put("toolkit/lib64/libnvrtc.so.12");
  std::string const pip13 = put("site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  std::string const pip12 = put("site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  put("site-packages/torch/lib/libnvrtc.so.12");
  NvrtcSearchRoots roots;
  roots.toolkits = {at("toolkit"), at("absent")};
  roots.site_packages = {at("site-packages"), at("other/site-packages")};
  NvrtcPlaces const places = nvrtc_places(roots);
  EXPECT_THAT(places.files, ElementsAre("libnvrtc.so.13", pip13, "libnvrtc.so.12", toolkit12, pip12));
  EXPECT_THAT(places.nothing, ElementsAre(at("absent/lib64"), at("other/site-packages/nvidia/*/lib")));
}

TEST_F(Nvrtc_places, OneFileInPlaceOfASearch) {
  NvrtcSearchRoots roots;
  roots.only = at("libnvrtc.so.7");
  EXPECT_THAT(nvrtc_places(roots).files, ElementsAre(*roots.only));
  Search search{"NVRTC", {}};
  base::Result<Nvrtc> nvrtc = Nvrtc::load(roots, search);
  ASSERT_FALSE(nvrtc.ok());
  EXPECT_EQ(nvrtc.error().rule, base::Rule::nvrtc_library);
  EXPECT_THAT(nvrtc.error().message, HasSubstr(*roots.only + ": cannot open shared object file"));
}

TEST_F(Nvrtc_places, WhatIsNoNvrtcIsPassedOver) {
  NvrtcSearchRoots roots;
  roots.only = put("libnvrtc.so.13");
  Search search{"NVRTC", {}};
  EXPECT_FALSE(Nvrtc::load(roots, search).ok());
  roots.only = "libm.so.6";
  EXPECT_FALSE(Nvrtc::load(roots, search).ok());
  EXPECT_THAT(search.text(), HasSubstr("libnvrtc.so.13: file too short"));
  EXPECT_THAT(search.text(), HasSubstr("libm.so.6: lacks nvrtcVersion"));
}

TEST_F(Nvrtc_places, RootsComeFromTheEnvironment) {
  fs::create_directories(root / "env/lib/python3.12/site-packages");
  fs::create_directories(root / "prefix/lib/python3.11/dist-packages");
  put("prefix/bin/python3");
  setenv("VIRTUAL_ENV", at("env").c_str(), 1);
  setenv("CUDA_HOME", at("toolkit").c_str(), 1);
  std::string const path = std::string("relative:") + at("prefix/bin") + ":" + getenv("PATH");
  std::string const before = getenv("PATH");
  setenv("PATH", path.c_str(), 1);
  setenv("FUSEDNN_NVRTC", "some.so", 1);
  NvrtcSearchRoots const roots = nvrtc_search_roots();
  setenv("PATH", before.c_str(), 1);
  for (char const* v : {"VIRTUAL_ENV", "CUDA_HOME", "FUSEDNN_NVRTC"}) unsetenv(v);
  EXPECT_EQ(roots.only, "some.so");
  EXPECT_EQ(roots.toolkits.front(), at("toolkit"));
  EXPECT_THAT(roots.site_packages, Contains(at("env/lib/python3.12/site-packages")));
  EXPECT_THAT(roots.site_packages, Contains(at("prefix/lib/python3.11/dist-packages")));
}

class Nvrtc_compiler : public ::testing::Test {
 protected:
  void SetUp() override {
    base::Result<Nvrtc const*> found = Nvrtc::get();
    if (!found) GTEST_SKIP() << found.error().message;
    nvrtc = *found;
  }
  Nvrtc const* nvrtc = nullptr;
};

constexpr char const* kernel = R"(
#include "scale.h"
extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= factor; }
)";
constexpr NamedSource header = {"scale.h", "constexpr float factor = 3;\n"};

TEST_F(Nvrtc_compiler, MakesACubin) {
  base::Result<NvrtcOutput> out =
      nvrtc->compile("scale.cu", kernel, {&header, 1}, {"--gpu-architecture=sm_90a", "--ptxas-options=-v"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(out->image.substr(1, 3), "ELF");
  EXPECT_THAT(out->log, HasSubstr("registers"));
}

/// As in a Python package: outside the folders that the loader searches.
TEST_F(Nvrtc_compiler, WorksFromAFolderOfItsOwn) {
  std::ifstream maps("/proc/self/maps");
  fs::path library;
  for (std::string line; std::getline(maps, line);)
    if (line.find("/libnvrtc.so") != line.npos) library = line.substr(line.find('/'));
  ASSERT_FALSE(library.empty());
  fs::path const folder = fs::path(::testing::TempDir()) / ("package" + std::to_string(getpid()));
  fs::create_directories(folder);
  for (auto const& entry : fs::directory_iterator(library.parent_path()))
    if (entry.path().filename().string().starts_with("libnvrtc"))
      fs::copy(entry.path(), folder / entry.path().filename());
  NvrtcSearchRoots roots;
  roots.only = (folder / library.filename()).string();
  Search search{"NVRTC", {}};
  base::Result<Nvrtc> moved = Nvrtc::load(roots, search);
  fs::remove_all(folder);
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  EXPECT_THAT(search.text(), HasSubstr((folder / "libnvrtc-builtins.so").string()));
  base::Result<NvrtcOutput> out = moved->compile("scale.cu", kernel, {&header, 1}, {"--gpu-architecture=sm_80"});
  EXPECT_TRUE(out.ok()) << out.error().message;
}

TEST_F(Nvrtc_compiler, MakesPtx) {
  base::Result<NvrtcOutput> out =
      nvrtc->compile("scale.cu", kernel, {&header, 1}, {"--gpu-architecture=compute_90", "--ptxas-options=-v"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_THAT(out->image, HasSubstr(".entry scale"));
  EXPECT_EQ(out->image.back(), '\0');
}

TEST_F(Nvrtc_compiler, ErrorsCarryItsMessages) {
  base::Result<NvrtcOutput> out = nvrtc->compile("scale.cu", kernel, {}, {"--gpu-architecture=sm_90"});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().rule, base::Rule::nvrtc_compile);
  EXPECT_THAT(out.error().message, HasSubstr("scale.h"));
}

TEST_F(Nvrtc_compiler, KnowsItsArchitectures) {
  EXPECT_TRUE(nvrtc->knows("sm_90a"));
  EXPECT_TRUE(nvrtc->knows("compute_80"));
  EXPECT_FALSE(nvrtc->knows("sm_999a"));
  EXPECT_FALSE(nvrtc->knows("nonsense"));
}

}  // namespace
}  // namespace fusednn::cuda
