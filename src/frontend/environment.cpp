#include "base/env.h"
#include "base/log.h"

#include <fusednn/graph.h>

#include <fmt/format.h>

FUSEDNN_BEGIN_NAMESPACE

void set_log_callback_ext(log_callback_t callback, void* user) {
  if (!callback) return set_log_callback({});
  set_log_callback([callback, user](LogLevel level, std::string_view line) {
    callback(static_cast<int>(level), std::string(line).c_str(), user);
  });
}

std::string describe_environment_ext() {
  std::string text;
  for (EnvVarInfo const& v : env_table())
    text += fmt::format("{}={}  {} (default: {})\n", v.name, env_text(v.id).value_or(""), v.meaning, v.default_value);
  return text;
}

FUSEDNN_END_NAMESPACE
