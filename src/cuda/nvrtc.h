#pragma once

#include "base/result.h"
#include "cuda/search.h"

#include <span>
#include <string>
#include <vector>

struct _nvrtcProgram;

namespace fusednn::cuda {

/// A source file by the name that `#include` uses.
struct NamedSource {
  char const* name;
  char const* text;
};

/// What NVRTC made of a source.
struct NvrtcOutput {
  std::string image;  ///< a cubin, or PTX that ends in a zero byte
  std::string log;    ///< warnings and ptxas's remarks
};

/// The run-time compiler, loaded when first needed. Safe from any number of threads.
class Nvrtc {
 public:
  /// Loads NVRTC on first use; every later call gives the same answer. Version 13 is preferred, or version 12 where
  /// the driver is older than CUDA 13.
  static base::Result<Nvrtc const*> get();
  static Search const& search();

  /// Loads the first of the places that works.
  static base::Result<Nvrtc> load(struct NvrtcSearchRoots const& roots, Search& search);

  int version() const { return version_; }  ///< 1000 * major + 10 * minor
  std::string const& path() const { return path_; }
  /// Whether it compiles for "sm_90a", "compute_90" and the like.
  bool knows(std::string_view arch) const;
  std::vector<int> const& archs() const { return archs_; }

  /// Fails with the compiler's messages.
  base::Result<NvrtcOutput> compile(std::string const& name, std::string const& text,
                                    std::span<NamedSource const> headers,
                                    std::vector<std::string> const& options) const;

 private:
  using Program = _nvrtcProgram*;
// X(function, exported symbol, parameters)
#define FUSEDNN_NVRTC_FUNCTIONS(X)                                                                    \
  X(get_version, "nvrtcVersion", (int* major, int* minor))                                            \
  X(arch_count, "nvrtcGetNumSupportedArchs", (int* count))                                            \
  X(arch_list, "nvrtcGetSupportedArchs", (int* archs))                                                \
  X(create, "nvrtcCreateProgram",                                                                     \
    (Program * program, char const* text, char const* name, int headers, char const* const* texts,    \
     char const* const* names))                                                                       \
  X(destroy, "nvrtcDestroyProgram", (Program * program))                                              \
  X(compile_program, "nvrtcCompileProgram", (Program program, int count, char const* const* options)) \
  X(ptx_size, "nvrtcGetPTXSize", (Program program, size_t * bytes))                                   \
  X(ptx, "nvrtcGetPTX", (Program program, char* to))                                                  \
  X(cubin_size, "nvrtcGetCUBINSize", (Program program, size_t * bytes))                               \
  X(cubin, "nvrtcGetCUBIN", (Program program, char* to))                                              \
  X(log_size, "nvrtcGetProgramLogSize", (Program program, size_t * bytes))                            \
  X(log, "nvrtcGetProgramLog", (Program program, char* to))
#define FUSEDNN_NVRTC_MEMBER(function, symbol, parameters) int(*function##_) parameters = nullptr;
  FUSEDNN_NVRTC_FUNCTIONS(FUSEDNN_NVRTC_MEMBER)
#undef FUSEDNN_NVRTC_MEMBER

  /// Takes the functions from a library; says what is missing, or nothing.
  std::string bind(void* library);

  int version_ = 0;
  std::string path_;
  std::vector<int> archs_;
};

}  // namespace fusednn::cuda
