#include "engines/cpu/engines.h"
#include "ir/layout.h"
#include "ops/reference.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusednn::engines::cpu {

namespace {

/// Runs the whole graph through the reference and rounds the outputs. Unlike other engines it allocates while it runs.
class ReferenceKernel : public engine::HostKernel {
 public:
  ReferenceKernel(ir::OpGraphPtr graph, std::vector<ir::TensorId> operands)
      : graph_(std::move(graph)), operands_(std::move(operands)) {}

  void run(void* const* pointers) const noexcept override {
    auto memory = [&](ir::TensorId id) -> void* {
      auto at = std::find(operands_.begin(), operands_.end(), id);
      if (at != operands_.end()) return pointers[at - operands_.begin()];
      return nullptr;  // a compile-time constant: its value stands in the graph
    };
    for (ops::RefOutput const& out : ops::run_reference(*graph_, memory))
      ops::store(graph_->tensor(out.tensor), out.values, memory(out.tensor));
  }

 private:
  ir::OpGraphPtr graph_;
  std::vector<ir::TensorId> operands_;
};

class ReferenceEngine : public engine::Engine {
 public:
  std::string_view name() const override { return "cpu.reference"; }
  std::string_view summary() const override { return "every operation in double precision, node by node"; }

  engine::Support support(ir::OpGraph const& graph, target::Target const&) const override {
    engine::Support s;
    for (ir::Tensor const& t : graph.tensors())
      if (t.ragged_offset != ir::no_tensor)
        s.refusals.push_back(base::make_error(base::Rule::engine_ragged, {{}, t.name}, "has ragged offsets"));
    if (s.refusals.empty()) s.configs.push_back({});
    return s;
  }

  engine::Notes notes(ir::OpGraph const&, engine::Config const&) const override {
    return {{BehaviorNote_t::SLOW_ext, BehaviorNote_t::IN_PLACE_SAFE_ext, BehaviorNote_t::BATCH_INVARIANT_ext},
            {NumericalNote_t::STRICT_NAN_PROP}};
  }

  double estimate_seconds(ir::OpGraph const& graph, target::Target const&, engine::Config const&) const override {
    double elements = 0;
    for (ir::Tensor const& t : graph.tensors()) elements += static_cast<double>(ir::volume(t.dims).value_or(0));
    return 1 + 1e-6 * elements;  // always behind the others
  }

  base::Result<engine::Prepared> prepare(ir::OpGraphPtr const& graph, target::Target const&,
                                         engine::Config const&) const override {
    std::vector<ir::TensorId> ids = graph->inputs();
    ids.insert(ids.end(), graph->outputs().begin(), graph->outputs().end());
    engine::Step step{fmt::format("reference of {} operations", graph->nodes().size()),
                      {},
                      std::make_shared<ReferenceKernel>(graph, ids)};
    for (ir::TensorId id : ids) step.operands.push_back(engine::Operand::tensor(id));
    engine::Prepared prepared;
    prepared.steps.push_back(std::move(step));
    return prepared;
  }
};

}  // namespace

engine::Engine const& reference_engine() {
  static ReferenceEngine const engine;
  return engine;
}

}  // namespace fusednn::engines::cpu
