#include "codegen/attention_kernel.h"

#include "codegen/device_names.h"
#include "codegen/epilogue.h"

#include <algorithm>

namespace fusednn::codegen {

namespace {

using ir::no_tensor;
using ir::TensorId;

enum In { Q, K, V, ATTN_SCALE, BIAS, LENGTH_Q, LENGTH_KV };
enum Out { O, STATS };

constexpr int64_t query_tile = 32;  // kQueryTile

int64_t value_tile(DataType_t compute) { return compute == DataType_t::DOUBLE ? 64 : 128; }  // kValueTile

class Writer {
 public:
  Writer(ir::OpGraph const& graph, passes::Partition const& partition, passes::LoopProgram const& program,
         LoopTarget const& target)
      : graph_(graph),
        partition_(partition),
        program_(program),
        target_(target),
        node_(anchor_of(graph, program)),
        lane_(lane_name(node_.compute)),
        q_(graph.tensor(node_.inputs[Q]).dims),
        k_(graph.tensor(node_.inputs[K]).dims),
        v_(graph.tensor(node_.inputs[V]).dims),
        parameters_(graph, partition) {}

  LoopKernels write() {
    int64_t const row_tiles = (q_[2] + query_tile - 1) / query_tile;
    int64_t const wide = value_tile(node_.compute), value_tiles = std::max<int64_t>((v_[3] + wide - 1) / wide, 1);
    int64_t const tiles = q_[0] * q_[1] * row_tiles * value_tiles;
    if (tiles == 0) return {};
    fit_indices();
    Epilogue const epilogue = write_body(tiles, row_tiles, value_tiles);
    LoopKernel kernel = anchored_kernel("generic_attention", "attention.cuh", tiles, narrow_,
                                        LoopValues(graph_, program_), epilogue, parameters_, text_, target_);
    kernel.description = fmt::format("{}: {} x {} heads, {} queries, {} keys, widths {} and {}, {} tiles", kernel.entry,
                                     q_[0], q_[1], q_[2], k_[2], q_[3], v_[3], tiles);
    return {{std::move(kernel)}, 0};
  }

 private:
  ir::Dims const& dims(TensorId t) const { return graph_.tensor(t).dims; }
  passes::StridedView const& view(TensorId t) const { return partition_.places[static_cast<size_t>(t)].view; }
  ir::Dims strides(TensorId t) const { return stepping_strides(dims(t), view(t).strides); }
  std::string_view storage(TensorId t) const { return storage_name(graph_.tensor(t).dtype); }
  bool placed(TensorId t) const {
    return t != no_tensor && partition_.places[static_cast<size_t>(t)].kind != passes::Place::Kind::nowhere;
  }

  void fit_indices() {
    narrow_ = epilogue_fits_31_bits(program_) && k_[2] <= narrow_limit && q_[3] <= narrow_limit &&
              v_[3] <= narrow_limit && q_[2] <= narrow_limit &&
              q_[0] * q_[1] <= narrow_limit / std::max<int64_t>(q_[2], 1);
    auto check = [&](TensorId t) {
      if (t != no_tensor && (graph_.producer(t) < 0 || placed(t)))
        narrow_ = narrow_ && reach(dims(t), strides(t), view(t).offset) <= narrow_limit;
    };
    for (TensorId t : node_.inputs) check(t);
    if (TensorId const stats = node_.output(STATS); placed(stats)) check(stats);
  }

  /// A pointer to a tensor's element at these batch and head.
  std::string at_head(TensorId t, std::string const& pointer, std::string const& head) {
    ir::Dims const s = strides(t);
    std::string sum = fmt::format("{} + {}", pointer, text_.size(view(t).offset));
    if (s[0] != 0) sum += fmt::format(" + x0 * {}", text_.size(s[0]));
    if (s[1] != 0) sum += fmt::format(" + {} * {}", head, text_.size(s[1]));
    return sum;
  }
  std::string matrix(TensorId t, std::string const& pointer, std::string const& head) {
    ir::Dims const s = strides(t);
    std::string const first = at_head(t, pointer, head), row = text_.size(s[2]), column = text_.size(s[3]);
    return fmt::format("generic::Matrix<{}, Index>{{{}, {}, {}}}", storage(t), first, row, column);
  }
  std::string length(TensorId t, int64_t full) {
    if (t == no_tensor) return fmt::format("i64({})", text_.size(full));
    std::string const pointer = parameters_.add(t, false, true);
    std::string const first = at_head(t, pointer, "0");
    return fmt::format("i64(*({}))", first);
  }
  std::string scale() {
    TensorId const t = node_.input(ATTN_SCALE);
    if (t != no_tensor) {
      std::string const pointer = parameters_.add(t, false, true);
      return fmt::format("{}::load<{}>(({})[{}])", storage(t), lane_, pointer, text_.size(view(t).offset));
    }
    return fmt::format("{}({:.17g})", lane_, node_.attrs.get_if<double>("attn_scale_value").value_or(1));
  }

