#include "jit/disk_cache.h"

#include "base/hash.h"
#include "base/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>

namespace fusednn::jit {

namespace fs = std::filesystem;

namespace {

// A file is: magic, checksum of the rest, then compiler version, key, log and image, each text after its length.
// The magic changes whenever this does.
constexpr std::string_view magic = "FDNNKRN1";
constexpr auto age_of_leftovers = std::chrono::hours(1);

void put(std::string& to, uint64_t value) { to.append(reinterpret_cast<char const*>(&value), sizeof(value)); }
void put(std::string& to, std::string_view text) {
  put(to, uint64_t{text.size()});
  to += text;
}

/// Takes fields off the front of a text; `ok` turns false where it is too short.
struct Reader {
  std::string_view rest;
  bool ok = true;

  std::string_view bytes(uint64_t count) {
    ok = ok && count <= rest.size();
    if (!ok) return {};
    std::string_view const taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }
  uint64_t number() {
    uint64_t value = 0;
    if (std::string_view const b = bytes(sizeof(value)); ok) std::memcpy(&value, b.data(), sizeof(value));
    return value;
  }
  std::string_view text() { return bytes(number()); }
};

struct File {
  explicit File(int number) : number(number) {}
  ~File() {
    if (number >= 0) close(number);
  }
  File(File const&) = delete;
  File& operator=(File const&) = delete;
  int const number;
};

std::optional<std::string> read_file(fs::path const& path) {
  File const file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (file.number < 0 || fstat(file.number, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string data(static_cast<size_t>(info.st_size), '\0');
  for (size_t done = 0; done < data.size();) {
    ssize_t const n = read(file.number, data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    done += static_cast<size_t>(n);
  }
  return data;
}

bool write_file(fs::path const& path, std::string_view data) {
  File const file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.number < 0) return false;
  while (!data.empty()) {
    ssize_t const n = write(file.number, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// Marks a file as used, for trim(); now and then is enough.
void touch(fs::path const& path) {
  std::error_code e;
  auto const now = fs::file_time_type::clock::now();
  if (now - fs::last_write_time(path, e) > std::chrono::hours(1) && !e) fs::last_write_time(path, now, e);
}

}  // namespace

DiskCache::DiskCache(fs::path folder, int64_t limit_bytes) : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

std::optional<KernelImage> DiskCache::load(KernelKey const& key) const {
  fs::path const path = folder_ / key.file_name;
  std::optional<std::string> const data = read_file(path);
  if (!data) return std::nullopt;
  Reader reader{*data};
  bool const head = reader.bytes(magic.size()) == magic;
  uint64_t const checksum = reader.number();
  if (!head || !reader.ok || Hasher().add(reader.rest).digest() != checksum) {
    log(LogLevel::INFO, "kernel cache: {} is damaged; it is compiled anew", path.string());
    return std::nullopt;
  }
  KernelImage image;
  image.nvrtc_version = static_cast<int>(reader.number());
  std::string_view const stored_key = reader.text();
  image.log = reader.text();
  image.image = reader.text();
  if (!reader.ok || stored_key != key.text) return std::nullopt;  // another kernel with the same hash
  touch(path);
  return image;
}

void DiskCache::store(KernelKey const& key, KernelImage const& image) {
  std::string body;
  put(body, static_cast<uint64_t>(image.nvrtc_version));
  put(body, key.text);
  put(body, image.log);
  put(body, image.image);
  std::string data(magic);
  put(data, Hasher().add(body).digest());
  data += body;

  std::error_code e;
  fs::create_directories(folder_, e);
  fs::path const path = folder_ / key.file_name;
  // The random part keeps apart processes of different machines and containers that share the folder.
  fs::path const temporary =
      folder_ / fmt::format("{}.{}.{}.{:08x}.tmp", key.file_name, getpid(), next_temporary_++, std::random_device()());
  bool written = write_file(temporary, data);
  std::string reason = written ? "" : std::strerror(errno);
  if (written) {
    fs::rename(temporary, path, e);
    written = !e;
    reason = e.message();
  }
  if (!written) {
    fs::remove(temporary, e);
    if (!complained_.exchange(true))
      log(LogLevel::INFO, "kernel cache: nothing is kept in {}: {}", folder_.string(), reason);
    return;
  }
  int64_t const size = static_cast<int64_t>(data.size());
  if (bytes_until_trim_.fetch_sub(size) >= size) return;
  bytes_until_trim_ = limit_bytes_ / 16;
  trim();
}

void DiskCache::trim() {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    int64_t size;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  auto const now = fs::file_time_type::clock::now();
  std::error_code e;
  for (fs::directory_iterator it(folder_, e), end; !e && it != end; it.increment(e)) {
    std::error_code gone;  // another process may remove files at the same time
    Entry entry{it->path(), it->last_write_time(gone), static_cast<int64_t>(it->file_size(gone))};
    if (gone) continue;
    if (entry.path.extension() == ".tmp" && now - entry.used > age_of_leftovers) fs::remove(entry.path, gone);
    if (entry.path.extension() != ".kernel") continue;
    total += entry.size;
    entries.push_back(std::move(entry));
  }
  if (total <= limit_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](Entry const& a, Entry const& b) { return a.used < b.used; });
  for (Entry const& entry : entries) {
    if (total <= limit_bytes_ / 8 * 7) break;
    std::error_code gone;
    fs::remove(entry.path, gone);
    total -= entry.size;
  }
}

}  // namespace fusednn::jit
