#pragma once

#include "host_tensor.h"

#include <fusednn.h>

#include <map>
#include <unordered_map>

namespace tool {

/// "name=file" arguments, by name.
using Files = std::map<std::string, std::string>;
/// Throws Failure(exit_usage) where an argument has another form or a name comes twice.
Files parse_files(std::vector<std::string> const& arguments, std::string const& option);

/// Memory for every tensor that a built graph's variant pack holds.
class Bindings {
 public:
  /// Inputs are read from files, the others filled at random. Scalars with a value of their own keep it.
  Bindings(fusednn::graph::Graph const& graph, Files const& inputs, uint64_t seed);

  std::unordered_map<int64_t, void*>& pack() { return pack_; }
  void poison_outputs();
  /// Names are checked before anything runs.
  void choose_outputs(Files const& outputs);
  void write_outputs();

 private:
  HostTensor& add(fusednn::graph::Tensor_attributes const& tensor);

  std::unordered_map<int64_t, HostTensor> tensors_;
  std::unordered_map<int64_t, void*> pack_;
  std::vector<fusednn::graph::Graph::tensor_ptr> outputs_;
  std::vector<std::pair<int64_t, std::string>> output_files_;
};

}  // namespace tool
