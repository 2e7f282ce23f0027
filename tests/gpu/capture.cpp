#include "gpu/capture.h"

namespace fusednn::testing {

namespace {

using cuda::DriverCode;
using cuda::RawStream;

constexpr int capture_mode_global = 0, node_type_kernel = 0;

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  cuda::RawFunction function;
  unsigned grid[3], block[3], dynamic_shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;  ///< in place of the function where that is null
  void* context;
};

/// Functions of the driver that the library itself has no use for.
struct GraphFunctions {
  DriverCode (*begin)(RawStream, int mode);
  DriverCode (*end)(RawStream, void** graph);
  DriverCode (*instantiate)(void** executable, void* graph, unsigned long long flags);
  DriverCode (*launch)(void* executable, RawStream);
  DriverCode (*destroy_executable)(void*);
  DriverCode (*destroy)(void* graph);
  DriverCode (*nodes)(void* graph, void** nodes, size_t* count);
  DriverCode (*type)(void* node, int* type);
  DriverCode (*kernel)(void* node, KernelNode*);
};

GraphFunctions const& functions() {
  static GraphFunctions const table = [] {
    cuda::Search search;
    void* const library = cuda::open_library("libcuda.so.1", search);
    GraphFunctions f{};
    auto take = [&](auto& function, char const* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(cuda::symbol(library, name));
    };
    take(f.begin, "cuStreamBeginCapture_v2");
    take(f.end, "cuStreamEndCapture");
    take(f.instantiate, "cuGraphInstantiateWithFlags");
    take(f.launch, "cuGraphLaunch");
    take(f.destroy_executable, "cuGraphExecDestroy");
    take(f.destroy, "cuGraphDestroy");
    take(f.nodes, "cuGraphGetNodes");
    take(f.type, "cuGraphNodeGetType");
    take(f.kernel, "cuGraphKernelNodeGetParams_v2");
    return f;
  }();
  return table;
}

}  // namespace

Capture::~Capture() {
  if (executable_) functions().destroy_executable(executable_);
  if (graph_) functions().destroy(graph_);
}

DriverCode Capture::begin() {
  cuda::ContextScope const scope(context_);
  return functions().begin(stream_, capture_mode_global);
}

DriverCode Capture::end() {
  cuda::ContextScope const scope(context_);
  if (DriverCode code = functions().end(stream_, &graph_)) return code;
  size_t count = 0;
  if (DriverCode code = functions().nodes(graph_, nullptr, &count)) return code;
  nodes_.resize(count);
  if (count > 0)
    if (DriverCode code = functions().nodes(graph_, nodes_.data(), &count)) return code;
  return functions().instantiate(&executable_, graph_, 0);
}

DriverCode Capture::launch() {
  cuda::ContextScope const scope(context_);
  return functions().launch(executable_, stream_);
}

std::vector<RecordedKernel> Capture::kernels() const {
  std::vector<RecordedKernel> kernels;
  for (void* node : nodes_) {
    int type = -1;
    KernelNode k{};
    if (functions().type(node, &type) || type != node_type_kernel || functions().kernel(node, &k)) continue;
    cuda::LaunchConfig config{};
    for (size_t i = 0; i < 3; ++i) config.grid[i] = k.grid[i];
    for (size_t i = 0; i < 3; ++i) config.block[i] = k.block[i];
    config.dynamic_shared_bytes = k.dynamic_shared_bytes;
    config.stream = stream_;
    kernels.push_back({k.function ? k.function : static_cast<cuda::RawFunction>(k.kernel), config, k.parameters});
  }
  return kernels;
}

}  // namespace fusednn::testing
