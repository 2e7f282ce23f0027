#pragma once

#include <string>
#include <vector>

namespace fusednn::jit {

/// A compiled kernel.
struct KernelImage {
  std::string image;      ///< a cubin, or PTX that ends in a zero byte
  std::string log;        ///< the compiler's remarks
  int nvrtc_version = 0;  ///< that made it: 1000 * major + 10 * minor
};

/// ptxas's remarks that tensor-core instructions lost their asynchrony or registers their reallocation (C75xx): the
/// kernel is right, and several times slower than its cost model says.
std::vector<std::string> serialisation_remarks(std::string const& log);

/// What ptxas says one entry takes.
struct EntryResources {
  std::string entry;
  int registers = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int shared_bytes = 0;  ///< static
};
std::vector<EntryResources> resources(std::string const& log);

}  // namespace fusednn::jit
