#pragma once

#include "cuda/driver.h"

#include <memory>

namespace fusednn::cuda {

/// Holds a device's primary context, the one that the CUDA runtime and PyTorch use too.
class PrimaryContext {
 public:
  static base::Result<std::shared_ptr<PrimaryContext const>> retain(int ordinal);
  ~PrimaryContext();
  PrimaryContext(PrimaryContext const&) = delete;
  PrimaryContext& operator=(PrimaryContext const&) = delete;

  Driver const& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  RawContext raw() const { return context_; }

 private:
  PrimaryContext(Driver const& driver, int ordinal, DeviceOrdinal device, RawContext context)
      : driver_(driver), ordinal_(ordinal), device_(device), context_(context) {}

  Driver const& driver_;
  int ordinal_;
  DeviceOrdinal device_;
  RawContext context_;
};

/// Makes a context current in this thread for as long as it lives; the thread's own is back afterwards.
class ContextScope {
 public:
  explicit ContextScope(PrimaryContext const& context);
  ~ContextScope();
  ContextScope(ContextScope const&) = delete;
  ContextScope& operator=(ContextScope const&) = delete;

  /// Not `code::success` where the context could not be made current.
  DriverCode code() const { return code_; }

 private:
  Driver const& driver_;
  DriverCode code_ = code::success;
  bool pushed_ = false;
};

}  // namespace fusednn::cuda
