#pragma once

#include "fakes/fake_driver.h"
#include "jit/compiler.h"
#include "plan/plan.h"

#include <cstdlib>

namespace fusednn::tests {

/// y = scale * x + bias on n floats, as a plan with one launch of the kernel "scale_add" on the stand-in for the
/// driver: x and y are in device memory, scale is a scalar passed by value.
struct DevicePlan {
  static constexpr int n = 40;

  struct Tail {
    float bias;
    int count;
  };

  DevicePlan() {
    setenv("FUSEDNN_NVRTC", FAKE_NVRTC, 1);
    fake::state() = {};
    fake::state().kernels = {{"scale_add", [](void** parameters) {
                                auto* y = *static_cast<float**>(parameters[0]);
                                auto const* x = *static_cast<float const**>(parameters[1]);
                                float const scale = *static_cast<float const*>(parameters[2]);
                                Tail const tail = *static_cast<Tail const*>(parameters[3]);
                                for (int i = 0; i < tail.count; ++i) y[i] = scale * x[i] + tail.bias;
                              }}};
    kernel.source = {"scale_add", "// text", target.gpu->arch, {}, false};
    kernel.entry = "scale_add";
    kernel.grid = {3, 1, 1};
    kernel.block = {128, 1, 1};
    kernel.arguments.add_pointer(2);
    kernel.arguments.add_pointer(0);
    kernel.arguments.add_scalar(1, sizeof(float));
    kernel.arguments.add(Tail{0.5f, n});
  }

  static ir::OpGraphPtr graph() {
    ir::Graph draft;
    auto tensor = [&](char const* name, int64_t uid, int64_t size) {
      ir::Tensor t;
      t.name = name;
      t.uid = uid;
      t.dtype = DataType_t::FLOAT;
      t.dims = {size};
      t.strides = {1};
      return draft.add(t);
    };
    ir::Node node;
    node.inputs = {tensor("x", 1, n), tensor("scale", 2, 1)};
    node.outputs = {tensor("y", 3, n)};
    draft.tensor(1).pass_by_value = true;
    draft.tensor(1).value = graph::Scalar_value(3.0f);
    draft.nodes.push_back(node);
    return std::make_shared<ir::OpGraph const>(std::move(draft));
  }

  engine::Step step() const {
    return {"scale and add",
            {engine::Operand::tensor(0), engine::Operand::tensor(1), engine::Operand::tensor(2)},
            std::make_shared<engine::DeviceKernel const>(kernel)};
  }

  base::Result<std::shared_ptr<plan::DeviceProgram const>> program(std::vector<engine::Step> const& steps,
                                                                   bool lenient = false) {
    return plan::DeviceProgram::build(target, steps, lenient, compiler);
  }

  plan::Plan plan(std::vector<engine::Step> steps, int64_t workspace_bytes = 0) {
    auto built = program(steps);
    return plan::Plan(graph(), target, "test", {std::move(steps), workspace_bytes}, built.value());
  }

  target::Target target = target::cuda_target(0, *target::gpu_for_arch("sm_90a"));
  engine::DeviceKernel kernel;
  jit::Compiler compiler{jit::CompilerSettings{}};
};

}  // namespace fusednn::tests
