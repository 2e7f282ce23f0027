#include "cuda/nvrtc.h"

#include "cuda/driver.h"
#include "cuda/nvrtc_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace fusednn::cuda {

namespace {

constexpr int nvrtc_success = 0;

/// 90 of "sm_90a" and "compute_90"; 0 where there is no number.
int number_of(std::string_view arch) {
  size_t const at = arch.find('_');
  int number = 0;
  if (at != arch.npos) std::from_chars(arch.data() + at + 1, arch.data() + arch.size(), number);
  return number;
}

}  // namespace

std::string Nvrtc::bind(void* library) {
#define FUSEDNN_LOAD(function, name, parameters)                                \
  function##_ = reinterpret_cast<decltype(function##_)>(symbol(library, name)); \
  if (!function##_) return fmt::format("lacks {}", name);
  FUSEDNN_NVRTC_FUNCTIONS(FUSEDNN_LOAD)
#undef FUSEDNN_LOAD
  int major = 0, minor = 0, count = 0;
  if (get_version_(&major, &minor) != nvrtc_success || arch_count_(&count) != nvrtc_success) return "does not start";
  version_ = 1000 * major + 10 * minor;
  archs_.resize(static_cast<size_t>(count));
  if (arch_list_(archs_.data()) != nvrtc_success) return "does not start";
  return {};
}

base::Result<Nvrtc> Nvrtc::load(NvrtcSearchRoots const& roots, Search& search) {
  NvrtcPlaces const places = nvrtc_places(roots);
  for (std::string const& file : places.files) {
    void* library = open_library(file, search);
    if (!library) continue;
    Nvrtc nvrtc;
    std::string& outcome = search.attempts.back().outcome;
    outcome = nvrtc.bind(library);
    if (!outcome.empty()) continue;
    int const major = nvrtc.version_ / 1000, minor = nvrtc.version_ % 1000 / 10;
    outcome = fmt::format("loaded, version {}.{}", major, minor);
    nvrtc.path_ = file;
    // NVRTC opens its second half by name alone, which finds nothing in the folder of a Python package unless it is
    // open already.
    if (size_t const slash = file.rfind('/'); slash != file.npos)
      open_library(fmt::format("{}/libnvrtc-builtins.so.{}.{}", file.substr(0, slash), major, minor), search);
    return nvrtc;
  }
  for (std::string const& place : places.nothing) search.attempts.push_back({place, "no NVRTC in it"});
  return base::make_error(base::Rule::nvrtc_library, {}, search.text());
}

namespace {

struct Loaded {
  Search search{"NVRTC", {}};
  base::Result<Nvrtc> nvrtc;

  Loaded() : nvrtc(load()) {}

  base::Result<Nvrtc> load() {
    NvrtcSearchRoots roots = nvrtc_search_roots();
    // An older driver may reject what a newer compiler makes.
    if (auto d = driver(); d && (*d)->version < 13000) std::reverse(roots.versions.begin(), roots.versions.end());
    return Nvrtc::load(roots, search);
  }
};

// Never destroyed: a compile may still run while the process ends.
Loaded& loaded() {
  static Loaded& instance = *new Loaded;
  return instance;
}

}  // namespace

base::Result<Nvrtc const*> Nvrtc::get() {
  Loaded& l = loaded();
  if (!l.nvrtc) return l.nvrtc.errors();
  return &*l.nvrtc;
}

Search const& Nvrtc::search() { return loaded().search; }

bool Nvrtc::knows(std::string_view arch) const {
  return std::find(archs_.begin(), archs_.end(), number_of(arch)) != archs_.end();
}

base::Result<NvrtcOutput> Nvrtc::compile(std::string const& name, std::string const& text,
                                         std::span<NamedSource const> headers,
                                         std::vector<std::string> const& options) const {
  std::vector<char const*> names, texts, flags;
  for (NamedSource const& h : headers) {
    names.push_back(h.name);
    texts.push_back(h.text);
  }
  for (std::string const& o : options) flags.push_back(o.c_str());
  Program raw = nullptr;
  if (int code =
          create_(&raw, text.c_str(), name.c_str(), static_cast<int>(headers.size()), texts.data(), names.data()))
    return base::make_error(base::Rule::nvrtc_compile, {}, fmt::format("{}: nvrtcCreateProgram gives {}", name, code));
  auto destroy = [this](Program p) { destroy_(&p); };
  std::unique_ptr<_nvrtcProgram, decltype(destroy)> const program(raw, destroy);
  int const code = compile_program_(raw, static_cast<int>(flags.size()), flags.data());
  /// A text or an image: its size first, then its bytes.
  auto fetch = [&](auto size, auto bytes) {
    size_t count = 0;
    std::string data;
    if (size(raw, &count) == nvrtc_success) data.resize(count);
    if (!data.empty() && bytes(raw, data.data()) != nvrtc_success) data.clear();
    return data;
  };
  NvrtcOutput output;
  output.log = fetch(log_size_, log_);
  while (!output.log.empty() && (output.log.back() == '\0' || output.log.back() == '\n')) output.log.pop_back();
  if (code != nvrtc_success)
    return base::make_error(base::Rule::nvrtc_compile, {},
                            fmt::format("{}: nvrtcCompileProgram gives {}: {}", name, code, output.log));
  bool const ptx =
      std::any_of(options.begin(), options.end(), [](std::string const& o) { return o.find("=compute_") != o.npos; });
  output.image = ptx ? fetch(ptx_size_, ptx_) : fetch(cubin_size_, cubin_);
  if (output.image.empty())
    return base::make_error(base::Rule::nvrtc_compile, {}, fmt::format("{}: no code came out", name));
  return output;
}

}  // namespace fusednn::cuda
