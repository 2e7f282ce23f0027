#include "jit/kernel_key.h"

#include "base/hash.h"

#include <fusednn/version.h>

#include <fmt/format.h>

#include <cctype>

namespace fusednn::jit {

namespace {

uint64_t hash_of(std::string_view text, uint64_t seed) { return Hasher(seed).add(text).digest(); }

}  // namespace

std::vector<std::string> compile_options(codegen::KernelSource const& source) {
  // ptxas reports registers and spills, which costs no time. Denormals and NaN stay: no fast math.
  std::vector<std::string> options = {"--std=c++17", "-default-device", "--ptxas-options=-v"};
  options.insert(options.end(), source.options.begin(), source.options.end());
  return options;
}

base::Result<KernelKey> kernel_key(codegen::KernelSource const& source) {
  base::Result<std::vector<EmbeddedFile const*>> headers = embedded_files_reached(source.text);
  if (!headers) return headers.errors();
  KernelKey key;
  key.headers = std::move(*headers);
  key.text = fmt::format("fusednn {}\narch {}\n", FUSEDNN_VERSION, source.arch);
  for (std::string const& option : compile_options(source)) key.text += fmt::format("option {}\n", option);
  for (EmbeddedFile const* h : key.headers)
    key.text += fmt::format("header {} {:016x}\n", h->name, hash_of(h->text, 0));
  key.text += source.text;
  std::string name;
  for (char c : source.name.substr(0, 64)) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  key.file_name =
      fmt::format("{}.{}.{:016x}{:016x}.kernel", name, source.arch, hash_of(key.text, 1), hash_of(key.text, 2));
  return key;
}

}  // namespace fusednn::jit
