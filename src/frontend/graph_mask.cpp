#include "base/checked.h"
#include "frontend/errors.h"
#include "frontend/graph_impl.h"
#include "ops/attention_mask.h"

#include <fmt/format.h>

#include <algorithm>

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

using base::make_error;
using base::Rule;

namespace {

constexpr int64_t largest_text = int64_t(1) << 26;  // characters

}  // namespace

error_t Graph::print_mask_ext(std::string const& node, std::string& text, int64_t seq_len_q, int64_t seq_len_kv) const {
  if (!impl_->validated)
    return to_public(make_error(Rule::graph_not_validated, {node, {}}, "validate() has not succeeded"));
  ir::Graph const& graph = impl_->validated->graph();
  auto at = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                         [&](ir::Node const& n) { return n.name == node && n.op == ir::OpKind::sdpa; });
  if (at == graph.nodes.end())
    return to_public(make_error(Rule::mask_node, {node, {}}, "no attention node has this name"));
  bool const padding = at->attrs.get<bool>("padding_mask");
  if (!padding && (seq_len_q != -1 || seq_len_kv != -1))
    return to_public(make_error(Rule::sdpa_padding, {node, {}}, "lengths are given, padding_mask is false"));
  int64_t const rows = graph.tensor(at->inputs[0]).dims[2], keys = graph.tensor(at->inputs[1]).dims[2];
  std::optional<int64_t> const size = checked_mul(rows, keys + 1);
  if (!size || *size > largest_text)
    return to_public(make_error(Rule::mask_size, {node, {}}, fmt::format("{} x {}", rows, keys)));
  ops::AttentionMask const mask =
      ops::mask_of(*at, seq_len_q < 0 ? rows : seq_len_q, seq_len_kv < 0 ? keys : seq_len_kv, rows, keys);
  text.clear();
  text.reserve(static_cast<size_t>(*size));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < keys; ++j) text += mask.visible(i, j) ? '1' : '.';
    text += '\n';
  }
  return {};
}

}  // namespace graph

FUSEDNN_END_NAMESPACE
