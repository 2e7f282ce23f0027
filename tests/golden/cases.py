"""What the golden scripts share: a case as JSON, made with numpy alone and independently of the library.

A case is one node: operation, attributes, inputs and the outputs that a float64 computation gives. `make.py` writes
one file per family beside the scripts.
"""

import json
import math
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent


def numbers(array):
    """Values as JSON: non-finite ones by name, integers short, others with 15 digits."""
    out = []
    for x in np.asarray(array, dtype=np.float64).ravel():
        if math.isnan(x):
            out.append("nan")
        elif math.isinf(x):
            out.append("inf" if x > 0 else "-inf")
        elif x == int(x) and abs(x) < 1e15:
            out.append(int(x) if x != 0 or math.copysign(1, x) > 0 else -0.0)
        else:
            out.append(float(f"{x:.15g}"))
    return out


def tensor(array, dtype="DOUBLE"):
    array = np.asarray(array)
    return {"dims": list(array.shape), "dtype": dtype, "values": numbers(array)}


class Family:
    """The cases of one file."""

    def __init__(self, name):
        self.name = name
        self.cases = []

    def add(self, name, op, inputs, outputs, attrs=None, compute="DOUBLE"):
        """`inputs` and `outputs` map ports to arrays, or to (array, dtype); DOUBLE unless told otherwise."""
        default = "INT32" if compute == "INT32" else "DOUBLE"

        def spell(ports):
            return {k: tensor(*v) if isinstance(v, tuple) else tensor(v, default) for k, v in ports.items()}

        self.cases.append({"name": name, "op": op, "compute": compute, "attrs": attrs or {},
                           "inputs": spell(inputs), "outputs": spell(outputs)})

    def write(self):
        text = ",\n".join(json.dumps(c, separators=(",", ":")) for c in self.cases)
        (FOLDER / f"{self.name}.json").write_text(f"[\n{text}\n]\n")


def eighths(shape, seed, low=-16, high=16):
    """Multiples of 1/8: exact in every type, short in JSON."""
    return np.random.default_rng(seed).integers(low, high + 1, size=shape) / 8.0
