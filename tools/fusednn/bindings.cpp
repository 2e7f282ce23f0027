#include "bindings.h"

#include "failure.h"
#include "graph_file.h"
#include "random_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tool {

namespace {

using fusednn::graph::Graph;
using Tensors = std::vector<Graph::tensor_ptr>;

/// The tensor of this name, or of this uid where no name matches.
Graph::tensor_ptr const& find(Tensors const& tensors, std::string const& name, std::string const& option) {
  std::vector<Graph::tensor_ptr const*> named, numbered;
  std::vector<std::string> names;
  for (auto const& t : tensors) {
    if (t->get_name() == name) named.push_back(&t);
    if (std::to_string(t->get_uid()) == name) numbered.push_back(&t);
    names.push_back(fmt::format("{} (uid {})", t->get_name(), t->get_uid()));
  }
  auto const& matches = named.empty() ? numbered : named;
  if (matches.size() == 1) return *matches.front();
  throw Failure(exit_usage, fmt::format("{} {}: {}; the graph has {}", option, name,
                                        matches.empty() ? "no such tensor" : "several have this name, give the uid",
                                        fmt::join(names, ", ")));
}

}  // namespace

Files parse_files(std::vector<std::string> const& arguments, std::string const& option) {
  Files files;
  for (std::string const& a : arguments) {
    size_t const equals = a.find('=');
    if (equals == 0 || equals == a.npos || equals + 1 == a.size())
      throw Failure(exit_usage, fmt::format("{} {}: expected name=file.npy", option, a));
    if (!files.emplace(a.substr(0, equals), a.substr(equals + 1)).second)
      throw Failure(exit_usage, fmt::format("{} {}: given twice", option, a.substr(0, equals)));
  }
  return files;
}

Bindings::Memory& Bindings::add(fusednn::graph::Tensor_attributes const& tensor) {
  Memory& memory = tensors_.emplace(tensor.get_uid(), Memory{HostTensor(tensor), {}}).first->second;
  if (has_own_memory(handle_) && !tensor.get_pass_by_value()) memory.device.emplace(handle_, memory.host.bytes());
  pack_[tensor.get_uid()] = memory.device ? memory.device->data() : memory.host.data();
  return memory;
}

Bindings::Bindings(fusednn::handle_t handle, Graph const& graph, Files const& inputs, uint64_t seed)
    : handle_(handle), outputs_(graph.outputs_ext()) {
  Tensors const tensors = graph.inputs_ext();
  std::unordered_map<int64_t, std::string> files;
  for (auto const& [name, path] : inputs) files[find(tensors, name, "--input")->get_uid()] = path;
  auto const roles = roles_of(description_of(graph));
  for (auto const& t : tensors) {
    auto const file = files.find(t->get_uid());
    if (file == files.end() && t->get_pass_by_value()) continue;
    Memory& memory = add(*t);
    if (file == files.end()) {
      auto const role = roles.find(t->get_uid());
      fill_random(memory.host, role == roles.end() ? Role() : role->second, seed, t->get_name());
    } else {
      try {
        memory.host.assign(read_npy(file->second));
      } catch (NpyError const& e) {
        throw Failure(exit_invalid, fmt::format("input '{}': {}: {}", t->get_name(), file->second, e.what()));
      }
    }
    if (memory.device) memory.device->write(memory.host.data());
  }
  for (auto const& t : outputs_) add(*t);
}

void Bindings::poison_outputs() {
  for (auto const& t : outputs_) {
    Memory& memory = tensors_.at(t->get_uid());
    memory.host.poison();
    if (memory.device) memory.device->write(memory.host.data());
  }
}

void Bindings::choose_outputs(Files const& outputs) {
  for (auto const& [name, path] : outputs)
    output_files_.emplace_back(find(outputs_, name, "--output")->get_uid(), path);
}

void Bindings::write_outputs() {
  for (auto const& [uid, path] : output_files_) {
    auto& [host, device] = tensors_.at(uid);
    if (device) device->read(host.data());
    try {
      write_npy(path, host.type().npy[0], host.dims(), host.packed());
    } catch (NpyError const& e) {
      throw Failure(exit_runtime, fmt::format("{}: {}", path, e.what()));
    }
  }
}

}  // namespace tool
