#include "jit/compiler.h"

#include "cuda/nvrtc.h"
#include "temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <thread>

namespace fusednn::jit {
namespace {

using ::testing::HasSubstr;

codegen::KernelSource kernel(int i, std::string arch = "sm_90a") {
  return {
      "scale",
      "#include \"abi/types.h\"\nusing namespace fusednn::abi;\nextern \"C\" __global__ void scale(float* x, i64 n) "
      "{ i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; if (i < n) x[i] *= " +
          std::to_string(i) + "; }\n",
      std::move(arch),
      {},
      false};
}

class WithoutNvrtc : public TemporaryFolder {
 protected:
  CompilerSettings settings() const {
    CompilerSettings s;
    s.folder = folder;
    return s;
  }
};

class WithNvrtc : public WithoutNvrtc {
 protected:
  void SetUp() override {
    if (auto found = cuda::Nvrtc::get(); !found) GTEST_SKIP() << found.error().message;
  }
};

TEST_F(WithoutNvrtc, ForbiddenCompilesSayWhatIsMissing) {
  CompilerSettings s = settings();
  s.forbid_compiling = true;
  Compiler::Answer answer = Compiler(s).get(kernel(2));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().rule, base::Rule::jit_forbidden);
  EXPECT_THAT(answer.error().message,
              HasSubstr("kernel scale for sm_90a is not in " + folder.string() + "/scale.sm_90a."));
}

TEST_F(WithoutNvrtc, ForbiddenCompilesTakeFromTheCache) {
  KernelKey const key = *kernel_key(kernel(2));
  DiskCache(folder, 1 << 20).store(key, {"code", "log", 12040});
  CompilerSettings s = settings();
  s.forbid_compiling = true;
  Compiler compiler(s);
  Compiler::Answer answer = compiler.get(kernel(2));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ((*answer)->image.image, "code");
  EXPECT_EQ((*answer)->image.nvrtc_version, 12040) << "whatever compiler made it";
  EXPECT_EQ(*compiler.get(kernel(2)), *answer);
  EXPECT_EQ(compiler.counts().on_disk, 1);
  EXPECT_EQ(compiler.counts().in_memory, 1);
  EXPECT_EQ(compiler.counts().compiled, 0);
}

TEST_F(WithoutNvrtc, MemoryIsBounded) {
  CompilerSettings s = settings();
  s.memory_limit_bytes = 100'000;
  {
    DiskCache disk(folder, 1 << 30);
    for (int i = 0; i < 20; ++i) disk.store(*kernel_key(kernel(i)), {std::string(20'000, 'x'), "", 13000});
  }
  s.forbid_compiling = true;
  Compiler compiler(s);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(compiler.get(kernel(i)).ok());
  EXPECT_TRUE(compiler.get(kernel(19)).ok());
  EXPECT_EQ(compiler.counts().in_memory, 1);
  EXPECT_TRUE(compiler.get(kernel(0)).ok());
  EXPECT_EQ(compiler.counts().on_disk, 21) << "the first was dropped from memory";
}

TEST_F(WithoutNvrtc, SettingsComeFromTheEnvironment) {
  auto with = [](std::initializer_list<std::pair<char const*, char const*>> variables) {
    for (auto [name, value] : variables) setenv(name, value, 1);
    CompilerSettings const s = compiler_settings();
    for (auto [name, value] : variables) unsetenv(name);
    return s;
  };
  EXPECT_EQ(with({{"FUSEDNN_CACHE_DIR", "/a"}, {"XDG_CACHE_HOME", "/b"}}).folder, "/a");
  EXPECT_EQ(with({{"XDG_CACHE_HOME", "/b"}}).folder, "/b/fusednn");
  EXPECT_EQ(with({{"FUSEDNN_CACHE_LIMIT", "5"}}).folder_limit_bytes, 5 << 20);
  EXPECT_EQ(with({{"FUSEDNN_CACHE_LIMIT", "-5"}}).folder_limit_bytes, 1 << 30);
  EXPECT_TRUE(with({{"FUSEDNN_JIT", "forbid"}}).forbid_compiling);
  EXPECT_FALSE(with({}).forbid_compiling);
}

TEST_F(WithNvrtc, CompilesOnceThenFindsInMemoryAndOnDisk) {
  Compiler compiler(settings());
  Compiler::Answer first = compiler.get(kernel(2));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ((*first)->image.image.substr(1, 3), "ELF");
  EXPECT_EQ(resources((*first)->image.log).at(0).entry, "scale");
  EXPECT_EQ(*compiler.get(kernel(2)), *first);
  EXPECT_EQ(compiler.counts().compiled, 1);
  EXPECT_EQ(compiler.counts().in_memory, 1);
  Compiler other(settings());
  Compiler::Answer again = other.get(kernel(2));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->image.image, (*first)->image.image);
  EXPECT_EQ(other.counts().on_disk, 1);
  EXPECT_EQ(other.counts().compiled, 0);
}

TEST_F(WithNvrtc, EveryArchitectureWithoutAGpu) {
  Compiler compiler(settings());
  std::vector<codegen::KernelSource> sources;
  for (char const* arch : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a", "compute_90"})
    sources.push_back(kernel(3, arch));
  std::vector<codegen::KernelSource const*> list;
  for (auto const& s : sources) list.push_back(&s);
  std::vector<Compiler::Answer> answers = compiler.get(list);
  ASSERT_EQ(answers.size(), sources.size());
  for (size_t i = 0; i < answers.size(); ++i)
    EXPECT_TRUE(answers[i].ok()) << sources[i].arch << ": " << answers[i].error().message;
  EXPECT_THAT((*answers.back())->image.image, HasSubstr(".target sm_90"));
}

TEST_F(WithNvrtc, AnArchitectureItDoesNotKnowGetsPtxOrARefusal) {
  Compiler compiler(settings());
  codegen::KernelSource source = kernel(2, "sm_999a");
  Compiler::Answer answer = compiler.get(source);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_THAT((*answer)->image.image, HasSubstr(".entry scale"));
  source.arch_specific = true;
  source.text += "// other\n";
  answer = compiler.get(source);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().rule, base::Rule::nvrtc_arch);
  EXPECT_THAT(answer.error().message, HasSubstr("does not know sm_999a"));
}

TEST_F(WithNvrtc, AnErrorNamesTheKernelAndIsNotKept) {
  Compiler compiler(settings());
  codegen::KernelSource source = kernel(2);
  source.text += "int x = undeclared;";
  for (int i = 0; i < 2; ++i) {
    Compiler::Answer answer = compiler.get(source);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().rule, base::Rule::nvrtc_compile);
    EXPECT_THAT(answer.error().message, HasSubstr("scale.cu"));
    EXPECT_THAT(answer.error().message, HasSubstr("undeclared"));
  }
  EXPECT_TRUE(files(".kernel").empty());
}

TEST_F(WithNvrtc, ThreadsThatWantTheSameKernelCompileItOnce) {
  Compiler compiler(settings());
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<CompiledKernel const>> kernels(8);
  for (size_t t = 0; t < kernels.size(); ++t)
    threads.emplace_back([&, t] { kernels[t] = compiler.get(kernel(t % 2 ? 5 : 6)).value(); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(compiler.counts().compiled, 2);
  for (size_t t = 2; t < kernels.size(); ++t) EXPECT_EQ(kernels[t], kernels[t - 2]);
}

TEST_F(WithNvrtc, SixteenColdProcessesShareAFolder) {
  std::vector<pid_t> children;
  for (int c = 0; c < 16; ++c) {
    pid_t const child = fork();
    if (child == 0) {
      Compiler compiler(settings());
      bool ok = true;
      for (int i = 0; i < 2; ++i) ok = ok && compiler.get(kernel(i)).ok();
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files(".kernel").size(), 2u);
  EXPECT_TRUE(files(".tmp").empty());
  CompilerSettings s = settings();
  s.forbid_compiling = true;
  EXPECT_TRUE(Compiler(s).get(kernel(1)).ok());
}

/// Each file under kernels/ is a header that compiles on its own.
TEST_F(WithNvrtc, EveryEmbeddedFileCompilesAlone) {
  Compiler compiler(settings());
  std::vector<codegen::KernelSource> sources;
  for (EmbeddedFile const& f : embedded_files())
    for (char const* arch : {"sm_80", "sm_90a", "sm_100a", "sm_120a"})
      sources.push_back({"alone", "#include \"" + std::string(f.name) + "\"\n", arch, {}, false});
  std::vector<codegen::KernelSource const*> list;
  for (auto const& s : sources) list.push_back(&s);
  std::vector<Compiler::Answer> answers = compiler.get(list);
  for (size_t i = 0; i < answers.size(); ++i)
    EXPECT_TRUE(answers[i].ok()) << sources[i].text << sources[i].arch << ": " << answers[i].error().message;
}

}  // namespace
}  // namespace fusednn::jit
