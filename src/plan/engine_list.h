#pragma once

#include "engine/engine.h"

namespace fusednn::plan {

/// The engines of a device. The index is the engine id of plan names; new engines are added at the end.
std::span<engine::Engine const* const> engines_for(Device device);

}  // namespace fusednn::plan
