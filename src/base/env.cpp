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
};

constexpr bool rows_match_enumerators() {
  int next = 0;
  for (EnvVarInfo const& row : table) {
    if (static_cast<int>(row.id) != next++) return false;
  }
  return next == static_cast<int>(EnvVar::NUM_THREADS) + 1;
}
static_assert(rows_match_enumerators());

}  // namespace

std::span<EnvVarInfo const> env_table() noexcept { return table; }

std::optional<std::string> env_text(EnvVar variable) {
  char const* value = std::getenv(table[static_cast<int>(variable)].name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
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
