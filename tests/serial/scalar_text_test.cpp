#include "serial/scalar_text.h"

#include "base/numeric.h"

#include <gtest/gtest.h>

namespace fusednn::serial {
namespace {

using graph::Scalar_value;

Scalar_value of_bits(DataType_t type, uint64_t bits) {
  Scalar_value s;
  s.type = type;
  s.bits = bits;
  return s;
}

std::string written(Scalar_value const& s) {
  JsonWriter w;
  write_scalar(w, s);
  return w.take();
}

void expect_exact(Scalar_value const& s) {
  std::string const text = written(s);
  auto const parsed = parse_json(text);
  ASSERT_TRUE(parsed.ok()) << text;
  auto const back = read_scalar(s.type, parsed.value());
  ASSERT_TRUE(back) << text;
  EXPECT_EQ(back->bits, s.bits) << text;
}

TEST(ScalarText, EveryHalfAndBfloat16IsExact) {
  for (uint64_t bits = 0; bits < 1 << 16; ++bits) {
    expect_exact(of_bits(DataType_t::HALF, bits));
    expect_exact(of_bits(DataType_t::BFLOAT16, bits));
  }
}

TEST(ScalarText, WideValuesAreExact) {
  for (int64_t v : {INT64_MIN, INT64_MAX, int64_t(-1), (int64_t(1) << 53) + 1}) expect_exact(Scalar_value(v));
  for (int32_t v : {INT32_MIN, INT32_MAX, -1, 0}) expect_exact(Scalar_value(v));
  for (double v : {0.1, -0.0, 5e-324, 1.7976931348623157e308}) expect_exact(Scalar_value(v));
  for (uint64_t bits : {0x7ff0000000000000u, 0xfff0000000000000u, 0x7ff8000000000000u, 0xfff8000000000001u})
    expect_exact(of_bits(DataType_t::DOUBLE, bits));
  for (uint64_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7fc00001u, 0xffffffffu, 0x00000001u, 0x3dcccccdu})
    expect_exact(of_bits(DataType_t::FLOAT, bits));
}

TEST(ScalarText, IsShortWhereThatIsExact) {
  EXPECT_EQ(written(Scalar_value(0.1f)), "0.1");
  EXPECT_EQ(written(Scalar_value(2.0)), "2.0");
  EXPECT_EQ(written(of_bits(DataType_t::FLOAT, 0x7fc00000)), "\"NaN\"");
  EXPECT_EQ(written(of_bits(DataType_t::FLOAT, 0x7fc00001)), "\"0x7fc00001\"");
}

std::optional<Scalar_value> read(DataType_t type, std::string const& text) {
  auto const parsed = parse_json(text);
  return parsed.ok() ? read_scalar(type, parsed.value()) : std::nullopt;
}

TEST(ScalarText, ReadsHexDigitsOfAFloatInEveryRealType) {
  EXPECT_EQ(read(DataType_t::FLOAT, "\"3DCCCCCD\""), of_bits(DataType_t::FLOAT, 0x3dcccccd));
  EXPECT_EQ(read(DataType_t::HALF, "\"3DCCC000\""), of_bits(DataType_t::HALF, 0x2e66));
  EXPECT_EQ(read(DataType_t::BFLOAT16, "\"3F800000\""), of_bits(DataType_t::BFLOAT16, 0x3f80));
  EXPECT_EQ(read(DataType_t::DOUBLE, "\"3f000000\""), Scalar_value(0.5));
  EXPECT_EQ(read(DataType_t::FLOAT, "\"7F800000\""), of_bits(DataType_t::FLOAT, 0x7f800000));
}

TEST(ScalarText, RefusesWhatIsNoValueOfTheType) {
  for (char const* text : {"null", "true", "[]", "{}", "\"\"", "\"nan\"", "\"1.5\"", "\"3DCCCCC\"", "\"-DCCCCCD\"",
                           "\"3DCCCCCG\"", "\"0x\"", "\"0x1ffffffff\"", "\"0xg\"", "1e300"})
    EXPECT_FALSE(read(DataType_t::FLOAT, text)) << text;
  EXPECT_FALSE(read(DataType_t::HALF, "65520"));
  EXPECT_FALSE(read(DataType_t::HALF, "\"0x10000\""));
  for (char const* text : {"2147483648", "-2147483649", "1.0", "\"3F800000\"", "\"0x1\"", "\"NaN\""})
    EXPECT_FALSE(read(DataType_t::INT32, text)) << text;
  EXPECT_FALSE(read(DataType_t::INT64, "9223372036854775808"));
  EXPECT_FALSE(read(DataType_t::FP8_E4M3, "1.0"));
}

}  // namespace
}  // namespace fusednn::serial
