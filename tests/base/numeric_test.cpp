#include "base/numeric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace fusednn {
namespace {

// The slow model: what the formats' definitions say, in long double arithmetic, sharing nothing with the
// code.
struct Model {
  int exponent_bits, significand_bits;
  bool infinity;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int patterns() const { return 1 << (exponent_bits + significand_bits); }  // of one sign

  // Value of a positive pattern; infinity and NaN where the format has them.
  long double value(int pattern) const {
    int const exponent = pattern >> significand_bits, fraction = pattern % (1 << significand_bits);
    bool const top = exponent == (1 << exponent_bits) - 1;
    if (infinity && top) return fraction == 0 ? INFINITY : NAN;
    if (!infinity && pattern == patterns() - 1) return NAN;
    long double const unit = std::pow(2.0L, -significand_bits);
    if (exponent == 0) return fraction * unit * std::pow(2.0L, 1 - bias());
    return (1 + fraction * unit) * std::pow(2.0L, exponent - bias());
  }
};

template <class T>
struct ModelOf;
template <>
struct ModelOf<half_t> {
  static constexpr Model model{5, 10, true};
};
template <>
struct ModelOf<bfloat16_t> {
  static constexpr Model model{8, 7, true};
};
template <>
struct ModelOf<fp8_e4m3_t> {
  static constexpr Model model{4, 3, false};
};
template <>
struct ModelOf<fp8_e5m2_t> {
  static constexpr Model model{5, 2, true};
};

template <class T>
class Narrow : public ::testing::Test {
 protected:
  using Bits = typename T::Bits;
  static constexpr Model model = ModelOf<T>::model;

  static int finite_patterns() {
    int count = 0;
    while (std::isfinite(model.value(count))) ++count;
    return count;
  }
};
using NarrowTypes = ::testing::Types<half_t, bfloat16_t, fp8_e4m3_t, fp8_e5m2_t>;
TYPED_TEST_SUITE(Narrow, NarrowTypes);

// Judges round_to from one source type at `x`, for both signs; `expected` is the positive pattern.
template <class T, class R>
void expect_rounds(R x, int expected) {
  using Bits = typename T::Bits;
  ASSERT_EQ(round_to<T>(x).bits, Bits(expected)) << double(x);
  ASSERT_EQ(round_to<T>(-x).bits, Bits(expected | T::sign_mask)) << double(-x);
}

TYPED_TEST(Narrow, EveryPatternHasItsValueAndComesBack) {
  using T = TypeParam;
  using Bits = typename T::Bits;
  for (int sign = 0; sign <= 1; ++sign) {
    for (int pattern = 0; pattern < TestFixture::model.patterns(); ++pattern) {
      T const stored{Bits(pattern | (sign != 0 ? T::sign_mask : 0))};
      long double const expected = sign != 0 ? -TestFixture::model.value(pattern) : TestFixture::model.value(pattern);
      float const value = to_float(stored);
      ASSERT_EQ(std::signbit(value), sign != 0);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(value)) << pattern;
        ASSERT_TRUE(std::isnan(to_float(round_to<T>(value))));
        ASSERT_TRUE(std::isnan(to_float(round_to<T>(static_cast<double>(value)))));
        ASSERT_TRUE(std::isnan(to_float(round_to<T>(static_cast<long double>(value)))));
        continue;
      }
      ASSERT_EQ(static_cast<long double>(value), expected) << pattern;
      ASSERT_EQ(value_as<double>(stored), static_cast<double>(expected)) << pattern;
      ASSERT_EQ(round_to<T>(value).bits, stored.bits);
      ASSERT_EQ(round_to<T>(static_cast<double>(value)).bits, stored.bits);
      ASSERT_EQ(round_to<T>(expected).bits, stored.bits);
    }
  }
}

