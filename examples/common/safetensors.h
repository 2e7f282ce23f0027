#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

struct SafeTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;  // inside the mapping, with no alignment promised
  size_t size_in_bytes = 0;
};

// A .safetensors file mapped read-only. Whatever the file holds, the constructor either proves that every
// tensor lies inside it with the size that its shape and type ask for, or throws std::runtime_error saying
// what is wrong.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::map<std::string, SafeTensor>& tensors() const { return tensors_; }

  // Throws when the tensor is missing or has another type or shape.
  std::vector<float> read_float32(const std::string& name, const std::vector<int64_t>& shape) const;

 private:
  void map(const std::string& path);
  void unmap();
  void parse();

  std::map<std::string, SafeTensor> tensors_;
  void* mapping_ = nullptr;
  size_t mapped_size_ = 0;
};

// Bytes of one element, or 0 for a name that the format does not have.
size_t safetensors_element_size(std::string_view dtype);

}  // namespace examples
