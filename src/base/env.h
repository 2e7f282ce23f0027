#pragma once

#include <optional>
#include <span>
#include <string>

namespace fusednn {

/// Every environment variable that the library reads.
enum class EnvVar { LOG, NUM_THREADS, CACHE_DIR, CACHE_LIMIT, JIT, NVRTC };

struct EnvVarInfo {
  EnvVar id;
  char const* name;
  char const* meaning;
  char const* default_value;
};

/// One row per variable, in the order of the enumerators.
std::span<EnvVarInfo const> env_table() noexcept;

/// The value set now; nullopt where the variable is unset or empty.
std::optional<std::string> env_text(EnvVar);

/// Threads that the CPU engine may use: FUSEDNN_NUM_THREADS where it is a positive number, else nullopt.
std::optional<int> env_num_threads();

/// Variables of other programs, which say where they keep things.
enum class ForeignVar { CONDA_PREFIX, CUDA_HOME, CUDA_PATH, HOME, PATH, VIRTUAL_ENV, XDG_CACHE_HOME };
std::optional<std::string> env_foreign(ForeignVar);

}  // namespace fusednn
