#include "serial/json_writer.h"

#include "serial/document.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <random>

namespace fusednn::serial {
namespace {

TEST(JsonWriter, LaysOutObjectsListsAndNumbers) {
  JsonWriter w;
  std::vector<int64_t> const dims = {2, -3}, pairs = {0, 1, 2, 3};
  w.begin_object().member("name", "a \"b\" \\ \n\x01").member("on", true).key("none").null();
  w.key("dim").value(std::span<int64_t const>(dims)).key("slices").pairs(pairs);
  w.key("list").begin_array().value(int64_t(1)).begin_object().end_object().end_array();
  w.key("empty").begin_array().end_array().end_object();
  EXPECT_EQ(w.take(), R"({
  "name": "a \"b\" \\ \n\u0001",
  "on": true,
  "none": null,
  "dim": [2, -3],
  "slices": [[0, 1], [2, 3]],
  "list": [
    1,
    {}
  ],
  "empty": []
})");
}

template <class Real>
void expect_exact(Real v) {
  JsonWriter w;
  w.value(v);
  std::string const text = w.take();
  auto const parsed = parse_json(text);
  ASSERT_TRUE(parsed.ok()) << text;
  auto const* d = parsed.value().get_if<double>();
  ASSERT_NE(d, nullptr) << text << " is not a real";
  EXPECT_EQ(static_cast<Real>(*d), v) << text;
  EXPECT_EQ(std::signbit(*d), std::signbit(v)) << text;
}

TEST(JsonWriter, RealsReadBackToTheSameBits) {
  for (double v : {0.0, -0.0, 1.0, 0.1, -1e300, DBL_MIN, DBL_TRUE_MIN, DBL_MAX, 1.0 / 3, 9007199254740993.0})
    expect_exact(v);
  for (float v : {0.0f, -0.0f, 1.0f, 0.1f, FLT_MIN, FLT_TRUE_MIN, FLT_MAX, 16777216.0f}) expect_exact(v);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    auto const f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    auto const d = std::bit_cast<double>(random());
    if (std::isfinite(f)) expect_exact(f);
    if (std::isfinite(d)) expect_exact(d);
  }
}

TEST(JsonWriter, WhatIsNotFiniteBecomesAString) {
  JsonWriter w;
  w.begin_array().value(std::nan("")).value(INFINITY).value(-double(INFINITY)).end_array();
  EXPECT_EQ(w.take(), "[\n  \"NaN\",\n  \"Infinity\",\n  \"-Infinity\"\n]");
}

TEST(JsonWriter, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(valid_utf8("gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x98\x80");
  std::string const bad = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("a\xff"), "a" + bad);
  EXPECT_EQ(valid_utf8("\xc3"), bad);
  EXPECT_EQ(valid_utf8("\xc0\xaf"), bad + bad);            // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), bad + bad + bad);  // surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), bad + bad + bad + bad);
  for (int lead = 0; lead < 256; ++lead)
    for (int second = 0; second < 256; ++second) {
      JsonWriter w;
      w.value(std::string{char(lead), char(second), 'x'});
      std::string const text = w.take();
      EXPECT_TRUE(parse_json(text).ok()) << lead << " " << second;
    }
}

}  // namespace
}  // namespace fusednn::serial
