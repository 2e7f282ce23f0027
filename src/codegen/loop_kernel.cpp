#include "codegen/loop_kernel.h"

#include "codegen/device_names.h"
#include "codegen/kernel_text.h"
#include "codegen/loop_schedule.h"
#include "codegen/loop_values.h"

#include <algorithm>
#include <set>

namespace fusednn::codegen {

namespace {

using passes::LoopProgram;
using passes::LoopStore;
using passes::LoopValue;
using passes::no_value;
using passes::ValueId;
using Op = LoopValue::Op;
using Mapping = LoopSchedule::Mapping;

class Writer : LoopValues, KernelText {
 public:
  Writer(ir::OpGraph const& graph, passes::Partition const& partition, LoopProgram const& program,
         LoopTarget const& target)
      : LoopValues(graph, program),
        partition_(partition),
        target_(target),
        schedule_(schedule_loop(graph, partition, program, target.multiprocessors)),
        whole_rows_(rows() && !is_terminal(program) && reduces_nothing()) {}

  LoopKernels write() {
    LoopKernels result;
    if (schedule_.kept_count() == 0) return result;
    find_sweeps();
    LoopKernel main = write_main();
    result.partial_bytes = partial_bytes_;
    result.kernels.push_back(std::move(main));
    if (schedule_.splits > 1) result.kernels.push_back(write_join());
    return result;
  }

 private:
  bool rows() const { return schedule_.mapping == Mapping::rows; }
  bool reduces_nothing() const {
    return std::find(program_.row_axes.begin(), program_.row_axes.end(), true) == program_.row_axes.end();
  }
  bool elementwise(ValueId v) const {
    return !whole_rows_ && !value(v).per_row && !value(v).terminal && value(v).op != Op::moments;
  }
  bool folds(ValueId v) const {
    LoopValue const& x = value(v);
    return x.op == Op::moments ? rows() : x.op == Op::reduce && (x.per_row || x.terminal);
  }

  // ---- Sweeps: the n-th walk over a row can use what the walks before it have reduced.

  void find_sweeps() {
    sweep_.assign(program_.values.size(), 0);
    for (size_t v = 0; v < sweep_.size(); ++v) {
      LoopValue const& x = program_.values[v];
      for (ValueId o : {x.a, x.b, x.c})
        if (o != no_value) sweep_[v] = std::max(sweep_[v], sweep_[static_cast<size_t>(o)]);
      if (x.op == Op::moments && centred(x)) ++sweep_[v];
      if (folds(static_cast<ValueId>(v))) ++sweep_[v];
    }
    sweeps_ = 1;
    for (size_t v = 0; v < sweep_.size(); ++v) {
      int const last = elementwise(static_cast<ValueId>(v)) ? sweep_[v] + 1 : sweep_[v];
      sweeps_ = std::max(sweeps_, last);
    }
    home_.assign(sweep_.size(), sweeps_);
    for (int n = 0; n < sweeps_; ++n)
      for (ValueId v : needed_in(n)) home_[static_cast<size_t>(v)] = std::min(home(v), n);
  }

  int sweep(ValueId v) const { return sweep_[static_cast<size_t>(v)]; }
  /// The walk that computes a value that later ones keep: the first that needs it.
  int home(ValueId v) const { return home_[static_cast<size_t>(v)]; }
  /// Walk in which the fold of a reduction takes its elements; the first of two for centred moments.
  int fold_sweep(ValueId v) const { return sweep(v) - 1 - (value(v).op == Op::moments && centred(value(v)) ? 1 : 0); }

  /// Values per element that walk `n` needs, and among them those that it must compute (the others were
  /// kept).
  void need(ValueId v, int n, std::set<ValueId>& needed) const {
    if (v == no_value || !elementwise(v) || !needed.insert(v).second) return;
    if (schedule_.resident > 0 && home(v) < n) return;
    for (ValueId o : {value(v).a, value(v).b, value(v).c}) need(o, n, needed);
  }

