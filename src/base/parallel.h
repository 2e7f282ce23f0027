#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace fusednn {

/// Calls `work(i)` for each i below `count`, on the calling thread and as many more as the machine has cores for. The
/// threads end with the call, so that none is left at a fork or an unload of the library.
template <class Work>
void parallel_for(size_t count, Work&& work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  size_t const cores = std::thread::hardware_concurrency();
  std::vector<std::jthread> helpers;
  for (size_t t = 1; t < count && t < cores; ++t) helpers.emplace_back(run);
  run();
}

}  // namespace fusednn
