#pragma once

#include <optional>
#include <string>
#include <vector>

// Where NVRTC may lie: in the loader's own search, in a CUDA toolkit, or in the folders of Python packages.

namespace fusednn::cuda {

/// What the search starts from.
struct NvrtcSearchRoots {
  std::optional<std::string> only;         ///< FUSEDNN_NVRTC: this file and no other
  std::vector<std::string> toolkits;       ///< CUDA_HOME, CUDA_PATH, the usual folders
  std::vector<std::string> site_packages;  ///< folders that hold Python packages
  std::vector<int> versions = {13, 12};    ///< majors, preferred first
};

/// Roots as environment, loaded libraries and file system give them.
NvrtcSearchRoots nvrtc_search_roots();

struct NvrtcPlaces {
  std::vector<std::string> files;    ///< to be opened, in this order
  std::vector<std::string> nothing;  ///< folders that were looked through in vain
};
NvrtcPlaces nvrtc_places(NvrtcSearchRoots const& roots);

}  // namespace fusednn::cuda