  std::set<ValueId> needed_in(int n) const {
    std::set<ValueId> needed;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      ValueId const id = static_cast<ValueId>(v);
      if (!folds(id)) continue;
      bool const second = value(id).op == Op::moments && centred(value(id)) && fold_sweep(id) + 1 == n;
      if (fold_sweep(id) == n || second) need(value(id).a, n, needed);
    }
    for (LoopStore const& s : program_.stores)
      if (elementwise(s.value) && sweep(s.value) == n) need(s.value, n, needed);
    return needed;
  }

  /// Kept in registers from its own walk to a later one.
  bool kept(ValueId v) const {
    if (schedule_.resident == 0 || !elementwise(v)) return false;
    for (int n = home(v) + 1; n < sweeps_; ++n)
      if (needed_in(n).count(v)) return true;
    return false;
  }

  // ---- Names

  bool in_array(ValueId v) const { return value(v).op == Op::load || kept(v); }

  std::string array_of(ValueId v) const { return kept(v) ? fmt::format("e{}[k]", v) : fmt::format("l{}", v); }
  std::string name(ValueId v) const {
    if (!elementwise(v)) return fmt::format("r{}", v);
    return in_array(v) ? fmt::format("{}[j]", array_of(v)) : fmt::format("t{}", v);
  }

  std::string expression(ValueId v) const {
    return LoopValues::expression(v, [this](ValueId o) { return name(o); });
  }

  // ---- Addresses

  /// Coordinates of `item` (a chunk number where the run axis is among the axes) along the axes, as
  /// `prefix`0, 1, ...
  void coordinates(std::vector<Axis> const& axes, std::string const& item, char prefix, bool runs) {
    std::string rest = item;
    for (size_t i = axes.size(); i-- > 0;) {
      bool const run_axis = runs && i + 1 == axes.size();
      int const run = run_axis ? schedule_.run : 1;
      std::string const count = i == 0 ? "" : size(axes[i].size / run);
      std::string const part = i == 0 ? rest : fmt::format("{} % {}", rest, count);
      line("Index const {}{} = {};", prefix, i, run > 1 ? fmt::format("({}) * {}", part, run) : part);
      if (i == 0) break;
      line("Index const {}rest{} = {} / {};", prefix, i, rest, count);
      rest = fmt::format("{}rest{}", prefix, i);
    }
  }

  std::string offset(std::vector<Axis> const& axes, size_t access, char prefix, int64_t start) {
    std::string sum = start ? size(start) : "";
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t const stride = axes[i].strides.empty() ? 0 : axes[i].strides[access];
      if (stride == 0) continue;
      std::string const term =
          stride == 1 ? fmt::format("{}{}", prefix, i) : fmt::format("{}{} * {}", prefix, i, size(stride));
      sum += (sum.empty() ? "" : " + ") + term;
    }
    return sum.empty() ? "Index(0)" : sum;
  }

  int64_t run_stride(size_t access) const {
    Axis const& axis = schedule_.run_axes().back();
    return axis.strides.empty() ? 0 : axis.strides[access];
  }

  size_t access_of(Access::Kind kind, int32_t id) const {
    for (size_t i = 0; i < schedule_.accesses.size(); ++i)
      if (schedule_.accesses[i].kind == kind && schedule_.accesses[i].id == id) return i;
    return 0;
  }

  /// Passed by value: the argument is the element.
  bool is_scalar(size_t access) const {
    Access const& a = schedule_.accesses[access];
    return a.kind == Access::Kind::load && host_scalar(graph_, partition_, a.tensor) != ir::no_tensor;
  }

  std::string raw(size_t access) const { return fmt::format("{}::Raw", storage(schedule_.accesses[access].tensor)); }

  // ---- One chunk of elements

