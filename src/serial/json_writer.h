#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusednn::serial {

/// Text with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

/// Writes one JSON document, two spaces of indent per level. Lists of integers stand on one line. Reals are written
/// in the fewest digits that read back to the same bits; those that are not finite as the strings "NaN", "Infinity"
/// and "-Infinity".
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& null() { return raw("null"); }
  JsonWriter& value(bool v) { return raw(v ? "true" : "false"); }
  JsonWriter& value(int64_t v);
  JsonWriter& value(double v);
  JsonWriter& value(float v);
  JsonWriter& value(std::string_view v);
  JsonWriter& value(char const* v) { return value(std::string_view(v)); }
  JsonWriter& value(std::span<int64_t const> v);
  /// {a, b, c, d} as [[a, b], [c, d]].
  JsonWriter& pairs(std::span<int64_t const> flat);
  /// A string, or null where it is empty.
  JsonWriter& text_or_null(std::string_view v) { return v.empty() ? null() : value(v); }

  template <class T>
  JsonWriter& member(std::string_view name, T const& v) {
    return key(name).value(v);
  }

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view text);
  void before_value();
  void line_break();

  std::string out_;
  std::vector<bool> has_members_;  ///< per open container
  bool after_key_ = false;
};

}  // namespace fusednn::serial
