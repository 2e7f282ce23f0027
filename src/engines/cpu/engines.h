#pragma once

#include "engine/engine.h"

namespace fusednn::engines::cpu {

/// cpu.reference: executes every row in higher precision, one node after the other. The oracle of all tests.
engine::Engine const& reference_engine();

/// cpu.fused: compiled loops and matrix products, vectorised and threaded.
engine::Engine const& fused_engine();

}  // namespace fusednn::engines::cpu
