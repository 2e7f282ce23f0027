#pragma once

#include <fusednn/enums.h>

#include <optional>
#include <string_view>

namespace fusednn::base {

/// An enumeration seen as text: JSON, messages and plan names use the enumerators' own spelling.
struct EnumNames {
  std::string_view type;
  std::string_view const* names;  ///< indexed by value
  int count;

  /// "?" for a value outside the enumeration.
  std::string_view name(int64_t value) const { return value >= 0 && value < count ? names[value] : "?"; }
  std::optional<int64_t> value(std::string_view name) const;
};

/// Names of one enumeration; specialised in enum_names.cpp for every public one.
template <class Enum>
EnumNames const& enum_names();

template <class Enum>
std::string_view to_string(Enum value) {
  return enum_names<Enum>().name(static_cast<int64_t>(value));
}

template <class Enum>
std::optional<Enum> from_string(std::string_view name) {
  auto v = enum_names<Enum>().value(name);
  return v ? std::optional<Enum>(static_cast<Enum>(*v)) : std::nullopt;
}

}  // namespace fusednn::base
