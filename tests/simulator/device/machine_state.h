#pragma once

namespace simulator {

using u64 = unsigned long long;

struct Dim3 {
  unsigned x, y, z;
};

/// Between a kernel's library and the driver that runs it.
struct Machine {
  Dim3 thread, block, block_size, grid_size;  ///< of the thread that runs now
  unsigned lane;
  void (*sync_threads)();
  /// Waits until all lanes of the mask have brought a value; gives them by lane. They stay until the second exchange
  /// from then on.
  u64 const* (*exchange)(unsigned mask, u64 mine);
};

}  // namespace simulator