  void load(ValueId v) {
    size_t const a = access_of(Access::Kind::load, v);
    std::string_view const type = storage(value(v).tensor), lane = lane_name(value(v).type);
    if (!kept(v)) line("{} l{}[{}];", lane, v, schedule_.run);
    std::string const at = fmt::format("p{} + o{}", a, a);
    if (schedule_.accesses[a].vector) return line("load_run<{}>({}, {});", type, array_of(v), at);
    int64_t const stride = run_stride(a);
    std::string const element = is_scalar(a)  ? fmt::format("p{}", a)
                                : stride == 0 ? fmt::format("({})[0]", at)
                                : stride == 1 ? fmt::format("({})[j]", at)
                                              : fmt::format("({})[j * {}]", at, size(stride));
    line("#pragma unroll");
    line("for (int j = 0; j < {}; ++j) {}[j] = {}::load<{}>({});", schedule_.run, array_of(v), type, lane, element);
  }

  void store(size_t index) {
    LoopStore const& s = program_.stores[index];
    size_t const a = access_of(Access::Kind::store, static_cast<int32_t>(index));
    std::string_view const type = storage(s.tensor);
    std::string const from = in_array(s.value) ? array_of(s.value) : fmt::format("s{}", index);
    std::string const at = fmt::format("p{} + o{}", a, a);
    if (schedule_.accesses[a].vector) return line("store_run<{}>({}, {});", type, at, from);
    int64_t const stride = run_stride(a);
    line("#pragma unroll");
    line("for (int j = 0; j < {}; ++j) ({})[{}] = {}::store({}[j]);", schedule_.run, at,
         stride == 1 ? "j" : fmt::format("j * {}", size(stride)), type, from);
  }

  /// Loads, computes, folds and stores what walk `n` does for the chunk whose offsets are known as o<access>.
  void chunk(int n) {
    std::set<ValueId> const needed = needed_in(n);
    auto computed = [&](ValueId v) { return schedule_.resident == 0 || home(v) == n; };
    for (ValueId v : needed)
      if (value(v).op == Op::load && computed(v)) load(v);
    std::vector<size_t> stores;
    for (size_t i = 0; i < program_.stores.size(); ++i) {
      LoopStore const& s = program_.stores[i];
      bool const spread = !elementwise(s.value) && !value(s.value).terminal && !per_row_store(s);
      if ((elementwise(s.value) && sweep(s.value) == n) || (spread && n + 1 == sweeps_)) stores.push_back(i);
    }
    for (size_t i : stores)
      if (!in_array_value(program_.stores[i].value))
        line("{} s{}[{}];", lane_name(value(program_.stores[i].value).type), i, schedule_.run);
    line("#pragma unroll");
    open(fmt::format("for (int j = 0; j < {}; ++j)", schedule_.run));
    for (ValueId v : needed) {
      if (value(v).op == Op::load || !computed(v)) continue;
      if (is_index(value(v)))
        index(v);
      else if (kept(v))
        line("{} = {};", name(v), expression(v));
      else
        line("{} const t{} = {};", lane_name(value(v).type), v, expression(v));
    }
    for (size_t v = 0; v < program_.values.size(); ++v) fold(static_cast<ValueId>(v), n);
    for (size_t i : stores)
      if (!in_array_value(program_.stores[i].value)) line("s{}[j] = {};", i, name(program_.stores[i].value));
    close();
    for (size_t i : stores) store(i);
  }

  bool in_array_value(ValueId v) const { return elementwise(v) && in_array(v); }

  void index(ValueId v) {
    size_t const a = access_of(Access::Kind::index, v);
    std::string_view const lane = lane_name(value(v).type);
    std::string const text = fmt::format("static_cast<{}>(o{} + j * {})", lane, a, size(run_stride(a)));
    if (kept(v))
      line("{} = {};", name(v), text);
    else
      line("{} const t{} = {};", lane, v, text);
  }

