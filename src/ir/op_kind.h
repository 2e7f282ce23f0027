#pragma once

// Operations. Each has one row in src/ops (a static_assert there proves it). Kinds marked internal appear
// only in graphs that the library rewrote; users cannot name them.
#define FUSEDNN_OP_KINDS(X) \
  X(matmul)                 \
  X(pointwise)              \
  X(reduction)              \
  X(reshape)                \
  X(transpose)              \
  X(slice)                  \
  X(concatenate)            \
  X(layernorm)              \
  X(rmsnorm)                \
  X(sdpa)                   \
  X(masked_softmax)         \
  X(live_key_matmul)

namespace fusednn::ir {

enum class OpKind {
#define FUSEDNN_OP_KIND(id) id,
  FUSEDNN_OP_KINDS(FUSEDNN_OP_KIND)
#undef FUSEDNN_OP_KIND
};

#define FUSEDNN_OP_KIND(id) +1
inline constexpr int op_kind_count = 0 FUSEDNN_OP_KINDS(FUSEDNN_OP_KIND);
#undef FUSEDNN_OP_KIND

}  // namespace fusednn::ir
