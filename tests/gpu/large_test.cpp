#include "gpu/bound_graph.h"
#include "gpu/gpu_test.h"

#include <cmath>
#include <numeric>

// Tensors beyond what 32 bits count. The host holds none of them whole: what lies at their ends is looked at.

namespace fusednn::testing {
namespace {

using graph::Pointwise_attributes;

class Large : public Gpu {
 protected:
  template <class T>
  void put(DeviceMemory const& memory, int64_t at, std::vector<T> const& values) {
    EXPECT_GOOD(copy_ext(handle, static_cast<T*>(memory.data()) + at, values.data(), values.size() * sizeof(T)));
    EXPECT_GOOD(synchronize_ext(handle));
  }
  template <class T>
  std::vector<T> get(DeviceMemory const& memory, int64_t at, size_t count) {
    std::vector<T> values(count);
    EXPECT_GOOD(copy_ext(handle, values.data(), static_cast<T*>(memory.data()) + at, count * sizeof(T)));
    EXPECT_GOOD(synchronize_ext(handle));
    return values;
  }
};

/// A sum over more than 2^32 elements' worth of bytes, element by element.
TEST_F(Large, ElementwiseGraphsReachTheLastElement) {
  constexpr int64_t rows = 3, columns = (int64_t{1} << 31) / 2 + 5, count = rows * columns;
  graph::Graph g = make_graph(DataType_t::INT8, DataType_t::INT32, DataType_t::INT32);
  TensorPtr const x = input(g, "x", {rows, columns}), z = input(g, "z", {rows, columns});
  x->set_uid(1);
  z->set_uid(2);
  output(g.pointwise(x, z, Pointwise_attributes().set_mode(PointwiseMode_t::ADD)), "y")->set_uid(3);
  EXPECT_GOOD(g.build(handle, {HeurMode_t::A}, BuildPlanPolicy_t::ALL));
  DeviceMemory const a(handle, count), b(handle, count), y(handle, count);
  std::vector<int8_t> const ones(64, 1), counts = [] {
    std::vector<int8_t> v(64);
    std::iota(v.begin(), v.end(), int8_t(3));
    return v;
  }();
  std::vector<int64_t> const places = {0, columns - 32, 2 * columns - 31, (int64_t{1} << 31) - 32, count - 64};
  for (int64_t at : places) {
    put(a, at, counts);
    put(b, at, ones);
  }
  for (int64_t plan = 0; plan < g.get_execution_plan_count(); ++plan) {
    for (int64_t at : places) put(y, at, std::vector<int8_t>(64, -1));
    DeviceMemory const workspace(handle, static_cast<size_t>(g.get_workspace_size_plan_at_index(plan)));
    std::unordered_map<int64_t, void*> pack{{1, a.data()}, {2, b.data()}, {3, y.data()}};
    EXPECT_GOOD(g.execute_plan_at_index(handle, pack, workspace.data(), plan));
    for (int64_t at : places) {
      auto const found = get<int8_t>(y, at, 64);
      for (size_t i = 0; i < 64; ++i)
        ASSERT_EQ(found[i], counts[i] + 1) << "plan " << plan << ", element " << at + int64_t(i);
    }
  }
}

/// A few rows, 5 GB apart.
TEST_F(Large, StridesBeyond32BitsAreFollowed) {
  constexpr int64_t rows = 3, columns = 100, stride = int64_t{5} << 28;  // floats
  graph::Graph g = make_graph();
  TensorPtr const x = input(g, "x", {rows, columns}, DataType_t::FLOAT, {stride, 1});
  x->set_uid(1);
  TensorPtr const y = output(g.pointwise(x, Pointwise_attributes().set_mode(PointwiseMode_t::NEG)), "y");
  y->set_stride({stride, 1}).set_uid(2);
  TensorPtr const sum = g.reduction(x, graph::Reduction_attributes().set_mode(ReductionMode_t::ADD));
  sum->set_dim({rows, 1}).set_stride({1, 1});
  output(sum, "sum")->set_uid(3);
  EXPECT_GOOD(g.build(handle, {HeurMode_t::A}, BuildPlanPolicy_t::ALL));
  constexpr size_t bytes = (rows - 1) * stride * sizeof(float) + columns * sizeof(float);
  DeviceMemory const in(handle, bytes), out(handle, bytes), sums(handle, rows * sizeof(float));
  for (int64_t r = 0; r < rows; ++r) put(in, r * stride, std::vector<float>(columns, float(r + 1)));
  for (int64_t plan = 0; plan < g.get_execution_plan_count(); ++plan) {
    for (int64_t r = 0; r < rows; ++r) put(out, r * stride, std::vector<float>(columns, NAN));
    DeviceMemory const workspace(handle, static_cast<size_t>(g.get_workspace_size_plan_at_index(plan)));
    std::unordered_map<int64_t, void*> pack{{1, in.data()}, {2, out.data()}, {3, sums.data()}};
    EXPECT_GOOD(g.execute_plan_at_index(handle, pack, workspace.data(), plan));
    for (int64_t r = 0; r < rows; ++r)
      EXPECT_EQ(get<float>(out, r * stride, columns), std::vector<float>(columns, -float(r + 1))) << "plan " << plan;
    EXPECT_EQ(get<float>(sums, 0, rows), (std::vector<float>{100, 200, 300})) << "plan " << plan;
  }
}

/// More rows than a grid has blocks along its second and third axis.
TEST_F(Large, RowsMayExceedAnyGridAxis) {
  for (Dims const& dims : {Dims{200001, 3}, Dims{70001, 1, 40}, Dims{3, 70001, 5}}) {
    graph::Graph g = make_graph(DataType_t::BFLOAT16);
    Dims kept = dims;
    kept.back() = 1;
    TensorPtr const x = input(g, "x", dims), shift = input(g, "shift", kept);
    TensorPtr const moved = g.pointwise(x, shift, Pointwise_attributes().set_mode(PointwiseMode_t::SUB));
    output(moved, "moved");
    TensorPtr const most = g.reduction(moved, graph::Reduction_attributes().set_mode(ReductionMode_t::MAX));
    most->set_dim(kept).set_stride(packed(kept));
    output(most, "most");
    BoundGraph bound(handle, g);
    for (int64_t plan = 0; plan < bound.plans(); ++plan) {
      SCOPED_TRACE(bound.name(plan));
      bound.poison();
      graph::Check_report report;
      EXPECT_GOOD(g.check_ext(handle, bound.pack(), bound.workspace(), report, plan));
      EXPECT_TRUE(report.matches) << report.message;
      bound.outputs();
    }
  }
}

}  // namespace
}  // namespace fusednn::testing
