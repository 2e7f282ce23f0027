#include "engines/cuda/composite_engine.h"

#include "passes/moves.h"

#include <algorithm>

namespace fusednn::engines::cuda {

namespace {

// Which kernels the regions become: a Fusion.
constexpr KnobType_t fusion_knob = KnobType_t::KERNEL_CFG;

}  // namespace

std::vector<engine::KnobRange> CompositeEngine::knobs() const { return {{fusion_knob, 0, 2, 1}}; }

engine::Support CompositeEngine::support(ir::OpGraph const& graph, target::Target const&) const {
  engine::Support s;
  for (ir::Tensor const& t : graph.tensors())
    if (t.ragged_offset != ir::no_tensor)
      s.refusals.push_back(base::make_error(base::Rule::engine_ragged, {{}, t.name}, "has ragged offsets"));
  for (ir::Node const& n : graph.nodes())
    if (!passes::is_loop(n) && !passes::is_copy(n) && !(anchors_ && anchors_->anchors(n)))
      s.refusals.push_back(base::make_error(base::Rule::engine_operation, {n.name, {}}, "is of another kind"));
  if (!s.refusals.empty()) return s;
  // Another split is another candidate where it gives other regions.
  auto same = [&](passes::Partition const& partition) {
    return std::any_of(s.configs.begin(), s.configs.end(), [&](engine::Config const& known) {
      auto const& other = *static_cast<passes::Partition const*>(known.found.get());
      return std::equal(partition.regions.begin(), partition.regions.end(), other.regions.begin(), other.regions.end(),
                        [](passes::Region const& a, passes::Region const& b) { return a.nodes == b.nodes; });
    });
  };
  auto offer = [&](Fusion fusion) {
    Split found = split(graph, anchors_, fusion);
    if (!same(*found.partition)) s.configs.push_back({{{fusion_knob, static_cast<int64_t>(fusion)}}, found.partition});
    return found;
  };
  Split const whole = offer(Fusion::whole);
  if (whole.reduces_again) offer(Fusion::before_reduced);
  if (whole.joins) offer(Fusion::nodes);
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

std::shared_ptr<passes::Partition const> CompositeEngine::partition_of(ir::OpGraph const& graph,
                                                                       engine::Config const& config) const {
  if (config.found) return std::static_pointer_cast<passes::Partition const>(config.found);
  return split(graph, anchors_, static_cast<Fusion>(config.knob(fusion_knob, 0))).partition;
}

double CompositeEngine::estimate_seconds(ir::OpGraph const& graph, target::Target const& target,
                                         engine::Config const& config) const {
  auto const partition = partition_of(graph, config);
  double const seconds = Composite(graph, *target.gpu, anchors_, *partition).estimate_seconds();
  return face_.slow ? 1 + seconds : seconds;
}

base::Result<engine::Prepared> CompositeEngine::prepare(ir::OpGraphPtr const& graph, target::Target const& target,
                                                        engine::Config const& config) const {
  auto const partition = partition_of(*graph, config);
  return Composite(*graph, *target.gpu, anchors_, *partition).prepare();
}

}  // namespace fusednn::engines::cuda
