#include "codegen/loop_schedule.h"

#include "codegen/kernel_text.h"
#include "codegen/loop_values.h"
#include "ir/layout.h"

#include <algorithm>
#include <numeric>

namespace fusednn::codegen {

namespace {

using passes::LoopProgram;
using passes::LoopValue;
using Op = LoopValue::Op;
using Mapping = LoopSchedule::Mapping;

int64_t product(std::vector<Axis> const& axes) {
  int64_t n = 1;
  for (Axis const& a : axes) n *= a.size;
  return n;
}

std::vector<Access> accesses_of(ir::OpGraph const& graph, passes::Partition const& partition,
                                LoopProgram const& program) {
  std::vector<Access> list;
  auto memory = [&](Access::Kind kind, int32_t id, ir::TensorId t, int64_t offset) {
    passes::Place const& place = partition.places[static_cast<size_t>(t)];
    // Workspace is aligned to more than any packet.
    int64_t const alignment = place.kind == passes::Place::Kind::caller ? graph.tensor(place.base).alignment : 16;
    list.push_back({kind, id, t, ir::storage_bits(graph.tensor(t).dtype) / 8, offset, alignment});
  };
  for (size_t v = 0; v < program.values.size(); ++v) {
    LoopValue const& value = program.values[v];
    if (value.op == Op::load) memory(Access::Kind::load, static_cast<int32_t>(v), value.tensor, value.offset);
    if (value.op == Op::pointwise && value.mode == PointwiseMode_t::GEN_INDEX)
      list.push_back({Access::Kind::index, static_cast<int32_t>(v)});
  }
  for (size_t s = 0; s < program.stores.size(); ++s)
    memory(Access::Kind::store, static_cast<int32_t>(s), program.stores[s].tensor, program.stores[s].offset);
  return list;
}

int64_t stride_of(ir::OpGraph const& graph, LoopProgram const& program, Access const& a, size_t axis) {
  if (a.kind == Access::Kind::load) return program.values[static_cast<size_t>(a.id)].strides[axis];
  if (a.kind == Access::Kind::store) return program.stores[static_cast<size_t>(a.id)].strides[axis];
  int const chosen = LoopValues(graph, program).index_axis(program.values[static_cast<size_t>(a.id)]);
  return static_cast<int>(axis) == chosen ? 1 : 0;
}

/// Larger strides of the access that moves most data go outside; axes that are one walk for every access
/// merge.
std::vector<Axis> merged(std::vector<Axis> axes, size_t leading) {
  std::erase_if(axes, [](Axis const& a) { return a.size == 1; });
  std::stable_sort(axes.begin(), axes.end(),
                   [&](Axis const& a, Axis const& b) { return a.strides[leading] > b.strides[leading]; });
  std::vector<Axis> result;
  for (Axis const& a : axes) {
    bool joins = !result.empty();
    for (size_t i = 0; joins && i < a.strides.size(); ++i) joins = result.back().strides[i] == a.strides[i] * a.size;
    if (!joins) {
      result.push_back(a);
      continue;
    }
    result.back().size *= a.size;
    result.back().strides = a.strides;
  }
  if (result.empty()) result.push_back({1, std::vector<int64_t>(axes.empty() ? 0 : axes.front().strides.size(), 0)});
  return result;
}

bool strided_along(Axis const& axis, size_t access) { return !axis.strides.empty() && axis.strides[access] != 0; }

/// Elements per packet that the access allows: dense along the run axis, every other stride and the start a
/// multiple.
bool allows(LoopSchedule const& s, size_t access, int count) {
  Access const& a = s.accesses[access];
  if (a.kind == Access::Kind::index || s.run_axes().back().strides.empty()) return false;
  int64_t const each = std::min<int64_t>(count, 16 / a.bytes);
  if (s.run_axes().back().strides[access] != 1 || a.alignment < each * a.bytes || a.offset % each) return false;
  for (auto const* axes : {&s.kept, &s.reduced})
    for (Axis const& axis : *axes)
      if (&axis != &s.run_axes().back() && !axis.strides.empty() && axis.strides[access] % each) return false;
  return true;
}

void choose_run(LoopSchedule& s) {
  int narrowest = 16;
  for (size_t i = 0; i < s.accesses.size(); ++i)
    if (allows(s, i, 1)) narrowest = std::min(narrowest, s.accesses[i].bytes);
  s.run = narrowest == 16 ? 1 : std::min(8, 16 / narrowest);
  while (s.run > 1 && s.run_axes().back().size % s.run) s.run /= 2;
  for (size_t i = 0; i < s.accesses.size(); ++i) s.accesses[i].vector = s.run > 1 && allows(s, i, s.run);
}

bool offsets_fit(LoopSchedule const& s) {
  if (s.kept_count() > narrow_limit || s.reduced_count() > narrow_limit ||
      s.kept_count() * s.reduced_count() > narrow_limit)
    return false;
  for (size_t i = 0; i < s.accesses.size(); ++i) {
    int64_t reach = s.accesses[i].offset;
    for (auto const* axes : {&s.kept, &s.reduced})
      for (Axis const& a : *axes)
        if (!a.strides.empty()) reach += (a.size - 1) * a.strides[i];
    if (reach > narrow_limit) return false;
  }
  return true;
}

// Elements that one block reduces where a reduction is split: enough that its partial result costs nothing beside
// them. It does not depend on how many rows there are, so that a row's result does not either.
constexpr int64_t row_split = 32768;
constexpr int64_t most_splits = 65535;  // blocks along y

void schedule_rows(LoopSchedule& s, bool may_split) {
  int64_t const chunks = (s.reduced_count() + s.run - 1) / s.run;
  constexpr int most_resident_elements = 64;
  s.threads = power_of_two_at_least((chunks + 3) / 4, 1, 1024);
  if (s.threads < 32) s.threads = power_of_two_at_least(chunks, 1, 32);
  int64_t const each = (chunks + s.threads - 1) / s.threads;
  s.resident = each * s.run <= most_resident_elements ? static_cast<int>(std::max<int64_t>(each, 1)) : 0;
  s.rows_per_block = s.threads >= 128 ? 1 : 128 / s.threads;
  if (may_split && s.reduced_count() >= 2 * row_split) {
    s.threads = 256;
    s.rows_per_block = 1;
    s.resident = 0;
    s.splits = std::min(s.reduced_count() / row_split, most_splits);
  }
}

void schedule_columns(LoopSchedule& s, int multiprocessors) {
  s.threads = power_of_two_at_least(s.kept_count() / s.run, 1, 32);
  s.lanes = 256 / s.threads;
  int64_t const blocks = (s.kept_count() / s.run + s.threads - 1) / s.threads;
  int64_t const wanted = 4L * multiprocessors;
  s.splits = std::clamp<int64_t>(wanted / std::max<int64_t>(blocks, 1), 1,
                                 std::max<int64_t>(s.reduced_count() / (4 * s.lanes), 1));
}

/// The access that moves most bytes along these axes: the order in which they are walked is its own.
size_t leading_access(std::vector<Access> const& accesses, std::initializer_list<std::vector<Axis> const*> axes) {
  size_t leading = 0;
  int64_t most = -1;
  for (size_t i = 0; i < accesses.size(); ++i) {
    int64_t bytes = accesses[i].bytes;
    for (auto const* list : axes)
      for (Axis const& a : *list)
        if (strided_along(a, i)) bytes *= a.size;
    if (bytes > most) most = bytes, leading = i;
  }
  return leading;
}

}  // namespace

int power_of_two_at_least(int64_t n, int least, int most) {
  int p = least;
  while (p < n && p < most) p *= 2;
  return p;
}

int64_t LoopSchedule::kept_count() const { return product(kept); }
int64_t LoopSchedule::reduced_count() const { return product(reduced); }

bool is_terminal(LoopProgram const& program) {
  return std::any_of(program.values.begin(), program.values.end(),
                     [](LoopValue const& v) { return v.op == Op::reduce && v.terminal; });
}

std::vector<bool> reduced_axes(LoopProgram const& program) {
  for (LoopValue const& v : program.values)
    if (v.op == Op::reduce && v.terminal) return v.axes;
  return program.row_axes;
}

LoopSchedule schedule_loop(ir::OpGraph const& graph, passes::Partition const& partition, LoopProgram const& program,
                           int multiprocessors) {
  LoopSchedule s;
  s.accesses = accesses_of(graph, partition, program);
  std::vector<bool> const reduced = reduced_axes(program);
  bool const reduces = std::any_of(program.values.begin(), program.values.end(),
                                   [](LoopValue const& v) { return v.op == Op::reduce || v.op == Op::moments; });
  std::vector<Axis> kept_axes, reduced_list;
  for (size_t axis = 0; axis < program.space.size(); ++axis) {
    Axis a{program.space[axis], {}};
    for (Access const& access : s.accesses) a.strides.push_back(stride_of(graph, program, access, axis));
    (reduced[axis] ? reduced_list : kept_axes).push_back(std::move(a));
  }
  size_t const leading = leading_access(s.accesses, {&kept_axes, &reduced_list});
  s.kept = merged(kept_axes, leading);
  // In an order that does not depend on how many rows there are.
  s.reduced = merged(reduced_list, leading_access(s.accesses, {&reduced_list}));
  bool const terminal = is_terminal(program);
  if (reduces) {
    bool const runs_along_kept = strided_along(s.kept.back(), leading) && s.kept.back().strides[leading] == 1 &&
                                 !(strided_along(s.reduced.back(), leading) && s.reduced.back().strides[leading] == 1);
    // One column alone would be a row: where results must not depend on how many there are, all of them are.
    bool const columns = terminal && runs_along_kept && !graph.context().batch_invariant;
    s.mapping = columns ? Mapping::columns : Mapping::rows;
  }
  choose_run(s);
  s.narrow = offsets_fit(s);
  if (s.mapping == Mapping::rows) schedule_rows(s, terminal);
  if (s.mapping == Mapping::columns) schedule_columns(s, multiprocessors);
  return s;
}

}  // namespace fusednn::codegen
