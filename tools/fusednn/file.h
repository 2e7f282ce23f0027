#pragma once

#include <optional>
#include <string>

namespace tool {

/// All bytes of a file, of standard input for "-". On failure nullopt, and why in `reason`.
std::optional<std::string> read_file(std::string const& path, std::string& reason);

}  // namespace tool
