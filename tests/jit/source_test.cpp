#include "jit/embedded.h"
#include "jit/kernel_image.h"
#include "jit/kernel_key.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fusednn::jit {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Embedded, IsEveryFileUnderKernels) {
  fs::path const root = fs::path(FUSEDNN_TEST_DATA).parent_path() / "kernels";
  size_t count = 0;
  for (auto const& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    ++count;
    std::string const name = entry.path().lexically_relative(root).string();
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    bool found = false;
    for (EmbeddedFile const& f : embedded_files()) found |= f.name == name && f.text == text.str();
    EXPECT_TRUE(found) << name << " is not listed in src/jit/CMakeLists.txt";
  }
  EXPECT_EQ(count, embedded_files().size());
}

TEST(Embedded, ReachesIncludesOfIncludes) {
  for (EmbeddedFile const& f : embedded_files()) {
    auto reached = embedded_files_reached(f.text);
    EXPECT_TRUE(reached.ok()) << f.name << ": " << reached.error().message;
  }
  auto reached = embedded_files_reached("#include \"abi/types.h\"\n#include \"abi/types.h\"\n");
  ASSERT_TRUE(reached.ok());
  ASSERT_EQ(reached->size(), 1u);
  EXPECT_EQ(reached->front()->name, "abi/types.h");
}

TEST(Embedded, AnUnknownIncludeIsOurError) {
  auto reached = embedded_files_reached("#include \"abi/absent.h\"\n");
  ASSERT_FALSE(reached.ok());
  EXPECT_EQ(reached.error().rule, base::Rule::jit_include);
  EXPECT_THAT(reached.error().message, HasSubstr("abi/absent.h"));
}

TEST(KernelKey, DependsOnAllThatTheCodeDependsOn) {
  codegen::KernelSource const source{"scale add/2", "// text\n", "sm_90a", {"-DA=1"}, false};
  KernelKey const key = *kernel_key(source);
  EXPECT_THAT(key.file_name, ::testing::MatchesRegex("scale_add_2\\.sm_90a\\.[0-9a-f]+\\.kernel"));
  auto expect_other = [&](auto change) {
    codegen::KernelSource other = source;
    change(other);
    KernelKey const k = *kernel_key(other);
    EXPECT_NE(k.text, key.text);
    EXPECT_NE(k.file_name, key.file_name);
  };
  expect_other([](auto& s) { s.text += " "; });
  expect_other([](auto& s) { s.arch = "sm_90"; });
  expect_other([](auto& s) { s.options = {"-DA=2"}; });
  expect_other([](auto& s) { s.options = {}; });
  expect_other([](auto& s) { s.text += "#include \"abi/types.h\"\n"; });
  codegen::KernelSource same = source;
  EXPECT_EQ(kernel_key(same)->text, key.text);
  same.text += "#include \"abi/types.h\"\n";
  EXPECT_THAT(kernel_key(same)->text, HasSubstr("header abi/types.h "));
}

TEST(KernelImage, FindsRemarksOfLostAsynchrony) {
  EXPECT_THAT(
      serialisation_remarks("ptxas info    : Used 10 registers\n"
                            "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
                            "serialized due to insufficient register resources\nC75x C7\nC75"),
      ElementsAre(HasSubstr("C7510")));
  EXPECT_TRUE(serialisation_remarks("").empty());
}

TEST(KernelImage, ReadsResourcesOfEachEntry) {
  auto list = resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 4096 bytes smem\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].entry, "first");
  EXPECT_EQ(list[0].registers, 168);
  EXPECT_EQ(list[0].stack_bytes, 16);
  EXPECT_EQ(list[0].spill_store_bytes, 24);
  EXPECT_EQ(list[0].spill_load_bytes, 32);
  EXPECT_EQ(list[0].shared_bytes, 4096);
  EXPECT_EQ(list[1].entry, "second");
  EXPECT_EQ(list[1].registers, 10);
  EXPECT_EQ(list[1].spill_store_bytes, 0);
}

}  // namespace
}  // namespace fusednn::jit
