#include "base/env.h"
#include "base/log.h"
#include "cuda/driver.h"
#include "cuda/nvrtc.h"
#include "jit/compiler.h"

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

std::string describe_cuda_ext() {
  cuda::Search const& driver = cuda::driver_search();
  cuda::Search const& nvrtc = cuda::Nvrtc::search();
  jit::CompilerSettings const& settings = jit::Compiler::shared().settings();
  return fmt::format("{}\n{}\nkernel cache: {}, at most {} MB{}\n", driver.text(), nvrtc.text(),
                     settings.folder.empty() ? "none" : settings.folder.string(), settings.folder_limit_bytes >> 20,
                     settings.forbid_compiling ? "; compiling is forbidden" : "");
}

FUSEDNN_END_NAMESPACE
