#include "serial/document.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unordered_set>

namespace fusednn::serial {

namespace {

using base::make_error;
using base::Rule;
using nlohmann::json;

/// Receives the parser's events. A handler that returns false ends the parse.
class Builder : public nlohmann::json_sax<json> {
 public:
  JsonValue root;
  std::optional<base::Error> error;

  bool null() override { return put(std::monostate()); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override {
    return std::in_range<int64_t>(v) ? put(static_cast<int64_t>(v)) : fail(Rule::json_number, fmt::format("{}", v));
  }
  bool number_float(number_float_t v, string_t const& text) override {
    // The parser turns integers of more than 64 bits into reals.
    if (text.find_first_of(".eE") == std::string::npos) return fail(Rule::json_number, text);
    return put(v);
  }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return open(JsonValue::Object()); }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(JsonValue::Array()); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second) return fail(Rule::json_duplicate_key, fmt::format("'{}'", name));
    level.key = std::move(name);
    return true;
  }

  bool parse_error(size_t, std::string const&, nlohmann::detail::exception const& e) override {
    std::string_view what = e.what();
    // The parser's own tag, "[json.exception...] ", says nothing to a reader.
    if (size_t const tag = what.find("] "); tag != what.npos) what.remove_prefix(tag + 2);
    error = make_error(e.id == 406 ? Rule::json_number : Rule::json_syntax, {}, what);
    return false;
  }

 private:
  struct Level {
    JsonValue* container;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  bool fail(Rule rule, std::string_view found) {
    error = make_error(rule, {}, fmt::format("{}: {}", path(), found));
    return false;
  }

  /// Where the parser is. Of a deep place the ends are told, and long keys are cut.
  std::string path() const {
    constexpr size_t first = 4, last = 2;
    std::string text;
    for (size_t i = 0; i < levels_.size(); ++i) {
      bool const left_out = levels_.size() > first + last + 1 && i >= first && i + last < levels_.size();
      if (left_out) {
        if (i == first) text += fmt::format(" ... {} levels ... ", levels_.size() - first - last);
        continue;
      }
      Level const& level = levels_[i];
      auto const* list = level.container->get_if<JsonValue::Array>();
      // What lies open further in has been added to its list; the value at fault has not.
      if (list)
        text += fmt::format("[{}]", list->size() - (i + 1 != levels_.size()));
      else if (!level.key.empty())
        text += fmt::format("{}{:.60}", text.empty() || text.back() == ' ' ? "" : ".", level.key);
    }
    return text.empty() ? "the document" : text;
  }

  JsonValue* add(JsonValue value) {
    if (levels_.empty()) {
      root = std::move(value);
      return &root;
    }
    Level& level = levels_.back();
    if (auto* list = std::get_if<JsonValue::Array>(&level.container->data))
      return &list->emplace_back(std::move(value));
    auto& members = std::get<JsonValue::Object>(level.container->data);
    return &members.emplace_back(JsonValue::Member{level.key, std::move(value)}).value;
  }

  template <class T>
  bool put(T v) {
    add({std::move(v)});
    return true;
  }
  template <class T>
  bool open(T container) {
    if (levels_.size() == max_depth) return fail(Rule::json_depth, fmt::format("depth {}", levels_.size() + 1));
    levels_.push_back({add({std::move(container)}), {}, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
};

}  // namespace

JsonValue const* JsonValue::find(std::string_view key) const {
  if (auto const* members = get_if<Object>())
    for (Member const& m : *members)
      if (m.key == key) return &m.value;
  return nullptr;
}

std::string JsonValue::describe() const {
  struct Text {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(std::string const& v) const { return fmt::format("'{:.60}'", v); }
    std::string operator()(Array const& v) const { return fmt::format("a list of {}", v.size()); }
    std::string operator()(Object const& v) const { return fmt::format("an object of {}", v.size()); }
  };
  return std::visit(Text(), data);
}

base::Result<JsonValue> parse_json(std::string_view text) {
  if (text.size() > max_text_bytes) return make_error(Rule::json_size, {}, fmt::format("{} bytes", text.size()));
  Builder builder;
  if (!json::sax_parse(text.begin(), text.end(), &builder)) return std::move(*builder.error);
  return std::move(builder.root);
}

}  // namespace fusednn::serial
