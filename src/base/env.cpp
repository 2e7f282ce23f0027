#include "base/env.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace fusednn {
namespace {

constexpr EnvVarInfo table[] = {
    {EnvVar::LOG, "FUSEDNN_LOG",
     "what is logged: 0 nothing, 1 errors, 2 decisions, 3 everything, to standard error; "
     "LEVEL:FILE or FILE (level 3) appends to a file",
     "0"},
    {EnvVar::NUM_THREADS, "FUSEDNN_NUM_THREADS", "threads of the CPU engine", "the OpenMP default"},
    {EnvVar::CACHE_DIR, "FUSEDNN_CACHE_DIR", "folder of compiled kernels", "fusednn in the user's cache folder"},
    {EnvVar::CACHE_LIMIT, "FUSEDNN_CACHE_LIMIT", "megabytes that the folder of compiled kernels may take", "1024"},
    {EnvVar::JIT, "FUSEDNN_JIT", "forbid: never compile a kernel, take it from the cache or fail", "compile"},
    {EnvVar::NVRTC, "FUSEDNN_NVRTC", "file of the run-time compiler, in place of a search for it", "searched for"},
};

constexpr bool rows_match_enumerators() {
  int next = 0;
  for (EnvVarInfo const& row : table) {
    if (static_cast<int>(row.id) != next++) return false;
  }
  return next == static_cast<int>(EnvVar::NVRTC) + 1;
}
static_assert(rows_match_enumerators());

}  // namespace

std::span<EnvVarInfo const> env_table() noexcept { return table; }

namespace {

std::optional<std::string> text_of(char const* name) {
  char const* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> env_text(EnvVar variable) { return text_of(table[static_cast<int>(variable)].name); }

std::optional<std::string> env_foreign(ForeignVar variable) {
  static constexpr char const* names[] = {"CONDA_PREFIX", "CUDA_HOME",   "CUDA_PATH",     "HOME",
                                          "PATH",         "VIRTUAL_ENV", "XDG_CACHE_HOME"};
  return text_of(names[static_cast<int>(variable)]);
}

std::optional<int> env_num_threads() {
  auto const text = env_text(EnvVar::NUM_THREADS);
  if (!text) return std::nullopt;
  int count = 0;
  char const* end = text->data() + text->size();
  auto const parsed = std::from_chars(text->data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end || count <= 0) return std::nullopt;
  return count;
}

}  // namespace fusednn
