#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string_view>
#include <type_traits>

struct XXH3_state_s;

namespace fusednn {

/// Streaming 64-bit hash (XXH3), the same on every run and machine of equal byte order. Strings and ranges
/// are preceded by their length, so that neighbouring fields cannot run into one another.
class Hasher {
 public:
  explicit Hasher(uint64_t seed = 0);

  Hasher& add_bytes(void const* data, size_t size);

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) Hasher& add(T value) {
    return add_bytes(&value, sizeof(value));
  }

  Hasher& add(std::string_view text) { return add(uint64_t{text.size()}).add_bytes(text.data(), text.size()); }
  Hasher& add(char const* text) { return add(std::string_view(text)); }

  template <std::ranges::sized_range Range>
  requires(!std::is_convertible_v<Range const&, std::string_view>) Hasher& add(Range const& values) {
    add(static_cast<uint64_t>(std::ranges::size(values)));
    for (auto const& value : values) add(value);
    return *this;
  }

  uint64_t digest() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace fusednn
