#include "run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace tool {

namespace {

using nlohmann::ordered_json;

std::string_view name_of(fusednn::KnobType_t type) {
#define FUSEDNN_KNOB_NAME(name)   \
  case fusednn::KnobType_t::name: \
    return #name;
  switch (type) {
    case fusednn::KnobType_t::NOT_SET:
      break;
      FUSEDNN_KNOB_TYPES(FUSEDNN_KNOB_NAME)
  }
#undef FUSEDNN_KNOB_NAME
  return "NOT_SET";
}

std::vector<std::pair<std::string, int64_t>> knobs_of(fusednn::graph::Plan_info const& info) {
  std::vector<std::pair<std::string, int64_t>> knobs;
  for (auto const& [type, value] : info.knobs) knobs.emplace_back(name_of(type), value);
  std::sort(knobs.begin(), knobs.end());
  return knobs;
}

/// JSON has no number for what is not finite.
ordered_json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
}

ordered_json as_json(PlanOutcome const& o) {
  ordered_json out = {{"index", o.index}, {"name", o.info.name}, {"engine", o.info.engine}, {"built", o.info.built}};
  out["knobs"] = ordered_json::object();
  for (auto const& [name, value] : knobs_of(o.info)) out["knobs"][name] = value;
  out["kernels"] = o.info.steps;
  out["barred"] = o.info.barred.empty() ? ordered_json() : ordered_json(o.info.barred);
  out["workspace_bytes"] = o.info.built ? ordered_json(o.info.workspace_bytes) : ordered_json();
  out["estimated_seconds"] = number(o.info.estimated_seconds);
  out["seconds"] = o.seconds;
  out["median_seconds"] = o.seconds.empty() ? ordered_json() : ordered_json(o.median_seconds());
  out["check"] = nullptr;
  if (o.check)
    out["check"] = {{"matches", o.check->matches},
                    {"worst_error_over_bound", number(o.check->worst_error_over_bound)},
                    {"elements", o.check->elements},
                    {"undetermined", o.check->undetermined},
                    {"message", o.check->message}};
  return out;
}

std::string as_text(PlanOutcome const& o) {
  std::string text = fmt::format("plan {} {} [{}]", o.index, o.info.name, o.info.engine);
  for (auto const& [name, value] : knobs_of(o.info)) text += fmt::format(" {}={}", name, value);
  if (!o.info.built) return text + fmt::format("\n  not built: {}\n", o.info.barred);
  text += fmt::format("\n  {} kernels, workspace {} bytes", o.info.steps.size(), o.info.workspace_bytes);
  if (!o.seconds.empty()) text += fmt::format(", median {:.4f} ms of {}", 1e3 * o.median_seconds(), o.seconds.size());
  if (o.check) {
    text += fmt::format(", worst error {:.3g}% of its bound in {} elements", 100 * o.check->worst_error_over_bound,
                        o.check->elements);
    if (o.check->undetermined > 0) text += fmt::format(" ({} at jumps not judged)", o.check->undetermined);
    if (!o.check->matches) text += "\n  CHECK FAILED: " + o.check->message;
  }
  for (std::string const& step : o.info.steps) text += fmt::format("\n  - {}", step);
  return text + "\n";
}

}  // namespace

double PlanOutcome::median_seconds() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  size_t const half = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

void print_outcomes(std::vector<PlanOutcome> const& outcomes, std::string const& device, bool json) {
  if (!json) {
    for (PlanOutcome const& o : outcomes) fmt::print("{}", as_text(o));
    return;
  }
  ordered_json out = {{"device", device}, {"plans", ordered_json::array()}};
  for (PlanOutcome const& o : outcomes) out["plans"].push_back(as_json(o));
  fmt::print("{}\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace tool
