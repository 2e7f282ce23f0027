"""Golden values of layer norm and RMS norm."""

import math

import numpy as np

from cases import Family, eighths


def normalised_axes(x, scale):
    return tuple(i for i in range(x.ndim) if scale.shape[i] != 1)


def mean_over(x, axes):
    return np.sum(x, axis=axes, keepdims=True) / max(math.prod(x.shape[a] for a in axes), 1)


def layernorm(x, scale, bias, epsilon):
    axes = normalised_axes(x, scale)
    mean = mean_over(x, axes)
    inverse = 1 / np.sqrt(mean_over((x - mean) ** 2, axes) + epsilon)
    return {"Y": (x - mean) * inverse * scale + bias, "MEAN": mean, "INV_VARIANCE": inverse}


def rmsnorm(x, scale, bias, epsilon):
    inverse = 1 / np.sqrt(mean_over(x * x, normalised_axes(x, scale)) + epsilon)
    return {"Y": x * inverse * scale + (0 if bias is None else bias), "INV_VARIANCE": inverse}


SHAPES = [((3, 5), (1, 5)), ((2, 3, 4), (1, 3, 4)), ((2, 3, 4), (1, 1, 4)), ((2, 3, 4), (1, 3, 1)), ((2, 3, 1, 1), (1, 3, 1, 1)),
          ((4, 1), (1, 1)), ((1, 4), (1, 4)), ((2, 0), (1, 0))]


def make():
    np.seterr(all="ignore")
    f = Family("norms")
    epsilon = np.array([0.0625])
    for x_shape, scale_shape in SHAPES:
        x, scale, bias = eighths(x_shape, 1), eighths(scale_shape, 2), eighths(scale_shape, 3)
        operands = {"X": x, "SCALE": scale, "EPSILON": epsilon}
        training, inference = {"forward_phase": "TRAINING"}, {"forward_phase": "INFERENCE"}
        f.add(f"layernorm {x_shape} {scale_shape}", "layernorm", {**operands, "BIAS": bias}, layernorm(x, scale, bias, epsilon), training)
        f.add(f"rmsnorm {x_shape} {scale_shape}", "rmsnorm", operands, rmsnorm(x, scale, None, epsilon), training)
        f.add(f"rmsnorm with bias {x_shape} {scale_shape}", "rmsnorm", {**operands, "BIAS": bias},
              {"Y": rmsnorm(x, scale, bias, epsilon)["Y"]}, inference)
    x, scale, bias = eighths((2, 6), 4) + 1000, eighths((1, 6), 5), eighths((1, 6), 6)
    f.add("layernorm far from 0", "layernorm", {"X": x, "SCALE": scale, "BIAS": bias, "EPSILON": epsilon},
          {"Y": layernorm(x, scale, bias, epsilon)["Y"]}, {"forward_phase": "INFERENCE"})
    x = eighths((2, 6), 4)
    x[0, 2] = np.nan
    f.add("layernorm with NaN", "layernorm", {"X": x, "SCALE": scale, "BIAS": bias, "EPSILON": epsilon},
          layernorm(x, scale, bias, epsilon), {"forward_phase": "TRAINING"})
    f.write()


if __name__ == "__main__":
    make()
