#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/host_tensor.h"
#include "common/safetensors.h"

namespace examples {

struct EncoderConfig {
  int64_t layers = 0, width = 0, heads = 0, inner_width = 0, vocabulary = 0, positions = 0, types = 0;
  float epsilon = 0;
};

// Reads a model's config.json; throws std::runtime_error where a size is missing or makes no sense.
EncoderConfig read_encoder_config(const std::string& path);

// A graph that was built once; each run binds other tensors.
class Step {
 public:
  Step(fusednn::handle_t handle, std::string name, fusednn::graph::Graph graph);
  void run(std::unordered_map<int64_t, void*> tensors);
  void reset_clock() { calls_ = 0, milliseconds_ = 0; }

  const std::string& name() const { return name_; }
  const std::string& plan() const { return plan_; }
  const std::string& engine() const { return engine_; }
  int calls() const { return calls_; }
  double milliseconds() const { return milliseconds_; }

 private:
  fusednn::handle_t handle_;
  std::string name_, plan_, engine_;
  fusednn::graph::Graph graph_;
  HostTensor workspace_;
  int calls_ = 0;
  double milliseconds_ = 0;
};

// A BERT-style encoder with mean pooling for one batch size and padded length. Matrices are stored in `type`,
// biases and norm parameters in FLOAT.
class Encoder {
 public:
  Encoder(fusednn::handle_t handle, const EncoderConfig& config, const SafetensorsFile& file, fusednn::DataType_t type,
          int64_t batch, int64_t length);

  // One embedding of length 1 per sentence, [batch, width]. Throws where the sentences do not fit the batch.
  std::vector<float> embed(const std::vector<std::vector<int64_t>>& sentences);

  const std::vector<Step*>& steps() const { return steps_; }

 private:
  struct Linear {
    HostTensor weight, bias;
  };
  struct Norm {
    HostTensor scale, bias;
  };
  struct Layer {
    Linear qkv, projection, up, down;
    Norm attention_norm, norm;
  };

  Linear read_linear(const SafetensorsFile& file, const std::vector<std::string>& names, int64_t outputs,
                     int64_t inputs) const;
  Norm read_norm(const SafetensorsFile& file, const std::string& name) const;
  Layer read_layer(const SafetensorsFile& file, int64_t index) const;

  void look_up(const std::vector<std::vector<int64_t>>& sentences);
  void run_layer(Layer& layer);
  std::vector<float> pool() const;
  static void run_linear(Step& step, const Linear& linear, const HostTensor& x, const HostTensor& y);
  void run_add_norm(const Norm& norm, const HostTensor& x, const HostTensor& residual, const HostTensor& y);

  EncoderConfig config_;
  fusednn::DataType_t type_;
  int64_t batch_, length_;
  std::vector<float> words_, positions_;
  Norm embedding_norm_;
  std::vector<Layer> layers_;
  Step qkv_, attention_, projection_, add_norm_, up_, down_;
  std::vector<Step*> steps_;
  HostTensor hidden_, mixed_, projected_, packed_, inner_, lengths_;
};

}  // namespace examples
