#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

namespace fusednn {

enum class LogLevel { OFF = 0, ERROR = 1, INFO = 2, DEBUG = 3 };

/// One relaxed load: cheap enough to ask before any message is put together.
bool log_enabled(LogLevel) noexcept;

/// Writes one line to the sink, whatever the level set.
void log_write(LogLevel, std::string_view message);

/// Formats and writes where the level is on. Safe from any thread.
template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_write(level, fmt::format(format, std::forward<Args>(args)...));
}

/// Replaces what FUSEDNN_LOG says.
void set_log_level(LogLevel) noexcept;
LogLevel log_level() noexcept;

/// Messages go to the callback instead of standard error or the file; an empty one restores those. It may be
/// called from several threads at once, and it may log or set another callback itself.
using LogCallback = std::function<void(LogLevel, std::string_view)>;
void set_log_callback(LogCallback);

/// What a value of FUSEDNN_LOG asks for.
struct LogSetting {
  LogLevel level = LogLevel::OFF;
  std::string_view file;  // empty: standard error
};
LogSetting parse_log_setting(std::string_view value) noexcept;

}  // namespace fusednn
