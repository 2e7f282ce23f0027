#pragma once

#include <cstddef>
#include <string>

namespace tool {

/// A bar on standard error where that is a terminal; nothing otherwise. It appears once work has taken a moment, and
/// is wiped at the end.
class Progress {
 public:
  explicit Progress(size_t total);
  ~Progress();
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;
  void step(std::string const& what);

 private:
  void wipe();

  size_t total_, done_ = 0, width_ = 0;
  double start_;
  bool shown_;
};

/// Seconds on a steady clock.
double now();

}  // namespace tool
