#include "rules/firing.h"

#include "engines/cpu/engines.h"
#include "frontend/handle.h"
#include "ops/validate.h"
#include "plan/plan.h"

// Rules that only calls in the wrong order or with wrong arguments break.

namespace fusednn::tests {

namespace {

using base::Rule;
using graph::Graph;
using graph::Pointwise_attributes;
using graph::Tensor_attributes;

/// y = exp(x) with uids 1 and 2, and a handle.
struct Life {
  Life() {
    graph.set_io_data_type(DataType_t::FLOAT).set_compute_data_type(DataType_t::FLOAT);
    x = graph.tensor(Tensor_attributes().set_name("x").set_dim({4}).set_stride({1}).set_uid(1));
    y = graph.pointwise(x, Pointwise_attributes().set_name("node").set_mode(PointwiseMode_t::EXP));
    y->set_output(true).set_name("y").set_uid(2);
    (void)create(&handle, Device::CPU);
  }
  ~Life() { (void)destroy(handle); }
  Life& build() {
    built = graph.build(handle, {HeurMode_t::A}, BuildPlanPolicy_t::ALL);
    return *this;
  }
  std::string execute(std::unordered_map<int64_t, void*> pack) {
    return graph.execute(handle, pack, nullptr).get_message();
  }

  Graph graph;
  Graph::tensor_ptr x, y;
  handle_t handle = nullptr;
  error_t built;
  float memory[8] = {};
};

std::string ragged_graph(std::function<error_t(Life&)> const& call) {
  Life life;
  life.x->set_ragged_offset(std::make_shared<Tensor_attributes>(
      Tensor_attributes().set_name("offsets").set_dim({5}).set_stride({1}).set_data_type(DataType_t::INT32)));
  error_t const e = life.graph.build_operation_graph(life.handle);
  return e.is_bad() ? e.get_message() : call(life).get_message();
}

/// What cpu.fused has against a step of attention's expansion, which no user can name.
std::string internal_operation_in_fused() {
  ir::Graph draft;
  draft.context.compute_type = draft.context.io_type = DataType_t::FLOAT;
  ir::Tensor scores, weights;
  scores.name = "scores";
  scores.dims = {1, 1, 2, 2};
  scores.strides = {4, 4, 2, 1};
  weights.name = "weights";
  ir::Node node;
  node.op = ir::OpKind::masked_softmax;
  node.name = "softmax";
  node.inputs = {draft.add(scores)};
  node.outputs = {draft.add(weights)};
  draft.nodes.push_back(node);
  auto graph = ops::validate(draft);
  if (!graph) return base::join(graph.errors());
  return base::join(engines::cpu::fused_engine().support(**graph, target::host_target()).refusals);
}

/// A plan whose engine wants workspace, executed without.
std::string without_workspace() {
  ir::Graph draft;
  ir::Tensor t;
  t.uid = 1;
  t.dims = t.strides = {1};
  t.dtype = DataType_t::FLOAT;
  draft.add(t);
  engine::Prepared prepared;
  prepared.workspace_bytes = 100;
  plan::Plan const plan(std::make_shared<ir::OpGraph const>(draft), target::host_target(), "none", std::move(prepared));
  base::Status const status = plan.execute(nullptr, nullptr, nullptr);
  return status.ok() ? std::string() : base::join(status.errors());
}

std::string on_another_device() {
  Life life;
  life.build();
  target::Target other = target::host_target();
  other.ordinal = 1;
  handle_impl handle{other};
  std::unordered_map<int64_t, void*> pack = {{1, life.memory}, {2, life.memory + 4}};
  return life.graph.execute(&handle, pack, nullptr).get_message();
}

/// Fires with a built graph.
template <class Call>
std::function<std::string()> built(Call call) {
  return [call] {
    Life life;
    return std::string(call(life.build()));
  };
}

template <class Call>
std::function<std::string()> fresh(Call call) {
  return [call] {
    Life life;
    return std::string(call(life));
  };
}

}  // namespace

std::vector<Firing> life_cycle_firings() {
  using L = Life&;
  return {
      {Rule::graph_not_validated, {"'node'"}, fresh([](L l) {
         std::string text;
         return l.graph.print_mask_ext("node", text).get_message();
       })},
      {Rule::graph_unknown_uid, {"uid 77"}, built([](L l) {
         Tensor_attributes t;
         return l.graph.query_tensor_attributes_of_uid(77, t).get_message();
       })},
      {Rule::plan_handle, {}, fresh([](L l) { return l.graph.build_operation_graph(nullptr).get_message(); })},
      {Rule::plan_handle, {}, [] { return create(nullptr, Device::CPU).get_message(); }},
      {Rule::plan_stage, {}, fresh([](L l) { return l.graph.create_execution_plans({HeurMode_t::A}).get_message(); })},
      {Rule::plan_modes, {"empty"}, built([](L l) { return l.graph.create_execution_plans({}).get_message(); })},
      {Rule::plan_modes, {"mode 9"}, built([](L l) {
         return l.graph.create_execution_plans({HeurMode_t::A, static_cast<HeurMode_t>(9)}).get_message();
       })},
      {Rule::plan_index, {"index 99"}, built([](L l) { return l.graph.build_plan_at_index(99).get_message(); })},
      {Rule::plan_not_built, {}, fresh([](L l) {
         (void)l.graph.build_operation_graph(l.handle);
         (void)l.graph.create_execution_plans({HeurMode_t::A});
         return l.execute({{1, l.memory}, {2, l.memory + 4}});
       })},
      {Rule::plan_barred, {"eng"}, built([](L l) {
         l.graph.deselect_engines({"eng"});
         return l.graph.build_plan_at_index(0).get_message();
       })},
      {Rule::plan_none, {"cpu"}, built([](L l) {
         l.graph.deselect_engines({"eng"});
         return l.graph.check_support().get_message();
       })},
      {Rule::plan_engine_id, {"engine 99"}, built([](L l) {
         return l.graph.create_execution_plan(99, {}).get_message();
       })},
      {Rule::plan_engine_id, {"engine -1"}, built([](L l) {
         std::string name;
         return l.graph.get_engine_name_ext(-1, name).get_message();
       })},
      {Rule::plan_engine_id, {"'cpu.nonsense'"}, built([](L l) {
         return l.graph.select_engine_ext("cpu.nonsense").get_message();
       })},
      {Rule::plan_engine_refuses,
       {"cpu.reference"},
       [] { return ragged_graph([](L l) { return l.graph.select_engine_ext("cpu.reference"); }); }},
      {Rule::engine_ragged,
       {"'x'"},
       [] { return ragged_graph([](L l) { return l.graph.create_execution_plans({HeurMode_t::A}); }); }},
      {Rule::engine_operation, {"'softmax'"}, internal_operation_in_fused},
      {Rule::plan_knob, {"TILE_M", "3"}, built([](L l) {
         return l.graph.create_execution_plan(0, {{KnobType_t::TILE_M, 3}}).get_message();
       })},
      {Rule::execute_missing_pointer, {"'y'", "uid 2"}, built([](L l) {
         return l.execute({{1, l.memory}});
       })},
      {Rule::execute_null_pointer, {"'x'", "uid 1"}, built([](L l) {
         return l.execute({{1, nullptr}, {2, l.memory}});
       })},
      {Rule::execute_alignment, {"'x'", "uid 1", "4 bytes"}, built([](L l) {
         return l.execute({{1, reinterpret_cast<char*>(l.memory) + 1}, {2, l.memory + 4}});
       })},
      {Rule::execute_count, {"1 given", "2"}, built([](L l) {
         void* pointers[] = {l.memory};
         return l.graph.execute(l.handle, pointers, 1, nullptr).get_message();
       })},
      {Rule::execute_workspace, {"bytes"}, without_workspace},
      {Rule::execute_device, {"cpu"}, on_another_device},
      {Rule::handle_device,
       {"CUDA device 3"},
       [] {
         handle_t handle = nullptr;
         return create(&handle, Device::CUDA, 3).get_message();
       }},
      {Rule::handle_version,
       {"headers 1,"},
       [] {
         handle_t handle = nullptr;
         return detail::create_checked(&handle, Device::CPU, 0, 1).get_message();
       }},
  };
}

}  // namespace fusednn::tests