TYPED_TEST(Narrow, MidpointsGoToEvenAndTheirNeighboursToTheNearest) {
  using T = TypeParam;
  int const finite = TestFixture::finite_patterns();
  for (int low = 0; low + 1 < finite; ++low) {
    long double const a = TestFixture::model.value(low), b = TestFixture::model.value(low + 1);
    long double const middle = (a + b) / 2;
    int const even = low % 2 == 0 ? low : low + 1;
    expect_rounds<T>(middle, even);
    expect_rounds<T>(std::nextafter(middle, 0.0L), low);
    expect_rounds<T>(std::nextafter(middle, b), low + 1);
    // Just off the middle by less than a float can hold: a detour through float would round twice.
    double const exact = static_cast<double>(middle);
    ASSERT_EQ(static_cast<long double>(exact), middle);
    expect_rounds<T>(exact, even);
    expect_rounds<T>(std::nextafter(exact, 0.0), low);
    expect_rounds<T>(std::nextafter(exact, static_cast<double>(b)), low + 1);
    float const single = static_cast<float>(middle);
    if (static_cast<long double>(single) != middle) continue;  // below float's subnormals, bfloat16 only
    expect_rounds<T>(single, even);
    if (single != std::numeric_limits<float>::denorm_min()) {
      expect_rounds<T>(std::nextafter(single, 0.0f), low);
      expect_rounds<T>(std::nextafter(single, static_cast<float>(b)), low + 1);
    }
  }
}

TYPED_TEST(Narrow, OverflowFollowsTheFormat) {
  using T = TypeParam;
  Model const& model = TestFixture::model;
  int const finite = TestFixture::finite_patterns();
  int const beyond = model.infinity ? finite : finite - 1;  // infinity, or the largest value
  long double const max = model.value(finite - 1);
  long double const limit = max + (max - model.value(finite - 2)) / 2;  // halfway to the next step, if there were one
  expect_rounds<T>(max, finite - 1);
  expect_rounds<T>(std::nextafter(limit, 0.0L), finite - 1);
  expect_rounds<T>(limit, beyond);
  expect_rounds<T>(std::nextafter(static_cast<double>(limit), 0.0), finite - 1);
  expect_rounds<T>(static_cast<double>(limit), beyond);
  expect_rounds<T>(std::nextafter(static_cast<float>(limit), 0.0f), finite - 1);
  expect_rounds<T>(static_cast<float>(limit), beyond);
  expect_rounds<T>(std::numeric_limits<float>::max(), beyond);
  expect_rounds<T>(std::numeric_limits<double>::max(), beyond);
  expect_rounds<T>(std::numeric_limits<long double>::max(), beyond);
  expect_rounds<T>(std::numeric_limits<float>::infinity(), beyond);
  expect_rounds<T>(std::numeric_limits<double>::infinity(), beyond);
  expect_rounds<T>(std::numeric_limits<long double>::infinity(), beyond);
}

TYPED_TEST(Narrow, UnderflowGoesToSignedZero) {
  using T = TypeParam;
  double const least = static_cast<double>(TestFixture::model.value(1));
  expect_rounds<T>(least / 2, 0);
  expect_rounds<T>(std::nextafter(least / 2, 1.0), 1);
  expect_rounds<T>(std::numeric_limits<float>::denorm_min(), 0);
  expect_rounds<T>(std::numeric_limits<double>::denorm_min(), 0);
  expect_rounds<T>(std::numeric_limits<long double>::denorm_min(), 0);
  expect_rounds<T>(0.0f, 0);
}

TYPED_TEST(Narrow, IntegersRoundOnce) {
  using T = TypeParam;
  std::vector<int64_t> values{0,
                              1,
                              2,
                              15,
                              17,
                              255,
                              257,
                              2047,
                              2049,
                              2051,
                              4097,
                              65503,
                              65519,
                              65520,
                              1 << 20,
                              std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::max() - 1};
  for (int bit = 1; bit < 63; ++bit) {
    for (int64_t off = -1; off <= 1; ++off) values.push_back((int64_t{1} << bit) + (int64_t{1} << (bit / 2)) + off);
  }
  for (int64_t value : values) {
    // 64 bits of significand hold every int64 exactly.
    ASSERT_EQ(round_to<T>(value).bits, round_to<T>(static_cast<long double>(value)).bits) << value;
    ASSERT_EQ(round_to<T>(-value).bits, round_to<T>(static_cast<long double>(-value)).bits) << -value;
  }
  int64_t const lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(round_to<T>(lowest).bits, round_to<T>(static_cast<long double>(lowest)).bits);
  EXPECT_EQ(round_to<T>(uint8_t{200}).bits, round_to<T>(200.0f).bits);
}

