#pragma once

#include "engines/cuda/composite.h"

namespace fusednn::engines::cuda {

/// An engine whose plans are composites: what its anchors take, and loops around it.
class CompositeEngine : public engine::Engine {
 public:
  struct Face {
    std::string_view name, summary;
    bool slow;  ///< stands behind every other engine, carries SLOW_ext
  };
  CompositeEngine(Face face, AnchorKernels const* anchors) : face_(face), anchors_(anchors) {}

  std::string_view name() const override { return face_.name; }
  std::string_view summary() const override { return face_.summary; }
  std::vector<engine::KnobRange> knobs() const override;
  engine::Support support(ir::OpGraph const& graph, target::Target const& target) const override;
  engine::Notes notes(ir::OpGraph const& graph, engine::Config const& config) const override;
  double estimate_seconds(ir::OpGraph const& graph, target::Target const& target,
                          engine::Config const& config) const override;
  base::Result<engine::Prepared> prepare(ir::OpGraphPtr const& graph, target::Target const& target,
                                         engine::Config const& config) const override;

 private:
  std::shared_ptr<passes::Partition const> partition_of(ir::OpGraph const& graph, engine::Config const& config) const;

  Face face_;
  AnchorKernels const* anchors_;
};

}  // namespace fusednn::engines::cuda
