#pragma once

#include "base/enum_names.h"
#include "base/result.h"

#include <string>
#include <variant>
#include <vector>

namespace fusednn::serial {

/// A parsed JSON value. Members of objects keep the order of the text, and their keys differ.
struct JsonValue {
  struct Member;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<Member>;

  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> data;

  template <class T>
  T const* get_if() const {
    return std::get_if<T>(&data);
  }
  bool is_null() const { return data.index() == 0; }
  /// The value of a member of an object; null where there is none.
  JsonValue const* find(std::string_view key) const;
  /// One line for messages: a number or string as it is, what it holds for the rest.
  std::string describe() const;
};

struct JsonValue::Member {
  std::string key;
  JsonValue value;
};

inline constexpr size_t max_text_bytes = size_t(64) << 20;
inline constexpr size_t max_depth = 64;

/// Parses text of any origin. Integers are exact: one that does not fit 64 bits signed is an error, not a real.
base::Result<JsonValue> parse_json(std::string_view text);

}  // namespace fusednn::serial
