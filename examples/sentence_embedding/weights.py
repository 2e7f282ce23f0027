"""Reads the float32 tensors of a .safetensors file with numpy alone."""

import json

import numpy as np


def load_weights(path):
    raw = path.read_bytes()
    header_size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + header_size])
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + header_size + offset for offset in entry["data_offsets"])
            weights[name] = np.frombuffer(raw[begin:end], dtype="<f4").reshape(entry["shape"])
    return weights
