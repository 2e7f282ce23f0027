#pragma once

#include <string>
#include <vector>

// Finding shared libraries at run time, with a record of what was tried.

namespace fusednn::cuda {

struct Attempt {
  std::string place;    ///< a library's name or path, or a folder that was looked through
  std::string outcome;  ///< "loaded", or why not
};

struct Search {
  std::string what;  ///< e.g. "CUDA driver"
  std::vector<Attempt> attempts;

  /// "<what>: <place>: <outcome>; <place>: <outcome>"
  std::string text() const;
};

/// Opens `name`, a path or a name for the loader's own search, and records the attempt. The library is never closed:
/// objects that use it may outlive everything else in the process.
void* open_library(std::string const& name, Search& search);

/// Address of an exported symbol, or null.
void* symbol(void* library, char const* name);

}  // namespace fusednn::cuda
