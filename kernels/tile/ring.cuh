#pragma once

#include "ptx/barrier.cuh"
#include "ptx/warp.cuh"

// A ring of stages in shared memory between one loading thread and the warps that consume. Each stage has a barrier
// that says it is full and one that says it is empty. In a cluster the loaders of blocks in one row or column (of
// kClusterM x kClusterN) write into each other's stages, so a stage is empty for a loader once the consumers of all
// those blocks have left it.

namespace fusednn::tile {

// A place in the ring: the stage, and the parity of the pass.
template <int kStages>
struct Place {
  u32 stage = 0;
  u32 parity = 0;

  FUSEDNN_DEVICE void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  FUSEDNN_DEVICE void advance(u32 steps) {
    u32 next = stage + steps;
    parity ^= next / kStages & 1;
    stage = next % kStages;
  }
};

template <int kStages, int kClusterM, int kClusterN>
struct Ring {
  u32 barriers;  // kStages full, then kStages empty
  u32 rank;      // of the block in its cluster

  static constexpr u32 kPeers = kClusterM + kClusterN - 1;  // blocks that write here, this one among them

  FUSEDNN_DEVICE u32 full(u32 stage) const { return barriers + 8 * stage; }
  FUSEDNN_DEVICE u32 empty(u32 stage) const { return barriers + 8 * (kStages + stage); }

  // By one thread, before ptx::fence_barrier_init. `warps` consume each stage in each block.
  FUSEDNN_DEVICE void init(u32 warps) const {
    for (u32 s = 0; s < kStages; ++s) {
      ptx::barrier_init(full(s), 1);
      ptx::barrier_init(empty(s), warps * kPeers);
    }
  }

  // The loader: waits until the stage is free everywhere, then announces the bytes that will arrive in this block.
  FUSEDNN_DEVICE u32 begin_load(const Place<kStages>& at, u32 bytes) const {
    ptx::barrier_wait(empty(at.stage), at.parity ^ 1);
    ptx::barrier_arrive_expect(full(at.stage), bytes);
    return full(at.stage);
  }

  FUSEDNN_DEVICE void wait_full(const Place<kStages>& at) const { ptx::barrier_wait(full(at.stage), at.parity); }

  // By every consuming warp, once it no longer reads the stage.
  FUSEDNN_DEVICE void release(u32 stage) const {
    u32 peer = ptx::lane();
    if constexpr (kPeers == 1) {
      if (peer == 0) ptx::barrier_arrive(empty(stage));
    } else {
      bool writes = peer % kClusterM == rank % kClusterM || peer / kClusterM == rank / kClusterM;
      if (peer < kClusterM * kClusterN && writes) ptx::barrier_arrive_remote(empty(stage), peer);
    }
  }
};

}  // namespace fusednn::tile
