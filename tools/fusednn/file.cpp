#include "file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tool {

std::optional<std::string> read_file(std::string const& path, std::string& reason) {
  bool const standard_input = path == "-";
  std::FILE* file = standard_input ? stdin : std::fopen(path.c_str(), "rb");
  if (!file) {
    reason = std::string("cannot be opened: ") + std::strerror(errno);
    return std::nullopt;
  }
  auto close = [&](std::FILE* f) { standard_input ? 0 : std::fclose(f); };
  std::unique_ptr<std::FILE, decltype(close)> const closing(file, close);
  std::string text;
  char buffer[1 << 16];
  while (size_t const count = std::fread(buffer, 1, sizeof(buffer), file)) text.append(buffer, count);
  if (!std::ferror(file)) return text;
  reason = std::string("cannot be read: ") + std::strerror(errno);
  return std::nullopt;
}

}  // namespace tool
