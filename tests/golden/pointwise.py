"""Golden values of the 50 pointwise modes. Derivatives are checked against finite differences as they are written."""

import math

import numpy as np

from cases import Family

erf = np.vectorize(math.erf)
SQRT2 = math.sqrt(2)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def gelu(x):
    return x * (1 + erf(x / SQRT2)) / 2


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def relu(x, lower=0.0, upper=np.inf, slope=0.0):
    below = lower + slope * (x - lower) if slope else lower  # 0 below, -inf included
    return np.where(np.isnan(x), x, np.where(x < lower, below, np.minimum(x, upper)))


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(x))


def softplus(x, beta=1.0):
    return np.logaddexp(0, beta * x) / beta


def swish(x, beta=1.0):
    return x * sigmoid(beta * x)


def relu_slope(x, lower=0.0, upper=np.inf, slope=0.0):
    return np.where(np.isnan(x), x, np.where(x <= lower, slope, np.where(x < upper, 1.0, 0.0)))


def elu_slope(x, alpha=1.0):
    return np.where(x > 0, 1.0, alpha * np.exp(x))


def softplus_slope(x, beta=1.0):
    return sigmoid(beta * x)


def swish_slope(x, beta=1.0):
    s = sigmoid(beta * x)
    return s + beta * x * s * (1 - s)


def gelu_slope(x):
    return (1 + erf(x / SQRT2)) / 2 + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu_tanh_slope(x):
    k = math.sqrt(2 / math.pi)
    t = np.tanh(k * (x + 0.044715 * x**3))
    return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x)


def tanh_slope(x):
    return 1 / np.cosh(x) ** 2


def sigmoid_slope(x):
    return sigmoid(x) * sigmoid(-x)


def check_slope(forward, slope):
    x = np.array([-2.3, -0.7, 0.4, 1.9])
    h = 1e-6
    assert np.allclose(slope(x), (forward(x + h) - forward(x - h)) / (2 * h), rtol=1e-6, atol=1e-8), slope


def maximum(a, b):
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a > b, a, b))


def minimum(a, b):
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a < b, a, b))


X = np.array([-3.5, -1.25, -1, -0.5, -0.0, 0.0, 0.125, 0.5, 1, 1.75, 2.5, 6], dtype=np.float64)
Y = np.array([2, -1.25, 0.5, -0.75, 1, -2, 0.125, 3, 1, -0.5, 0.0, 2.5], dtype=np.float64)
MASK = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 2, -1], dtype=np.float64)
POSITIVE = np.array([0.0, 0.125, 0.5, 1, 1.75, 2.5, 6, 100], dtype=np.float64)
SPECIAL = np.array([np.nan, np.inf, -np.inf], dtype=np.float64)
FINITE_AND_NAN = np.append(X, np.nan)

UNARY = {
    "SQRT": (np.sqrt, np.append(POSITIVE, [-1, np.nan, np.inf])),
    "RELU_FWD": (relu, np.append(X, SPECIAL)),
    "TANH_FWD": (np.tanh, np.append(X, SPECIAL)),
    "SIGMOID_FWD": (sigmoid, np.append(X, SPECIAL)),
    "ELU_FWD": (elu, np.append(X, SPECIAL)),
    "GELU_FWD": (gelu, FINITE_AND_NAN),
    "SOFTPLUS_FWD": (softplus, np.append(X, SPECIAL)),
    "SWISH_FWD": (swish, FINITE_AND_NAN),
    "GELU_APPROX_TANH_FWD": (gelu_tanh, FINITE_AND_NAN),
    "ERF": (erf, np.append(X, SPECIAL)),
    "IDENTITY": (lambda x: x, np.append(X, SPECIAL)),
    "EXP": (np.exp, np.append(X, SPECIAL)),
    "LOG": (np.log, np.append(POSITIVE, [-1, np.nan, np.inf])),
    "NEG": (lambda x: -x, np.append(X, SPECIAL)),
    "ABS": (np.abs, np.append(X, SPECIAL)),
    "CEIL": (np.ceil, np.append(X, SPECIAL)),
    "FLOOR": (np.floor, np.append(X, SPECIAL)),
    "COS": (np.cos, FINITE_AND_NAN),
    "SIN": (np.sin, FINITE_AND_NAN),
    "TAN": (np.tan, FINITE_AND_NAN),
    "RSQRT": (lambda x: 1 / np.sqrt(x), np.append(POSITIVE, [-1, np.nan, np.inf])),
    "RECIPROCAL": (lambda x: 1 / x, np.append(X, SPECIAL)),
    "LOGICAL_NOT": (lambda x: np.where(x == 0, 1.0, 0.0), np.append(X, np.nan)),
}

BACKWARD = {
    "RELU_BWD": (relu, relu_slope),
    "TANH_BWD": (np.tanh, tanh_slope),
    "SIGMOID_BWD": (sigmoid, sigmoid_slope),
    "ELU_BWD": (elu, elu_slope),
    "GELU_BWD": (gelu, gelu_slope),
    "SOFTPLUS_BWD": (softplus, softplus_slope),
    "SWISH_BWD": (swish, swish_slope),
    "GELU_APPROX_TANH_BWD": (gelu_tanh, gelu_tanh_slope),
}


def truth(condition):
    return lambda a, b: np.where(condition(a, b), 1.0, 0.0)