  void fold(ValueId v, int n) {
    if (!folds(v)) return;
    LoopValue const& x = value(v);
    std::string const element = schedule_.mapping == Mapping::columns ? "[j]" : "";
    if (x.op == Op::moments) {
      bool const two = centred(x);
      if (two && fold_sweep(v) == n) line("sum{} += static_cast<double>({});", v, name(x.a));
      if (fold_sweep(v) + two == n) {
        line("double const d{} = {};", v,
             two ? fmt::format("difference({}, mean{})", name(x.a), v)
                 : fmt::format("static_cast<double>({})", name(x.a)));
        line("square{} += d{} * d{};", v, v, v);
      }
      return;
    }
    if (fold_sweep(v) == n)
      line("a{}{} = {}::take(a{}{}, {});", v, element, fold_name(mode_of(x)), v, element, name(x.a));
  }

  // ---- Per-row values

  bool per_row_store(LoopStore const& s) const {
    for (size_t i = 0; i < s.strides.size(); ++i)
      if (reduced_axes(program_)[i] && s.strides[i] != 0) return false;
    return true;
  }

  /// Everything per row that is known before walk `n`.
  void row_values(int n) {
    for (size_t i = 0; i < program_.values.size(); ++i) {
      ValueId const v = static_cast<ValueId>(i);
      LoopValue const& x = value(v);
      if (elementwise(v) || x.terminal || folds(v) || sweep(v) != n) continue;
      if (x.op == Op::moments) continue;
      if (x.op == Op::load) {
        size_t const a = access_of(Access::Kind::load, v);
        line("{} const r{} = {}::load<{}>({});", lane_name(x.type), v, storage(x.tensor), lane_name(x.type),
             is_scalar(a) ? fmt::format("p{}", a) : fmt::format("p{}[b{}]", a, a));
      } else if (is_index(x)) {
        line("{} const r{} = static_cast<{}>(b{});", lane_name(x.type), v, lane_name(x.type),
             access_of(Access::Kind::index, v));
      } else {
        line("{} const r{} = {};", lane_name(x.type), v, expression(v));
      }
    }
  }

  void start_folds(int n) {
    for (size_t i = 0; i < program_.values.size(); ++i) {
      ValueId const v = static_cast<ValueId>(i);
      if (!folds(v)) continue;
      LoopValue const& x = value(v);
      if (x.op == Op::moments) {
        if (centred(x) && fold_sweep(v) == n) line("double sum{} = 0;", v);
        if (fold_sweep(v) + centred(x) == n) line("double square{} = 0;", v);
      } else if (fold_sweep(v) == n) {
        line("{} a{} = {}::start<{}>();", lane_name(x.type), v, fold_name(mode_of(x)), lane_name(x.type));
      }
    }
  }

  /// Joins the threads' accumulators of walk `n`.
  void join_folds(int n) {
    int64_t const count = schedule_.reduced_count();
    for (size_t i = 0; i < program_.values.size(); ++i) {
      ValueId const v = static_cast<ValueId>(i);
      if (!folds(v)) continue;
      LoopValue const& x = value(v);
      if (x.op == Op::moments) {
        std::string const n_text = fmt::format("{}.0", std::max<int64_t>(count, 1));
        if (centred(x) && fold_sweep(v) == n)
          line("double const mean{} = join_threads<FoldAdd, {}>(sum{}, shared) / {};", v, schedule_.threads, v, n_text);
        if (fold_sweep(v) + centred(x) == n)
          line(
              "double const r{} = rsqrt(join_threads<FoldAdd, {}>(square{}, shared) / {} + "
              "static_cast<double>({}));",
              v, schedule_.threads, v, n_text, name(x.b));
      } else if (fold_sweep(v) == n) {
        line("{} const joined{} = join_threads<{}, {}>(a{}, shared);", lane_name(x.type), v, fold_name(mode_of(x)),
             schedule_.threads, v);
        if (schedule_.splits == 1)
          line("{} const r{} = {};", lane_name(x.type), v, finished(x, fmt::format("joined{}", v), count));
      }
    }
  }

  // ---- Kernels

  void begin(std::string const& entry, std::string const& bounds) {
    entry_ = entry;
    bounds_ = bounds;
  }

