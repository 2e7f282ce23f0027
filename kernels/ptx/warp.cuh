#pragma once

#include "ptx/base.cuh"

// Who am I, and how many registers may I use.

namespace fusednn::ptx {

FUSEDNN_DEVICE u32 lane() {
  u32 id;
  asm("mov.u32 %0, %%laneid;" : "=r"(id));
  return id;
}

// The warp's number in the block, in a form the compiler knows to be the same in all its lanes.
FUSEDNN_DEVICE u32 warp() { return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); }

// True in one lane of a converged warp. A comparison of the lane number would do too, but costs a loop over lanes
// around each instruction that wants uniform registers.
FUSEDNN_DEVICE bool elect() {
  u32 chosen;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(chosen));
  return chosen != 0;
}

// Executed by all warps of a warpgroup. Counts are multiples of 8, from 24 to 256; the compiler ignores both unless
// the kernel has a register limit at launch.
template <int kCount>
FUSEDNN_DEVICE void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
FUSEDNN_DEVICE void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

// Programmatic launch: everything before the wait overlaps the end of the kernel before this one in the stream.
FUSEDNN_DEVICE void wait_for_predecessor() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
FUSEDNN_DEVICE void let_successor_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

}  // namespace fusednn::ptx
