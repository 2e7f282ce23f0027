#pragma once

#include <fusednn.h>

#include <nlohmann/json_fwd.hpp>

namespace tool {

/// Reads a graph from a file of JSON text, "-" for standard input. Throws Failure.
fusednn::graph::Graph load_graph(std::string const& path);

/// The graph's own text, parsed.
nlohmann::json description_of(fusednn::graph::Graph const& graph);

/// A handle that is destroyed with its scope: of "cpu", "cuda", or an architecture without a device, as "sm_90a".
class Handle {
 public:
  explicit Handle(std::string const& device);
  ~Handle();
  Handle(Handle const&) = delete;
  Handle& operator=(Handle const&) = delete;
  operator fusednn::handle_t() const { return handle_; }

 private:
  fusednn::handle_t handle_ = nullptr;
};

}  // namespace tool
