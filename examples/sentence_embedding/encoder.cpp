#include "encoder.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "common/example.h"
#include "graphs.h"

namespace examples {
namespace {

using fusednn::DataType_t;
using nlohmann::json;

int64_t positive(const json& config, const char* key) {
  const auto found = config.find(key);
  // Sizes beyond this belong to no encoder and would only overflow later.
  if (found == config.end() || !found->is_number_integer() || *found < 1 || *found > 10'000'000)
    throw std::runtime_error(std::string("config.json: ") + key + " is missing or not a sensible size");
  return found->get<int64_t>();
}

HostTensor host_copy(DataType_t type, const std::vector<float>& values) {
  HostTensor tensor(type, static_cast<int64_t>(values.size()));
  tensor.store(values.data(), 0, tensor.elements());
  return tensor;
}

std::string engine_of(const fusednn::graph::Graph& graph, const std::string& plan) {
  fusednn::graph::Plan_info info;
  for (int64_t index = 0; index < graph.get_execution_plan_count(); ++index) {
    check(graph.get_plan_info_ext(index, info));
    if (info.name == plan) return info.engine;
  }
  return "";
}

}  // namespace

EncoderConfig read_encoder_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  const json config = json::parse(file);
  EncoderConfig result;
  result.layers = positive(config, "num_hidden_layers");
  result.width = positive(config, "hidden_size");
  result.heads = positive(config, "num_attention_heads");
  result.inner_width = positive(config, "intermediate_size");
  result.vocabulary = positive(config, "vocab_size");
  result.positions = positive(config, "max_position_embeddings");
  result.types = positive(config, "type_vocab_size");
  result.epsilon = config.at("layer_norm_eps").get<float>();
  if (result.width % result.heads != 0) throw std::runtime_error("config.json: heads do not divide the width");
  return result;
}

Step::Step(fusednn::handle_t handle, std::string name, fusednn::graph::Graph graph)
    : handle_(handle), name_(std::move(name)), graph_(std::move(graph)), workspace_(DataType_t::UINT8, 0) {
  check(graph_.build(handle_, {fusednn::HeurMode_t::A}));
  check(graph_.get_plan_name(plan_));
  engine_ = engine_of(graph_, plan_);
  workspace_ = HostTensor(DataType_t::UINT8, graph_.get_workspace_size());
}

void Step::run(std::unordered_map<int64_t, void*> tensors) {
  const auto start = std::chrono::steady_clock::now();
  check(graph_.execute(handle_, tensors, workspace_.data()));
  milliseconds_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  ++calls_;
}

Encoder::Encoder(fusednn::handle_t handle, const EncoderConfig& config, const SafetensorsFile& file, DataType_t type,
                 int64_t batch, int64_t length)
    : config_(config),
      type_(type),
      batch_(batch),
      length_(length),
      words_(file.read_float32("embeddings.word_embeddings.weight", {config.vocabulary, config.width})),
      positions_(file.read_float32("embeddings.position_embeddings.weight", {config.positions, config.width})),
      embedding_norm_(read_norm(file, "embeddings.LayerNorm")),
      qkv_(handle, "qkv", linear_graph(type, batch * length, config.width, 3 * config.width, Activation::NONE)),
      attention_(handle, "attention", attention_graph(type, batch, length, config.heads, config.width / config.heads)),
      projection_(handle, "projection",
                  linear_graph(type, batch * length, config.width, config.width, Activation::NONE)),
      add_norm_(handle, "add_norm", add_norm_graph(type, batch * length, config.width, config.epsilon)),
      up_(handle, "up_gelu", linear_graph(type, batch * length, config.width, config.inner_width, Activation::GELU)),
      down_(handle, "down", linear_graph(type, batch * length, config.inner_width, config.width, Activation::NONE)),
      steps_{&qkv_, &attention_, &projection_, &add_norm_, &up_, &down_},
      hidden_(type, batch * length * config.width),
      mixed_(type, hidden_.elements()),
      projected_(type, hidden_.elements()),
      packed_(type, 3 * hidden_.elements()),
      inner_(type, batch * length * config.inner_width),
      lengths_(DataType_t::INT32, batch) {
  if (length > config.positions) throw std::runtime_error("sentences are longer than the model's positions");
  // Every token is of type 0, so that its row belongs to the position.
  const std::vector<float> token_types =
      file.read_float32("embeddings.token_type_embeddings.weight", {config.types, config.width});
  for (size_t i = 0; i < positions_.size(); ++i) positions_[i] += token_types[i % static_cast<size_t>(config.width)];
  for (int64_t index = 0; index < config.layers; ++index) layers_.push_back(read_layer(file, index));
}

Encoder::Linear Encoder::read_linear(const SafetensorsFile& file, const std::vector<std::string>& names,
                                     int64_t outputs, int64_t inputs) const {
  const auto parts = static_cast<int64_t>(names.size());
  Linear linear{HostTensor(type_, parts * outputs * inputs), HostTensor(DataType_t::FLOAT, parts * outputs)};
  for (int64_t part = 0; part < parts; ++part) {
    const std::string& name = names[static_cast<size_t>(part)];
    const int64_t size = outputs * inputs;
    linear.weight.store(file.read_float32(name + ".weight", {outputs, inputs}).data(), part * size, size);
    linear.bias.store(file.read_float32(name + ".bias", {outputs}).data(), part * outputs, outputs);
  }
  return linear;
}

