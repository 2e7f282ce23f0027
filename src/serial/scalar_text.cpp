#include "serial/scalar_text.h"

#include "base/numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fusednn::serial {

namespace {

std::optional<uint64_t> hex_digits(std::string_view text) {
  uint64_t bits = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  bool const all = error == std::errc() && end == text.data() + text.size() && !text.empty() && text[0] != '-';
  return all ? std::optional(bits) : std::nullopt;
}

template <class T>
graph::Scalar_value scalar_of(DataType_t type, T value) {
  graph::Scalar_value s;
  s.type = type;
  std::memcpy(&s.bits, &value, sizeof(T));
  return s;
}

template <class T>
T stored(graph::Scalar_value const& scalar) {
  T value;
  std::memcpy(&value, &scalar.bits, sizeof(T));
  return value;
}

/// The scalar for a real value; nullopt where a finite value becomes infinite.
template <class T>
std::optional<graph::Scalar_value> rounded(DataType_t type, double value) {
  T const result = round_to<T>(value);
  if (std::isfinite(value) && !std::isfinite(value_as<double>(result))) return std::nullopt;
  return scalar_of(type, result);
}

template <class T>
std::optional<graph::Scalar_value> integer_scalar(DataType_t type, JsonValue const& value) {
  int64_t const* v = value.get_if<int64_t>();
  if (!v || !std::in_range<T>(*v)) return std::nullopt;
  return scalar_of(type, static_cast<T>(*v));
}

template <class T>
std::optional<graph::Scalar_value> real_scalar(DataType_t type, JsonValue const& value) {
  auto const* text = value.get_if<std::string>();
  if (!text || !text->starts_with("0x")) {
    auto const real = read_real(value);
    return real ? rounded<T>(type, *real) : std::nullopt;
  }
  auto const bits = hex_digits(std::string_view(*text).substr(2));
  if (!bits || (sizeof(T) < sizeof(uint64_t) && *bits >> (8 * sizeof(T) % 64) != 0)) return std::nullopt;
  graph::Scalar_value scalar;
  scalar.type = type;
  scalar.bits = *bits;
  return scalar;
}

}  // namespace

std::optional<double> read_real(JsonValue const& value) {
  if (auto const* d = value.get_if<double>()) return *d;
  if (auto const* i = value.get_if<int64_t>()) return static_cast<double>(*i);
  auto const* s = value.get_if<std::string>();
  if (!s) return std::nullopt;
  if (*s == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (*s == "Infinity") return std::numeric_limits<double>::infinity();
  if (*s == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (s->size() != 8) return std::nullopt;
  auto const bits = hex_digits(*s);
  return bits ? std::optional<double>(std::bit_cast<float>(static_cast<uint32_t>(*bits))) : std::nullopt;
}

int64_t scalar_index(DataType_t type) {
  auto const at = std::find(std::begin(scalar_types), std::end(scalar_types), type);
  return at == std::end(scalar_types) ? -1 : at - std::begin(scalar_types);
}

std::optional<graph::Scalar_value> read_scalar(DataType_t type, JsonValue const& value) {
  if (scalar_index(type) < 0) return std::nullopt;
  return visit_storage_type(type, [&](auto t) -> std::optional<graph::Scalar_value> {
    using T = typename decltype(t)::type;
    if constexpr (std::is_integral_v<T>)
      return integer_scalar<T>(type, value);
    else
      return real_scalar<T>(type, value);
  });
}

void write_scalar(JsonWriter& out, graph::Scalar_value const& scalar) {
  visit_storage_type(scalar.type, [&](auto t) {
    using T = typename decltype(t)::type;
    T const value = stored<T>(scalar);
    if constexpr (std::is_integral_v<T>) {
      out.value(static_cast<int64_t>(value));
    } else {
      double const wide = value_as<double>(value);
      if (std::isnan(wide) && *rounded<T>(scalar.type, std::numeric_limits<double>::quiet_NaN()) != scalar)
        out.value(fmt::format("0x{:x}", scalar.bits));
      else if constexpr (std::is_same_v<T, double>)
        out.value(wide);
      else
        out.value(static_cast<float>(wide));
    }
  });
}

}  // namespace fusednn::serial