  LoopKernel end(std::vector<std::string> const& arguments) {
    std::string list;
    for (std::string const& a : arguments) list += a + ", ";
    LoopKernel k;
    k.entry = entry_;
    k.source.name = entry_;
    k.source.arch = target_.arch;
    k.sizes = take_sizes();
    k.source.text = fmt::format(
        "#include \"families/loop/fold.cuh\"\n\nusing namespace fusednn;\nusing namespace fusednn::loop;\n\n"
        "{}\nextern \"C\" __global__ void __launch_bounds__({}) {}({}const __grid_constant__ Sizes s) "
        "{{\n{}}}\n",
        index_and_sizes(schedule_.narrow, k.sizes.size()), bounds_, entry_, list, take_text());
    return k;
  }

  LoopKernel write_main() {
    switch (schedule_.mapping) {
      case Mapping::elements:
        begin(entry_name("elements"), "256"), write_elements();
        break;
      case Mapping::rows:
        begin(entry_name("rows"), fmt::format("{}", block_threads())), write_rows();
        break;
      case Mapping::columns:
        begin(entry_name("columns"), "256"), write_columns();
        break;
    }
    std::vector<std::string> arguments;
    std::vector<KernelOperand> operands;
    for (size_t a = 0; a < schedule_.accesses.size(); ++a) {
      Access const& x = schedule_.accesses[a];
      if (x.kind == Access::Kind::index) continue;
      operands.push_back(tensor_operand(graph_, partition_, x.tensor));
      // A thread that has loaded all it needs before it stores may store in place.
      char const* const apart = schedule_.mapping == Mapping::elements ? "" : " __restrict__";
      arguments.push_back(
          is_scalar(a) ? fmt::format("{} const p{}", raw(a), a)
                       : fmt::format("{}{}*{} p{}", raw(a), x.kind == Access::Kind::load ? " const" : "", apart, a));
    }
    add_partials(arguments, operands);
    LoopKernel k = end(arguments);
    k.operands = std::move(operands);
    launch(k);
    return k;
  }

  static int64_t blocks(int64_t n, int64_t each) { return (n + each - 1) / each; }
  /// Blocks of a grid; where there are more to run, each block takes several.
  static uint32_t grid_of(int64_t n, int64_t each) {
    return static_cast<uint32_t>(std::min<int64_t>(blocks(n, each), INT32_MAX));
  }
  void open_blocks(int64_t n, int64_t each) {
    open(fmt::format("for (Index block = blockIdx.x; block < {}; block += gridDim.x)", size(blocks(n, each))));
  }

  int block_threads() const { return schedule_.threads * schedule_.rows_per_block; }

  void launch(LoopKernel& k) const {
    int64_t const kept = schedule_.kept_count();
    k.grid_y = static_cast<uint32_t>(schedule_.splits);
    switch (schedule_.mapping) {
      case Mapping::elements:
        k.grid_x = grid_of(kept / schedule_.run, 256);
        k.block_x = 256;
        break;
      case Mapping::rows:
        k.grid_x = grid_of(kept, schedule_.rows_per_block);
        k.block_x = static_cast<uint32_t>(block_threads());
        break;
      case Mapping::columns:
        k.grid_x = grid_of(kept / schedule_.run, schedule_.threads);
        k.block_x = static_cast<uint32_t>(schedule_.threads * schedule_.lanes);
        break;
    }
    k.description = fmt::format("{}: {} x {} in runs of {}, {} threads{}{}", k.entry, kept, schedule_.reduced_count(),
                                schedule_.run, k.block_x, schedule_.resident ? ", row in registers" : "",
                                schedule_.splits > 1 ? fmt::format(", {} splits", schedule_.splits) : "");
  }

