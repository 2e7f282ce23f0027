#include "base/hash.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace fusednn {
namespace {

TEST(Hash, IsTheSameOnEveryRun) {
  EXPECT_EQ(Hasher().digest(), 0x2d06800538d394c2u) << "XXH3 of no bytes, from its specification";
  EXPECT_EQ(Hasher().add(int64_t{42}).digest(), Hasher().add(int64_t{42}).digest());
  EXPECT_NE(Hasher(1).add(7).digest(), Hasher(2).add(7).digest());
}

TEST(Hash, FieldsDoNotRunIntoOneAnother) {
  EXPECT_NE(Hasher().add("ab").add("c").digest(), Hasher().add("a").add("bc").digest());
  using Values = std::vector<int64_t>;
  EXPECT_NE(Hasher().add(Values{1, 2}).add(Values{3}).digest(), Hasher().add(Values{1}).add(Values{2, 3}).digest());
  EXPECT_NE(Hasher().add(Values{}).digest(), Hasher().digest());
}

TEST(Hash, RangesOfStringsAndOfNumbers) {
  std::vector<std::string> const words{"x", "y"};
  EXPECT_EQ(Hasher().add(words).digest(), Hasher().add(uint64_t{2}).add("x").add("y").digest());
  std::array<int, 2> const numbers{1, 2};
  EXPECT_EQ(Hasher().add(numbers).digest(), Hasher().add(uint64_t{2}).add(1).add(2).digest());
}

TEST(Hash, StreamingEqualsOneBlock) {
  std::string const text(5000, 'q');
  Hasher pieces;
  for (size_t at = 0; at < text.size(); at += 7) {
    pieces.add_bytes(text.data() + at, std::min<size_t>(7, text.size() - at));
  }
  EXPECT_EQ(pieces.digest(), Hasher().add_bytes(text.data(), text.size()).digest());
}

TEST(Hash, EveryBitCounts) {
  std::set<uint64_t> seen{Hasher().add(uint64_t{0}).digest()};
  for (int bit = 0; bit < 64; ++bit) seen.insert(Hasher().add(uint64_t{1} << bit).digest());
  EXPECT_EQ(seen.size(), 65u);
}

}  // namespace
}  // namespace fusednn