  Epilogue write_body(int64_t tiles, int64_t row_tiles, int64_t value_tiles) {
    std::string const q = parameters_.add(node_.inputs[Q], false, true),
                      k = parameters_.add(node_.inputs[K], false, true),
                      v = parameters_.add(node_.inputs[V], false, true);
    TensorId const bias = node_.input(BIAS), stats = node_.output(STATS);
    std::string const bias_pointer = bias == no_tensor ? "" : parameters_.add(bias, false, true);
    std::string const stats_pointer = placed(stats) ? parameters_.add(stats, true, true) : "";
    Epilogue epilogue = write_epilogue(graph_, program_, parameters_, text_);

    text_.indent(1);
    text_.line("Epilogue const epilogue = {};", epilogue.object);
    text_.line("{} const scale = {};", lane_, scale());
    text_.open(fmt::format("for (Index tile = blockIdx.x; tile < {}; tile += gridDim.x)", text_.size(tiles)));
    text_.line("Index const c0 = tile % {} * generic::kValueTile<{}>;", text_.size(value_tiles), lane_);
    text_.line("Index const rows_and_heads = tile / {};", text_.size(value_tiles));
    text_.line("Index const i0 = rows_and_heads % {} * generic::kQueryTile;", text_.size(row_tiles));
    text_.line("Index const heads = rows_and_heads / {};", text_.size(row_tiles));
    text_.line("Index const x1 = heads % {}, x0 = heads / {};", text_.size(q_[1]), text_.size(q_[1]));
    // Checked shapes: each count divides the queries' heads.
    auto head_of = [&](int64_t heads) {
      return fmt::format("(x1 / {})", text_.size(q_[1] / std::max<int64_t>(heads, 1)));
    };
    std::string const k_head = head_of(k_[1]), v_head = head_of(v_[1]);
    TensorId const no_bias = node_.inputs[Q];  // stands where there is none, and is not read
    std::string_view const bias_storage = storage(bias == no_tensor ? no_bias : bias);
    text_.line("generic::Head<{}, {}, {}, {}, Index, {}> const head{{", storage(node_.inputs[Q]),
               storage(node_.inputs[K]), storage(node_.inputs[V]), bias_storage, lane_);
    text_.line("    {},", matrix(node_.inputs[Q], q, "x1"));
    text_.line("    {},", matrix(node_.inputs[K], k, k_head));
    text_.line("    {},", matrix(node_.inputs[V], v, v_head));
    text_.line("    {},", bias == no_tensor ? fmt::format("generic::Matrix<{}, Index>{{}}", bias_storage)
                                            : matrix(bias, bias_pointer, "x1"));
    std::string const queries = text_.size(q_[2]), keys = text_.size(k_[2]), depth = text_.size(q_[3]),
                      width = text_.size(v_[3]);
    text_.line("    {}, {}, {}, {}, scale}};", queries, keys, depth, width);
    write_mask();
    text_.line("generic::attention_tile<{}>(head, mask, i0, c0,", bias != no_tensor);
    text_.line("    [&](Index i, Index c, {} o) {{ epilogue(x0, x1, i, c, o); }},", lane_);
    text_.line("    [&](Index i, {} stats) {{", lane_);
    if (placed(stats)) write_stats(stats, stats_pointer);
    text_.line("    }});");
    text_.close();
    return epilogue;
  }

  void write_mask() {
    std::string const length_q = length(node_.input(LENGTH_Q), q_[2]),
                      length_kv = length(node_.input(LENGTH_KV), k_[2]);
    auto bound = [&](char const* name) {
      return text_.wide_size(node_.attrs.get_if<int64_t>(name).value_or(INT64_MAX));
    };
    bool const bottom_right =
        node_.attrs.get_enum<DiagonalAlignment_t>("diagonal_alignment") == DiagonalAlignment_t::BOTTOM_RIGHT;
    std::string const left = bound("left_bound"), right = bound("right_bound");
    text_.line("generic::Mask const mask({}, {}, {}, {}, {}, {}, {});", length_q, length_kv, text_.size(q_[2]),
               text_.size(k_[2]), bottom_right, left, right);
  }

  void write_stats(TensorId t, std::string const& pointer) {
    std::string const row = text_.size(strides(t)[2]), first = at_head(t, pointer, "x1");
    bool const base_2 = node_.attrs.get<bool>("stats_use_log2");
    text_.line("      if (c0 == 0) ({})[i * {}] = {}::store(stats{});", first, row, storage(t),
               base_2 ? fmt::format(" * {}(1.4426950408889634)", lane_) : "");
  }

  ir::OpGraph const& graph_;
  passes::Partition const& partition_;
  passes::LoopProgram const& program_;
  LoopTarget const& target_;
  ir::Node const& node_;
  std::string_view lane_;
  ir::Dims const &q_, &k_, &v_;
  KernelParameters parameters_;
  KernelText text_;
  bool narrow_ = false;
};

}  // namespace

bool has_generic_attention(ir::OpGraph const& graph, passes::LoopProgram const& program) {
  if (!is_pointwise_epilogue(program) || anchor_of(graph, program).op != ir::OpKind::sdpa) return false;
  TensorId const stats = anchor_of(graph, program).output(STATS);
  return std::none_of(program.values.begin(), program.values.end(), [&](passes::LoopValue const& v) {
    return v.op == passes::LoopValue::Op::load && v.tensor == stats;
  });
}

LoopKernels write_generic_attention(ir::OpGraph const& graph, passes::Partition const& partition,
                                    passes::LoopProgram const& program, LoopTarget const& target) {
  return Writer(graph, partition, program, target).write();
}

}  // namespace fusednn::codegen
