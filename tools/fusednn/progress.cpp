#include "progress.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace tool {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Progress::Progress(size_t total) : total_(std::max<size_t>(total, 1)), start_(now()), shown_(isatty(STDERR_FILENO)) {}

Progress::~Progress() { wipe(); }

void Progress::step(std::string const& what) {
  constexpr size_t cells = 24;
  constexpr double patience = 0.3;  // seconds
  done_ = std::min(done_ + 1, total_);
  if (!shown_ || now() - start_ < patience) return;
  wipe();
  size_t const full = done_ * cells / total_;
  std::string const line =
      fmt::format("[{:#<{}}{:.<{}}] {}/{} {:.40}", "", full, "", cells - full, done_, total_, what);
  width_ = line.size();
  fmt::print(stderr, "{}", line);
  std::fflush(stderr);
}

void Progress::wipe() {
  if (width_ > 0) fmt::print(stderr, "\r{:{}}\r", "", width_);
  std::fflush(stderr);
  width_ = 0;
}

}  // namespace tool
