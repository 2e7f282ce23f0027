#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace fusednn::jit {

/// A fresh folder, gone at the end of the test.
class TemporaryFolder : public ::testing::Test {
 protected:
  TemporaryFolder()
      : folder(std::filesystem::path(::testing::TempDir()) /
               ("fusednn_jit_" + std::to_string(getpid()) + "_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder);
  }
  ~TemporaryFolder() override { std::filesystem::remove_all(folder); }

  /// Files whose name ends so.
  std::vector<std::filesystem::path> files(std::string_view extension) const {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(folder))
      for (auto const& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == extension) found.push_back(entry.path());
    return found;
  }

  std::filesystem::path const folder;
};

}  // namespace fusednn::jit