TYPED_TEST(Narrow, LimitsAgreeWithThePatterns) {
  using T = TypeParam;
  NumericLimits const limits = numeric_limits_of<T>();
  Model const& model = TestFixture::model;
  int const one = model.bias() << model.significand_bits;
  ASSERT_EQ(model.value(one), 1);
  EXPECT_EQ(limits.unit_roundoff, (model.value(one + 1) - 1) / 2);
  EXPECT_EQ(limits.max, model.value(TestFixture::finite_patterns() - 1));
  EXPECT_EQ(limits.min_normal, model.value(1 << model.significand_bits));
  EXPECT_EQ(limits.min_subnormal, model.value(1));
  EXPECT_EQ(limits.has_infinity, model.infinity);
}

TEST(Numeric, WellKnownValues) {
  EXPECT_EQ(round_to<half_t>(65504.0f).bits, 0x7bff);
  EXPECT_EQ(round_to<half_t>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(round_to<bfloat16_t>(1.0f).bits, 0x3f80);
  EXPECT_EQ(round_to<fp8_e4m3_t>(448.0f).bits, 0x7e);
  EXPECT_EQ(round_to<fp8_e4m3_t>(1e9f).bits, 0x7e);
  EXPECT_EQ(round_to<fp8_e4m3_t>(-std::numeric_limits<float>::infinity()).bits, 0xfe);
  EXPECT_EQ(round_to<fp8_e4m3_t>(std::nanf("")).bits & 0x7f, 0x7f);
  EXPECT_EQ(round_to<fp8_e5m2_t>(57344.0f).bits, 0x7b);
  EXPECT_EQ(round_to<fp8_e5m2_t>(61440.0f).bits, 0x7c);
}

// 1 + 2^-11 is a half's midpoint and 2^-30 lies below float's reach: through float it would tie down to 1.
TEST(Numeric, DoubleToHalfRoundsOnce) {
  double const x = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -30);
  EXPECT_EQ(round_to<half_t>(x).bits, 0x3c01);
  EXPECT_EQ(round_to<half_t>(static_cast<float>(x)).bits, 0x3c00);
  long double const y = 1 + std::ldexp(1.0L, -11) + std::ldexp(1.0L, -60);
  EXPECT_EQ(round_to<half_t>(y).bits, 0x3c01);
  EXPECT_EQ(round_to<half_t>(static_cast<double>(y)).bits, 0x3c00);
}

template <class T, class R>
void expect_integer_rounding() {
  using L = std::numeric_limits<T>;
  using RL = std::numeric_limits<R>;
  EXPECT_EQ(round_to<T>(R(0.5)), 0);
  EXPECT_EQ(round_to<T>(R(1.5)), 2);
  EXPECT_EQ(round_to<T>(R(2.5)), 2);
  EXPECT_EQ(round_to<T>(R(126.5)), 126);
  EXPECT_EQ(round_to<T>(std::nextafter(R(2.5), R(3))), 3);
  EXPECT_EQ(round_to<T>(R(-1.5)), L::is_signed ? T(-2) : T(0));
  EXPECT_EQ(round_to<T>(R(-2.5)), L::is_signed ? T(-2) : T(0));
  EXPECT_EQ(round_to<T>(RL::quiet_NaN()), 0);
  EXPECT_EQ(round_to<T>(RL::infinity()), L::max());
  EXPECT_EQ(round_to<T>(-RL::infinity()), L::min());
  EXPECT_EQ(round_to<T>(RL::max()), L::max());
  EXPECT_EQ(round_to<T>(RL::lowest()), L::min());
  R const beyond = std::ldexp(R(1), L::digits);
  EXPECT_EQ(round_to<T>(beyond), L::max());
  R const inside = std::nextafter(beyond, R(0));
  EXPECT_EQ(round_to<T>(inside), std::nearbyint(inside) >= beyond ? L::max() : static_cast<T>(std::nearbyint(inside)));
  EXPECT_EQ(round_to<T>(static_cast<R>(L::min())), L::min());
}