Encoder::Norm Encoder::read_norm(const SafetensorsFile& file, const std::string& name) const {
  return {host_copy(DataType_t::FLOAT, file.read_float32(name + ".weight", {config_.width})),
          host_copy(DataType_t::FLOAT, file.read_float32(name + ".bias", {config_.width}))};
}

Encoder::Layer Encoder::read_layer(const SafetensorsFile& file, int64_t index) const {
  const std::string prefix = "encoder.layer." + std::to_string(index);
  const std::string attention = prefix + ".attention";
  const int64_t width = config_.width;
  return {
      read_linear(file, {attention + ".self.query", attention + ".self.key", attention + ".self.value"}, width, width),
      read_linear(file, {attention + ".output.dense"}, width, width),
      read_linear(file, {prefix + ".intermediate.dense"}, config_.inner_width, width),
      read_linear(file, {prefix + ".output.dense"}, width, config_.inner_width),
      read_norm(file, attention + ".output.LayerNorm"),
      read_norm(file, prefix + ".output.LayerNorm"),
  };
}

std::vector<float> Encoder::embed(const std::vector<std::vector<int64_t>>& sentences) {
  if (static_cast<int64_t>(sentences.size()) != batch_) throw std::runtime_error("wrong number of sentences");
  look_up(sentences);
  run_add_norm(embedding_norm_, mixed_, projected_, hidden_);
  for (Layer& layer : layers_) run_layer(layer);
  return pool();
}

// Word rows go to mixed_, position rows to projected_; rows past a sentence's end are left zero.
void Encoder::look_up(const std::vector<std::vector<int64_t>>& sentences) {
  auto* lengths = static_cast<int32_t*>(lengths_.data());
  const std::vector<float> zero(static_cast<size_t>(config_.width));
  for (int64_t sentence = 0; sentence < batch_; ++sentence) {
    const std::vector<int64_t>& tokens = sentences[static_cast<size_t>(sentence)];
    const auto live = static_cast<int64_t>(tokens.size());
    if (live < 1 || live > length_) throw std::runtime_error("a sentence does not fit the padded length");
    lengths[sentence] = static_cast<int32_t>(live);
    for (int64_t row = 0; row < length_; ++row) {
      const int64_t token = row < live ? tokens[static_cast<size_t>(row)] : 0;
      if (token < 0 || token >= config_.vocabulary) throw std::runtime_error("a token lies outside the vocabulary");
      const int64_t first = (sentence * length_ + row) * config_.width;
      mixed_.store(row < live ? &words_[static_cast<size_t>(token * config_.width)] : zero.data(), first,
                   config_.width);
      projected_.store(row < live ? &positions_[static_cast<size_t>(row * config_.width)] : zero.data(), first,
                       config_.width);
    }
  }
}

void Encoder::run_linear(Step& step, const Linear& linear, const HostTensor& x, const HostTensor& y) {
  step.run({{LinearUid::X, x.data()},
            {LinearUid::WEIGHT, linear.weight.data()},
            {LinearUid::BIAS, linear.bias.data()},
            {LinearUid::Y, y.data()}});
}

void Encoder::run_add_norm(const Norm& norm, const HostTensor& x, const HostTensor& residual, const HostTensor& y) {
  add_norm_.run({{AddNormUid::X, x.data()},
                 {AddNormUid::RESIDUAL, residual.data()},
                 {AddNormUid::SCALE, norm.scale.data()},
                 {AddNormUid::BIAS, norm.bias.data()},
                 {AddNormUid::Y, y.data()}});
}

void Encoder::run_layer(Layer& layer) {
  run_linear(qkv_, layer.qkv, hidden_, packed_);
  attention_.run({{AttentionUid::Q, packed_.at(0)},
                  {AttentionUid::K, packed_.at(config_.width)},
                  {AttentionUid::V, packed_.at(2 * config_.width)},
                  {AttentionUid::LENGTHS, lengths_.data()},
                  {AttentionUid::O, mixed_.data()}});
  run_linear(projection_, layer.projection, mixed_, projected_);
  run_add_norm(layer.attention_norm, projected_, hidden_, mixed_);
  run_linear(up_, layer.up, mixed_, inner_);
  run_linear(down_, layer.down, inner_, projected_);
  run_add_norm(layer.norm, projected_, mixed_, hidden_);
}

std::vector<float> Encoder::pool() const {
  const std::vector<float> rows = hidden_.load();
  const auto* lengths = static_cast<const int32_t*>(lengths_.data());
  const auto width = static_cast<size_t>(config_.width);
  std::vector<float> embeddings(static_cast<size_t>(batch_) * width);
  for (int64_t sentence = 0; sentence < batch_; ++sentence) {
    float* embedding = &embeddings[static_cast<size_t>(sentence) * width];
    for (int64_t row = 0; row < lengths[sentence]; ++row) {
      const float* source = &rows[static_cast<size_t>(sentence * length_ + row) * width];
      for (size_t column = 0; column < width; ++column) embedding[column] += source[column];
    }
    // The mean's factor cancels in the division by the length.
    double squares = 0;
    for (size_t column = 0; column < width; ++column) squares += double{embedding[column]} * embedding[column];
    for (size_t column = 0; column < width; ++column)
      embedding[column] = static_cast<float>(embedding[column] / std::sqrt(squares));
  }
  return embeddings;
}

}  // namespace examples
