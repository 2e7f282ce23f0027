#pragma once

#include "device_memory.h"
#include "host_tensor.h"

#include <fusednn.h>

#include <map>
#include <optional>
#include <unordered_map>

namespace tool {

/// "name=file" arguments, by name.
using Files = std::map<std::string, std::string>;
/// Throws Failure(exit_usage) where an argument has another form or a name comes twice.
Files parse_files(std::vector<std::string> const& arguments, std::string const& option);

/// Memory for every tensor that a built graph's variant pack holds: the host's, and a copy of it on a device that has
/// memory of its own.
class Bindings {
 public:
  /// Inputs are read from files, the others filled at random. Scalars with a value of their own keep it.
  Bindings(fusednn::handle_t handle, fusednn::graph::Graph const& graph, Files const& inputs, uint64_t seed);

  std::unordered_map<int64_t, void*>& pack() { return pack_; }
  void poison_outputs();
  /// Names are checked before anything runs.
  void choose_outputs(Files const& outputs);
  void write_outputs();

 private:
  struct Memory {
    HostTensor host;
    std::optional<DeviceMemory> device;  ///< none where the plan works in the host's, as with scalars passed by value
  };

  Memory& add(fusednn::graph::Tensor_attributes const& tensor);

  fusednn::handle_t handle_;
  std::unordered_map<int64_t, Memory> tensors_;
  std::unordered_map<int64_t, void*> pack_;
  std::vector<fusednn::graph::Graph::tensor_ptr> outputs_;
  std::vector<std::pair<int64_t, std::string>> output_files_;
};

}  // namespace tool