template <class T>
void expect_integer_rounding_from_all() {
  expect_integer_rounding<T, float>();
  expect_integer_rounding<T, double>();
  expect_integer_rounding<T, long double>();
}

TEST(Numeric, FloatToIntegerRoundsToEvenAndSaturates) {
  expect_integer_rounding_from_all<int8_t>();
  expect_integer_rounding_from_all<uint8_t>();
  expect_integer_rounding_from_all<int32_t>();
  expect_integer_rounding_from_all<int64_t>();
}

TEST(Numeric, IntegerToNarrowerIntegerSaturates) {
  int64_t const big = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(round_to<int8_t>(big), 127);
  EXPECT_EQ(round_to<int8_t>(-big), -128);
  EXPECT_EQ(round_to<uint8_t>(int64_t{-1}), 0);
  EXPECT_EQ(round_to<uint8_t>(int64_t{256}), 255);
  EXPECT_EQ(round_to<int32_t>(int64_t{1} << 31), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(round_to<int32_t>(int64_t{-7}), -7);
}

TEST(Numeric, BooleanIsWhetherTheValueDiffersFromZero) {
  EXPECT_EQ(round_to<boolean_t>(0.0f).bits, 0);
  EXPECT_EQ(round_to<boolean_t>(-0.0).bits, 0);
  EXPECT_EQ(round_to<boolean_t>(1e-300).bits, 1);
  EXPECT_EQ(round_to<boolean_t>(std::nan("")).bits, 1);
  EXPECT_EQ(round_to<boolean_t>(int64_t{1} << 40).bits, 1);
  EXPECT_EQ(value_as<float>(boolean_t{0}), 0.0f);
  EXPECT_EQ(value_as<float>(boolean_t{255}), 1.0f);
}

TEST(Numeric, WideTypesUseOneHardwareRounding) {
  EXPECT_EQ(round_to<float>(1.0 + std::ldexp(1.0, -24)), 1.0f);
  EXPECT_EQ(round_to<float>(1e300), std::numeric_limits<float>::infinity());
  EXPECT_EQ(round_to<double>(1.0L + std::ldexp(1.0L, -53) + std::ldexp(1.0L, -63)), std::nextafter(1.0, 2.0));
}

TEST(Numeric, TableHasEveryStorageTypeAndNoOther) {
  std::set<DataType_t> const stored{DataType_t::FLOAT,    DataType_t::DOUBLE,   DataType_t::HALF,
                                    DataType_t::BFLOAT16, DataType_t::FP8_E4M3, DataType_t::FP8_E5M2,
                                    DataType_t::INT8,     DataType_t::UINT8,    DataType_t::INT32,
                                    DataType_t::INT64,    DataType_t::BOOLEAN};
#define FUSEDNN_LISTED(name) DataType_t::name,
  for (DataType_t type : {DataType_t::NOT_SET, FUSEDNN_DATA_TYPES(FUSEDNN_LISTED) DataType_t::NOT_SET}) {
    TypeInfo const* info = type_info(type);
    ASSERT_EQ(info != nullptr, stored.contains(type)) << static_cast<int>(type);
    if (info == nullptr) continue;
    EXPECT_EQ(info->type, type);
    int64_t const size = visit_storage_type(type, []<class T>(std::type_identity<T>) { return int64_t{sizeof(T)}; });
    EXPECT_EQ(info->size, size);
    bool const floating = visit_storage_type(
        type, []<class T>(std::type_identity<T>) { return is_narrow_float<T> || std::is_floating_point_v<T>; });
    EXPECT_EQ(info->kind == TypeKind::FLOATING, floating);
    EXPECT_EQ(info->limits.unit_roundoff > 0, floating);
  }
#undef FUSEDNN_LISTED
  EXPECT_EQ(type_info(DataType_t::FLOAT)->limits.unit_roundoff, std::ldexp(1.0, -24));
  EXPECT_EQ(type_info(DataType_t::BOOLEAN)->kind, TypeKind::BOOLEAN);
}

}  // namespace
}  // namespace fusednn
