#pragma once

#include "cuda/context.h"

#include <vector>

namespace fusednn::testing {

/// A kernel launch that a capture recorded.
struct RecordedKernel {
  cuda::RawFunction function;
  cuda::LaunchConfig config;
  void** parameters;
};

/// What was enqueued on a stream between begin() and end(), to be launched any number of times. While it records, the
/// driver refuses in this process all calls that would not survive a capture.
class Capture {
 public:
  Capture(cuda::PrimaryContext const& context, cuda::RawStream stream) : context_(context), stream_(stream) {}
  ~Capture();
  Capture(Capture const&) = delete;
  Capture& operator=(Capture const&) = delete;

  cuda::DriverCode begin();
  cuda::DriverCode end();
  cuda::DriverCode launch();
  size_t nodes() const { return nodes_.size(); }
  /// The kernels among the nodes. Valid for as long as this lives.
  std::vector<RecordedKernel> kernels() const;

 private:
  cuda::PrimaryContext const& context_;
  cuda::RawStream stream_;
  void* graph_ = nullptr;
  void* executable_ = nullptr;
  std::vector<void*> nodes_;
};

}  // namespace fusednn::testing
