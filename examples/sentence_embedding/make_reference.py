#!/usr/bin/env python3
"""Makes tokens.json and cosine.json from sentences.txt, with nothing but numpy.

It shares no code with fuseDNN: its own WordPiece tokeniser, its own reader of the weights and the whole
encoder in float64, so that an error common to both is unlikely.

    python3 make_reference.py build/model
"""

import argparse
import json
import math
import pathlib
import unicodedata

import numpy as np

from weights import load_weights

HERE = pathlib.Path(__file__).resolve().parent
erf = np.vectorize(math.erf, otypes=[np.float64])


def is_punctuation(char):
    code = ord(char)
    ascii_symbol = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_symbol or unicodedata.category(char).startswith("P")


def split_words(text):
    text = unicodedata.normalize("NFD", text.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if is_punctuation(c) else c for c in text).split()


def word_pieces(word, vocabulary):
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                pieces.append(vocabulary[piece])
                start = end
                break
        else:
            return [vocabulary["[UNK]"]]
    return pieces


def tokenise(text, vocabulary):
    ids = [piece for word in split_words(text) for piece in word_pieces(word, vocabulary)]
    return [vocabulary["[CLS]"], *ids, vocabulary["[SEP]"]]


def layer_norm(x, weights, prefix, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * weights[prefix + ".weight"] + weights[prefix + ".bias"]


def linear(x, weights, prefix):
    return x @ weights[prefix + ".weight"].T + weights[prefix + ".bias"]


def attention(x, weights, prefix, heads):
    length, width = x.shape
    q, k, v = (
        linear(x, weights, f"{prefix}.self.{part}").reshape(length, heads, -1).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // heads)
    probabilities = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    mixed = (probabilities @ v).transpose(1, 0, 2).reshape(length, width)
    return linear(mixed, weights, f"{prefix}.output.dense")


def embed(ids, weights, config):
    """One sentence at a time, so that no padding and no mask exist here."""
    epsilon = config["layer_norm_eps"]
    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: len(ids)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = layer_norm(x, weights, "embeddings.LayerNorm", epsilon)
    for index in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{index}"
        mixed = attention(x, weights, f"{prefix}.attention", config["num_attention_heads"])
        x = layer_norm(x + mixed, weights, f"{prefix}.attention.output.LayerNorm", epsilon)
        hidden = linear(x, weights, f"{prefix}.intermediate.dense")
        hidden = 0.5 * hidden * (1 + erf(hidden / math.sqrt(2)))
        x = layer_norm(x + linear(hidden, weights, f"{prefix}.output.dense"), weights,
                       f"{prefix}.output.LayerNorm", epsilon)
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def write_rows(path, key, rows, render, **extra):
    body = ",\n    ".join("[" + ", ".join(render(value) for value in row) + "]" for row in rows)
    lines = [f'  "{name}": {json.dumps(value, ensure_ascii=False, indent=4)}' for name, value in extra.items()]
    lines.append(f'  "{key}": [\n    {body}\n  ]')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="folder with config.json, vocab.txt, model.safetensors")
    model = parser.parse_args().model

    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    vocabulary = {line: i for i, line in enumerate((model / "vocab.txt").read_text(encoding="utf-8").splitlines())}
    weights = {name: w.astype(np.float64) for name, w in load_weights(model / "model.safetensors").items()}

    sentences = (HERE / "sentences.txt").read_text(encoding="utf-8").splitlines()
    token_ids = [tokenise(sentence, vocabulary) for sentence in sentences]
    embeddings = np.stack([embed(ids, weights, config) for ids in token_ids])

    write_rows(HERE / "tokens.json", "token_ids", token_ids, str, sentences=sentences)
    write_rows(HERE / "cosine.json", "cosine", embeddings @ embeddings.T, "{:.9f}".format)


if __name__ == "__main__":
    main()
