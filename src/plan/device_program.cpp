#include "plan/device_program.h"

#include "cuda/memory.h"
#include "jit/compiler.h"
#include "jit/module_cache.h"

#include <alloca.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace fusednn::plan {

using base::make_error;
using base::Rule;
using engine::Arguments;

namespace {

constexpr size_t most_argument_bytes = 4096;

/// What of the launch the GPU could not do; empty where it can.
std::string beyond_limits(engine::DeviceKernel const& k, size_t operands, target::Gpu const& gpu) {
  auto product = [](std::array<uint32_t, 3> const& a) { return uint64_t{a[0]} * a[1] * a[2]; };
  if (product(k.grid) == 0 || k.grid[0] > INT32_MAX || k.grid[1] > 65535 || k.grid[2] > 65535)
    return fmt::format("grid {} x {} x {}", k.grid[0], k.grid[1], k.grid[2]);
  if (product(k.block) == 0 || product(k.block) > 1024 || k.block[2] > 64)
    return fmt::format("block {} x {} x {}", k.block[0], k.block[1], k.block[2]);
  if (product(k.cluster) == 0 || product(k.cluster) > 8 || (product(k.cluster) > 1 && !gpu.can.cluster))
    return fmt::format("cluster {} x {} x {}", k.cluster[0], k.cluster[1], k.cluster[2]);
  for (size_t i = 0; i < 3; ++i)
    if (k.grid[i] % k.cluster[i]) return fmt::format("grid {} in clusters of {}", k.grid[i], k.cluster[i]);
  if (k.dynamic_shared_bytes > gpu.shared_bytes_per_block)
    return fmt::format("{} bytes of shared memory, there are {}", k.dynamic_shared_bytes, gpu.shared_bytes_per_block);
  Arguments const& a = k.arguments;
  if (a.block.size() > most_argument_bytes) return fmt::format("{} bytes of arguments", a.block.size());
  for (Arguments::Patch const& p : a.patches) {
    size_t const bytes = p.kind == Arguments::Patch::Kind::pointer ? sizeof(void*)
                         : p.kind == Arguments::Patch::Kind::value ? p.bytes
                                                                   : engine::TensorMap::bytes;
    if (p.at + bytes > a.block.size() || p.operand >= operands ||
        (p.kind == Arguments::Patch::Kind::tensor_map && p.map >= a.maps.size()))
      return fmt::format("argument at {} of operand {}", p.at, p.operand);
  }
  return {};
}

cuda::DriverCode fill(cuda::Driver const& driver, engine::Fill const& f, void* to, cuda::RawStream stream) {
  return driver.fill_32(cuda::device_pointer(to) + static_cast<uint64_t>(f.offset), f.word,
                        static_cast<size_t>(f.bytes) / sizeof(f.word), stream);
}

cuda::DriverCode copy(cuda::Driver const& driver, engine::Copy const& c, void* to, void* from, cuda::RawStream stream) {
  return driver.copy(cuda::device_pointer(to) + static_cast<uint64_t>(c.to_offset),
                     cuda::device_pointer(from) + static_cast<uint64_t>(c.from_offset), static_cast<size_t>(c.bytes),
                     stream);
}

}  // namespace

base::Result<std::shared_ptr<DeviceProgram const>> DeviceProgram::build(target::Target const& target,
                                                                        std::vector<engine::Step> const& steps,
                                                                        bool lenient, jit::Compiler& compiler) {
  auto program = std::make_shared<DeviceProgram>(steps);
  std::vector<codegen::KernelSource const*> sources;
  std::vector<size_t> with_kernel;
  for (engine::Step const& step : program->steps_) {
    Launch& launch = program->launches_.emplace_back();
    launch.step = &step;
    if (std::holds_alternative<std::shared_ptr<engine::HostKernel const>>(step.work))
      return make_error(Rule::plan_launch, {}, fmt::format("{}: runs on the CPU", step.description));
    auto const* kernel = std::get_if<std::shared_ptr<engine::DeviceKernel const>>(&step.work);
    if (!kernel) continue;
    launch.kernel = kernel->get();
    if (std::string const found = beyond_limits(**kernel, step.operands.size(), *target.gpu); !found.empty())
      return make_error(Rule::plan_launch, {}, fmt::format("{}: {}", step.description, found));
    sources.push_back(&launch.kernel->source);
    with_kernel.push_back(program->launches_.size() - 1);
  }
  if (target.has_device()) {
    auto context = cuda::PrimaryContext::retain(target.ordinal);
    if (!context) return context.errors();
    program->context_ = std::move(*context);
  }
  std::vector<jit::Compiler::Answer> const compiled = compiler.get(sources);
  for (size_t i = 0; i < compiled.size(); ++i) {
    if (!compiled[i]) return compiled[i].errors();
    jit::CompiledKernel const& kernel = *compiled[i].value();
    if (auto remarks = jit::serialisation_remarks(kernel.image.log); !remarks.empty() && !lenient)
      return make_error(Rule::jit_serialised, {}, fmt::format("kernel {}: {}", sources[i]->name, remarks.front()));
    if (!program->context_) continue;
    if (base::Status status = program->load(program->launches_[with_kernel[i]], kernel); !status)
      return status.errors();
  }
  return std::shared_ptr<DeviceProgram const>(std::move(program));
}

