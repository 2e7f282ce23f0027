#include "serial/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace fusednn::serial {

namespace {

/// Length of the UTF-8 sequence that `text` begins with, 0 where it begins with none.
size_t sequence_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned const lead = byte(0);
  if (lead < 0x80) return 1;
  size_t const length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : (lead & 0xf0) == 0xe0       ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  unsigned const second = byte(1);
  bool const overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  bool const surrogate = lead == 0xed && second >= 0xa0;
  bool const beyond = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : valid_utf8(text)) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out += '"';
}

template <class Real>
std::string real_text(Real v) {
  if (std::isnan(v)) return "\"NaN\"";
  if (std::isinf(v)) return v > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t const length = sequence_length(text);
    if (length > 0)
      out += text.substr(0, length);
    else
      out += "\xef\xbf\xbd";
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

JsonWriter& JsonWriter::value(int64_t v) { return raw(fmt::format("{}", v)); }
JsonWriter& JsonWriter::value(double v) { return raw(real_text(v)); }

JsonWriter& JsonWriter::value(float v) {
  // Readers go through double: the few digits that are enough for a float must survive the second rounding.
  std::string const text = real_text(v);
  bool const same = !std::isfinite(v) || static_cast<float>(std::strtod(text.c_str(), nullptr)) == v;
  return raw(same ? text : real_text(static_cast<double>(v)));
}

JsonWriter& JsonWriter::value(std::string_view v) { return raw(quoted(v)); }

JsonWriter& JsonWriter::value(std::span<int64_t const> v) {
  std::string text = "[";
  for (int64_t x : v) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", x);
  return raw(text + "]");
}

JsonWriter& JsonWriter::pairs(std::span<int64_t const> flat) {
  std::string text = "[";
  for (size_t i = 0; i + 1 < flat.size(); i += 2)
    text += fmt::format("{}[{}, {}]", i ? ", " : "", flat[i], flat[i + 1]);
  return raw(text + "]");
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  out_ += quoted(name) + ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  before_value();
  out_ += text;
  return *this;
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_members_.empty()) return;
  if (has_members_.back()) out_ += ',';
  has_members_.back() = true;
  line_break();
}

void JsonWriter::line_break() {
  out_ += '\n';
  out_.append(2 * has_members_.size(), ' ');
}

JsonWriter& JsonWriter::open(char bracket) {
  before_value();
  out_ += bracket;
  has_members_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  bool const broken = has_members_.back();
  has_members_.pop_back();
  if (broken) line_break();
  out_ += bracket;
  return *this;
}

}  // namespace fusednn::serial
