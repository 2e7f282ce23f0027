#include "jit/compiler.h"

#include "base/env.h"
#include "base/log.h"
#include "base/parallel.h"
#include "cuda/nvrtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace fusednn::jit {

using base::make_error;
using base::Rule;

namespace {

int64_t bytes_of(CompiledKernel const& kernel) {
  return static_cast<int64_t>(kernel.key.text.size() + kernel.image.image.size() + kernel.image.log.size());
}

std::filesystem::path cache_folder() {
  if (auto folder = env_text(EnvVar::CACHE_DIR)) return *folder;
  if (auto folder = env_foreign(ForeignVar::XDG_CACHE_HOME)) return std::filesystem::path(*folder) / "fusednn";
  if (auto folder = env_foreign(ForeignVar::HOME)) return std::filesystem::path(*folder) / ".cache" / "fusednn";
  return {};
}

/// 90 of "sm_90a".
int number_of(std::string_view arch) {
  int number = 0;
  std::from_chars(arch.data() + std::min(arch.size(), arch.find('_') + 1), arch.data() + arch.size(), number);
  return number;
}

}  // namespace

CompilerSettings compiler_settings() {
  CompilerSettings settings;
  settings.folder = cache_folder();
  int64_t megabytes = 0;
  std::string const limit = env_text(EnvVar::CACHE_LIMIT).value_or("");
  if (std::from_chars(limit.data(), limit.data() + limit.size(), megabytes).ec == std::errc() && megabytes > 0 &&
      megabytes < (int64_t{1} << 40))
    settings.folder_limit_bytes = megabytes << 20;
  settings.forbid_compiling = env_text(EnvVar::JIT) == "forbid";
  return settings;
}

Compiler::Compiler(CompilerSettings settings) : settings_(std::move(settings)) {
  if (!settings_.folder.empty()) disk_.emplace(settings_.folder, settings_.folder_limit_bytes);
}

// Never destroyed: plans may still be built while the process ends.
Compiler& Compiler::shared() {
  static Compiler& instance = *new Compiler(compiler_settings());
  return instance;
}

Compiler::Counts Compiler::counts() const {
  std::lock_guard const lock(mutex_);
  return counts_;
}

std::shared_ptr<CompiledKernel const> Compiler::kept(std::string_view key) {
  auto const at = kept_by_key_.find(key);
  if (at == kept_by_key_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, at->second);
  return kept_.front();
}

void Compiler::keep(std::shared_ptr<CompiledKernel const> const& kernel) {
  kept_.push_front(kernel);
  kept_by_key_[kernel->key.text] = kept_.begin();
  kept_bytes_ += bytes_of(*kernel);
  while (kept_bytes_ > settings_.memory_limit_bytes && kept_.size() > 1) {
    kept_bytes_ -= bytes_of(*kept_.back());
    kept_by_key_.erase(kept_.back()->key.text);
    kept_.pop_back();
  }
}

Compiler::Answer Compiler::get(codegen::KernelSource const& source) {
  base::Result<KernelKey> key = kernel_key(source);
  if (!key) return key.errors();
  std::string const text = key->text;
  std::promise<Answer> promise;
  {
    std::unique_lock lock(mutex_);
    if (auto kernel = kept(text)) {
      ++counts_.in_memory;
      return kernel;
    }
    if (auto at = in_flight_.find(text); at != in_flight_.end()) {
      std::shared_future<Answer> const other = at->second;
      ++counts_.in_memory;
      lock.unlock();
      return other.get();
    }
    in_flight_.emplace(text, promise.get_future().share());
  }
  Answer answer = make(source, std::move(*key));
  {
    std::lock_guard const lock(mutex_);
    if (answer) keep(*answer);
    in_flight_.erase(text);
  }
  promise.set_value(answer);
  return answer;
}

std::vector<Compiler::Answer> Compiler::get(std::vector<codegen::KernelSource const*> const& sources) {
  std::vector<Answer> answers(sources.size(), std::shared_ptr<CompiledKernel const>());
  parallel_for(sources.size(), [&](size_t i) { answers[i] = get(*sources[i]); });
  return answers;
}

Compiler::Answer Compiler::make(codegen::KernelSource const& source, KernelKey key) {
  auto count = [this](int64_t Counts::*field) {
    std::lock_guard const lock(mutex_);
    ++(counts_.*field);
  };
  if (disk_)
    if (std::optional<KernelImage> image = disk_->load(key)) {
      count(&Counts::on_disk);
      return std::make_shared<CompiledKernel const>(CompiledKernel{std::move(key), std::move(*image)});
    }
  if (settings_.forbid_compiling)
    return make_error(Rule::jit_forbidden, {},
                      fmt::format("kernel {} for {} is not in {}", source.name, source.arch,
                                  disk_ ? (settings_.folder / key.file_name).string() : "a cache, there is none"));
  base::Result<KernelImage> image = compile(source, key);
  if (!image) return image.errors();
  count(&Counts::compiled);
  if (disk_) disk_->store(key, *image);
  return std::make_shared<CompiledKernel const>(CompiledKernel{std::move(key), std::move(*image)});
}

base::Result<KernelImage> Compiler::compile(codegen::KernelSource const& source, KernelKey const& key) const {
  base::Result<cuda::Nvrtc const*> found = cuda::Nvrtc::get();
  if (!found) return found.errors();
  cuda::Nvrtc const& nvrtc = **found;
  std::string arch = source.arch;
  if (!nvrtc.knows(arch)) {
    int newest = 0;
    for (int known : nvrtc.archs())
      if (known <= number_of(arch)) newest = std::max(newest, known);
    if (source.arch_specific || newest == 0)
      return make_error(Rule::nvrtc_arch, {},
                        fmt::format("kernel {}: {}, version {}.{}, does not know {}", source.name, nvrtc.path(),
                                    nvrtc.version() / 1000, nvrtc.version() % 1000 / 10, arch));
    arch = fmt::format("compute_{}", newest);
  }
  std::vector<std::string> options = compile_options(source);
  options.push_back("--gpu-architecture=" + arch);
  std::vector<cuda::NamedSource> headers;
  for (EmbeddedFile const* h : key.headers) headers.push_back({h->name.data(), h->text.data()});
  auto const start = std::chrono::steady_clock::now();
  base::Result<cuda::NvrtcOutput> output = nvrtc.compile(source.name + ".cu", source.text, headers, options);
  if (!output) return output.errors();
  log(LogLevel::INFO, "compiled {} for {} in {:.0f} ms", source.name, arch,
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return KernelImage{std::move(output->image), std::move(output->log), nvrtc.version()};
}

}  // namespace fusednn::jit
