#pragma once

#include "ptx/base.cuh"

// cp.async.bulk.tensor: boxes of a rank-3 tensor between global and shared memory. One thread issues. `policy` tells
// the L2 cache what to keep (abi/tensor_map.h).

namespace fusednn::ptx {

FUSEDNN_DEVICE void prefetch_tensor_map(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Global to shared; the box's bytes count on `barrier`. What lies outside the tensor arrives as zeros and counts too.
FUSEDNN_DEVICE void tensor_load(u32 to, const void* map, u32 barrier, int x, int y, int z, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

// To the same address in every block of the cluster whose bit is set in `blocks`, counted on each one's own barrier.
FUSEDNN_DEVICE void tensor_load_multicast(u32 to, const void* map, u32 barrier, int x, int y, int z, u64 policy,
                                          u16 blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(blocks), "l"(policy)
      : "memory");
}

// Shared to global. What lies outside the tensor is not written.
FUSEDNN_DEVICE void tensor_store(const void* map, u32 from, int x, int y, int z, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%2, %3, %4}], [%1], %5;" ::"l"(
          map),
      "r"(from), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

FUSEDNN_DEVICE void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Until at most kPending of this thread's stores still read shared memory.
template <int kPending>
FUSEDNN_DEVICE void store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

}  // namespace fusednn::ptx
