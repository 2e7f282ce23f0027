#include "jit/embedded.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusednn::jit {

namespace {

EmbeddedFile const* find(std::string_view name) {
  for (EmbeddedFile const& f : embedded_files())
    if (f.name == name) return &f;
  return nullptr;
}

/// What the quoted includes of a text name. Those in comments count too, which only makes a key depend on more.
std::vector<std::string_view> quoted_includes(std::string_view text) {
  static constexpr std::string_view directive = "#include \"";
  std::vector<std::string_view> names;
  for (size_t at = text.find(directive); at != text.npos; at = text.find(directive, at)) {
    at += directive.size();
    names.push_back(text.substr(at, text.find('"', at) - at));
  }
  return names;
}

}  // namespace

base::Result<std::vector<EmbeddedFile const*>> embedded_files_reached(std::string_view text) {
  std::vector<EmbeddedFile const*> reached;
  std::vector<std::string_view> pending = quoted_includes(text);
  while (!pending.empty()) {
    std::string_view const name = pending.back();
    pending.pop_back();
    EmbeddedFile const* file = find(name);
    if (!file) return base::make_error(base::Rule::jit_include, {}, fmt::format("\"{}\"", name));
    if (std::find(reached.begin(), reached.end(), file) != reached.end()) continue;
    reached.push_back(file);
    for (std::string_view next : quoted_includes(file->text)) pending.push_back(next);
  }
  std::sort(reached.begin(), reached.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return reached;
}

}  // namespace fusednn::jit
