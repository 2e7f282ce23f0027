#pragma once

#include <fusednn/enums.h>

#include <string_view>

// What generated text calls the things that device headers define.

namespace fusednn::codegen {

/// The type that a value of this compute type has: "float", "double", "int".
std::string_view lane_name(DataType_t compute);
/// The storage struct of families/loop/storage.cuh; empty for types that have none.
std::string_view storage_name(DataType_t type);
/// The functor of math/pointwise.h.
std::string_view functor_name(PointwiseMode_t mode);
/// The fold of families/loop/fold.cuh.
std::string_view fold_name(ReductionMode_t mode);

}  // namespace fusednn::codegen
