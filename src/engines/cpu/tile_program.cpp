#include "engines/cpu/tile_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fusednn::engines::cpu {

std::string TileProgram::describe() const {
  size_t before = 0, body = 0, walks = 0;
  for (Pass const& pass : passes) {
    before += pass.before.size();
    body += pass.body.size();
    walks += pass.body.empty() ? 0 : 1;
  }
  std::vector<std::string> sizes;
  for (size_t i = 0; i < axes.size(); ++i) sizes.push_back(fmt::format("{}{}", axes[i], reduced[i] ? "r" : ""));
  return fmt::format("[{}] in {} pass{}, {} instructions per {}x{} tile, {} per group, {}", fmt::join(sizes, "x"),
                     walks, walks == 1 ? "" : "es", body, tile_rows, tile_columns, before, kernels->name);
}

}  // namespace fusednn::engines::cpu
