#include "cuda/search.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace fusednn::cuda {

std::string Search::text() const {
  std::string text = what;
  for (size_t i = 0; i < attempts.size(); ++i)
    text += fmt::format("{} {}: {}", i ? ";" : ":", attempts[i].place, attempts[i].outcome);
  return text;
}

void* open_library(std::string const& name, Search& search) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library) {
    search.attempts.push_back({name, "loaded"});
    return library;
  }
  char const* reason = dlerror();
  std::string_view text = reason ? reason : "not loaded";
  // The loader's message repeats the name.
  if (text.starts_with(name + ": ")) text.remove_prefix(name.size() + 2);
  search.attempts.push_back({name, std::string(text)});
  return nullptr;
}

void* symbol(void* library, char const* name) { return dlsym(library, name); }

}  // namespace fusednn::cuda
