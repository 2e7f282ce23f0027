#!/usr/bin/env python3
"""Times the all-MiniLM-L6-v2 encoder in onnxruntime, as the peer of examples/sentence_embedding.

The same work from token ids to normalised embeddings, on the same padded batch. The model is written with
onnxruntime's own fused operators (attention, skip layer norm, biased GELU), which is what its transformer
optimiser would make of an exported model, and weights are constants, so that they are packed once.

    python3 bench/cpu/minilm_onnxruntime.py build/model [--rounds N] [--json]
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "sentence_embedding"
sys.path.insert(0, str(EXAMPLE))

from weights import load_weights  # noqa: E402


class ModelBuilder:
    def __init__(self, weights, config):
        self.weights, self.config = weights, config
        self.nodes, self.constants = [], {}

    def constant(self, name, value):
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def add(self, op, inputs, name, domain="", outputs=1, **attributes):
        names = [name] + [f"{name}.{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=name + ":" + op, domain=domain, **attributes))
        return names[0]

    def fused(self, op, inputs, name, **attributes):
        return self.add(op, inputs, name, domain="com.microsoft", **attributes)

    def matmul(self, x, prefix, name):
        return self.add("MatMul", [x, self.constant(prefix + ".weight", self.weights[prefix + ".weight"].T)], name)

    def bias(self, prefix):
        return self.constant(prefix + ".bias", self.weights[prefix + ".bias"])

    def norm(self, prefix):
        return [self.constant(prefix + part, self.weights[prefix + part]) for part in (".weight", ".bias")]

    def skip_norm(self, x, residual, norm, bias, name):
        return self.fused("SkipLayerNormalization", [x, residual, *self.norm(norm), bias], name,
                          epsilon=self.config["layer_norm_eps"])

    def attention(self, x, prefix, name):
        parts = [f"{prefix}.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weights[part + ".weight"].T for part in parts], axis=1)
        bias = np.concatenate([self.weights[part + ".bias"] for part in parts])
        inputs = [x, self.constant(name + ".weight", weight), self.constant(name + ".bias", bias), "lengths"]
        return self.fused("Attention", inputs, name, num_heads=self.config["num_attention_heads"])

    def layer(self, x, index):
        prefix = f"encoder.layer.{index}"
        mixed = self.attention(x, f"{prefix}.attention", f"{index}.attention")
        mixed = self.matmul(mixed, f"{prefix}.attention.output.dense", f"{index}.projection")
        x = self.skip_norm(mixed, x, f"{prefix}.attention.output.LayerNorm",
                           self.bias(f"{prefix}.attention.output.dense"), f"{index}.attention_norm")
        hidden = self.matmul(x, f"{prefix}.intermediate.dense", f"{index}.up")
        hidden = self.fused("BiasGelu", [hidden, self.bias(f"{prefix}.intermediate.dense")], f"{index}.gelu")
        hidden = self.matmul(hidden, f"{prefix}.output.dense", f"{index}.down")
        return self.skip_norm(hidden, x, f"{prefix}.output.LayerNorm",
                              self.bias(f"{prefix}.output.dense"), f"{index}.norm")

    def embedding(self, length):
        words = self.constant("words", self.weights["embeddings.word_embeddings.weight"])
        position = (self.weights["embeddings.position_embeddings.weight"][:length]
                    + self.weights["embeddings.token_type_embeddings.weight"][0])
        x = self.add("Gather", [words, "ids"], "gather")
        x = self.add("Add", [x, self.constant("position", position)], "embedded")
        return self.add("LayerNormalization", [x, *self.norm("embeddings.LayerNorm")], "embedding_norm",
                        axis=-1, epsilon=self.config["layer_norm_eps"])

    def pooled(self, x):
        sums = self.add("MatMul", ["pooling", x], "sums")
        sums = self.add("Squeeze", [sums, self.constant("axis", np.array([1]))], "squeezed")
        return self.add("LpNormalization", [sums], "embedding", axis=1, p=2)

    def build(self, batch, length):
        x = self.embedding(length)
        for index in range(self.config["num_hidden_layers"]):
            x = self.layer(x, index)
        self.pooled(x)
        inputs = [
            helper.make_tensor_value_info("ids", TensorProto.INT64, [batch, length]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, [batch]),
            helper.make_tensor_value_info("pooling", TensorProto.FLOAT, [batch, 1, length]),
        ]
        width = self.config["hidden_size"]
        outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [batch, width])]
        graph = helper.make_graph(self.nodes, "minilm", inputs, outputs, list(self.constants.values()))
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def padded_batch(token_ids):
    lengths = np.array([len(ids) for ids in token_ids], dtype=np.int32)
    ids = np.zeros((len(token_ids), lengths.max()), dtype=np.int64)
    pooling = np.zeros((len(token_ids), 1, lengths.max()), dtype=np.float32)
    for row, tokens in enumerate(token_ids):
        ids[row, : len(tokens)] = tokens
        pooling[row, 0, : len(tokens)] = 1 / len(tokens)
    return {"ids": ids, "lengths": lengths, "pooling": pooling}


def open_session(model, threads):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="folder with config.json and model.safetensors")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="one line of JSON for other programs")
    arguments = parser.parse_args()

    config = json.loads((arguments.model / "config.json").read_text(encoding="utf-8"))
    tokens = json.loads((EXAMPLE / "tokens.json").read_text(encoding="utf-8"))["token_ids"]
    expected = np.array(json.loads((EXAMPLE / "cosine.json").read_text(encoding="utf-8"))["cosine"])
    batch = padded_batch(tokens)
    model = ModelBuilder(load_weights(arguments.model / "model.safetensors"), config).build(*batch["ids"].shape)
    session = open_session(model, arguments.threads)

    embedding = session.run(None, batch)[0].astype(np.float64)
    error = np.abs(embedding @ embedding.T - expected).max()
    times = []
    for _ in range(arguments.rounds + 5):
        start = time.perf_counter()
        session.run(None, batch)
        times.append((time.perf_counter() - start) * 1e3)
    times = times[5:]
    if arguments.json:
        versions = {"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__}
        print(json.dumps({"versions": versions, "difference": float(error), "pass_ms": times}))
    else:
        print(f"onnxruntime {onnxruntime.__version__}, {arguments.threads} threads, batch {batch['ids'].shape}: "
              f"median {statistics.median(times):.3f} ms, best {min(times):.3f} ms, "
              f"largest difference of a similarity {error:.2g}")
    return 0 if error < 1e-4 else 1


if __name__ == "__main__":
    raise SystemExit(main())
