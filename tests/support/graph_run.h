#pragma once

#include "support/plan_buffer.h"

#include <fusednn.h>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

// Runs a graph of the public API on every plan it has on the test device, under conditions that bring faults
// to light: outputs and workspace hold NaN before, what lies around every buffer is watched (on the CPU the
// page behind it is inaccessible), gaps between elements are watched, inputs must come back unchanged, and
// each output element is compared with the reference within its own bound.

namespace fusednn::testing {

using graph::Graph;
using TensorPtr = Graph::tensor_ptr;
using Dims = std::vector<int64_t>;
/// Values of a tensor in row-major order of its indices, whatever its strides are.
using Values = std::vector<double>;

/// A graph with these default types.
Graph make_graph(DataType_t io = DataType_t::FLOAT, DataType_t compute = DataType_t::FLOAT,
                 DataType_t intermediate = DataType_t::FLOAT);

/// Row-major strides.
Dims packed(Dims const& dims);
/// Packed strides with the axes in memory from outermost to innermost as `order` lists them.
Dims packed(Dims const& dims, Dims const& order);

/// Registers an input; packed unless strides are given, of the graph's io type unless a type is.
TensorPtr input(Graph& graph, std::string const& name, Dims const& dims, DataType_t dtype = DataType_t::NOT_SET,
                Dims const& strides = {});

/// Marks a result as an output and names it.
TensorPtr output(TensorPtr tensor, std::string const& name);

/// `count` values, the same for the same seed on every machine.
Values random_values(size_t count, uint64_t seed, double low = -1, double high = 1);
Values random_integers(size_t count, uint64_t seed, int64_t low, int64_t high);

/// Number of elements.
size_t volume(Dims const& dims);

/// One tensor's memory.
class TensorBuffer {
 public:
  TensorBuffer(handle_t handle, graph::Tensor_attributes const& tensor);
  /// Stores values, rounded to the tensor's type; bytes between elements keep the poison.
  void set(Values const& values);
  Values values();
  /// The elements' bytes, without what lies between them.
  std::vector<std::byte> element_bytes();
  /// Whether all bytes that belong to no element still hold the poison, and the bytes around the memory are
  /// intact.
  bool gaps_intact();
  PlanBuffer& memory() { return memory_; }

 private:
  template <class F>
  void for_each_offset(F&& f) const;

  DataType_t dtype_;
  Dims dims_, strides_;
  size_t element_size_;
  PlanBuffer memory_;
};

/// What one plan wrote.
struct PlanOutcome {
  int64_t index;
  std::string name;
  std::map<TensorPtr, Values> values;
  std::map<TensorPtr, std::vector<std::byte>> bytes;  ///< of the elements, for bit-for-bit comparison
  graph::Check_report report;

  Values const& operator[](TensorPtr const& tensor) const { return values.at(tensor); }
};

/// Elements that may have no bound (at the jump of a discontinuous operation): none, unless a test says so. A
/// test in which most elements are undetermined would prove nothing.
struct Judgement {
  int64_t most_undetermined = 0;
  double largest_error_over_bound = 1;
};

class GraphRun {
 public:
  /// Builds every plan of the graph; a failure to do so is a test failure.
  explicit GraphRun(Graph& graph);
  ~GraphRun();
  GraphRun(GraphRun const&) = delete;
  GraphRun& operator=(GraphRun const&) = delete;

  /// Sets an input. Inputs that are not set hold random values: of [-1, 1], of integers in [0, 3], or of 0
  /// and 1.
  GraphRun& set(TensorPtr const& tensor, Values const& values);

  /// Runs every plan and judges its outputs. Empty where the graph could not be built or plans cannot be
  /// executed.
  std::vector<PlanOutcome> run(Judgement judgement = {});

  graph::Graph& graph() { return graph_; }
  handle_t handle() const { return handle_; }

 private:
  void judge(int64_t plan, Judgement const& judgement, PlanOutcome& outcome);

  Graph& graph_;
  handle_t handle_ = nullptr;
  bool built_ = false;
  std::map<TensorPtr, TensorBuffer> inputs_, outputs_;
};

/// Expects |found - expected| <= absolute + relative * |expected| for each element; NaN and infinities must
/// be equal.
void expect_near(Values const& found, Values const& expected, double relative, double absolute = 0);

}  // namespace fusednn::testing
