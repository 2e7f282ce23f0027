#pragma once

#include "base/result.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusednn::jit {

/// A file under kernels/, as it was when the library was built.
struct EmbeddedFile {
  std::string_view name;  ///< path from kernels/
  std::string_view text;
};

std::span<EmbeddedFile const> embedded_files();

/// The embedded files that a text includes, directly or through others, by name. Every quoted include must name one.
base::Result<std::vector<EmbeddedFile const*>> embedded_files_reached(std::string_view text);

}  // namespace fusednn::jit
