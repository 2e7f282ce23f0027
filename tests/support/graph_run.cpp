#include "support/graph_run.h"

#include "base/numeric.h"

#include <cmath>
#include <random>

namespace fusednn::testing {

Graph make_graph(DataType_t io, DataType_t compute, DataType_t intermediate) {
  Graph graph;
  graph.set_io_data_type(io).set_compute_data_type(compute).set_intermediate_data_type(intermediate);
  return graph;
}

Dims packed(Dims const& dims, Dims const& order) {
  Dims strides(dims.size(), 1);
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    size_t const axis = static_cast<size_t>(order[i]);
    strides[axis] = next;
    // Tests of overflow ask for strides that do not fit; those need not mean anything.
    if (__builtin_mul_overflow(next, std::max<int64_t>(dims[axis], 1), &next)) next = 1;
  }
  return strides;
}

Dims packed(Dims const& dims) {
  Dims order;
  for (size_t i = 0; i < dims.size(); ++i) order.push_back(static_cast<int64_t>(i));
  return packed(dims, order);
}

TensorPtr input(Graph& graph, std::string const& name, Dims const& dims, DataType_t dtype, Dims const& strides) {
  auto attributes = graph::Tensor_attributes().set_name(name).set_dim(dims).set_data_type(dtype);
  return graph.tensor(attributes.set_stride(strides.empty() ? packed(dims) : strides));
}

TensorPtr output(TensorPtr tensor, std::string const& name) {
  tensor->set_output(true).set_name(name);
  return tensor;
}

Values random_values(size_t count, uint64_t seed, double low, double high) {
  std::mt19937_64 engine(seed);
  Values values(count);
  for (double& v : values) v = low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
  return values;
}

Values random_integers(size_t count, uint64_t seed, int64_t low, int64_t high) {
  std::mt19937_64 engine(seed);
  Values values(count);
  for (double& v : values)
    v = static_cast<double>(low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1)));
  return values;
}

size_t volume(Dims const& dims) {
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  return n;
}

namespace {

size_t size_of(DataType_t dtype) {
  return visit_storage_type(dtype, [](auto type) { return sizeof(typename decltype(type)::type); });
}

size_t span_bytes(Dims const& dims, Dims const& strides, DataType_t dtype) {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return 0;
    last += (dims[i] - 1) * strides[i];
  }
  return static_cast<size_t>(last + 1) * size_of(dtype);
}

Values default_values(graph::Tensor_attributes const& tensor, uint64_t seed) {
  size_t const count = volume(tensor.get_dim());
  return visit_storage_type(tensor.get_data_type(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_same_v<T, boolean_t>)
      return random_integers(count, seed, 0, 1);
    else if constexpr (std::is_integral_v<T>)
      return random_integers(count, seed, 0, 3);
    else
      return random_values(count, seed);
  });
}

}  // namespace

TensorBuffer::TensorBuffer(handle_t handle, graph::Tensor_attributes const& tensor)
    : dtype_(tensor.get_data_type()),
      dims_(tensor.get_dim()),
      strides_(tensor.get_stride()),
      element_size_(size_of(dtype_)),
      memory_(handle, span_bytes(dims_, strides_, dtype_),
              std::max(element_size_, static_cast<size_t>(tensor.get_alignment()))) {}

template <class F>
void TensorBuffer::for_each_offset(F&& f) const {
  Dims index(dims_.size(), 0);
  for (size_t n = volume(dims_); n > 0; --n) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides_[i];
    f(static_cast<size_t>(offset));
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < dims_[i]) break;
      index[i] = 0;
    }
  }
}

void TensorBuffer::set(Values const& values) {
  ASSERT_EQ(values.size(), volume(dims_));
  memory_.host().fill(GuardedBuffer::poison);
  size_t next = 0;
  visit_storage_type(dtype_, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_offset([&](size_t at) { static_cast<T*>(memory_.host().data())[at] = round_to<T>(values[next++]); });
  });
}

Values TensorBuffer::values() {
  Values values;
  visit_storage_type(dtype_, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_offset([&](size_t at) { values.push_back(value_as<double>(static_cast<T*>(memory_.host().data())[at])); });
  });
  return values;
}

std::vector<std::byte> TensorBuffer::element_bytes() {
  std::vector<std::byte> bytes;
  for_each_offset([&](size_t at) {
    auto const first = memory_.host().bytes().begin() + static_cast<std::ptrdiff_t>(at * element_size_);
    bytes.insert(bytes.end(), first, first + static_cast<std::ptrdiff_t>(element_size_));
  });
  return bytes;
}

bool TensorBuffer::gaps_intact() {
  std::vector<bool> element(memory_.host().size() / element_size_);
  for_each_offset([&](size_t at) { element[at] = true; });
  for (size_t at = 0; at < element.size(); ++at)
    for (size_t b = 0; b < element_size_ && !element[at]; ++b)
      if (memory_.host().bytes()[at * element_size_ + b] != GuardedBuffer::poison) return false;
  return memory_.surroundings_intact();
}

