#pragma once

#include "jit/kernel_image.h"
#include "jit/kernel_key.h"

#include <atomic>
#include <filesystem>
#include <optional>

namespace fusednn::jit {

/// Compiled kernels in a folder, one file each. Any number of processes may share it, and be killed at any point: a
/// file appears whole under its name or not at all, and one that is damaged counts as absent. Nothing here fails: a
/// folder that cannot be written is only read, one that cannot be read holds nothing.
class DiskCache {
 public:
  DiskCache(std::filesystem::path folder, int64_t limit_bytes);

  std::filesystem::path const& folder() const { return folder_; }
  std::optional<KernelImage> load(KernelKey const& key) const;
  void store(KernelKey const& key, KernelImage const& image);

  /// Removes the files used least recently, and what killed processes left behind, until the folder is well below its
  /// limit. Called now and then by `store`.
  void trim();

 private:
  std::filesystem::path folder_;
  int64_t limit_bytes_;
  std::atomic<int64_t> bytes_until_trim_ = 0;
  std::atomic<unsigned> next_temporary_ = 0;
  std::atomic<bool> complained_ = false;
};

}  // namespace fusednn::jit
