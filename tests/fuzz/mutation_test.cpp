#include "fuzz/graph_text_property.h"
#include "serial/graph_json.h"
#include "serial/row_graphs.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

// What the fuzzer does with coverage and time, done here with fixed seeds, so that builds without clang have it too.

namespace fusednn::tests {
namespace {

using nlohmann::json;

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(FUSEDNN_TEST_DATA) + "/serial/dumps")) {
    std::ifstream file(entry.path());
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::sort(texts.begin(), texts.end());
  for (ops::OpRow const* row : public_rows()) texts.push_back(serial::to_json(full_graph(*row)));
  return texts;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  /// Changes, adds or removes a few bytes.
  std::string bytes(std::string text) {
    for (size_t n = 1 + below(4); n > 0 && !text.empty(); --n) {
      size_t const at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text[at] = "{}[]\",:0123456789.eE-nulltrue"[below(29)];
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), below(20)));
          break;
        case 3:
          text.erase(at, 1 + below(20));
          break;
        case 4:
          text.resize(text.size() - below(text.size() / 4 + 1));
          break;
      }
    }
    return text;
  }

  /// Changes a few values of the document, and so gets past the parser.
  std::string values(std::string const& text) {
    json document = json::parse(text);
    for (size_t n = 1 + below(3); n > 0; --n) {
      json* at = &document;
      while (at->is_structured() && !at->empty() && below(6) > 0)
        at = &*std::next(at->begin(), static_cast<long>(below(at->size())));
      change(*at, document);
    }
    return document.dump();
  }

 private:
  size_t below(size_t n) { return random_() % n; }

  void change(json& value, json const& document) {
    static json const pool = json::parse(R"([null, true, 0, 1, -1, 2, 3, 7, 4294967296, 9223372036854775807,
      -9223372036854775808, 0.5, 1e308, "NaN", "-Infinity", "7F800000", "0x7ff8000000000001", "", "x", "1", "FLOAT", "INT32",
      "BOOLEAN", "MATMUL", "POINTWISE", "REDUCTION", "SDPA", "ADD", [], {}, [1, 1, 1], [2, 3, 4], [[0, 1], [0, 1]],
      [0, 0, 0], [9223372036854775807, 9223372036854775807], [1, 1, 1, 1, 1, 1, 1, 1, 1], {"index": 3, "value": 0.5}])");
    if (value.is_object() && !value.empty() && below(3) == 0)
      return void(value.erase(std::next(value.begin(), static_cast<long>(below(value.size())))));
    if (value.is_array() && !value.empty() && below(3) == 0) return value.push_back(value[below(value.size())]);
    json const flat = document.flatten();
    if (below(3) == 0 && !flat.empty())
      value = *std::next(flat.begin(), static_cast<long>(below(flat.size())));
    else
      value = pool[below(pool.size())];
  }

  std::mt19937_64 random_;
};

TEST(GraphTextMutations, SeedsAreRightAsTheyAre) {
  for (std::string const& text : seeds()) EXPECT_EQ(check_graph_text(text), "") << text;
}

TEST(GraphTextMutations, ChangedBytes) {
  std::vector<std::string> const texts = seeds();
  Mutator mutate(1);
  for (size_t i = 0; i < 4000; ++i) {
    std::string const text = mutate.bytes(texts[i % texts.size()]);
    ASSERT_EQ(check_graph_text(text), "") << text;
  }
}

TEST(GraphTextMutations, ChangedValues) {
  std::vector<std::string> const texts = seeds();
  Mutator mutate(2);
  size_t read = 0, total = 6000;
  for (size_t i = 0; i < total; ++i) {
    std::string const text = mutate.values(texts[i % texts.size()]);
    ASSERT_EQ(check_graph_text(text), "") << text;
    read += serial::from_json(text).ok();
  }
  EXPECT_GT(read, total / 20) << "too few get past the reader to try what lies behind it";
}

}  // namespace
}  // namespace fusednn::tests