GraphRun::GraphRun(Graph& graph) : graph_(graph) {
  error_t e = create_handle(&handle_);
  EXPECT_TRUE(e.is_good()) << e.get_message();
  e = graph_.build(handle_, {HeurMode_t::A}, BuildPlanPolicy_t::ALL);
  EXPECT_TRUE(e.is_good()) << e.get_message();
  built_ = e.is_good();
  if (!built_) return;
  for (int64_t plan = 0; plan < graph_.get_execution_plan_count(); ++plan) {
    graph::Plan_info info;
    EXPECT_TRUE(graph_.get_plan_info_ext(plan, info).is_good());
    EXPECT_TRUE(info.built) << info.name << ": " << info.barred;
  }
  uint64_t seed = 1;
  for (TensorPtr const& t : graph_.inputs_ext()) {
    if (t->get_pass_by_value()) continue;
    inputs_.emplace(t, TensorBuffer(handle_, *t)).first->second.set(default_values(*t, seed++));
  }
  for (TensorPtr const& t : graph_.outputs_ext()) outputs_.emplace(t, TensorBuffer(handle_, *t));
}

GraphRun::~GraphRun() {
  inputs_.clear();
  outputs_.clear();
  EXPECT_TRUE(destroy(handle_).is_good());
}

GraphRun& GraphRun::set(TensorPtr const& tensor, Values const& values) {
  if (!built_) return *this;
  auto at = inputs_.find(tensor);
  if (at == inputs_.end())
    ADD_FAILURE() << "'" << tensor->get_name() << "' is no input of the graph";
  else
    at->second.set(values);
  return *this;
}

std::vector<PlanOutcome> GraphRun::run(Judgement judgement) {
  std::vector<PlanOutcome> outcomes;
  if (!built_ || !can_execute()) return outcomes;
  int64_t const count = graph_.get_execution_plan_count();
  EXPECT_GT(count, 0);
  for (int64_t plan = 0; plan < count; ++plan) {
    PlanOutcome outcome;
    outcome.index = plan;
    EXPECT_TRUE(graph_.get_plan_name_at_index(plan, outcome.name).is_good());
    SCOPED_TRACE(outcome.name);
    judge(plan, judgement, outcome);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

void GraphRun::judge(int64_t plan, Judgement const& judgement, PlanOutcome& outcome) {
  std::unordered_map<int64_t, void*> pack;
  std::map<TensorPtr, std::vector<std::byte>> before;
  for (auto& [tensor, buffer] : inputs_) {
    pack[tensor->get_uid()] = buffer.memory().give();
    before[tensor] = buffer.memory().host().copy();
  }
  for (auto& [tensor, buffer] : outputs_) {
    buffer.memory().host().fill(GuardedBuffer::poison);
    pack[tensor->get_uid()] = buffer.memory().give();
  }
  int64_t workspace_bytes = 0;
  error_t e = graph_.get_workspace_size_plan_at_index(plan, workspace_bytes);
  ASSERT_TRUE(e.is_good()) << e.get_message();
  PlanBuffer workspace(handle_, static_cast<size_t>(workspace_bytes), 1);
  e = graph_.check_ext(handle_, pack, workspace.give(), outcome.report, plan);
  ASSERT_TRUE(e.is_good()) << e.get_message();
  EXPECT_TRUE(outcome.report.matches) << outcome.report.message;
  EXPECT_LE(outcome.report.worst_error_over_bound, judgement.largest_error_over_bound);
  EXPECT_LE(outcome.report.undetermined, judgement.most_undetermined);
  workspace.take();
  EXPECT_TRUE(workspace.surroundings_intact()) << "bytes around the workspace were written";
  for (auto& [tensor, buffer] : inputs_) {
    buffer.memory().take();
    EXPECT_TRUE(buffer.memory().host().copy() == before[tensor] && buffer.memory().surroundings_intact())
        << "input '" << tensor->get_name() << "' was written";
  }
  for (auto& [tensor, buffer] : outputs_) {
    buffer.memory().take();
    EXPECT_TRUE(buffer.gaps_intact()) << "bytes outside output '" << tensor->get_name() << "' were written";
    outcome.values[tensor] = buffer.values();
    outcome.bytes[tensor] = buffer.element_bytes();
  }
  // A second run, over what the first one left, must give the same bits.
  workspace.host().fill(std::byte{0});
  e = graph_.execute_plan_at_index(handle_, pack, workspace.give(), plan);
  ASSERT_TRUE(e.is_good()) << e.get_message();
  for (auto& [tensor, buffer] : outputs_) {
    buffer.memory().take();
    EXPECT_TRUE(buffer.element_bytes() == outcome.bytes[tensor])
        << "output '" << tensor->get_name() << "' depends on what buffers held before";
  }
}

void expect_near(Values const& found, Values const& expected, double relative, double absolute) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << "element " << i << ": found " << found[i] << ", expected NaN";
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(found[i], expected[i]) << "element " << i;
    } else {
      EXPECT_LE(std::fabs(found[i] - expected[i]), absolute + relative * std::fabs(expected[i]))
          << "element " << i << ": found " << found[i] << ", expected " << expected[i];
    }
  }
}

}  // namespace fusednn::testing
