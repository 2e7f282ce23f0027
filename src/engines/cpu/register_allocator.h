#pragma once

#include "engines/cpu/tile_program.h"

#include <vector>

namespace fusednn::engines::cpu {

// Gives each register of a program bytes of scratch memory for as long as its value is needed. Until `assign`, a
// register's Place holds its number for an offset.
class RegisterAllocator {
 public:
  int64_t add(int64_t bytes) {
    bytes_.push_back((bytes + 63) / 64 * 64);
    return static_cast<int64_t>(bytes_.size()) - 1;
  }
  // Replaces numbers by offsets; the bytes taken.
  int64_t assign(TileProgram& program) const;

 private:
  std::vector<int64_t> bytes_;
};

}  // namespace fusednn::engines::cpu
