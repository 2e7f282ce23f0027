"""Golden values of reductions: every mode over every set of axes, empty axes, NaN, INT32."""

import itertools

import numpy as np

from cases import Family, eighths
from pointwise import wrap

NAN = float("nan")

REAL = {
    "ADD": lambda x, axes: np.sum(x, axis=axes, keepdims=True),
    "MUL": lambda x, axes: np.prod(x, axis=axes, keepdims=True),
    "MIN": lambda x, axes: np.min(x, axis=axes, keepdims=True, initial=np.inf),
    "MAX": lambda x, axes: np.max(x, axis=axes, keepdims=True, initial=-np.inf),
    "AMAX": lambda x, axes: np.max(np.abs(x), axis=axes, keepdims=True, initial=0),
    "AVG": lambda x, axes: np.sum(x, axis=axes, keepdims=True) / max(np.prod([x.shape[a] for a in axes]), 1),
    "NORM1": lambda x, axes: np.sum(np.abs(x), axis=axes, keepdims=True),
    "NORM2": lambda x, axes: np.sqrt(np.sum(x * x, axis=axes, keepdims=True)),
    "MUL_NO_ZEROS": lambda x, axes: np.prod(np.where(x == 0, 1, x), axis=axes, keepdims=True),
}


def wrapped_product(x, axis):
    result = np.ones([1 if a == axis else n for a, n in enumerate(x.shape)], dtype=np.int64)
    for part in np.split(x, x.shape[axis], axis=axis):
        result = wrap(result * part)
    return result


INTEGER = {
    "ADD": lambda x: wrap(np.sum(x, axis=1, keepdims=True)),
    "MUL": lambda x: wrapped_product(x, 1),
    "MIN": lambda x: np.min(x, axis=1, keepdims=True),
    "MAX": lambda x: np.max(x, axis=1, keepdims=True),
    "AMAX": lambda x: np.max(np.abs(x), axis=1, keepdims=True),
    "MUL_NO_ZEROS": lambda x: wrapped_product(np.where(x == 0, 1, x), 1),
}


def make():
    f = Family("reduction")
    x = eighths((2, 3, 4), 1)
    assert (x == 0).any()
    with_nan = x.copy()
    with_nan[1, 2, 3] = NAN
    for mode, function in REAL.items():
        for count in range(4):
            for axes in itertools.combinations(range(3), count):
                f.add(f"{mode} over {axes}", "reduction", {"X": x}, {"Y": function(x, axes)}, {"mode": mode})
        f.add(f"{mode} with NaN", "reduction", {"X": with_nan}, {"Y": function(with_nan, (1,))}, {"mode": mode})
        empty = np.zeros((2, 0))
        f.add(f"{mode} of nothing", "reduction", {"X": empty}, {"Y": function(empty, (1,))}, {"mode": mode})
    integers = np.array([[2147483647, 1, 7, 0], [-2147483647, -5, 65536, 65537]], dtype=np.int64)
    for mode, function in INTEGER.items():
        f.add(f"{mode} in INT32", "reduction", {"X": integers}, {"Y": function(integers)}, {"mode": mode}, "INT32")
    f.write()


if __name__ == "__main__":
    make()
