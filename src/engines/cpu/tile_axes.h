#pragma once

#include <cstdint>
#include <vector>

// The axes of an iteration space, brought into the order and number that loops want: axes of size 1 are dropped,
// neighbours over which every array moves evenly become one, and what lies closest in memory comes last.

namespace fusednn::engines::cpu {

struct LoopAxis {
  int64_t size;
  uint32_t kind = 0;             // only axes of one kind may merge
  std::vector<int64_t> strides;  // one per array
};

// `fixed` axes at the end keep their place and are never dropped; the last of them does not merge with any other.
// `main` is the array whose layout decides the order (-1: the given order stays).
std::vector<LoopAxis> normalize_axes(std::vector<LoopAxis> axes, int fixed, int main);

}  // namespace fusednn::engines::cpu
