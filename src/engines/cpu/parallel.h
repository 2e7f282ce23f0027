#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>

namespace fusednn::engines::cpu {

// Hands out 0, 1, 2, ... to the threads of a team.
class Counter {
 public:
  int64_t next() { return value_.fetch_add(1, std::memory_order_relaxed); }
  void reset() { value_.store(0, std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<int64_t> value_{0};
};

// Where the threads of a team meet. A team of one passes: its barrier would otherwise bind to a parallel
// region of the caller's own.
class Barrier {
 public:
  void set_team(int threads) { threads_ = threads; }
  void wait() const {
    if (threads_ > 1) {
#pragma omp barrier
    }
  }

 private:
  int threads_ = 1;
};

// Runs body(worker) on a team of at most `workers` threads; a region of the OpenMP runtime costs about 1 us,
// so callers ask for one worker where the work is small. Inside a parallel region of the caller's there is
// one thread.
template <class Body>
void in_parallel(int workers, Barrier& barrier, Body const& body) {
  if (workers <= 1) return body(0);
#pragma omp parallel num_threads(workers)
  {
#pragma omp single
    barrier.set_team(omp_get_num_threads());
    body(omp_get_thread_num());
  }
}

}  // namespace fusednn::engines::cpu
