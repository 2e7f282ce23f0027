#include "codegen/loop_kernel.h"

#include "codegen/device_names.h"
#include "codegen/loop_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

class Writer {
 public:
  Writer(ir::OpGraph const& graph, LoopProgram const& program, LoopTarget const& target)
      : graph_(graph),
        program_(program),
        target_(target),
        schedule_(schedule_loop(graph, program, target.multiprocessors)) {}

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
  LoopValue const& value(ValueId v) const { return program_.values[static_cast<size_t>(v)]; }
  ir::Node const& node(LoopValue const& v) const { return graph_.nodes()[static_cast<size_t>(v.node)]; }
  ReductionMode_t mode_of(LoopValue const& v) const {
    return node(v).attrs.get_enum<ReductionMode_t>("mode");
  }
  DataType_t dtype(ir::TensorId t) const { return graph_.tensor(t).dtype; }
  bool rows() const { return schedule_.mapping == Mapping::rows; }
  bool elementwise(ValueId v) const {
    return !value(v).per_row && !value(v).terminal && value(v).op != Op::moments;
  }
  bool folds(ValueId v) const {
    LoopValue const& x = value(v);
    return x.op == Op::moments ? rows() : x.op == Op::reduce && (x.per_row || x.terminal);
  }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<size_t>(2 * indent_), ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void open(std::string const& head) { line("{} {{", head), ++indent_; }
  void close() { --indent_, line("}}"); }

  std::string size(int64_t n) {
    sizes_.push_back(n);
    return fmt::format("Index(s.v[{}])", sizes_.size() - 1);
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
  }

  int sweep(ValueId v) const { return sweep_[static_cast<size_t>(v)]; }
  bool centred(LoopValue const& v) const { return node(v).op == ir::OpKind::layernorm; }
  /// Walk in which the fold of a reduction takes its elements; the first of two for centred moments.
  int fold_sweep(ValueId v) const {
    return sweep(v) - 1 - (value(v).op == Op::moments && centred(value(v)) ? 1 : 0);
  }

  /// Values per element that walk `n` needs, and among them those that it must compute (the others were
  /// kept).
  void need(ValueId v, int n, std::set<ValueId>& needed) const {
    if (v == no_value || !elementwise(v) || !needed.insert(v).second) return;
    if (schedule_.resident > 0 && sweep(v) < n) return;
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
    for (int n = sweep(v) + 1; n < sweeps_; ++n)
      if (needed_in(n).count(v)) return true;
    return false;
  }

  // ---- Expressions

  bool in_array(ValueId v) const { return value(v).op == Op::load || kept(v); }

  std::string array_of(ValueId v) const { return kept(v) ? fmt::format("e{}[k]", v) : fmt::format("l{}", v); }
  std::string name(ValueId v) const {
    if (!elementwise(v)) return fmt::format("r{}", v);
    return in_array(v) ? fmt::format("{}[j]", array_of(v)) : fmt::format("t{}", v);
  }

  std::string number(double x, std::string_view lane) const {
    if (std::isinf(x)) return fmt::format("{}<{}>()", x > 0 ? "highest" : "lowest", lane);
    return fmt::format("{}({:.17g})", lane, x);
  }

  std::string params(LoopValue const& v) const {
    std::string_view const lane = lane_name(v.type);
    if (v.node < 0 || node(v).op != ir::OpKind::pointwise) return fmt::format("PointwiseParams<{}>()", lane);
    std::string list;
    bool any = false;
    struct Parameter {
      char const* name;
      double otherwise;
    };
    for (Parameter p : {Parameter{"relu_lower_clip", 0},
                        {"relu_upper_clip", INFINITY},
                        {"relu_lower_clip_slope", 0},
                        {"swish_beta", 1},
                        {"elu_alpha", 1},
                        {"softplus_beta", 1}}) {
      auto const set = node(v).attrs.get_if<double>(p.name);
      any = any || set;
      list += (list.empty() ? "" : ", ") + number(set.value_or(p.otherwise), lane);
    }
    bool const clips = v.mode == PointwiseMode_t::RELU_FWD || v.mode == PointwiseMode_t::RELU_BWD;
    return any || clips ? fmt::format("PointwiseParams<{}>{{{}}}", lane, list)
                        : fmt::format("PointwiseParams<{}>()", lane);
  }

