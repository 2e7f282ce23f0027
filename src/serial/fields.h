#pragma once

#include "serial/document.h"

#include <fmt/format.h>

#include <set>

namespace fusednn::serial {

/// Reads the members of one JSON object and notes what is wrong with them. Null counts as absent.
class Fields {
 public:
  /// `path` says where in the document the object stands; it begins every message.
  Fields(JsonValue const& value, std::string path, std::vector<base::Error>& errors);
  /// Reports the members that nothing has asked for.
  ~Fields();
  Fields(Fields const&) = delete;
  Fields& operator=(Fields const&) = delete;

  /// The member, null where it is absent or null.
  JsonValue const* take(std::string_view key);
  /// Likewise, and an error where it is absent from an object.
  JsonValue const* require(std::string_view key);

  bool flag(std::string_view key, bool otherwise);
  int64_t integer(std::string_view key, int64_t otherwise, int64_t least = INT64_MIN, int64_t most = INT64_MAX);
  std::string text(std::string_view key, std::string otherwise);
  std::vector<int64_t> integers(std::string_view key);
  template <class Enum>
  Enum enumerator(std::string_view key, Enum otherwise) {
    JsonValue const* v = take(key);
    return v ? static_cast<Enum>(enumerator(key, *v, base::enum_names<Enum>(), static_cast<int64_t>(otherwise)))
             : otherwise;
  }
  int64_t enumerator(std::string_view key, JsonValue const& value, base::EnumNames const& names, int64_t otherwise);

  JsonValue::Object const& members() const { return *members_; }
  std::string at(std::string_view key) const { return fmt::format("{}.{}", path_, key); }
  void fail(base::Rule rule, std::string_view key, std::string_view found);
  /// "found 7, expected a string".
  void wrong_type(std::string_view key, JsonValue const& value, std::string_view expected);

 private:
  JsonValue::Object const* members_;
  bool is_object_;
  std::string path_;
  std::vector<base::Error>& errors_;
  std::set<std::string, std::less<>> taken_;
};

std::optional<std::vector<int64_t>> integer_list(JsonValue const& value);
/// [[a, b], [c, d]] as {a, b, c, d}.
std::optional<std::vector<int64_t>> integer_pairs(JsonValue const& value);

}  // namespace fusednn::serial
