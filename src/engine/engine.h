#pragma once

#include "base/result.h"
#include "engine/device_kernel.h"
#include "ir/op_graph.h"
#include "target/target.h"

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

// The contract between planning and the engines. An engine says whether it takes a graph on a target, and turns a
// graph into steps: plain data plus immutable kernels, with no device object in sight.

namespace fusednn::engine {

struct KnobChoice {
  KnobType_t type;
  int64_t value;
  bool operator==(KnobChoice const&) const = default;
};

/// One way in which an engine can run a graph: a value for each of its knobs.
struct Config {
  std::vector<KnobChoice> knobs;
  /// What `support` found out about the graph for this config, where the engine likes to keep it for `estimate_seconds`
  /// and `prepare`. Not part of what the config is.
  std::shared_ptr<void const> found = nullptr;
  bool operator==(Config const& other) const { return knobs == other.knobs; }

  int64_t knob(KnobType_t type, int64_t otherwise) const {
    for (KnobChoice const& k : knobs)
      if (k.type == type) return k.value;
    return otherwise;
  }
};

/// Legal values of a knob: first, first + step, ..., last.
struct KnobRange {
  KnobType_t type;
  int64_t first, last, step;
};

/// Either configs, best first (at most 24), or the reasons against.
struct Support {
  std::vector<Config> configs;
  std::vector<base::Error> refusals;
};

struct Notes {
  std::vector<BehaviorNote_t> behavior;
  std::vector<NumericalNote_t> numeric;
};

/// What a step's pointer stands for: a tensor of the graph, or an offset in the workspace.
struct Operand {
  enum class Kind { tensor, workspace } kind;
  int64_t value;  ///< TensorId, or bytes from the start of the workspace (a multiple of 64)

  static Operand tensor(ir::TensorId id) { return {Kind::tensor, id}; }
  static Operand workspace(int64_t offset) { return {Kind::workspace, offset}; }
};

/// Code that runs on the CPU. Immutable: any number of threads may run one at a time, each with its own pointers.
class HostKernel {
 public:
  virtual ~HostKernel() = default;
  /// `operands[i]` is the memory of the step's operand i. Allocates nothing.
  virtual void run(void* const* operands) const noexcept = 0;
};

/// Sets operand 0, from `offset` on, to copies of a word; `bytes` is a multiple of 4.
struct Fill {
  uint32_t word = 0;
  int64_t bytes = 0;
  int64_t offset = 0;
};

/// Copies to operand 0 from operand 1.
struct Copy {
  int64_t bytes = 0;
  int64_t to_offset = 0;
  int64_t from_offset = 0;
};

/// One kernel, fill or copy of a plan with what it works on.
struct Step {
  std::string description;  ///< one line: kernel, what it covers, schedule
  std::vector<Operand> operands;
  std::variant<std::shared_ptr<HostKernel const>, std::shared_ptr<DeviceKernel const>, Fill, Copy> work;
};

struct Prepared {
  std::vector<Step> steps;
  int64_t workspace_bytes = 0;
};

/// Alignment of the workspace and of everything an engine lays out in it, in bytes: a cache line, and a full vector.
inline constexpr int64_t workspace_alignment = 64;
/// Bytes rounded up to it.
constexpr int64_t workspace_aligned(int64_t bytes) {
  return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  /// One sentence for `explain`.
  virtual std::string_view summary() const = 0;
  virtual std::vector<KnobRange> knobs() const { return {}; }
  virtual Support support(ir::OpGraph const&, target::Target const&) const = 0;
  virtual Notes notes(ir::OpGraph const&, Config const&) const = 0;
  /// Rough time of one execution in seconds; ranks plans.
  virtual double estimate_seconds(ir::OpGraph const&, target::Target const&, Config const&) const = 0;
  virtual base::Result<Prepared> prepare(ir::OpGraphPtr const&, target::Target const&, Config const&) const = 0;
};

}  // namespace fusednn::engine
