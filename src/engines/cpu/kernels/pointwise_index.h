#pragma once

#include "math/pointwise.h"

#include <fusednn/enums.h>

namespace fusednn::engines::cpu {

// Where a mode stands in KernelTable::pointwise. A mode without a functor does not compile (-Wswitch).
namespace pointwise_order {
enum Order : int {
#define FUSEDNN_ORDER(name, functor, operands, kind) name,
  FUSEDNN_POINTWISE_FUNCTORS(FUSEDNN_ORDER)
#undef FUSEDNN_ORDER
      COUNT
};
}  // namespace pointwise_order

constexpr int pointwise_index(PointwiseMode_t mode) {
  switch (mode) {
#define FUSEDNN_CASE(name, functor, operands, kind) \
  case PointwiseMode_t::name:                       \
    return pointwise_order::name;
    FUSEDNN_POINTWISE_FUNCTORS(FUSEDNN_CASE)
#undef FUSEDNN_CASE
    case PointwiseMode_t::NOT_SET:
      break;
  }
  return -1;
}

}  // namespace fusednn::engines::cpu
