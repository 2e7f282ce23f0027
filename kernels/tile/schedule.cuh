#pragma once

#include "ptx/base.cuh"

// The order in which a persistent grid walks the tiles of a batch of matrices.

namespace fusednn::tile {

struct TileAt {
  int m;
  int n;
  int batch;
};

// Tiles run side by side in groups: `group` of them along one dimension before moving along the other, so that the
// blocks at work together read few distinct rows of both operands from the L2 cache. Every other group is walked
// backwards, which finds the operand tiles at the turn still cached.
struct GroupedOrder {
  int tiles_m;
  int tiles_n;
  int batch;
  int group;
  bool along_n;

  FUSEDNN_DEVICE int count() const { return tiles_m * tiles_n * batch; }

  FUSEDNN_DEVICE TileAt at(int index) const {
    int per_matrix = tiles_m * tiles_n;
    int matrix = index / per_matrix;
    int rest = index - matrix * per_matrix;
    int grouped = along_n ? tiles_n : tiles_m;
    int walked = along_n ? tiles_m : tiles_n;
    int g = rest / (group * walked);
    int within = rest - g * group * walked;
    int width = min(group, grouped - g * group);
    int step = within / width;
    int x = g * group + within - step * width;
    int y = g % 2 ? walked - 1 - step : step;
    return along_n ? TileAt{y, x, matrix} : TileAt{x, y, matrix};
  }
};

}  // namespace fusednn::tile
