#include "serial/fields.h"

#include <algorithm>

namespace fusednn::serial {

using base::Rule;

Fields::Fields(JsonValue const& value, std::string path, std::vector<base::Error>& errors)
    : members_(value.get_if<JsonValue::Object>()), is_object_(members_), path_(std::move(path)), errors_(errors) {
  static JsonValue::Object const none;
  if (is_object_) return;
  members_ = &none;
  errors_.push_back(
      base::make_error(Rule::json_type, {}, fmt::format("{}: found {}, expected an object", path_, value.describe())));
}

Fields::~Fields() {
  for (JsonValue::Member const& m : *members_)
    if (!m.value.is_null() && !taken_.count(m.key)) fail(Rule::json_unknown_key, m.key, m.value.describe());
}

JsonValue const* Fields::take(std::string_view key) {
  taken_.emplace(key);
  for (JsonValue::Member const& m : *members_)
    if (m.key == key) return m.value.is_null() ? nullptr : &m.value;
  return nullptr;
}

JsonValue const* Fields::require(std::string_view key) {
  JsonValue const* v = take(key);
  if (v || !is_object_) return v;
  bool const null = std::any_of(members_->begin(), members_->end(), [&](auto const& m) { return m.key == key; });
  fail(Rule::json_missing_key, key, null ? "is null" : "is missing");
  return nullptr;
}

bool Fields::flag(std::string_view key, bool otherwise) {
  JsonValue const* v = take(key);
  if (!v) return otherwise;
  if (auto const* b = v->get_if<bool>()) return *b;
  wrong_type(key, *v, "true or false");
  return otherwise;
}

int64_t Fields::integer(std::string_view key, int64_t otherwise, int64_t least, int64_t most) {
  JsonValue const* v = take(key);
  if (!v) return otherwise;
  auto const* i = v->get_if<int64_t>();
  if (i && *i >= least && *i <= most) return *i;
  wrong_type(key, *v, i ? fmt::format("an integer from {} to {}", least, most) : "an integer");
  return otherwise;
}

std::string Fields::text(std::string_view key, std::string otherwise) {
  JsonValue const* v = take(key);
  if (!v) return otherwise;
  if (auto const* s = v->get_if<std::string>()) return *s;
  wrong_type(key, *v, "a string");
  return otherwise;
}

std::vector<int64_t> Fields::integers(std::string_view key) {
  JsonValue const* v = take(key);
  if (!v) return {};
  if (auto list = integer_list(*v)) return std::move(*list);
  wrong_type(key, *v, "a list of integers");
  return {};
}

int64_t Fields::enumerator(std::string_view key, JsonValue const& value, base::EnumNames const& names,
                           int64_t otherwise) {
  auto const* s = value.get_if<std::string>();
  if (!s) return wrong_type(key, value, fmt::format("the name of a {}", names.type)), otherwise;
  if (auto const number = names.value(*s)) return *number;
  fail(Rule::json_unknown_name, key, fmt::format("found {}, which no {} is called", value.describe(), names.type));
  return otherwise;
}

void Fields::fail(Rule rule, std::string_view key, std::string_view found) {
  errors_.push_back(base::make_error(rule, {}, fmt::format("{}: {}", at(key), found)));
}

void Fields::wrong_type(std::string_view key, JsonValue const& value, std::string_view expected) {
  fail(Rule::json_type, key, fmt::format("found {}, expected {}", value.describe(), expected));
}

std::optional<std::vector<int64_t>> integer_list(JsonValue const& value) {
  auto const* list = value.get_if<JsonValue::Array>();
  if (!list) return std::nullopt;
  std::vector<int64_t> numbers;
  for (JsonValue const& item : *list) {
    auto const* i = item.get_if<int64_t>();
    if (!i) return std::nullopt;
    numbers.push_back(*i);
  }
  return numbers;
}

std::optional<std::vector<int64_t>> integer_pairs(JsonValue const& value) {
  auto const* list = value.get_if<JsonValue::Array>();
  if (!list) return std::nullopt;
  std::vector<int64_t> flat;
  for (JsonValue const& item : *list) {
    auto const pair = integer_list(item);
    if (!pair || pair->size() != 2) return std::nullopt;
    flat.insert(flat.end(), pair->begin(), pair->end());
  }
  return flat;
}

}  // namespace fusednn::serial
