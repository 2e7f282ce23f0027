#include "safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

namespace examples {
namespace {

using nlohmann::json;

constexpr size_t length_field_size = 8;
constexpr uint64_t largest_header = 100'000'000;  // the format's own limit
constexpr int deepest_nesting = 8;                // real headers need 3

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("safetensors: " + what); }

uint64_t little_endian_64(const std::byte* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < length_field_size; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

json parse_header(const char* text, size_t size) {
  std::vector<std::set<std::string>> open_keys;
  const auto guard = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > deepest_nesting) fail("header nests too deeply");
    if (event == json::parse_event_t::object_start) open_keys.emplace_back();
    if (event == json::parse_event_t::object_end) open_keys.pop_back();
    if (event == json::parse_event_t::key && !open_keys.back().insert(parsed.get<std::string>()).second)
      fail("header names " + parsed.dump() + " twice");
    return true;
  };
  try {
    json header = json::parse(text, text + size, guard);
    if (!header.is_object()) fail("header is not a JSON object");
    return header;
  } catch (const json::exception& error) {
    fail(std::string("header is not valid JSON: ") + error.what());
  }
}

uint64_t unsigned_value(const json& value, const std::string& where) {
  if (!value.is_number_unsigned()) fail(where + " is not a non-negative integer");
  return value.get<uint64_t>();
}

const json& member(const json& entry, const char* key, const std::string& name) {
  if (!entry.is_object()) fail("entry " + name + " is not an object");
  const auto found = entry.find(key);
  if (found == entry.end()) fail("tensor " + name + " has no " + key);
  return *found;
}

SafeTensor parse_tensor(const std::string& name, const json& entry, const std::byte* data, uint64_t data_size) {
  SafeTensor tensor;
  const json& dtype = member(entry, "dtype", name);
  if (!dtype.is_string()) fail("dtype of tensor " + name + " is not a string");
  tensor.dtype = dtype.get<std::string>();
  uint64_t wanted = safetensors_element_size(tensor.dtype);
  if (wanted == 0) fail("tensor " + name + " has the unknown dtype " + tensor.dtype);

  const json& shape = member(entry, "shape", name);
  if (!shape.is_array()) fail("shape of tensor " + name + " is not an array");
  for (const json& extent : shape) {
    const uint64_t value = unsigned_value(extent, "an extent of tensor " + name);
    if (value > static_cast<uint64_t>(INT64_MAX) || __builtin_mul_overflow(wanted, value, &wanted))
      fail("shape of tensor " + name + " overflows 64 bits");
    tensor.shape.push_back(static_cast<int64_t>(value));
  }

  const json& offsets = member(entry, "data_offsets", name);
  if (!offsets.is_array() || offsets.size() != 2) fail("data_offsets of tensor " + name + " is not a pair");
  const uint64_t begin = unsigned_value(offsets[0], "data_offsets of tensor " + name);
  const uint64_t end = unsigned_value(offsets[1], "data_offsets of tensor " + name);
  if (begin > end || end > data_size) {
    fail("data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) + "] of tensor " + name +
         " leave the file's " + std::to_string(data_size) + " bytes of data");
  }
  if (end - begin != wanted) {
    fail("tensor " + name + " has " + std::to_string(end - begin) + " bytes where its shape needs " +
         std::to_string(wanted));
  }
  tensor.data = data + begin;
  tensor.size_in_bytes = static_cast<size_t>(wanted);
  return tensor;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

}  // namespace

size_t safetensors_element_size(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, size_t>, 15> sizes{{{"BOOL", 1},
                                                                              {"U8", 1},
                                                                              {"I8", 1},
                                                                              {"F8_E4M3", 1},
                                                                              {"F8_E5M2", 1},
                                                                              {"U16", 2},
                                                                              {"I16", 2},
                                                                              {"F16", 2},
                                                                              {"BF16", 2},
                                                                              {"U32", 4},
                                                                              {"I32", 4},
                                                                              {"F32", 4},
                                                                              {"U64", 8},
                                                                              {"I64", 8},
                                                                              {"F64", 8}}};
  for (const auto& [name, size] : sizes)
    if (name == dtype) return size;
  return 0;
}

SafetensorsFile::SafetensorsFile(const std::string& path) {
  map(path);
  try {
    parse();
  } catch (...) {
    unmap();
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() { unmap(); }

void SafetensorsFile::map(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("cannot open " + path + ": " + std::strerror(errno));
  struct stat status {};
  const bool readable = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (!readable || status.st_size < static_cast<off_t>(length_field_size)) {
    ::close(file);
    fail(path + (readable ? " is shorter than its length field" : " is not a regular file"));
  }
  mapped_size_ = static_cast<size_t>(status.st_size);
  mapping_ = ::mmap(nullptr, mapped_size_, PROT_READ, MAP_PRIVATE, file, 0);
  const int map_error = errno;
  ::close(file);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    fail("cannot map " + path + ": " + std::strerror(map_error));
  }
}

void SafetensorsFile::unmap() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_size_);
  mapping_ = nullptr;
}

void SafetensorsFile::parse() {
  const auto* bytes = static_cast<const std::byte*>(mapping_);
  const uint64_t header_size = little_endian_64(bytes);
  const uint64_t available = mapped_size_ - length_field_size;
  if (header_size > available || header_size > largest_header) {
    fail("a header of " + std::to_string(header_size) + " bytes in a file with " + std::to_string(available) +
         " bytes after the length field (limit " + std::to_string(largest_header) + ")");
  }
  const std::byte* header_text = bytes + length_field_size;
  const json header = parse_header(reinterpret_cast<const char*>(header_text), static_cast<size_t>(header_size));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    tensors_.emplace(name, parse_tensor(name, entry, header_text + header_size, available - header_size));
  }
}

std::vector<float> SafetensorsFile::read_float32(const std::string& name, const std::vector<int64_t>& shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail("the file has no tensor " + name);
  const SafeTensor& tensor = found->second;
  if (tensor.dtype != "F32" || tensor.shape != shape) {
    fail("tensor " + name + " is " + tensor.dtype + " " + shape_text(tensor.shape) + " where F32 " + shape_text(shape) +
         " is expected");
  }
  std::vector<float> values(tensor.size_in_bytes / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.data, tensor.size_in_bytes);
  return values;
}

}  // namespace examples