  /// Partial results of split reductions: splits x kept lanes for each.
  void add_partials(std::vector<std::string>& arguments, std::vector<KernelOperand>& operands) {
    if (schedule_.splits == 1) return;
    partial_bytes_ = 0;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (!folds(static_cast<ValueId>(v))) continue;
      std::string_view const lane = lane_name(program_.values[v].type);
      arguments.push_back(fmt::format("{}* __restrict__ partial{}", lane, v));
      operands.push_back({KernelOperand::Kind::partial, ir::no_tensor, partial_bytes_});
      int64_t const bytes = schedule_.splits * schedule_.kept_count() * (lane == "double" ? 8 : 4);
      partial_bytes_ += (bytes + 255) / 256 * 256;
    }
  }

  void write_elements() {
    std::string const count = size(schedule_.kept_count() / schedule_.run);
    open(fmt::format(
        "for (Index item = Index(blockIdx.x) * 256 + threadIdx.x; item < {}; item += Index(gridDim.x) * 256)", count));
    coordinates(schedule_.kept, "item", 'x', true);
    for (size_t a = 0; a < schedule_.accesses.size(); ++a)
      line("Index const o{} = {};", a, offset(schedule_.kept, a, 'x', schedule_.accesses[a].offset));
    chunk(0);
    close();
  }

  void write_rows() {
    int const threads = schedule_.threads;
    if (threads > 32)
      line("__shared__ double shared[32];");
    else
      line("double* const shared = nullptr;");
    line("int const thread = threadIdx.x % {};", threads);
    open_blocks(schedule_.kept_count(), schedule_.rows_per_block);
    line("Index const row = block * {} + threadIdx.x / {};", schedule_.rows_per_block, threads);
    line("bool const live = row < {};", size(schedule_.kept_count()));
    line("Index const item = live ? row : Index(0);");
    coordinates(schedule_.kept, "item", 'x', false);
    for (size_t a = 0; a < schedule_.accesses.size(); ++a)
      line("Index const b{} = {};", a, offset(schedule_.kept, a, 'x', schedule_.accesses[a].offset));
    int64_t const chunks = schedule_.reduced_count() / schedule_.run;
    std::string const chunk_count = size(chunks);
    for (size_t v = 0; v < program_.values.size(); ++v)
      if (kept(static_cast<ValueId>(v)))
        line("{} e{}[{}][{}];", lane_name(program_.values[v].type), v, schedule_.resident, schedule_.run);
    for (int n = 0; n < sweeps_; ++n) {
      row_values(n);
      start_folds(n);
      if (schedule_.resident) {
        line("#pragma unroll");
        open(fmt::format("for (int k = 0; k < {}; ++k)", schedule_.resident));
        line("Index const item = thread + k * {};", threads);
        open(fmt::format("if (live && item < {})", chunk_count));
      } else {
        int64_t const per = (chunks + schedule_.splits - 1) / schedule_.splits;
        line("Index const end{} = live ? min({}, Index(blockIdx.y + 1) * {}) : Index(0);", n, chunk_count, size(per));
        open(fmt::format("for (Index item = Index(blockIdx.y) * {} + thread; item < end{}; item += {})", size(per), n,
                         threads));
      }
      coordinates(schedule_.reduced, "item", 'y', true);
      for (size_t a = 0; a < schedule_.accesses.size(); ++a)
        line("Index const o{} = b{} + {};", a, a, offset(schedule_.reduced, a, 'y', 0));
      chunk(n);
      close();
      if (schedule_.resident) close();
      join_folds(n);
    }
    row_values(sweeps_);
    open("if (live && thread == 0)");
    store_rows();
    close();
    close();
  }

  /// Stores of per-row values and of finished reductions.
  void store_rows() {
    for (size_t i = 0; i < program_.stores.size(); ++i) {
      LoopStore const& s = program_.stores[i];
      if (elementwise(s.value) || (!value(s.value).terminal && !per_row_store(s))) continue;
      if (schedule_.splits > 1) continue;
      size_t const a = access_of(Access::Kind::store, static_cast<int32_t>(i));
      line("p{}[b{}] = {}::store({});", a, a, storage(s.tensor), result(s.value));
    }
    if (schedule_.splits == 1) return;
    for (size_t v = 0; v < program_.values.size(); ++v)
      if (folds(static_cast<ValueId>(v)))
        line("partial{}[row * {} + blockIdx.y] = joined{};", v, size(schedule_.splits), v);
  }

  /// A reduction that is stored alone, with the rounding that may stand between.
  std::string result(ValueId v) const {
    if (value(v).op == Op::round && value(v).terminal)
      return fmt::format("round_to<{}>({})", storage(value(v).tensor), result(value(v).a));
    return fmt::format("r{}", v);
  }

  void write_columns() {
    int const run = schedule_.run;
    line("__shared__ double shared[256];");
    int const side = schedule_.threads;
    open_blocks(schedule_.kept_count() / run, side);
    line("Index const item = block * {} + threadIdx.x % {};", side, side);
    line("bool const live = item < {};", size(schedule_.kept_count() / run));
    line("Index const column = live ? item : Index(0);");
    coordinates(schedule_.kept, "column", 'x', true);
    for (size_t a = 0; a < schedule_.accesses.size(); ++a)
      line("Index const b{} = {};", a, offset(schedule_.kept, a, 'x', schedule_.accesses[a].offset));
    for (size_t v = 0; v < program_.values.size(); ++v)
      if (folds(static_cast<ValueId>(v))) {
        LoopValue const& x = program_.values[v];
        line("{} a{}[{}];", lane_name(x.type), v, run);
        line("#pragma unroll");
        line("for (int j = 0; j < {}; ++j) a{}[j] = {}::start<{}>();", run, v, fold_name(mode_of(x)),
             lane_name(x.type));
      }
    int64_t const count = schedule_.reduced_count();
    std::string const per = size((count + schedule_.splits - 1) / schedule_.splits);
    line("Index const end = live ? min({}, Index(blockIdx.y + 1) * {}) : Index(0);", size(count), per);
    open(fmt::format("for (Index step = Index(blockIdx.y) * {} + threadIdx.x / {}; step < end; step += {})", per, side,
                     schedule_.lanes));
    coordinates(schedule_.reduced, "step", 'y', false);
    for (size_t a = 0; a < schedule_.accesses.size(); ++a)
      line("Index const o{} = b{} + {};", a, a, offset(schedule_.reduced, a, 'y', 0));
    chunk(0);
    close();
    for (size_t v = 0; v < program_.values.size(); ++v)
      if (folds(static_cast<ValueId>(v))) {
        LoopValue const& x = program_.values[v];
        line("join_lanes<{}, {}>(a{}, shared);", fold_name(mode_of(x)), side, v);
      }
    open(fmt::format("if (live && threadIdx.x < {})", side));
    line("#pragma unroll");
    open(fmt::format("for (int j = 0; j < {}; ++j)", run));
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (!folds(static_cast<ValueId>(v))) continue;
      LoopValue const& x = program_.values[v];
      if (schedule_.splits > 1)
        line("partial{}[Index(blockIdx.y) * {} + item * {} + j] = a{}[j];", v, size(schedule_.kept_count()), run, v);
      else
        line("{} const r{} = {};", lane_name(x.type), v, finished(x, fmt::format("a{}[j]", v), count));
    }
    for (size_t i = 0; i < program_.stores.size() && schedule_.splits == 1; ++i) {
      LoopStore const& s = program_.stores[i];
      if (!value(s.value).terminal) continue;
      size_t const a = access_of(Access::Kind::store, static_cast<int32_t>(i));
      line("p{}[b{} + j * {}] = {}::store({});", a, a, size(run_stride(a)), storage(s.tensor), result(s.value));
    }
    close();
    close();
    close();
  }

  /// The second kernel joins the partial results: those of a row lie side by side, those of neighbouring columns too.
  LoopKernel write_join() {
    begin(entry_name("join"), "256");
    int const threads = rows() ? power_of_two_at_least(schedule_.splits, 32, 256) : 8;
    int const each = 256 / threads;
    std::string const first = fmt::format("threadIdx.x {} {}", rows() ? '%' : '/', rows() ? threads : each);
    std::string const kept = size(schedule_.kept_count()), splits = size(schedule_.splits);
    line("__shared__ double shared[256];");
    open_blocks(schedule_.kept_count(), each);
    line("Index const item = block * {} + threadIdx.x {} {};", each, rows() ? '/' : '%', rows() ? threads : each);
    line("bool const live = item < {};", kept);
    line("Index const row = live ? item : Index(0);");
    coordinates(schedule_.kept, "row", 'x', false);
    std::vector<std::string> arguments;
    std::vector<KernelOperand> operands;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (!folds(static_cast<ValueId>(v))) continue;
      LoopValue const& x = program_.values[v];
      std::string_view const fold = fold_name(mode_of(x)), lane = lane_name(x.type);
      line("{} a{}[1] = {{{}::start<{}>()}};", lane, v, fold, lane);
      line("for (Index i = {}; i < {}; i += {}) a{}[0] = {}::join(a{}[0], partial{}[{}]);", first, splits, threads, v,
           fold, v, v, rows() ? fmt::format("row * {} + i", splits) : fmt::format("i * {} + row", kept));
      if (rows())
        line("a{}[0] = join_threads<{}, {}>(a{}[0], shared);", v, fold, threads, v);
      else
        line("join_lanes<{}, {}>(a{}, shared);", fold, each, v);
      line("{} const r{} = {};", lane, v, finished(x, fmt::format("a{}[0]", v), schedule_.reduced_count()));
    }
    open(fmt::format("if (live && {} == 0)", first));
    for (size_t i = 0; i < program_.stores.size(); ++i) {
      LoopStore const& s = program_.stores[i];
      if (!value(s.value).terminal) continue;
      size_t const a = access_of(Access::Kind::store, static_cast<int32_t>(i));
      arguments.push_back(fmt::format("{}* __restrict__ p{}", raw(a), a));
      operands.push_back({KernelOperand::Kind::tensor, s.tensor});
      line("p{}[{}] = {}::store({});", a, offset(schedule_.kept, a, 'x', schedule_.accesses[a].offset),
           storage(s.tensor), result(s.value));
    }
    close();
    close();
    add_partials(arguments, operands);
    LoopKernel k = end(arguments);
    k.operands = std::move(operands);
    k.grid_x = grid_of(schedule_.kept_count(), each);
    k.block_x = 256;
    k.description = fmt::format("{}: {} x {} partial results", k.entry, schedule_.kept_count(), schedule_.splits);
    return k;
  }

  passes::Partition const& partition_;
  LoopTarget const& target_;
  LoopSchedule schedule_;
  bool whole_rows_;         ///< every row is one element, and every value a row's
  std::vector<int> sweep_;  ///< by value: walks that must be over before it is known
  std::vector<int> home_;   ///< by value
  int sweeps_ = 1;
  std::string entry_, bounds_;
  int64_t partial_bytes_ = 0;
};

}  // namespace

bool has_loop_kernel(ir::OpGraph const&, LoopProgram const& program) {
  bool const rows =
      std::find(program.row_axes.begin(), program.row_axes.end(), true) != program.row_axes.end() ||
      std::any_of(program.values.begin(), program.values.end(), [](LoopValue const& v) { return v.op == Op::moments; });
  std::vector<bool> const* axes = nullptr;
  for (LoopValue const& v : program.values) {
    if (v.op == Op::anchor) return false;
    if (v.op != Op::reduce || !v.terminal) continue;
    if (rows || (axes && *axes != v.axes)) return false;
    axes = &v.axes;
  }
  return true;
}

LoopKernels write_loop_kernels(ir::OpGraph const& graph, passes::Partition const& partition, LoopProgram const& program,
                               LoopTarget const& target) {
  return Writer(graph, partition, program, target).write();
}

}  // namespace fusednn::codegen
