#include "engines/cpu/tile_axes.h"

#include <algorithm>

namespace fusednn::engines::cpu {

namespace {

bool moves_evenly(LoopAxis const& outer, LoopAxis const& inner) {
  if (outer.kind != inner.kind) return false;
  for (size_t i = 0; i < inner.strides.size(); ++i)
    if (outer.strides[i] != inner.strides[i] * inner.size) return false;
  return true;
}

// The step of the main array; where it stands still, of what does move.
int64_t distance_in_memory(LoopAxis const& axis, size_t main) {
  if (axis.strides[main] != 0) return axis.strides[main];
  return *std::max_element(axis.strides.begin(), axis.strides.end());
}

}  // namespace

std::vector<LoopAxis> normalize_axes(std::vector<LoopAxis> axes, int fixed, int main) {
  size_t const free = axes.size() - static_cast<size_t>(fixed);
  std::vector<LoopAxis> kept;
  for (size_t i = 0; i < free; ++i)
    if (axes[i].size != 1) kept.push_back(std::move(axes[i]));
  if (main >= 0) {
    std::stable_sort(kept.begin(), kept.end(), [&](LoopAxis const& a, LoopAxis const& b) {
      return distance_in_memory(a, static_cast<size_t>(main)) > distance_in_memory(b, static_cast<size_t>(main));
    });
  }
  std::vector<LoopAxis> merged;
  for (LoopAxis& axis : kept) {
    if (!merged.empty() && moves_evenly(merged.back(), axis)) {
      axis.size *= merged.back().size;
      merged.back() = std::move(axis);
    } else {
      merged.push_back(std::move(axis));
    }
  }
  for (size_t i = free; i < axes.size(); ++i) {
    bool const last = i + 1 == axes.size();
    if (!last && !merged.empty() && merged.back().kind == axes[i].kind) {
      if (axes[i].size == 1)
        axes[i].strides = merged.back().strides;
      else if (!moves_evenly(merged.back(), axes[i])) {
        merged.push_back(std::move(axes[i]));
        continue;
      }
      axes[i].size *= merged.back().size;
      merged.back() = std::move(axes[i]);
    } else {
      merged.push_back(std::move(axes[i]));
    }
  }
  return merged;
}

}  // namespace fusednn::engines::cpu
