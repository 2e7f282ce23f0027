#include "npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

namespace tool {
namespace {

using testing::HasSubstr;

/// A file with this header and this many bytes of data.
std::string file_of(std::string const& header, size_t data_bytes, int major = 1) {
  std::string file = "\x93NUMPY";
  file += {char(major), 0};
  size_t const length_bytes = major == 1 ? 2 : 4;
  for (size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + std::string(data_bytes, 'x');
}

std::string reason(std::string const& file) {
  try {
    parse_npy(file);
  } catch (NpyError const& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Npy, ReadsHeadersOfEveryVersionAndOrder) {
  for (int major : {1, 2, 3}) {
    NpyArray const a =
        parse_npy(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }    \n", 24, major));
    EXPECT_EQ(a.type, "f4");
    EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_FALSE(a.fortran_order);
    EXPECT_EQ(a.data.size(), 24u);
  }
  NpyArray const a = parse_npy(file_of("{\"shape\":(7,),\"fortran_order\":True,\"descr\":\"|u1\"}", 7));
  EXPECT_TRUE(a.fortran_order);
  EXPECT_EQ(a.shape, std::vector<int64_t>{7});
  EXPECT_TRUE(parse_npy(file_of("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", 8)).shape.empty());
  EXPECT_TRUE(parse_npy(file_of("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 9223372036854775807, 4)}", 0))
                  .data.empty());
}

TEST(Npy, SaysWhatIsWrong) {
  struct Case {
    std::string file;
    char const* reason;
  };
  auto header = [](std::string const& text, size_t bytes = 4) { return file_of(text, bytes); };
  std::string const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  std::vector<Case> const cases = {
      {"", "not a .npy file"},
      {"PK\x03\x04", "not a .npy file"},
      {"\x93NUMPY", "ends within its header"},
      {file_of(good, 4).substr(0, 40), "ends within its header"},
      {file_of(good, 4, 9), "version 9.0"},
      {file_of(good, 3), "3 bytes of data, its header says 4"},
      {file_of(good, 5), "5 bytes of data, its header says 4"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12), "a .npy header of 2147483647 bytes"},
      {header("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}"), "big-endian"},
      {header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"), "not a plain one"},
      {header("{'descr': 'f', 'fortran_order': False, 'shape': (1,)}"), "type \"f\""},
      {header("{'descr': '<f0', 'fortran_order': False, 'shape': (1,)}"), "type \"<f0\""},
      {header("{'descr': '<f99999999999999999999', 'fortran_order': False, 'shape': (1,)}"), "type"},
      {header("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}"), "expected True or False"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), "expected a dim"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), "expected a dim"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': [1]}"), "expected '('"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"), "does not fit 64 bits"},
      {header("{'descr': '<f4', 'fortran_order': False}"), "is missing"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}"), "unknown key \"more\""},
      {header(std::string("\x01\x1b[2J\xff\x00", 7)), "expected '{' at \"\\x01\\x1b[2J\\xff\\x00\""},
      {header("{'descr': 5, 'a long text that does not end': 1}"), "not a plain one"},
      {header("{a name without quotes, much too long"), "\"a name without quote...\""},
      {header("{'descr': '<f4"), "a string without end"},
      {header(good + "{}"), "follows the header"},
      {header(""), "expected '{'"},
  };
  for (Case const& c : cases) EXPECT_THAT(reason(c.file), HasSubstr(c.reason));
}

TEST(Npy, WritesWhatItReads) {
  std::string const path = testing::TempDir() + "npy_test.npy";
  std::vector<std::byte> data(24);
  for (size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i);
  for (std::vector<int64_t> const& shape : {std::vector<int64_t>{2, 3}, {6}, {1, 1, 6, 1}}) {
    write_npy(path, "f4", shape, data);
    NpyArray const a = read_npy(path);
    EXPECT_EQ(a.type, "f4");
    EXPECT_EQ(a.shape, shape);
    EXPECT_EQ(a.data, data);
    std::ifstream file(path, std::ios::binary);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ((text.size() - data.size()) % 64, 0u) << "data begins at a multiple of 64 bytes";
    EXPECT_EQ(text[text.size() - data.size() - 1], '\n');
  }
  EXPECT_THROW(write_npy("/nonexistent/x.npy", "f4", {1}, data), NpyError);
  EXPECT_THROW(read_npy("/nonexistent/x.npy"), NpyError);
}

TEST(Npy, DamagedFilesAreRefusedOrRead) {
  std::string const good = file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string file = good;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
      file[random() % (file.size() - 24)] = static_cast<char>(random());
    if (random() % 8 == 0) file.resize(random() % file.size());
    refused += reason(file) != "accepted";
  }
  EXPECT_GT(refused, 15000);
}

}  // namespace
}  // namespace tool
