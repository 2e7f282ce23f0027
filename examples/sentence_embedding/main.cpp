// Embeds a dozen sentences with all-MiniLM-L6-v2, prints how similar they are and what each graph cost, and
// compares the similarities with a table made by an independent implementation (make_reference.py).

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/example.h"
#include "encoder.h"

namespace {

using examples::Encoder;
using fusednn::DataType_t;
using nlohmann::json;

constexpr int exit_no_model = 77;  // what test runners take as "skipped"

struct Options {
  std::string model = "build/model";
  DataType_t type = DataType_t::FLOAT;
  int rounds = 20;
  bool json = false;
};

const char* usage =
    "usage: sentence_embedding [--model DIR] [--dtype float32|bfloat16] [--device cpu] [--rounds N] "
    "[--json]\n"
    "  --model DIR  folder that scripts/fetch_model.sh fills (default build/model)\n"
    "  --rounds N   timed passes (default 20)\n"
    "  --json       one line of JSON for other programs\n"
    "exit code: 0 similarities agree with the reference table, 1 they do not or an error, 77 no model\n";

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--json") {
      options.json = true;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (name == "--model" && !value.empty())
      options.model = value;
    else if (name == "--dtype" && value == "float32")
      options.type = DataType_t::FLOAT;
    else if (name == "--dtype" && value == "bfloat16")
      options.type = DataType_t::BFLOAT16;
    else if (name == "--rounds" && std::atoi(value.c_str()) > 0)
      options.rounds = std::atoi(value.c_str());
    else if (name != "--device" || value != "cpu")
      throw std::runtime_error("bad option " + name + " " + value + "\n" + usage);
  }
  return options;
}

json read_json(const std::string& name) {
  const std::string path = std::string(FUSEDNN_EXAMPLE_DATA) + "/" + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  return json::parse(file);
}

using Table = std::vector<std::vector<double>>;

Table similarities(const std::vector<float>& embeddings, size_t count) {
  const size_t width = embeddings.size() / count;
  Table table(count, std::vector<double>(count));
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < count; ++b)
      for (size_t i = 0; i < width; ++i) table[a][b] += double{embeddings[a * width + i]} * embeddings[b * width + i];
  return table;
}

// NaN counts as infinitely far.
double largest_difference(const Table& found, const Table& expected) {
  double largest = 0;
  for (size_t a = 0; a < found.size(); ++a) {
    for (size_t b = 0; b < found.size(); ++b) {
      const double difference = std::abs(found[a][b] - expected.at(a).at(b));
      largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    }
  }
  return largest;
}

struct GraphTime {
  std::string graph, engine, plan;
  int calls = 0;
  std::vector<double> milliseconds;  // of all calls in one pass, by pass
};

struct Measurement {
  std::vector<double> milliseconds, outside_graphs;  // by pass
  std::vector<GraphTime> graphs;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Measurement measure(Encoder& encoder, const std::vector<std::vector<int64_t>>& sentences, int rounds) {
  Measurement measurement;
  for (const examples::Step* step : encoder.steps())
    measurement.graphs.push_back({step->name(), step->engine(), step->plan(), 0, {}});
  for (int round = 0; round < rounds; ++round) {
    for (examples::Step* step : encoder.steps()) step->reset_clock();
    const auto start = std::chrono::steady_clock::now();
    (void)encoder.embed(sentences);
    measurement.milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    double rest = measurement.milliseconds.back();
    for (size_t i = 0; i < measurement.graphs.size(); ++i) {
      rest -= encoder.steps()[i]->milliseconds();
      measurement.graphs[i].calls = encoder.steps()[i]->calls();
      measurement.graphs[i].milliseconds.push_back(encoder.steps()[i]->milliseconds());
    }
    measurement.outside_graphs.push_back(rest);
  }
  return measurement;
}

void print_table(const Table& table, const std::vector<std::string>& sentences) {
  for (size_t a = 0; a < sentences.size(); ++a) std::printf("%3zu  %s\n", a + 1, sentences[a].c_str());
  std::printf("\n   ");
  for (size_t b = 0; b < table.size(); ++b) std::printf("%6zu", b + 1);
  for (size_t a = 0; a < table.size(); ++a) {
    std::printf("\n%3zu", a + 1);
    for (const double value : table[a]) std::printf("%6.2f", value);
  }
  std::printf("\n\n");
}

void print_times(const Measurement& measurement) {
  std::printf("%-11s %5s %11s  %-13s %s\n", "graph", "calls", "ms per pass", "engine", "plan");
  for (const GraphTime& time : measurement.graphs)
    std::printf("%-11s %5d %11.3f  %-13s %s\n", time.graph.c_str(), time.calls, median(time.milliseconds),
                time.engine.c_str(), time.plan.c_str());
  std::printf("%-11s %5s %11.3f\n", "the rest", "", median(measurement.outside_graphs));
  std::printf("%-11s %5s %11.3f  median of %zu passes\n\n", "whole pass", "", median(measurement.milliseconds),
              measurement.milliseconds.size());
}

json to_json(const Measurement& measurement) {
  json graphs = json::array();
  for (const GraphTime& time : measurement.graphs)
    graphs.push_back({{"graph", time.graph},
                      {"engine", time.engine},
                      {"plan", time.plan},
                      {"calls", time.calls},
                      {"ms_per_pass", median(time.milliseconds)}});
  return {{"pass_ms", measurement.milliseconds}, {"graphs", graphs}};
}

int run(const Options& options) {
  if (!std::filesystem::exists(options.model + "/model.safetensors")) {
    std::printf("skipped: %s holds no model; run scripts/fetch_model.sh\n", options.model.c_str());
    return exit_no_model;
  }
  const json tokens = read_json("tokens.json");
  const auto token_ids = tokens.at("token_ids").get<std::vector<std::vector<int64_t>>>();
  size_t length = 0;
  for (const auto& ids : token_ids) length = std::max(length, ids.size());

  examples::Handle handle(fusednn::Device::CPU);
  const examples::EncoderConfig config = examples::read_encoder_config(options.model + "/config.json");
  const examples::SafetensorsFile file(options.model + "/model.safetensors");
  Encoder encoder(handle, config, file, options.type, static_cast<int64_t>(token_ids.size()),
                  static_cast<int64_t>(length));

  const Table table = similarities(encoder.embed(token_ids), token_ids.size());
  const double difference = largest_difference(table, read_json("cosine.json").at("cosine").get<Table>());
  const bool narrow = options.type == DataType_t::BFLOAT16;
  const double limit = narrow ? 1e-2 : 1e-4;
  const Measurement measurement = measure(encoder, token_ids, options.rounds);

  const char* dtype = narrow ? "bfloat16" : "float32";
  if (options.json) {
    json result = to_json(measurement);
    result.update({{"dtype", dtype}, {"difference", difference}, {"limit", limit}, {"correct", difference <= limit}});
    std::printf("%s\n", result.dump().c_str());
  } else {
    std::printf("all-MiniLM-L6-v2 on the CPU in %s: %zu sentences padded to %zu tokens\n\n", dtype, token_ids.size(),
                length);
    print_table(table, tokens.at("sentences").get<std::vector<std::string>>());
    print_times(measurement);
    std::printf("largest difference from the reference table: %.2g (limit %g): %s\n", difference, limit,
                difference <= limit ? "agrees" : "DIFFERS");
  }
  return difference <= limit ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::guarded([&] { return run(parse(argc, argv)); });
}
