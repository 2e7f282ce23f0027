// A kernel of families/matmul as code generation writes it, its configuration and epilogue given by macros.

#include "families/matmul/wgmma.cuh"

using namespace fusednn;

struct Config {
  using Element = ELEMENT;
  using Output = ELEMENT;
  static constexpr abi::WgmmaConfig kConfig = {CONFIG};
};

struct Epilogue {
  static constexpr int kRowOperands = ROW_OPERANDS;
  static constexpr int kColumnOperands = COLUMN_OPERANDS;
  static constexpr bool kTileOperand = TILE_OPERAND;

  const u16* row_vectors[2];
  const u16* column_vectors[2];
  float scale;

  FUSEDNN_DEVICE u32 row_bits(int operand, int, int m) const { return row_vectors[operand][m]; }
  FUSEDNN_DEVICE float row_value(int, u32 bits) const { return ptx::value_of<ELEMENT>(bits); }
  FUSEDNN_DEVICE u32 column_bits(int operand, int, int n) const { return column_vectors[operand][n]; }
  FUSEDNN_DEVICE float column_value(int, u32 bits) const { return ptx::value_of<ELEMENT>(bits); }
  FUSEDNN_DEVICE float tile_value(u32 bits) const { return ptx::value_of<ELEMENT>(bits); }

  FUSEDNN_DEVICE float operator()(float x, const float* row, const float* column, float tile) const {
    x *= scale;
#pragma unroll
    for (int i = 0; i < kRowOperands; ++i) x += row[i];
#pragma unroll
    for (int i = 0; i < kColumnOperands; ++i) x += column[i];
    if constexpr (kTileOperand) x += tile;
    if constexpr (ACTIVATION) {              // GELU, tanh form
      constexpr float kScale = 2.30220822f;  // 2 log2(e) sqrt(2 / pi)
      float u = x * (kScale + 0.044715f * kScale * x * x);
      x *= ptx::reciprocal_approx(1.0f + ptx::exp2_approx(-u));
    }
    return x;
  }
};

extern "C" __global__ void __launch_bounds__(Config::kConfig.threads(), 1)
    kernel(const __grid_constant__ abi::MatmulParams params, const __grid_constant__ Epilogue epilogue) {
  matmul::run<Config>(params, epilogue);
}
