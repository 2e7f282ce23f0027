#pragma once

#include "engines/cpu/tile_program.h"

namespace fusednn::engines::cpu {

// A range of indices per axis.
struct TileBox {
  std::array<int64_t, kMaxAxes> low{};
  std::array<int64_t, kMaxAxes> high{};
};

TileBox whole_box(TileProgram const& program);
int64_t group_count(TileProgram const& program, TileBox const& box);

// Where the anchor's result lies: lanes of the box's rows and columns.
struct TilePanel {
  void* data = nullptr;  // at the box's low corner
  int64_t ld = 0;        // lanes from row to row
};

// Runs groups first .. last - 1 of the box. `partials` are the accumulators of the slice that the groups belong to,
// started by start_partials.
void run_groups(TileProgram const& program, void* const* operands, char* scratch, char* partials, TileBox const& box,
                TilePanel panel, int64_t first, int64_t last);

void start_partials(TileProgram const& program, char* partials);

// Joins the accumulators of all slices, which lie program.partial_bytes apart, and stores the terminal results.
void finish_terminals(TileProgram const& program, void* const* operands, char* partials, int64_t slices);

}  // namespace fusednn::engines::cpu
