#pragma once

#include "cuda/context.h"

#include <string>

namespace fusednn::cuda {

/// A kernel of a loaded module, ready to be launched.
struct Function {
  RawFunction raw = nullptr;
  int registers = 0;            ///< per thread
  int local_bytes = 0;          ///< per thread: spills and arrays
  int static_shared_bytes = 0;  ///< per block
  int max_threads = 0;          ///< per block
};

/// GPU code loaded into a context; unloaded with the last reference.
class Module {
 public:
  /// `image` is a cubin, or PTX that ends in a zero byte.
  static base::Result<std::shared_ptr<Module const>> load(std::shared_ptr<PrimaryContext const> context,
                                                          std::string const& image);
  ~Module();
  Module(Module const&) = delete;
  Module& operator=(Module const&) = delete;

  PrimaryContext const& context() const { return *context_; }

  /// Finds a kernel, makes it resident (drivers load kernels lazily, which a stream capture would not survive) and
  /// grants it `dynamic_shared_bytes` per block.
  base::Result<Function> function(std::string const& entry, int dynamic_shared_bytes) const;

 private:
  Module(std::shared_ptr<PrimaryContext const> context, RawModule module)
      : context_(std::move(context)), module_(module) {}

  std::shared_ptr<PrimaryContext const> context_;
  RawModule module_;
};

}  // namespace fusednn::cuda
