#include "engines/cuda/composite_engine.h"

#include "passes/moves.h"

#include <algorithm>

namespace fusednn::engines::cuda {

namespace {

// Which kernels the regions become: a Fusion.
constexpr KnobType_t fusion_knob = KnobType_t::KERNEL_CFG;

Fusion fusion_of(engine::Config const& config) { return static_cast<Fusion>(config.knob(fusion_knob, 0)); }

}  // namespace

std::vector<engine::KnobRange> CompositeEngine::knobs() const { return {{fusion_knob, 0, 2, 1}}; }

engine::Support CompositeEngine::support(ir::OpGraph const& graph, target::Target const& target) const {
  engine::Support s;
  for (ir::Tensor const& t : graph.tensors())
    if (t.ragged_offset != ir::no_tensor)
      s.refusals.push_back(base::make_error(base::Rule::engine_ragged, {{}, t.name}, "has ragged offsets"));
  for (ir::Node const& n : graph.nodes())
    if (!passes::is_loop(n) && !passes::is_copy(n) && !(anchors_ && anchors_->anchors(n)))
      s.refusals.push_back(base::make_error(base::Rule::engine_operation, {n.name, {}}, "is of another kind"));
  if (!s.refusals.empty()) return s;
  // Another split is another candidate where it gives other regions.
  std::vector<std::vector<passes::Region>> known;
  for (Fusion fusion : {Fusion::whole, Fusion::before_reduced, Fusion::nodes}) {
    std::vector<passes::Region> const regions = Composite(graph, *target.gpu, anchors_, fusion).partition().regions;
    auto same = [&](std::vector<passes::Region> const& other) {
      return std::equal(regions.begin(), regions.end(), other.begin(), other.end(),
                        [](passes::Region const& a, passes::Region const& b) { return a.nodes == b.nodes; });
    };
    if (std::any_of(known.begin(), known.end(), same)) continue;
    known.push_back(regions);
    s.configs.push_back({{{fusion_knob, static_cast<int64_t>(fusion)}}});
  }
  return s;
}

engine::Notes CompositeEngine::notes(ir::OpGraph const& graph, engine::Config const&) const {
  engine::Notes notes{{BehaviorNote_t::RUNTIME_COMPILATION}, {NumericalNote_t::STRICT_NAN_PROP}};
  // Schedules of loops see to it where the graph asks.
  if (graph.context().batch_invariant && (!anchors_ || anchors_->batch_invariant()))
    notes.behavior.push_back(BehaviorNote_t::BATCH_INVARIANT_ext);
  if (face_.slow) notes.behavior.push_back(BehaviorNote_t::SLOW_ext);
  return notes;
}

double CompositeEngine::estimate_seconds(ir::OpGraph const& graph, target::Target const& target,
                                         engine::Config const& config) const {
  double const seconds = Composite(graph, *target.gpu, anchors_, fusion_of(config)).estimate_seconds();
  return face_.slow ? 1 + seconds : seconds;
}

base::Result<engine::Prepared> CompositeEngine::prepare(ir::OpGraphPtr const& graph, target::Target const& target,
                                                        engine::Config const& config) const {
  return Composite(*graph, *target.gpu, anchors_, fusion_of(config)).prepare();
}

}  // namespace fusednn::engines::cuda
