#include "npy.h"

#include "file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

namespace tool {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t max_header_bytes = size_t(1) << 20;
constexpr size_t max_rank = 64;

/// The first bytes of a text of any origin, between quotes and fit to be printed.
std::string quoted(std::string_view text) {
  constexpr size_t most = 20;
  std::string out = "\"";
  for (unsigned char c : text.substr(0, most))
    out += c >= 0x20 && c < 0x7f ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02x}", c);
  return out + (text.size() > most ? "...\"" : "\"");
}

/// Reads the header: a Python dict literal with string keys, and strings, booleans or tuples of integers as values.
class Header {
 public:
  explicit Header(std::string_view text) : text_(text) {}

  void read(NpyArray& array) {
    expect('{');
    std::optional<std::string> descr;
    bool has_order = false, has_shape = false;
    while (!accept('}')) {
      std::string const key = string();
      expect(':');
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"') fail("the type is not a plain one");
        descr = string();
      } else if (key == "fortran_order") {
        array.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        array.shape = tuple();
        has_shape = true;
      } else {
        fail(fmt::format("unknown key {}", quoted(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty()) fail("something follows the header's dict");
    if (!descr || !has_order || !has_shape) fail("descr, fortran_order or shape is missing");
    set_type(array, *descr);
  }

 private:
  [[noreturn]] static void fail(std::string const& what) { throw NpyError("bad .npy header: " + what); }

  static void set_type(NpyArray& array, std::string_view descr) {
    if (descr.size() < 3) fail("type " + quoted(descr));
    char const order = descr[0];
    if (order == '>') fail(fmt::format("type {} is big-endian", quoted(descr)));
    if (order != '<' && order != '|' && order != '=') fail("type " + quoted(descr));
    array.type = descr.substr(1);
    std::string_view const size = descr.substr(2);
    auto const [end, error] = std::from_chars(size.data(), size.data() + size.size(), array.item_bytes);
    bool const whole = error == std::errc() && end == size.data() + size.size();
    if (!whole || array.item_bytes == 0 || array.item_bytes > 16) fail("type " + quoted(descr));
  }

  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }
  char peek() {
    skip_space();
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}' at {}", c, quoted(text_)));
  }
  std::string string() {
    char const quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a string at " + quoted(text_));
    size_t const end = text_.find(quote, 1);
    if (end == text_.npos) fail("a string without end");
    std::string const value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    skip_space();
    for (bool value : {false, true}) {
      std::string_view const word = value ? "True" : "False";
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    fail("expected True or False at " + quoted(text_));
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t value = 0;
      auto const [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) fail("expected a dim at " + quoted(text_));
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      values.push_back(value);
      if (values.size() > max_rank) fail("too many dims");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
};

/// Takes the bytes before the data off `file` and returns the header's text.
std::string_view take_header(std::string_view& file) {
  if (!file.starts_with(magic)) throw NpyError("not a .npy file: it does not begin with \\x93NUMPY");
  file.remove_prefix(magic.size());
  auto take_integer = [&](size_t bytes) {
    if (file.size() < bytes) throw NpyError("the .npy file ends within its header");
    size_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= size_t(static_cast<unsigned char>(file[i])) << (8 * i);
    file.remove_prefix(bytes);
    return value;
  };
  size_t const major = take_integer(1), minor = take_integer(1);
  if (major < 1 || major > 3) throw NpyError(fmt::format(".npy version {}.{}; known are 1 to 3", major, minor));
  size_t const length = take_integer(major == 1 ? 2 : 4);
  if (length > max_header_bytes) throw NpyError(fmt::format("a .npy header of {} bytes", length));
  if (length > file.size()) throw NpyError("the .npy file ends within its header");
  std::string_view const header = file.substr(0, length);
  file.remove_prefix(length);
  return header;
}

}  // namespace

NpyArray parse_npy(std::string_view file) {
  NpyArray array;
  std::string_view rest = file;
  Header(take_header(rest)).read(array);
  size_t bytes = array.item_bytes;
  bool const empty = std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end();
  for (int64_t dim : array.shape)
    if (!empty && __builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes))
      throw NpyError(".npy dims whose product does not fit 64 bits");
  if (empty) bytes = 0;
  if (rest.size() != bytes)
    throw NpyError(fmt::format("the .npy file holds {} bytes of data, its header says {}", rest.size(), bytes));
  array.data.resize(bytes);
  if (bytes > 0) std::memcpy(array.data.data(), rest.data(), bytes);
  return array;
}

NpyArray read_npy(std::string const& path) {
  std::string reason;
  auto const text = read_file(path, reason);
  if (!text) throw NpyError(reason);
  return parse_npy(*text);
}

void write_npy(std::string const& path, std::string_view type, std::vector<int64_t> const& shape,
               std::vector<std::byte> const& data) {
  std::string dims;
  for (int64_t d : shape) dims += fmt::format("{}, ", d);
  char const order = type.ends_with('1') ? '|' : '<';
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, type, dims);
  // Data begins at a multiple of 64 bytes; a line break ends the header.
  size_t const before = magic.size() + 4;
  header.append(63 - (before + header.size()) % 64, ' ') += '\n';
  std::ofstream file(path, std::ios::binary);
  uint16_t const length = static_cast<uint16_t>(header.size());
  file.write(magic.data(), static_cast<std::streamsize>(magic.size()));
  file.write("\x01\x00", 2);
  file.put(static_cast<char>(length & 0xff)).put(static_cast<char>(length >> 8));
  file << header;
  file.write(reinterpret_cast<char const*>(data.data()), static_cast<std::streamsize>(data.size()));
  file.flush();
  if (!file) throw NpyError("cannot be written");
}

}  // namespace tool
