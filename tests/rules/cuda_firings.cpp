#include "rules/firing.h"

#include "cuda/nvrtc.h"
#include "cuda/nvrtc_places.h"
#include "cuda/stream.h"
#include "plan/device_plan.h"

// Rules of the CUDA driver and of compiling at run time, fired on the stand-ins for both.

namespace fusednn::tests {

namespace {

using base::Rule;

/// What loading the driver from this library says.
std::string load_driver(char const* library) {
  cuda::Search search{"CUDA driver", {}};
  auto driver = cuda::Driver::load(library, search);
  return driver.ok() ? std::string() : driver.error().message;
}

std::string failing_call() {
  auto context = cuda::PrimaryContext::retain(0);
  fake::state().fail = "cuStreamCreate";
  fake::state().fail_code = cuda::code::out_of_memory;
  auto stream = cuda::Stream::create(*context);
  fake::state().fail.clear();
  return stream.ok() ? std::string() : stream.error().message;
}

/// What asking for this kernel says.
std::string compile(codegen::KernelSource const& source, bool forbidden = false) {
  setenv("FUSEDNN_NVRTC", FAKE_NVRTC, 1);
  jit::CompilerSettings settings;
  settings.forbid_compiling = forbidden;
  jit::Compiler::Answer answer = jit::Compiler(settings).get(source);
  return answer.ok() ? std::string() : answer.error().message;
}

/// What building a program of one kernel, changed, says.
std::string build(void (*change)(engine::DeviceKernel&)) {
  DevicePlan plan;
  change(plan.kernel);
  auto program = plan.program({plan.step()});
  return program.ok() ? std::string() : base::join(program.errors());
}

}  // namespace

std::vector<Firing> cuda_firings() {
  return {
      {Rule::cuda_driver, {"libabsent.so", "cannot open"}, [] { return load_driver("libabsent.so"); }},
      {Rule::cuda_driver, {"libm.so.6", "lacks cu"}, [] { return load_driver("libm.so.6"); }},
      {Rule::cuda_call, {"cuStreamCreate", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}, failing_call},
      {Rule::handle_stream,
       {"device 0"},
       [] {
         auto context = cuda::PrimaryContext::retain(0);
         return cuda::check_stream(**context, fake::foreign_stream()).error().message;
       }},
      {Rule::nvrtc_library,
       {"absent/libnvrtc.so"},
       [] {
         cuda::NvrtcSearchRoots roots;
         roots.only = "absent/libnvrtc.so";
         cuda::Search search{"NVRTC", {}};
         return cuda::Nvrtc::load(roots, search).error().message;
       }},
      {Rule::nvrtc_arch,
       {"kernel tensor", "sm_120a"},
       [] {
         return compile({"tensor", "", "sm_120a", {}, true});
       }},
      {Rule::nvrtc_compile,
       {"wrong.cu", "no, thank you"},
       [] {
         return compile({"wrong", "#error no, thank you\n", "sm_90a", {}, false});
       }},
      {Rule::jit_serialised,
       {"kernel scale_add", "(C7510)"},
       [] { return build([](engine::DeviceKernel& k) { k.source.text = "// ptxas says (C7510)\n"; }); }},
      {Rule::plan_launch,
       {"scale and add", "grid 0 x 1 x 1"},
       [] { return build([](engine::DeviceKernel& k) {
              k.grid = {0, 1, 1};
            }); }},
      {Rule::plan_tensor_map,
       {"dims [7]", "box []"},
       [] {
         return build([](engine::DeviceKernel& k) {
           k.arguments.patch_map(k.arguments.add(std::array<uint64_t, 16>{}), 0, {DataType_t::FLOAT, {7}, {}, {}});
         });
       }},
      {Rule::host_memory,
       {"bytes"},
       [] {
         handle_t handle = nullptr;
         void* memory = nullptr;
         (void)create(&handle, Device::CPU);
         std::string const message = allocate_ext(handle, SIZE_MAX, &memory).get_message();
         (void)destroy(handle);
         return message;
       }},
      {Rule::jit_include,
       {"absent.h"},
       [] {
         return compile({"lost", "#include \"absent.h\"\n", "sm_90a", {}, false});
       }},
      {Rule::jit_forbidden,
       {"kernel new for sm_90a"},
       [] {
         return compile({"new", "", "sm_90a", {}, false}, true);
       }},
  };
}

}  // namespace fusednn::tests