BINARY = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "DIV": np.divide,
    "MAX": maximum,
    "MIN": minimum,
    "MOD": np.fmod,
    "POW": np.power,
    "ADD_SQUARE": lambda a, b: a + b * b,
    "CMP_EQ": truth(lambda a, b: a == b),
    "CMP_NEQ": truth(lambda a, b: a != b),
    "CMP_GT": truth(lambda a, b: a > b),
    "CMP_GE": truth(lambda a, b: a >= b),
    "CMP_LT": truth(lambda a, b: a < b),
    "CMP_LE": truth(lambda a, b: a <= b),
    "LOGICAL_AND": truth(lambda a, b: (a != 0) & (b != 0)),
    "LOGICAL_OR": truth(lambda a, b: (a != 0) | (b != 0)),
}

# Parameters with values other than the defaults: JSON name, then the name above.
PARAMETERS = {
    "RELU_FWD": [{"relu_lower_clip": ("lower", -1.0), "relu_upper_clip": ("upper", 1.5), "relu_lower_clip_slope": ("slope", 0.25)},
                 {"relu_lower_clip_slope": ("slope", 0.125)}, {"relu_upper_clip": ("upper", 1.0)}, {"relu_lower_clip": ("lower", 0.25)}],
    "RELU_BWD": [{"relu_lower_clip": ("lower", -1.0), "relu_upper_clip": ("upper", 1.5), "relu_lower_clip_slope": ("slope", 0.25)}],
    "ELU_FWD": [{"elu_alpha": ("alpha", 0.5)}],
    "ELU_BWD": [{"elu_alpha": ("alpha", 0.5)}],
    "SOFTPLUS_FWD": [{"softplus_beta": ("beta", 2.5)}],
    "SOFTPLUS_BWD": [{"softplus_beta": ("beta", 2.5)}],
    "SWISH_FWD": [{"swish_beta": ("beta", 1.5)}],
    "SWISH_BWD": [{"swish_beta": ("beta", 1.5)}],
}

INTEGERS = np.array([0, 1, -1, 7, -8, 2147483647, -2147483648, 46341, 65536, 100], dtype=np.int64)
INTEGERS_2 = np.array([3, 0, -1, -2, 3, 2147483647, -1, 46341, 65536, -100], dtype=np.int64)


def wrap(values):
    return (np.asarray(values, dtype=np.int64) + 2**31) % 2**32 - 2**31


INTEGER = {
    "ADD": lambda a, b: wrap(a + b),
    "SUB": lambda a, b: wrap(a - b),
    "MUL": lambda a, b: wrap(a * b),
    "MAX": np.maximum,
    "MIN": np.minimum,
    "NEG": lambda a: wrap(-a),
    "ABS": lambda a: wrap(np.abs(a)),
    "IDENTITY": lambda a: a,
    "CMP_GT": lambda a, b: (a > b).astype(np.int64),
    "LOGICAL_NOT": lambda a: (a == 0).astype(np.int64),
    "RELU_FWD": lambda a: np.maximum(a, 0),
}


def make():
    np.seterr(all="ignore")
    f = Family("pointwise")

    def add(name, mode, operands, result, attrs=None, compute="DOUBLE"):
        inputs = {f"IN_{i}": x for i, x in enumerate(operands)}
        f.add(name, "pointwise", inputs, {"OUT_0": result}, {"mode": mode, **(attrs or {})}, compute)

    for mode, (function, x) in UNARY.items():
        add(mode, mode, [x], function(x))
    for mode, function in BINARY.items():
        a, b = np.append(X, [np.nan, 1, np.inf]), np.append(Y, [1, np.nan, 2])
        add(mode, mode, [a, b], function(a, b))
    for mode, (forward, slope) in BACKWARD.items():
        check_slope(forward, slope)
        dy, x = np.append(Y, [1, np.nan]), np.append(X, [np.nan, 1])
        add(mode, mode, [dy, x], dy * slope(x))
    for mode, variants in PARAMETERS.items():
        for i, parameters in enumerate(variants):
            attrs = {name: value for name, (_, value) in parameters.items()}
            keywords = {keyword: value for _, (keyword, value) in parameters.items()}
            if mode in UNARY:
                add(f"{mode} parameters {i}", mode, [X], UNARY[mode][0](X, **keywords), attrs)
            else:
                forward, slope = BACKWARD[mode]
                check_slope(lambda x: forward(x, **keywords), lambda x: slope(x, **keywords))
                add(f"{mode} parameters {i}", mode, [Y, X], Y * slope(X, **keywords), attrs)
    add("BINARY_SELECT", "BINARY_SELECT", [X, Y, MASK], np.where(MASK != 0, X, Y))
    poisoned = np.where(MASK != 0, Y, np.nan)
    add("BINARY_SELECT does not read what it leaves", "BINARY_SELECT", [poisoned, X, MASK], np.where(MASK != 0, Y, X))
    grid = np.zeros((2, 3, 4))
    for axis in range(3):
        add(f"GEN_INDEX axis {axis}", "GEN_INDEX", [grid], np.indices(grid.shape)[axis].astype(np.float64), {"axis": axis})
    for mode, function in INTEGER.items():
        operands = [INTEGERS, INTEGERS_2] if mode in BINARY else [INTEGERS]
        add(f"{mode} in INT32", mode, operands, function(*operands), compute="INT32")
    # Broadcast: each operand, each axis, scalars of dims {1}.
    a, b = np.arange(12.0).reshape(2, 3, 2), np.arange(3.0).reshape(1, 3, 1) * 10
    add("broadcast of the second", "SUB", [a, b], a - b)
    add("broadcast of the first", "SUB", [b, a], b - a)
    c, d = np.array([[[1.0], [2.0]]]), np.array([[[10.0, 20.0, 30.0]]])
    add("broadcast of both", "SUB", [c, d], c - d)
    add("broadcast of a scalar", "SUB", [a, np.array([0.5])], a - 0.5)
    add("broadcast of a first scalar", "SUB", [np.array([0.5]), a], 0.5 - a)
    f.write()


if __name__ == "__main__":
    make()
