#include "cuda/nvrtc_places.h"

#include "base/env.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <filesystem>

namespace fusednn::cuda {

namespace fs = std::filesystem;

namespace {

void add(std::vector<std::string>& list, fs::path const& path) {
  std::string text = path.lexically_normal().string();
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

std::vector<fs::path> folders_in(fs::path const& folder) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
    if (std::error_code e; it->is_directory(e)) folders.push_back(it->path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// Adds PREFIX/lib/python*/{site,dist}-packages where they exist.
void add_python_prefix(std::vector<std::string>& list, fs::path const& prefix) {
  for (fs::path const& folder : folders_in(prefix / "lib"))
    if (folder.filename().string().starts_with("python"))
      for (char const* name : {"site-packages", "dist-packages"})
        if (std::error_code e; fs::is_directory(folder / name, e)) add(list, folder / name);
}

/// Adds the package folder that a file lies in, if it lies in one.
void add_package_folder_of(std::vector<std::string>& list, std::string_view file) {
  for (std::string_view name : {"/site-packages/", "/dist-packages/"})
    if (size_t at = file.find(name); at != file.npos) add(list, file.substr(0, at + name.size() - 1));
}

int add_loaded_object(dl_phdr_info* info, size_t, void* list) {
  if (info->dlpi_name) add_package_folder_of(*static_cast<std::vector<std::string>*>(list), info->dlpi_name);
  return 0;
}

std::vector<std::string> package_folders() {
  std::vector<std::string> list;
  // Extension modules that are loaded already, this library among them, tell which Python is running.
  dl_iterate_phdr(add_loaded_object, &list);
  for (ForeignVar prefix : {ForeignVar::VIRTUAL_ENV, ForeignVar::CONDA_PREFIX})
    if (auto folder = env_foreign(prefix)) add_python_prefix(list, *folder);
  // The interpreter on the PATH; the folder of a virtual environment's link counts, not what the link points to.
  std::string const path = env_foreign(ForeignVar::PATH).value_or("");
  for (size_t from = 0; from < path.size();) {
    size_t const to = std::min(path.find(':', from), path.size());
    fs::path const bin = path.substr(from, to - from);
    from = to + 1;
    std::error_code e;
    if (bin.is_absolute() && fs::exists(bin / "python3", e)) add_python_prefix(list, bin.parent_path());
  }
  if (auto home = env_foreign(ForeignVar::HOME)) add_python_prefix(list, fs::path(*home) / ".local");
  return list;
}

}  // namespace

NvrtcSearchRoots nvrtc_search_roots() {
  NvrtcSearchRoots roots;
  roots.only = env_text(EnvVar::NVRTC);
  for (ForeignVar v : {ForeignVar::CUDA_HOME, ForeignVar::CUDA_PATH})
    if (auto folder = env_foreign(v)) add(roots.toolkits, *folder);
  for (char const* usual : {"/usr/local/cuda", "/opt/cuda"}) add(roots.toolkits, usual);
  roots.site_packages = package_folders();
  return roots;
}

NvrtcPlaces nvrtc_places(NvrtcSearchRoots const& roots) {
  NvrtcPlaces places;
  if (roots.only) {
    places.files.push_back(*roots.only);
    return places;
  }
  std::vector<std::string> folders;
  for (std::string const& toolkit : roots.toolkits)
    for (char const* below : {"lib64", "lib", "targets/x86_64-linux/lib"}) add(folders, fs::path(toolkit) / below);
  for (std::string const& packages : roots.site_packages)
    for (fs::path const& package : folders_in(fs::path(packages) / "nvidia")) add(folders, package / "lib");
  std::vector<bool> holds(folders.size(), false);
  for (int version : roots.versions) {
    std::string const name = fmt::format("libnvrtc.so.{}", version);
    places.files.push_back(name);
    for (size_t i = 0; i < folders.size(); ++i) {
      std::error_code e;
      if (!fs::exists(fs::path(folders[i]) / name, e)) continue;
      holds[i] = true;
      add(places.files, fs::path(folders[i]) / name);
    }
  }
  // One line for a root that holds nothing, however many folders it has.
  auto report = [&](std::string const& root, std::string const& pattern) {
    for (size_t i = 0; i < folders.size(); ++i)
      if (holds[i] && folders[i].starts_with(root + "/")) return;
    places.nothing.push_back(root + pattern);
  };
  for (std::string const& toolkit : roots.toolkits) report(toolkit, "/lib64");
  for (std::string const& packages : roots.site_packages) report(packages, "/nvidia/*/lib");
  return places;
}

}  // namespace fusednn::cuda
