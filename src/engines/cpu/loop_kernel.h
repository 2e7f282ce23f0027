#pragma once

#include "engine/engine.h"
#include "engines/cpu/gemm.h"
#include "engines/cpu/tile_compiler.h"

namespace fusednn::engines::cpu {

/// Runs a tile program over its whole space, on as many threads as its size is worth.
class LoopKernel : public engine::HostKernel {
 public:
  /// `scratch` is the index of the operand that points to scratch_bytes() of workspace, where that is not 0.
  LoopKernel(TileProgram program, int threads, int scratch);

  int64_t scratch_bytes() const;
  int workers() const { return workers_; }
  TileProgram const& program() const { return program_; }
  void run(void* const* operands) const noexcept override;

 private:
  bool on_stack() const;
  template <class Scratch>
  void run(void* const* operands, char* partials, Scratch const& scratch) const;

  TileProgram program_;
  int scratch_;
  int workers_;
  int64_t slices_;
};

/// A matrix product whose panels a tile program takes over. Operands `a` and `b` are the pointers of the matrices,
/// which start at their offsets.
class MatmulKernel : public engine::HostKernel {
 public:
  struct Matrix {
    int operand;
    int64_t offset;  ///< elements
  };
  MatmulKernel(TileProgram epilogue, Gemm gemm, Matrix a, Matrix b, int scratch);

  int64_t scratch_bytes() const;
  Gemm const& gemm() const { return gemm_; }
  TileProgram const& program() const { return program_; }
  void run(void* const* operands) const noexcept override;

 private:
  TileProgram program_;
  Gemm gemm_;
  Matrix a_, b_;
  int scratch_;
};

/// Copies elements as they are from one strided array to another of the same type.
class CopyKernel : public engine::HostKernel {
 public:
  struct Array {
    int operand;
    int64_t offset;  ///< elements
  };
  /// `axes` carry the strides of source and destination.
  CopyKernel(std::vector<LoopAxis> axes, int64_t element_bytes, Array from, Array to);

  void run(void* const* operands) const noexcept override;

 private:
  std::vector<LoopAxis> axes_;
  int64_t bytes_;
  Array from_, to_;
};

}  // namespace fusednn::engines::cpu
