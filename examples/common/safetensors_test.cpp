#include "safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

namespace examples {
namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    std::string pattern = (std::filesystem::temp_directory_path() / "safetensors-XXXXXX").string();
    const int file = ::mkstemp(pattern.data());
    if (file < 0) throw std::runtime_error("no temporary file");
    ::close(file);
    path_ = pattern;
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string little_endian(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string file_with(const std::string& header, const std::string& data = "") {
  return little_endian(header.size()) + header + data;
}

std::string error_of(const std::string& content) {
  const TemporaryFile file(content);
  try {
    const SafetensorsFile parsed(file.path());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, ReadsUnalignedTensorsAfterMetadata) {
  const float values[] = {1.5f, -2.0f, std::numeric_limits<float>::infinity()};
  std::string data = "?";
  data.append(reinterpret_cast<const char*>(values), sizeof values);
  const TemporaryFile file(file_with(
      R"({"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[1,3],"data_offsets":[1,13]},)"
      R"("none":{"dtype":"BF16","shape":[4,0],"data_offsets":[0,0]},"s":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
      data));
  const SafetensorsFile parsed(file.path());
  EXPECT_EQ(parsed.tensors().size(), 3u);
  EXPECT_EQ(parsed.read_float32("x", {1, 3}), std::vector<float>(values, values + 3));
  EXPECT_EQ(parsed.tensors().at("none").size_in_bytes, 0u);
  EXPECT_EQ(parsed.tensors().at("s").size_in_bytes, 1u);
}

TEST(Safetensors, RefusesWrongNameTypeAndShape) {
  const TemporaryFile file(file_with(entry("F32", "[2]", "[0,8]"), "12345678"));
  const SafetensorsFile parsed(file.path());
  EXPECT_EQ(parsed.read_float32("x", {2}).size(), 2u);
  EXPECT_THROW(parsed.read_float32("y", {2}), std::runtime_error);
  EXPECT_THROW(parsed.read_float32("x", {1, 2}), std::runtime_error);
  const TemporaryFile other(file_with(entry("I32", "[2]", "[0,8]"), "12345678"));
  EXPECT_THROW(SafetensorsFile(other.path()).read_float32("x", {2}), std::runtime_error);
}

struct Malformed {
  const char* name;
  std::string content;
  const char* expected;
};

void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.name; }

class MalformedSafetensors : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedSafetensors, IsRefusedWithItsReason) {
  EXPECT_NE(error_of(GetParam().content).find(GetParam().expected), std::string::npos) << error_of(GetParam().content);
}

const std::string four_bytes = "1234";

INSTANTIATE_TEST_SUITE_P(
    Files, MalformedSafetensors,
    testing::Values(
        Malformed{"Empty", "", "shorter than its length field"},
        Malformed{"SevenBytes", "1234567", "shorter than its length field"},
        Malformed{"HeaderPastEnd", little_endian(3) + "{}", "a header of 3 bytes"},
        Malformed{"HeaderLengthAllOnes", little_endian(UINT64_MAX) + "{}", "a header of 18446744073709551615"},
        Malformed{"NoHeader", file_with(""), "not valid JSON"},
        Malformed{"CutJson", file_with(R"({"x":)"), "not valid JSON"},
        Malformed{"BadUtf8", file_with("{\"\xff\":1}"), "not valid JSON"},
        Malformed{"NotAnObject", file_with("[1]"), "not a JSON object"},
        Malformed{"DeepNesting", file_with(std::string(100'000, '[')), "nests too deeply"},
        Malformed{"EntryNotAnObject", file_with(R"({"x":3})"), "entry x is not an object"},
        Malformed{"NameTwice", file_with(R"({"x":{},"x":{}})"), R"(names "x" twice)"},
        Malformed{"NoDtype", file_with(R"({"x":{}})"), "tensor x has no dtype"},
        Malformed{"DtypeNotAString", file_with(R"({"x":{"dtype":4}})"), "is not a string"},
        Malformed{"UnknownDtype", file_with(entry("F31", "[1]", "[0,4]"), four_bytes), "unknown dtype F31"},
        Malformed{"NoShape", file_with(R"({"x":{"dtype":"F32"}})"), "has no shape"},
        Malformed{"ShapeNotAnArray", file_with(entry("F32", "1", "[0,4]"), four_bytes), "is not an array"},
        Malformed{"NegativeExtent", file_with(entry("F32", "[-1]", "[0,4]"), four_bytes), "non-negative integer"},
        Malformed{"FractionalExtent", file_with(entry("F32", "[1.0]", "[0,4]"), four_bytes), "non-negative integer"},
        Malformed{"ExtentPastSigned", file_with(entry("U8", "[9223372036854775808]", "[0,4]"), four_bytes),
                  "overflows 64 bits"},
        Malformed{"ProductWraps", file_with(entry("U8", "[4294967296,4294967296]", "[0,0]")), "overflows 64 bits"},
        Malformed{"BytesWrap", file_with(entry("F32", "[4611686018427387904]", "[0,0]")), "overflows 64 bits"},
        Malformed{"NoOffsets", file_with(R"({"x":{"dtype":"F32","shape":[1]}})"), "has no data_offsets"},
        Malformed{"OneOffset", file_with(entry("F32", "[1]", "[4]"), four_bytes), "is not a pair"},
        Malformed{"OffsetsReversed", file_with(entry("F32", "[1]", "[4,0]"), four_bytes), "leave the file"},
        Malformed{"OffsetsPastEnd", file_with(entry("F32", "[1]", "[1,5]"), four_bytes), "leave the file"},
        Malformed{"OffsetNearWrap", file_with(entry("F32", "[1]", "[18446744073709551612,18446744073709551615]")),
                  "leave the file"},
        Malformed{"TooFewBytes", file_with(entry("F32", "[1]", "[0,3]"), four_bytes),
                  "3 bytes where its shape needs 4"},
        Malformed{"TooManyBytes", file_with(entry("F16", "[1]", "[0,4]"), four_bytes),
                  "4 bytes where its shape needs 2"}),
    [](const testing::TestParamInfo<Malformed>& tested) { return tested.param.name; });

TEST(Safetensors, RefusesAHeaderOverTheFormatsLimit) {
  const TemporaryFile file(little_endian(100'000'001));
  std::filesystem::resize_file(file.path(), 100'000'100);  // sparse
  EXPECT_THROW(SafetensorsFile(file.path()), std::runtime_error);
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole = file_with(entry("F32", "[1]", "[0,4]"), four_bytes);
  ASSERT_EQ(error_of(whole), "accepted");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error_of(whole.substr(0, length)), "accepted") << length;
}

TEST(Safetensors, MissingFileAndFolderAreRefused) {
  EXPECT_THROW(SafetensorsFile("/nonexistent/model.safetensors"), std::runtime_error);
  EXPECT_THROW(SafetensorsFile("/"), std::runtime_error);
}

}  // namespace
}  // namespace examples
