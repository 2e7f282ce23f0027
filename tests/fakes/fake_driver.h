#pragma once

#include "cuda/driver_api.h"

#include <functional>
#include <string>
#include <vector>

// A CUDA driver whose device is host memory and whose kernels are functions of the test. A test that links it has it
// in place of the machine's own, under the same library name.

namespace fusednn::fake {

struct Launch {
  std::string entry;
  unsigned grid[3], block[3], cluster[3];
  unsigned dynamic_shared_bytes;
  cuda::RawStream stream;
  bool programmatic;
  cuda::RawContext context;  ///< current in the calling thread
};

struct State {
  int sm = 90;
  int devices = 1;
  int threads_per_block = 1024;  ///< that each kernel's registers leave room for
  /// By entry name. A kernel runs when it is launched, with the places of its parameters.
  std::vector<std::pair<std::string, std::function<void(void**)>>> kernels;
  std::vector<Launch> launches;
  std::vector<std::string> calls;  ///< exported names, in order; those that only ask are left out
  std::string fail;                ///< this call fails...
  cuda::DriverCode fail_code = 0;  ///< ...with this code
  int retained = 0;                ///< primary contexts held
  int modules = 0;                 ///< loaded now
  bool shut_down = false;          ///< every call says that the driver is gone
};

State& state();

/// A stream of the primary context, and one of another context.
cuda::RawStream stream();
cuda::RawStream foreign_stream();
/// The context current in this thread.
cuda::RawContext current_context();

}  // namespace fusednn::fake
