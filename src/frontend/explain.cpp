#include "base/enum_names.h"
#include "frontend/graph_impl.h"
#include "ops/row.h"
#include "ops/validate.h"
#include "plan/engine_list.h"
#include "serial/json_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

FUSEDNN_BEGIN_NAMESPACE

namespace graph {

namespace {

std::vector<std::string_view> note_names(engine::Notes const& notes) {
  std::vector<std::string_view> names;
  for (BehaviorNote_t n : notes.behavior) names.push_back(base::to_string(n));
  for (NumericalNote_t n : notes.numeric) names.push_back(base::to_string(n));
  return names;
}

std::string_view engine_name(plan::PlanList const& plans, plan::Candidate const& c) {
  return plan::engines_for(plans.target().device)[static_cast<size_t>(c.engine_id)]->name();
}

std::string bytes_text(int64_t bytes) { return bytes == 0 ? "none" : fmt::format("{} bytes", bytes); }

std::string verdict_text(plan::Verdict const& v) {
  std::string text = fmt::format("  {:<16}", v.engine);
  if (v.configs > 0)
    return text + fmt::format("takes it, {} {}: {}\n", v.configs, v.configs == 1 ? "way" : "ways", v.summary);
  text += "refuses: ";
  text += v.refusals.empty() ? "without a reason" : v.refusals.front().message;
  if (v.refusals.size() > 1) text += fmt::format(" (and {} more)", v.refusals.size() - 1);
  return text + '\n';
}

std::string candidate_text(plan::PlanList const& plans, size_t index) {
  plan::Candidate const& c = plans.candidates()[index];
  std::string text =
      fmt::format("{} {:>2} {}  [{}]\n", plans.chosen() == index ? '*' : ' ', index, c.name, engine_name(plans, c));
  for (engine::KnobChoice const& k : c.config.knobs)
    text += fmt::format("       {} = {}\n", base::to_string(k.type), k.value);
  text += fmt::format("     estimated {:.3g} s", c.estimated_seconds);
  if (c.plan)
    text += fmt::format(", workspace {}", bytes_text(c.plan->workspace_bytes()));
  else
    text += ", not built";
  if (auto const notes = note_names(c.notes); !notes.empty()) text += fmt::format(", notes {}", fmt::join(notes, " "));
  text += '\n';
  if (!c.barred.empty()) text += fmt::format("     barred: {}\n", c.barred);
  if (c.plan)
    for (engine::Step const& s : c.plan->prepared().steps) text += fmt::format("     - {}\n", s.description);
  return text;
}

std::string text_of(ir::Graph const& graph, std::vector<base::Error> const& errors, plan::PlanList const* plans) {
  std::string text = fmt::format("graph '{}': {} operations\n", graph.context.name, graph.nodes.size());
  for (base::Error const& e : errors) text += e.message + '\n';
  if (!plans)
    return text + (errors.empty() ? "valid; engines and plans are known after build_operation_graph()\n" : "");
  text += fmt::format("engines on {}, {} threads:\n", plans->target().name(), plans->target().threads);
  for (plan::Verdict const& v : plans->verdicts()) text += verdict_text(v);
  text += plans->candidates().empty() ? "plans: none yet, see create_execution_plans()\n" : "plans (* chosen):\n";
  for (size_t i = 0; i < plans->candidates().size(); ++i) text += candidate_text(*plans, i);
  return text;
}

void write_strings(serial::JsonWriter& out, std::string_view key, auto const& list, auto&& text) {
  out.key(key).begin_array();
  for (auto const& item : list) out.value(std::string_view(text(item)));
  out.end_array();
}

std::string_view message_of(base::Error const& e) { return e.message; }

void write_candidate(serial::JsonWriter& out, plan::PlanList const& plans, size_t index) {
  plan::Candidate const& c = plans.candidates()[index];
  out.begin_object();
  out.member("index", static_cast<int64_t>(index)).member("name", c.name).member("engine", engine_name(plans, c));
  out.member("chosen", plans.chosen() == index).member("built", c.plan != nullptr);
  out.key("barred").text_or_null(c.barred);
  out.key("knobs").begin_object();
  for (engine::KnobChoice const& k : c.config.knobs) out.member(base::to_string(k.type), k.value);
  out.end_object();
  write_strings(out, "notes", note_names(c.notes), [](auto n) { return n; });
  out.member("estimated_seconds", c.estimated_seconds).key("workspace_bytes");
  if (c.plan)
    out.value(c.plan->workspace_bytes());
  else
    out.null();
  out.key("steps").begin_array();
  if (c.plan)
    for (engine::Step const& s : c.plan->prepared().steps) out.value(s.description);
  out.end_array().end_object();
}

std::string json_of(ir::Graph const& graph, std::vector<base::Error> const& errors, plan::PlanList const* plans) {
  serial::JsonWriter out;
  out.begin_object().member("graph", graph.context.name);
  out.member("valid", errors.empty());
  write_strings(out, "errors", errors, message_of);
  write_strings(out, "operations", graph.nodes, [](ir::Node const& n) { return ops::row(n.op).tag; });
  if (plans) {
    out.member("device", plans->target().name()).member("threads", int64_t(plans->target().threads));
    out.key("engines").begin_array();
    for (plan::Verdict const& v : plans->verdicts()) {
      out.begin_object().member("id", int64_t(v.engine_id)).member("engine", v.engine).member("summary", v.summary);
      out.member("configs", static_cast<int64_t>(v.configs));
      write_strings(out, "refusals", v.refusals, message_of);
      out.end_object();
    }
    out.end_array().key("plans").begin_array();
    for (size_t i = 0; i < plans->candidates().size(); ++i) write_candidate(out, *plans, i);
    out.end_array();
  }
  return out.end_object().take() + "\n";
}

}  // namespace

std::string Graph::explain_ext(bool json) const {
  std::vector<tensor_ptr> unused;
  ir::Graph const declared = impl_->draft.lower(unused);
  auto const valid = ops::validate(declared);
  std::vector<base::Error> const errors = valid ? std::vector<base::Error>() : valid.errors();
  plan::PlanList const* plans = impl_->plans ? &*impl_->plans : nullptr;
  return (json ? json_of : text_of)(declared, errors, plans);
}

}  // namespace graph

FUSEDNN_END_NAMESPACE
