#pragma once

#include "ptx/base.cuh"

// Barriers in shared memory (mbarrier), named barriers, the cluster's barrier, and the fences that go with them.

namespace fusednn::ptx {

FUSEDNN_DEVICE void barrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the copy engine and to the other blocks of the cluster; a block or cluster
// barrier still has to follow.
FUSEDNN_DEVICE void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

FUSEDNN_DEVICE void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives at the barrier that has this address in the block `rank` of the cluster. Says that reads are over, so it
// releases at the scope of the block: at the cluster's, the compiler puts a fence of the whole device before it
// (MEMBAR.ALL.GPU), which costs about a microsecond each time.
FUSEDNN_DEVICE void barrier_arrive_remote(u32 barrier, u32 rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

FUSEDNN_DEVICE void barrier_arrive_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// True when the phase of that parity has completed. May suspend the thread for a time the hardware chooses.
FUSEDNN_DEVICE bool barrier_try_wait(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

FUSEDNN_DEVICE void barrier_wait(u32 barrier, u32 parity) {
  while (!barrier_try_wait(barrier, parity)) {
  }
}

// Named barriers 1 to 15; 0 is the block's own. `threads` counts those that arrive and those that wait.
FUSEDNN_DEVICE void named_arrive(u32 id, u32 threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
FUSEDNN_DEVICE void named_wait(u32 id, u32 threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

FUSEDNN_DEVICE u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Every thread of the cluster, from converged or diverged code. Publishes no memory: initialised barriers have their
// own fence.
FUSEDNN_DEVICE void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.relaxed;\n"
      "barrier.cluster.wait;" ::
          : "memory");
}

// Each thread that wrote shared memory by ordinary stores, before the copy engine or the tensor cores read it.
FUSEDNN_DEVICE void fence_shared_to_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace fusednn::ptx
