// Loads, stores and rounding of every level against the conversions of src/base.

#include "engines/cpu/isa_levels.h"

#include "base/numeric.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace fusednn::engines::cpu {
namespace {

constexpr DataType_t kTypes[kStorageCount] = {DataType_t::FLOAT,    DataType_t::DOUBLE,   DataType_t::HALF,
                                              DataType_t::BFLOAT16, DataType_t::FP8_E4M3, DataType_t::FP8_E5M2,
                                              DataType_t::INT8,     DataType_t::UINT8,    DataType_t::INT32,
                                              DataType_t::INT64,    DataType_t::BOOLEAN};

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
  } else {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  }
}

// A narrow value's bits may differ in the payload of NaN only.
template <class S>
bool same_stored(S a, S b) {
  if constexpr (is_narrow_float<S>)
    return same(to_float(a), to_float(b));
  else if constexpr (std::is_same_v<S, boolean_t>)
    return a.bits == b.bits;
  else
    return same(a, b);
}

// A stored value as a lane: integers saturate.
template <class C, class S>
C from_stored(S stored) {
  if constexpr (!std::is_same_v<C, int32_t>)
    return value_as<C>(stored);
  else if constexpr (std::is_same_v<S, int64_t>)
    return round_to<int32_t>(stored);
  else
    return round_to<int32_t>(value_as<double>(stored));
}

template <class C>
std::vector<C> interesting() {
  std::mt19937_64 random(7);
  std::vector<C> all;
  if constexpr (std::is_floating_point_v<C>) {
    using L = std::numeric_limits<C>;
    all = {C(0),
           -C(0),
           L::quiet_NaN(),
           -L::quiet_NaN(),
           L::infinity(),
           -L::infinity(),
           L::max(),
           L::lowest(),
           L::denorm_min(),
           -L::denorm_min(),
           L::min(),
           C(2147483647.0),
           C(2147483648.0),
           C(-2147483648.0),
           C(9223372036854775807.0),
           C(-9223372036854775808.0),
           C(0.5),
           C(1.5),
           C(2.5),
           C(-0.5),
           C(126.5),
           C(127.5),
           C(255.5),
           C(-128.5)};
    // Every tie and its neighbours for each narrow type: bits just below, at and above each step.
    for (uint32_t high = 0; high < 0x10000; high += 3) {
      for (uint32_t low : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xf000u}) {
        float const f = std::bit_cast<float>(high << 16 | low);
        all.push_back(static_cast<C>(f));
        if constexpr (sizeof(C) == 8) {
          all.push_back(std::nextafter(static_cast<C>(f), L::infinity()));
          all.push_back(std::nextafter(static_cast<C>(f), -L::infinity()));
        }
      }
    }
    std::normal_distribution<double> normal(0, 1);
    for (int i = 0; i < 20000; ++i) all.push_back(static_cast<C>(normal(random) * std::pow(10.0, i % 40 - 20)));
  } else {
    for (C x : {std::numeric_limits<C>::min(), std::numeric_limits<C>::max(), C(16777217), C(-16777217), C(33554431)})
      all.push_back(x);
    for (C x = -70000; x < 70000; ++x) all.push_back(x);
    for (int i = 0; i < 20000; ++i) all.push_back(static_cast<C>(random()));
  }
  return all;
}

template <class S>
std::vector<S> stored_values() {
  std::mt19937_64 random(11);
  std::vector<S> all;
  if constexpr (sizeof(S) <= 2) {
    for (uint32_t b = 0; b < 1u << (8 * sizeof(S)); ++b) {
      S s;
      std::memcpy(&s, &b, sizeof(S));
      all.push_back(s);
    }
  } else if constexpr (std::is_floating_point_v<S>) {
    for (S x : interesting<S>()) all.push_back(x);
  } else {
    for (int i = 0; i < 20000; ++i) all.push_back(static_cast<S>(random() >> (i % 60)));
    for (S x : {std::numeric_limits<S>::min(), std::numeric_limits<S>::max(), S(0), S(-1)}) all.push_back(x);
  }
  return all;
}

template <class F>
void for_each_storage(F&& f) {
  for (int s = 0; s < kStorageCount; ++s) visit_storage_type(kTypes[s], [&](auto type) { f(s, type); });
}

