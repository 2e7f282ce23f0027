#pragma once

#include "base/result.h"
#include "cuda/driver_api.h"
#include "cuda/search.h"

#include <string_view>

namespace fusednn::cuda {

/// The CUDA driver's functions, loaded at run time. One per process, never unloaded.
struct Driver {
#define FUSEDNN_DRIVER_MEMBER(function, symbol, parameters) DriverCode(*function) parameters = nullptr;
  FUSEDNN_DRIVER_FUNCTIONS(FUSEDNN_DRIVER_MEMBER)
  FUSEDNN_OPTIONAL_DRIVER_FUNCTIONS(FUSEDNN_DRIVER_MEMBER)
#undef FUSEDNN_DRIVER_MEMBER

  /// Takes the functions from the library of this name and starts the driver.
  static base::Result<Driver> load(std::string const& library, Search& search);

  int version = 0;  ///< newest CUDA that the driver supports: 1000 * major + 10 * minor

  /// "cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE (invalid argument)"
  std::string text(DriverCode code, std::string_view call) const;
  base::Error error(DriverCode code, std::string_view call) const;
  base::Status check(DriverCode code, std::string_view call) const {
    return code == code::success ? base::success() : base::Status(error(code, call));
  }
};

/// Loads and initialises the driver on first use; every later call gives the same answer.
base::Result<Driver const*> driver();

/// How the driver was looked for.
Search const& driver_search();

/// Calls of the thread that holds one never break a stream capture that is open elsewhere.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(Driver const& driver) : driver_(driver) { driver_.capture_mode_exchange(&mode_); }
  ~RelaxedCapture() { driver_.capture_mode_exchange(&mode_); }
  RelaxedCapture(RelaxedCapture const&) = delete;
  RelaxedCapture& operator=(RelaxedCapture const&) = delete;

 private:
  Driver const& driver_;
  int mode_ = capture_mode_relaxed;
};

}  // namespace fusednn::cuda
