#pragma once

#include <fusednn.h>

#include <cstdint>

// The four kinds of graph that a transformer encoder consists of. Matrices are [1, rows, columns].

namespace examples {

// Tensors to bind, by graph.
struct LinearUid {
  enum : int64_t { X, WEIGHT, BIAS, Y };
};
struct AttentionUid {
  enum : int64_t { Q, K, V, LENGTHS, O };
};
struct AddNormUid {
  enum : int64_t { X, RESIDUAL, SCALE, BIAS, Y };
};

enum class Activation { NONE, GELU };

// Y = activation(X * W + bias); the weight lies in memory as [outputs, inputs], the bias is FLOAT.
fusednn::graph::Graph linear_graph(fusednn::DataType_t io, int64_t rows, int64_t inputs, int64_t outputs,
                                   Activation activation);

// Attention of every head over the first LENGTHS[b] rows of its sentence. Q, K and V are thirds of the rows
// of one packed [batch, length, 3 * heads * width] matrix; O is [batch, length, heads * width].
fusednn::graph::Graph attention_graph(fusednn::DataType_t io, int64_t batch, int64_t length, int64_t heads,
                                      int64_t width);

// Y = layernorm(X + residual) over columns; scale and bias are FLOAT.
fusednn::graph::Graph add_norm_graph(fusednn::DataType_t io, int64_t rows, int64_t width, float epsilon);

}  // namespace examples
