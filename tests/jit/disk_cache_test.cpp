#include "jit/disk_cache.h"

#include "temporary_folder.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <sstream>

namespace fusednn::jit {
namespace {

namespace fs = std::filesystem;

constexpr int64_t no_limit = int64_t{1} << 40;

KernelKey key_of(int i) {
  codegen::KernelSource const source{"k", "// kernel " + std::to_string(i), "sm_90a", {}, false};
  return *kernel_key(source);
}

/// Code of 20 kB that tells which kernel it is of.
KernelImage image_of(int i) { return {std::string(20'000, static_cast<char>('a' + i % 26)), "log", 13000}; }

class Disk_cache : public TemporaryFolder {};

TEST_F(Disk_cache, GivesBackWhatWasStored) {
  DiskCache cache(folder / "deeper", no_limit);
  EXPECT_FALSE(cache.load(key_of(1)).has_value());
  cache.store(key_of(1), image_of(1));
  std::optional<KernelImage> image = DiskCache(folder / "deeper", no_limit).load(key_of(1));
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->image, image_of(1).image);
  EXPECT_EQ(image->log, "log");
  EXPECT_EQ(image->nvrtc_version, 13000);
  EXPECT_FALSE(cache.load(key_of(2)).has_value());
}

TEST_F(Disk_cache, AKeyOfTheSameHashIsNotTaken) {
  DiskCache cache(folder, no_limit);
  cache.store(key_of(1), image_of(1));
  KernelKey other = key_of(2);
  other.file_name = key_of(1).file_name;
  EXPECT_FALSE(cache.load(other).has_value());
}

TEST_F(Disk_cache, ADamagedEntryCountsAsAbsent) {
  DiskCache cache(folder, no_limit);
  cache.store(key_of(1), image_of(1));
  fs::path const file = folder / key_of(1).file_name;
  std::ostringstream whole;
  whole << std::ifstream(file, std::ios::binary).rdbuf();
  std::string const data = whole.str();
  auto write = [&](std::string const& bytes) { std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes; };
  for (size_t at : {size_t{0}, size_t{7}, size_t{9}, size_t{20}, size_t{30}, data.size() / 2, data.size() - 1}) {
    std::string damaged = data;
    damaged[at] ^= 1;
    write(damaged);
    EXPECT_FALSE(cache.load(key_of(1)).has_value()) << "byte " << at;
  }
  for (size_t length : {size_t{0}, size_t{5}, size_t{12}, size_t{100}, data.size() - 1}) {
    write(data.substr(0, length));
    EXPECT_FALSE(cache.load(key_of(1)).has_value()) << "length " << length;
  }
  write(data);
  EXPECT_TRUE(cache.load(key_of(1)).has_value());
  cache.store(key_of(1), image_of(1));
  EXPECT_TRUE(cache.load(key_of(1)).has_value());
}

TEST_F(Disk_cache, AFolderThatCannotBeWrittenIsOnlyRead) {
  DiskCache(folder, no_limit).store(key_of(1), image_of(1));
  // A file where a folder should be: nobody, not even root, can write there.
  std::ofstream(folder / "file") << "x";
  DiskCache cache(folder / "file", no_limit);
  cache.store(key_of(1), image_of(1));
  EXPECT_FALSE(cache.load(key_of(1)).has_value());
  cache.trim();
}

TEST_F(Disk_cache, ForgetsWhatWasUsedLeastRecently) {
  DiskCache cache(folder, no_limit);
  auto const now = fs::file_time_type::clock::now();
  for (int i = 0; i < 10; ++i) {
    cache.store(key_of(i), image_of(i));
    fs::last_write_time(folder / key_of(i).file_name, now - std::chrono::hours(100 - i));
  }
  EXPECT_TRUE(cache.load(key_of(0)).has_value());  // used now: the oldest is number 1
  DiskCache(folder, 130'000).trim();
  EXPECT_TRUE(cache.load(key_of(0)).has_value());
  for (int i = 1; i < 5; ++i) EXPECT_FALSE(cache.load(key_of(i)).has_value()) << i;
  for (int i = 6; i < 10; ++i) EXPECT_TRUE(cache.load(key_of(i)).has_value()) << i;
}

TEST_F(Disk_cache, StaysWithinItsLimit) {
  DiskCache cache(folder, 200'000);
  for (int i = 0; i < 50; ++i) cache.store(key_of(i), image_of(i));
  int64_t total = 0;
  for (fs::path const& file : files(".kernel")) total += static_cast<int64_t>(fs::file_size(file));
  EXPECT_GT(total, 100'000);
  EXPECT_LT(total, 230'000) << "one file and a sixteenth above the limit at most";
  EXPECT_TRUE(cache.load(key_of(49)).has_value());
}

TEST_F(Disk_cache, SweepsUpAfterKilledProcesses) {
  DiskCache cache(folder, no_limit);
  cache.store(key_of(1), image_of(1));
  std::ofstream(folder / "old.tmp") << "half";
  std::ofstream(folder / "new.tmp") << "half";
  fs::last_write_time(folder / "old.tmp", fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.trim();
  EXPECT_FALSE(fs::exists(folder / "old.tmp"));
  EXPECT_TRUE(fs::exists(folder / "new.tmp")) << "another process may be writing it";
}

TEST_F(Disk_cache, SurvivesProcessesKilledAtAnyPoint) {
  constexpr int kernels = 6;
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int c = 0; c < 3; ++c) {
      pid_t const child = fork();
      if (child == 0) {
        DiskCache cache(folder, 100'000);
        for (int i = c;; ++i) cache.store(key_of(i % kernels), image_of(i % kernels));
      }
      children.push_back(child);
    }
    usleep(3'000 + 700 * round);
    for (pid_t child : children) kill(child, SIGKILL);
    for (pid_t child : children) waitpid(child, nullptr, 0);
    DiskCache cache(folder, no_limit);
    for (int i = 0; i < kernels; ++i)
      if (std::optional<KernelImage> image = cache.load(key_of(i))) {
        ASSERT_EQ(image->image, image_of(i).image) << "round " << round;
      } else {
        ASSERT_FALSE(fs::exists(folder / key_of(i).file_name)) << "a half-written file has the final name";
      }
  }
  EXPECT_FALSE(files(".kernel").empty());
}

}  // namespace
}  // namespace fusednn::jit
