#pragma once

#include "base/result.h"
#include "cuda/driver.h"
#include "engine/device_kernel.h"

namespace fusednn::plan {

/// A tensor map in the driver's own form, its address still to be set.
using EncodedMap = std::array<std::byte, engine::TensorMap::bytes>;

base::Result<EncodedMap> encode(cuda::Driver const& driver, engine::TensorMap const& map);

}  // namespace fusednn::plan
