#pragma once

#include "jit/disk_cache.h"

#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace fusednn::jit {

struct CompilerSettings {
  std::filesystem::path folder;  ///< of the disk cache; empty: none
  int64_t folder_limit_bytes = int64_t{1} << 30;
  int64_t memory_limit_bytes = int64_t{64} << 20;
  bool forbid_compiling = false;
};

/// As the environment says.
CompilerSettings compiler_settings();

/// A compiled kernel with what it is known by.
struct CompiledKernel {
  KernelKey key;
  KernelImage image;
};

/// Turns sources into code: memory, then disk, then NVRTC. Safe from any number of threads; a kernel that several ask
/// for at once is compiled once.
class Compiler {
 public:
  using Answer = base::Result<std::shared_ptr<CompiledKernel const>>;

  explicit Compiler(CompilerSettings settings);

  /// The process's own.
  static Compiler& shared();

  Answer get(codegen::KernelSource const& source);
  /// All of them, compiled in parallel.
  std::vector<Answer> get(std::vector<codegen::KernelSource const*> const& sources);

  /// How often each way was gone.
  struct Counts {
    int64_t in_memory = 0, on_disk = 0, compiled = 0;
  };
  Counts counts() const;
  CompilerSettings const& settings() const { return settings_; }

 private:
  Answer make(codegen::KernelSource const& source, KernelKey key);
  base::Result<KernelImage> compile(codegen::KernelSource const& source, KernelKey const& key) const;
  std::shared_ptr<CompiledKernel const> kept(std::string_view key);
  void keep(std::shared_ptr<CompiledKernel const> const& kernel);

  CompilerSettings settings_;
  std::optional<DiskCache> disk_;
  mutable std::mutex mutex_;
  Counts counts_;
  std::unordered_map<std::string, std::shared_future<Answer>> in_flight_;
  std::list<std::shared_ptr<CompiledKernel const>> kept_;  ///< used last first
  std::unordered_map<std::string_view, std::list<std::shared_ptr<CompiledKernel const>>::iterator> kept_by_key_;
  int64_t kept_bytes_ = 0;
};

}  // namespace fusednn::jit