base::Status DeviceProgram::load(Launch& launch, jit::CompiledKernel const& compiled) {
  engine::DeviceKernel const& k = *launch.kernel;
  auto module = jit::ModuleCache::shared().get(context_, compiled);
  if (!module) return module.errors();
  launch.module = std::move(*module);
  base::Result<cuda::Function> function = launch.module->function(k.entry, static_cast<int>(k.dynamic_shared_bytes));
  if (!function) return function.errors();
  launch.function = *function;
  if (k.block[0] * k.block[1] * k.block[2] > static_cast<unsigned>(function->max_threads))
    return make_error(Rule::plan_launch, {},
                      fmt::format("{}: {} registers per thread leave at most {} threads", launch.step->description,
                                  function->registers, function->max_threads));
  std::copy(k.grid.begin(), k.grid.end(), launch.config.grid);
  std::copy(k.block.begin(), k.block.end(), launch.config.block);
  launch.config.dynamic_shared_bytes = k.dynamic_shared_bytes;
  if (k.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    cuda::LaunchAttribute& a = launch.attributes.emplace_back();
    a.id = cuda::launch_attribute::cluster_dimension;
    std::copy(k.cluster.begin(), k.cluster.end(), a.value.cluster);
  }
  if (k.programmatic_launch) {
    cuda::LaunchAttribute& a = launch.attributes.emplace_back();
    a.id = cuda::launch_attribute::programmatic_stream_serialization;
    a.value.programmatic = 1;
  }
  launch.config.attributes = launch.attributes.data();
  launch.config.attribute_count = static_cast<unsigned>(launch.attributes.size());
  cuda::ContextScope const scope(*context_);
  for (engine::TensorMap const& map : k.arguments.maps) {
    base::Result<EncodedMap> encoded = encode(context_->driver(), map);
    if (!encoded) return encoded.errors();
    launch.maps.push_back(*encoded);
  }
  return base::success();
}

cuda::DriverCode DeviceProgram::enqueue(Launch const& launch, void* const* operands, cuda::RawStream stream) const {
  cuda::Driver const& driver = context_->driver();
  if (auto const* f = std::get_if<engine::Fill>(&launch.step->work)) return fill(driver, *f, operands[0], stream);
  if (auto const* c = std::get_if<engine::Copy>(&launch.step->work))
    return copy(driver, *c, operands[0], operands[1], stream);
  Arguments const& arguments = launch.kernel->arguments;
  constexpr size_t alignment = engine::TensorMap::alignment;
  void* raw = alloca(arguments.block.size() + alignment);
  auto* block = static_cast<std::byte*>(raw);
  block += -reinterpret_cast<uintptr_t>(block) % alignment;
  if (!arguments.block.empty()) std::memcpy(block, arguments.block.data(), arguments.block.size());
  for (Arguments::Patch const& p : arguments.patches) {
    uint64_t const address = cuda::device_pointer(operands[p.operand]) + static_cast<uint64_t>(p.offset);
    std::byte* const at = block + p.at;
    switch (p.kind) {
      case Arguments::Patch::Kind::pointer:
        std::memcpy(at, &address, sizeof(address));
        break;
      case Arguments::Patch::Kind::value:
        std::memcpy(at, operands[p.operand], p.bytes);
        break;
      case Arguments::Patch::Kind::tensor_map:
        std::memcpy(at, launch.maps[p.map].data(), engine::TensorMap::bytes);
        if (cuda::DriverCode code = driver.tensor_map_address(at, reinterpret_cast<void*>(address))) return code;
    }
  }
  size_t const count = arguments.parameters.size();
  void** parameters = static_cast<void**>(alloca((count + 1) * sizeof(void*)));
  for (size_t i = 0; i < count; ++i) parameters[i] = block + arguments.parameters[i];
  cuda::LaunchConfig config = launch.config;
  config.stream = stream;
  return driver.launch(&config, launch.function.raw, parameters, nullptr);
}

}  // namespace fusednn::plan
