#pragma once

#include "codegen/loop_kernel.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <utility>

namespace fusednn::codegen {

/// Collects the text of one kernel, with the numbers that it takes as arguments.
class KernelText {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<size_t>(2 * indent_), ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void open(std::string const& head) { line("{} {{", head), ++indent_; }
  void close(char const* end = "") { --indent_, line("}}{}", end); }

  /// A number that is an argument of the kernel, so that one text serves many shapes: the expression that
  /// reads it.
  std::string wide_size(int64_t n) {
    sizes_.push_back(n);
    return fmt::format("s.v[{}]", sizes_.size() - 1);
  }
  std::string size(int64_t n) { return fmt::format("Index({})", wide_size(n)); }

  void indent(int levels) { indent_ = levels; }
  std::string take_text() { return std::exchange(text_, {}); }
  std::vector<int64_t> take_sizes() {
    std::vector<int64_t> sizes = std::exchange(sizes_, {});
    if (sizes.empty()) sizes.push_back(0);  // a struct has members
    return sizes;
  }

 private:
  std::string text_;
  std::vector<int64_t> sizes_;
  int indent_ = 1;
};

/// Of indices and offsets of 31 bits: steps past the end stay representable.
inline constexpr int64_t narrow_limit = INT32_MAX / 2;

/// What stands before a kernel that has so many sizes.
inline std::string index_and_sizes(bool narrow, size_t sizes) {
  return fmt::format("using Index = {};\nstruct Sizes {{\n  long long v[{}];\n}};\n",
                     narrow ? "unsigned int" : "long long", sizes);
}

}  // namespace fusednn::codegen