class Convert : public EveryLevel {
 protected:
  template <class C>
  void stores(int compute) {
    std::vector<C> const x = interesting<C>();
    int64_t const n = static_cast<int64_t>(x.size());
    for_each_storage([&](int s, auto type) {
      using S = typename decltype(type)::type;
      std::vector<S> dense(x.size()), strided(3 * x.size());
      table().store[s][compute](dense.data(), 1, x.data(), n);
      table().store[s][compute](strided.data(), 3, x.data(), n);
      std::vector<C> rounded = x;
      table().round[s][compute](rounded.data(), rounded.data(), n);
      for (size_t i = 0; i < x.size(); ++i) {
        S const expected = round_to<S>(x[i]);
        ASSERT_TRUE(same_stored(dense[i], expected)) << base_name(s) << " of " << x[i];
        ASSERT_TRUE(same_stored(strided[3 * i], expected)) << base_name(s) << " of " << x[i] << ", strided";
        C const back = from_stored<C>(expected);
        ASSERT_TRUE(same(rounded[i], back) || rounded[i] == back || wide(s, compute))
            << base_name(s) << " round " << x[i];
      }
    });
  }

  template <class C>
  void loads(int compute) {
    for_each_storage([&](int s, auto type) {
      using S = typename decltype(type)::type;
      std::vector<S> const x = stored_values<S>();
      int64_t const n = static_cast<int64_t>(x.size());
      std::vector<C> dense(x.size()), strided(x.size() / 2), repeated(5);
      table().load[s][compute](dense.data(), x.data(), 1, n);
      table().load[s][compute](strided.data(), x.data(), 2, n / 2);
      table().load[s][compute](repeated.data(), x.data() + 1, 0, 5);
      for (size_t i = 0; i < x.size(); ++i) {
        C const expected = from_stored<C>(x[i]);
        ASSERT_TRUE(same(dense[i], expected))
            << base_name(s) << " element " << i << ": " << dense[i] << ", expected " << expected;
        bool const in_strided = i % 2 == 0 && i / 2 < strided.size();
        ASSERT_TRUE(!in_strided || same(strided[i / 2], expected)) << base_name(s) << ", strided";
        for (C r : repeated) ASSERT_TRUE(i != 1 || same(r, expected)) << base_name(s) << ", stride 0";
      }
    });
  }

  static int base_name(int s) { return static_cast<int>(kTypes[s]); }
  // Integers wider than the lanes: the stored value has no exact lane value to compare with.
  static bool wide(int s, int compute) {
    return (kTypes[s] == DataType_t::INT32 || kTypes[s] == DataType_t::INT64) &&
           compute == static_cast<int>(Compute::F32);
  }
};

TEST_P(Convert, StoresFromFloat) { stores<float>(0); }
TEST_P(Convert, StoresFromDouble) { stores<double>(1); }
TEST_P(Convert, StoresFromInt) { stores<int32_t>(2); }
TEST_P(Convert, LoadsToFloat) { loads<float>(0); }
TEST_P(Convert, LoadsToDouble) { loads<double>(1); }
TEST_P(Convert, LoadsToInt) { loads<int32_t>(2); }

TEST_P(Convert, CastsBetweenLanes) {
  std::vector<double> const x = interesting<double>();
  int64_t const n = static_cast<int64_t>(x.size());
  std::vector<int32_t> ints(x.size());
  std::vector<float> floats(x.size());
  table().cast[1][2](ints.data(), x.data(), n);
  table().cast[1][0](floats.data(), x.data(), n);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(ints[i], round_to<int32_t>(x[i])) << x[i];
    ASSERT_TRUE(same(floats[i], static_cast<float>(x[i]))) << x[i];
  }
}

TEST_P(Convert, NothingIsTouchedOutsideTheRun) {
  for_each_storage([&](int s, auto type) {
    using S = typename decltype(type)::type;
    for (int64_t n : {0, 1, 7, 8, 9, 31, 33}) {
      std::vector<S> out(64);
      std::memset(out.data(), 0x5a, out.size() * sizeof(S));
      std::vector<float> const in(64, 1.0f);
      table().store[s][0](out.data() + 8, 1, in.data(), n);
      std::vector<S> untouched(64);
      std::memset(untouched.data(), 0x5a, untouched.size() * sizeof(S));
      EXPECT_EQ(std::memcmp(out.data(), untouched.data(), 8 * sizeof(S)), 0);
      EXPECT_EQ(std::memcmp(out.data() + 8 + n, untouched.data(), static_cast<size_t>(56 - n) * sizeof(S)), 0);
    }
  });
}

FUSEDNN_EVERY_LEVEL(Convert);

}  // namespace
}  // namespace fusednn::engines::cpu
