#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "base/env.h"

namespace fusednn {
namespace {

class Logger {
 public:
  Logger() {
    std::string const value = env_text(EnvVar::LOG).value_or("");
    LogSetting const setting = parse_log_setting(value);
    level_ = setting.level;
    if (setting.file.empty()) return;
    file_ = std::fopen(std::string(setting.file).c_str(), "a");
    if (file_ == nullptr) write(LogLevel::ERROR, fmt::format("FUSEDNN_LOG: cannot append to {}", setting.file));
  }

  void write(LogLevel level, std::string_view message) {
    std::shared_ptr<LogCallback> callback;
    {
      std::lock_guard const lock(mutex_);
      callback = callback_;
    }
    if (callback) {
      (*callback)(level, message);
      return;
    }
    static constexpr std::string_view tags[] = {"", "error", "info", "debug"};
    // One write call per line, so that lines of different threads do not mix.
    std::string const line = fmt::format("[fusednn {}] {}\n", tags[static_cast<int>(level)], message);
    std::FILE* const out = file_ != nullptr ? file_ : stderr;
    std::fwrite(line.data(), 1, line.size(), out);
    std::fflush(out);
  }

  void set_callback(LogCallback callback) {
    auto next = callback ? std::make_shared<LogCallback>(std::move(callback)) : nullptr;
    std::lock_guard const lock(mutex_);
    callback_.swap(next);
  }

  std::atomic<LogLevel> level_{LogLevel::OFF};

 private:
  std::mutex mutex_;
  std::shared_ptr<LogCallback> callback_;
  std::FILE* file_ = nullptr;
};

// Never destroyed: plans and handles in static storage may still log while the process ends.
Logger& logger() {
  static Logger& instance = *new Logger;
  return instance;
}

}  // namespace

bool log_enabled(LogLevel level) noexcept {
  return level <= logger().level_.load(std::memory_order_relaxed) && level != LogLevel::OFF;
}

void log_write(LogLevel level, std::string_view message) { logger().write(level, message); }

void set_log_level(LogLevel level) noexcept { logger().level_.store(level, std::memory_order_relaxed); }

LogLevel log_level() noexcept { return logger().level_.load(std::memory_order_relaxed); }

void set_log_callback(LogCallback callback) { logger().set_callback(std::move(callback)); }

LogSetting parse_log_setting(std::string_view value) noexcept {
  if (value.empty()) return {};
  bool const level_first = value[0] >= '0' && value[0] <= '3' && (value.size() == 1 || value[1] == ':');
  if (!level_first) return {LogLevel::DEBUG, value};
  return {static_cast<LogLevel>(value[0] - '0'), value.size() > 2 ? value.substr(2) : std::string_view()};
}

}  // namespace fusednn