  std::string expression(ValueId id) const {
    LoopValue const& v = value(id);
    std::string_view const lane = lane_name(v.type);
    switch (v.op) {
      case Op::pointwise: {
        std::string operands;
        for (ValueId o : {v.a, v.b, v.c})
          if (o != no_value) operands += name(o) + ", ";
        return fmt::format("math::{}::call({}{})", functor_name(v.mode), operands, params(v));
      }
      case Op::cast:
        return fmt::format("cast<{}>({})", lane, name(v.a));
      case Op::round:
        return fmt::format("round_to<{}>({})", storage_name(dtype(v.tensor)), name(v.a));
      case Op::normalize:
        return fmt::format("normalized({}, {}, r{})", name(v.a),
                           centred(value(v.b)) ? fmt::format("mean{}", v.b) : "0.0", v.b);
      case Op::mean:
        return fmt::format("{}(mean{})", lane, v.a);
      case Op::inverse:
        return fmt::format("{}(r{})", lane, v.a);
      case Op::reduce:
        return finished(v,
                        fmt::format("{}::take({}::start<{}>(), {})", fold_name(mode_of(v)),
                                    fold_name(mode_of(v)), lane, name(v.a)),
                        1);
      case Op::load:
      case Op::anchor:
      case Op::moments:
        break;
    }
    return "";
  }

