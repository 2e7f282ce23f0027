#pragma once

#include "engine/engine.h"

namespace fusednn::plan {

/// The engines of a device. The index is the engine id of plan names; new engines are added at the end.
std::span<engine::Engine const* const> engines_for(Device device);

/// The engine of this number, or that there is none.
base::Result<engine::Engine const*> engine_at(Device device, int64_t id);

}  // namespace fusednn::plan