  std::string finished(LoopValue const& v, std::string const& folded, int64_t count) const {
    std::string_view const lane = lane_name(v.type);
    if (mode_of(v) == ReductionMode_t::AVG)
      return count == 0 ? folded : fmt::format("{} / {}({})", folded, lane, count);
    if (mode_of(v) == ReductionMode_t::NORM2)
      return fmt::format("math::Sqrt::call({}, PointwiseParams<{}>())", folded, lane);
    return folded;
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

  std::string raw(size_t access) const {
    return fmt::format("{}::Raw", storage_name(dtype(schedule_.accesses[access].tensor)));
  }

  // ---- One chunk of elements

  void load(ValueId v) {
    size_t const a = access_of(Access::Kind::load, v);
    std::string_view const storage = storage_name(dtype(value(v).tensor)), lane = lane_name(value(v).type);
    if (!kept(v)) line("{} l{}[{}];", lane, v, schedule_.run);
    std::string const at = fmt::format("p{} + o{}", a, a);
    if (schedule_.accesses[a].vector) return line("load_run<{}>({}, {});", storage, array_of(v), at);
    int64_t const stride = run_stride(a);
    line("#pragma unroll");
    line("for (int j = 0; j < {}; ++j) {}[j] = {}::load<{}>(({})[{}]);", schedule_.run, array_of(v), storage,
         lane, at,
         stride == 0   ? "0"
         : stride == 1 ? "j"
                       : fmt::format("j * {}", size(stride)));
  }

  void store(size_t index) {
    LoopStore const& s = program_.stores[index];
    size_t const a = access_of(Access::Kind::store, static_cast<int32_t>(index));
    std::string_view const storage = storage_name(dtype(s.tensor));
    std::string const from = in_array(s.value) ? array_of(s.value) : fmt::format("s{}", index);
    std::string const at = fmt::format("p{} + o{}", a, a);
    if (schedule_.accesses[a].vector) return line("store_run<{}>({}, {});", storage, at, from);
    int64_t const stride = run_stride(a);
    line("#pragma unroll");
    line("for (int j = 0; j < {}; ++j) ({})[{}] = {}::store({}[j]);", schedule_.run, at,
         stride == 1 ? "j" : fmt::format("j * {}", size(stride)), storage, from);
  }

  /// Loads, computes, folds and stores what walk `n` does for the chunk whose offsets are known as o<access>.
  void chunk(int n) {
    std::set<ValueId> const needed = needed_in(n);
    auto computed = [&](ValueId v) { return schedule_.resident == 0 || sweep(v) == n; };
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
      if (value(v).op == Op::pointwise && value(v).mode == PointwiseMode_t::GEN_INDEX)
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
        line("{} const r{} = {}::load<{}>(p{}[b{}]);", lane_name(x.type), v, storage_name(dtype(x.tensor)),
             lane_name(x.type), a, a);
      } else if (x.op == Op::pointwise && x.mode == PointwiseMode_t::GEN_INDEX) {
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
          line("double const mean{} = join_threads<FoldAdd, {}>(sum{}, shared) / {};", v, schedule_.threads,
               v, n_text);
        if (fold_sweep(v) + centred(x) == n)
          line(
              "double const r{} = rsqrt(join_threads<FoldAdd, {}>(square{}, shared) / {} + "
              "static_cast<double>({}));",
              v, schedule_.threads, v, n_text, name(x.b));
      } else if (fold_sweep(v) == n) {
        line("{} const joined{} = join_threads<{}, {}>(a{}, shared);", lane_name(x.type), v,
             fold_name(mode_of(x)), schedule_.threads, v);
        if (schedule_.splits == 1)
          line("{} const r{} = {};", lane_name(x.type), v, finished(x, fmt::format("joined{}", v), count));
      }
    }
  }

  // ---- Kernels

  void begin(std::string const& entry, std::string const& bounds) {
    entry_ = entry;
    bounds_ = bounds;
    text_.clear();
    sizes_.clear();
    indent_ = 1;
  }

  LoopKernel end(std::vector<std::string> const& arguments) {
    std::string list;
    for (std::string const& a : arguments) list += a + ", ";
    LoopKernel k;
    k.entry = entry_;
    k.source.name = entry_;
    k.source.arch = target_.arch;
    k.source.text = fmt::format(
        "#include \"families/loop/fold.cuh\"\n\nusing namespace fusednn;\nusing namespace fusednn::loop;\n\n"
        "using Index = {};\nstruct Sizes {{\n  long long v[{}];\n}};\n\n"
        "extern \"C\" __global__ void __launch_bounds__({}) {}({}const __grid_constant__ Sizes s) {{\n{}}}\n",
        schedule_.narrow ? "unsigned int" : "long long", std::max<size_t>(sizes_.size(), 1), bounds_, entry_,
        list, text_);
    k.sizes = sizes_;
    if (k.sizes.empty()) k.sizes.push_back(0);
    return k;
  }

  std::string entry_name(std::string_view kind) const {
    std::string name(kind);
    std::string_view last;
    for (LoopValue const& v : program_.values) {
      std::string_view const part = v.op == Op::pointwise ? functor_name(v.mode)
                                    : v.op == Op::reduce  ? fold_name(mode_of(v))
                                    : v.op == Op::moments ? "Moments"
                                                          : "";
      if (!part.empty() && part != last && name.size() < 60) name += fmt::format("_{}", last = part);
    }
    return name;
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
      arguments.push_back(
          fmt::format("{} {}* __restrict__ p{}", raw(a), x.kind == Access::Kind::load ? "const" : "", a));
      operands.push_back({KernelOperand::Kind::tensor, x.tensor, 0});
    }
    add_partials(arguments, operands);
    LoopKernel k = end(arguments);
    k.operands = std::move(operands);
    launch(k);
    return k;
  }

  int block_threads() const { return schedule_.threads * schedule_.rows_per_block; }

  void launch(LoopKernel& k) const {
    int64_t const kept = schedule_.kept_count();
    auto blocks = [](int64_t n, int64_t each) { return static_cast<uint32_t>((n + each - 1) / each); };
    k.grid_y = static_cast<uint32_t>(schedule_.splits);
    switch (schedule_.mapping) {
      case Mapping::elements:
        k.grid_x = blocks(kept / schedule_.run, 256);
        k.block_x = 256;
        break;
      case Mapping::rows:
        k.grid_x = blocks(kept, schedule_.rows_per_block);
        k.block_x = static_cast<uint32_t>(block_threads());
        break;
      case Mapping::columns:
        k.grid_x = blocks(kept / schedule_.run, schedule_.threads);
        k.block_x = static_cast<uint32_t>(schedule_.threads);
        k.block_y = static_cast<uint32_t>(schedule_.lanes_y);
        break;
    }
    k.description =
        fmt::format("{}: {} x {} in runs of {}, {} threads{}{}", k.entry, kept, schedule_.reduced_count(),
                    schedule_.run, k.block_x * k.block_y, schedule_.resident ? ", row in registers" : "",
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
    line("Index const item = Index(blockIdx.x) * 256 + threadIdx.x;");
    line("if (item >= {}) return;", size(schedule_.kept_count() / schedule_.run));
    coordinates(schedule_.kept, "item", 'x', true);
    for (size_t a = 0; a < schedule_.accesses.size(); ++a)
      line("Index const o{} = {};", a, offset(schedule_.kept, a, 'x', schedule_.accesses[a].offset));
    chunk(0);
  }

  void write_rows() {
    int const threads = schedule_.threads;
    if (threads > 32)
      line("__shared__ double shared[32];");
    else
      line("double* const shared = nullptr;");
    line("int const thread = threadIdx.x % {};", threads);
    line("Index const row = Index(blockIdx.x) * {} + threadIdx.x / {};", schedule_.rows_per_block, threads);
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
        line("Index const end{} = live ? min({}, Index(blockIdx.y + 1) * {}) : Index(0);", n, chunk_count,
             size(per));
        open(fmt::format("for (Index item = Index(blockIdx.y) * {} + thread; item < end{}; item += {})",
                         size(per), n, threads));
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
  }

  /// Stores of per-row values and of finished reductions.
  void store_rows() {
    for (size_t i = 0; i < program_.stores.size(); ++i) {
      LoopStore const& s = program_.stores[i];
      if (elementwise(s.value) || (!value(s.value).terminal && !per_row_store(s))) continue;
      if (schedule_.splits > 1) continue;
      size_t const a = access_of(Access::Kind::store, static_cast<int32_t>(i));
      line("p{}[b{}] = {}::store({});", a, a, storage_name(dtype(s.tensor)), result(s.value));
    }
    if (schedule_.splits == 1) return;
    for (size_t v = 0; v < program_.values.size(); ++v)
      if (folds(static_cast<ValueId>(v)))
        line("partial{}[Index(blockIdx.y) * {} + row] = joined{};", v, size(schedule_.kept_count()), v);
  }

  /// A reduction that is stored alone, with the rounding that may stand between.
  std::string result(ValueId v) const {
    if (value(v).op == Op::round && value(v).terminal)
      return fmt::format("round_to<{}>({})", storage_name(dtype(value(v).tensor)), result(value(v).a));
    return fmt::format("r{}", v);
  }

  void write_columns() {
    int const run = schedule_.run;
    line("__shared__ double shared[256];");
    line("Index const item = Index(blockIdx.x) * 32 + threadIdx.x;");
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
    open(fmt::format("for (Index step = Index(blockIdx.y) * {} + threadIdx.y; step < end; step += 8)", per));
    coordinates(schedule_.reduced, "step", 'y', false);
    for (size_t a = 0; a < schedule_.accesses.size(); ++a)
      line("Index const o{} = b{} + {};", a, a, offset(schedule_.reduced, a, 'y', 0));
    chunk(0);
    close();
    for (size_t v = 0; v < program_.values.size(); ++v)
      if (folds(static_cast<ValueId>(v))) {
        LoopValue const& x = program_.values[v];
        line("join_lanes<{}>(a{}, shared);", fold_name(mode_of(x)), v);
      }
    open("if (live && threadIdx.y == 0)");
    line("#pragma unroll");
    open(fmt::format("for (int j = 0; j < {}; ++j)", run));
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (!folds(static_cast<ValueId>(v))) continue;
      LoopValue const& x = program_.values[v];
      if (schedule_.splits > 1)
        line("partial{}[Index(blockIdx.y) * {} + item * {} + j] = a{}[j];", v, size(schedule_.kept_count()),
             run, v);
      else
        line("{} const r{} = {};", lane_name(x.type), v, finished(x, fmt::format("a{}[j]", v), count));
    }
    for (size_t i = 0; i < program_.stores.size() && schedule_.splits == 1; ++i) {
      LoopStore const& s = program_.stores[i];
      if (!value(s.value).terminal) continue;
      size_t const a = access_of(Access::Kind::store, static_cast<int32_t>(i));
      line("p{}[b{} + j * {}] = {}::store({});", a, a, size(run_stride(a)), storage_name(dtype(s.tensor)),
           result(s.value));
    }
    close();
    close();
  }

  /// The second kernel: a warp joins the partial results of one kept index.
  LoopKernel write_join() {
    begin(entry_name("join"), "256");
    line("Index const item = Index(blockIdx.x) * 8 + threadIdx.x / 32;");
    std::string const kept = size(schedule_.kept_count());
    line("bool const live = item < {};", kept);
    line("Index const row = live ? item : Index(0);");
    coordinates(schedule_.kept, "row", 'x', false);
    std::vector<std::string> arguments;
    std::vector<KernelOperand> operands;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (!folds(static_cast<ValueId>(v))) continue;
      LoopValue const& x = program_.values[v];
      std::string_view const fold = fold_name(mode_of(x)), lane = lane_name(x.type);
      line("{} a{} = {}::start<{}>();", lane, v, fold, lane);
      line("for (Index i = threadIdx.x % 32; i < {}; i += 32) a{} = {}::join(a{}, partial{}[i * {} + row]);",
           size(schedule_.splits), v, fold, v, v, kept);
      line("{} const joined{} = join_threads<{}, 32>(a{}, nullptr);", lane, v, fold, v);
      line("{} const r{} = {};", lane, v, finished(x, fmt::format("joined{}", v), schedule_.reduced_count()));
    }
    open("if (live && threadIdx.x % 32 == 0)");
    for (size_t i = 0; i < program_.stores.size(); ++i) {
      LoopStore const& s = program_.stores[i];
      if (!value(s.value).terminal) continue;
      size_t const a = access_of(Access::Kind::store, static_cast<int32_t>(i));
      arguments.push_back(fmt::format("{}* __restrict__ p{}", raw(a), a));
      operands.push_back({KernelOperand::Kind::tensor, s.tensor, 0});
      line("p{}[{}] = {}::store({});", a, offset(schedule_.kept, a, 'x', schedule_.accesses[a].offset),
           storage_name(dtype(s.tensor)), result(s.value));
    }
    close();
    add_partials(arguments, operands);
    LoopKernel k = end(arguments);
    k.operands = std::move(operands);
    k.grid_x = static_cast<uint32_t>((schedule_.kept_count() + 7) / 8);
    k.block_x = 256;
    k.description =
        fmt::format("{}: {} x {} partial results", k.entry, schedule_.kept_count(), schedule_.splits);
    return k;
  }

  ir::OpGraph const& graph_;
  LoopProgram const& program_;
  LoopTarget const& target_;
  LoopSchedule schedule_;
  std::vector<int> sweep_;  ///< by value: walks that must be over before it is known
  int sweeps_ = 1;
  std::string entry_, bounds_, text_;
  std::vector<int64_t> sizes_;
  int indent_ = 1;
  int64_t partial_bytes_ = 0;
};

}  // namespace

bool has_loop_kernel(ir::OpGraph const&, LoopProgram const& program) {
  bool const rows =
      std::find(program.row_axes.begin(), program.row_axes.end(), true) != program.row_axes.end();
  std::vector<bool> const* axes = nullptr;
  for (LoopValue const& v : program.values) {
    if (v.op == Op::anchor) return false;
    if (v.op != Op::reduce || !v.terminal) continue;
    if (rows || (axes && *axes != v.axes)) return false;
    axes = &v.axes;
  }
  return true;
}

LoopKernels write_loop_kernels(ir::OpGraph const& graph, LoopProgram const& program,
                               LoopTarget const& target) {
  return Writer(graph, program, target).write();
}

}  // namespace fusednn::codegen
