"""Golden values of the operations that move data, and of matmul."""

import numpy as np

from cases import Family, eighths


def make():
    f = Family("movement")
    x = np.arange(24.0).reshape(2, 3, 4)
    for dims in ([24], [6, 4], [4, 6], [1, 2, 1, 12], [3, 2, 4]):
        f.add(f"reshape to {dims}", "reshape", {"X": x}, {"Y": x.reshape(dims)}, {"dim": dims})
    f.add("reshape as the output says", "reshape", {"X": x}, {"Y": x.reshape(8, 3)}, {"reshape_mode": "LOGICAL"})
    f.add("reshape of nothing", "reshape", {"X": np.zeros((2, 0))}, {"Y": np.zeros((0, 5))}, {"dim": [0, 5]})
    for permutation in ([0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]):
        f.add(f"transpose {permutation}", "transpose", {"X": x}, {"Y": x.transpose(permutation)}, {"permutation": permutation})
    f.add("slice", "slice", {"X": x}, {"Y": x[1:2, 0:3, 1:3]}, {"slices": [1, 2, 0, 3, 1, 3]})
    f.add("slice with steps", "slice", {"X": x}, {"Y": x[0:2:1, 0:3:2, 1:4:2]},
          {"slices": [0, 2, 0, 3, 1, 4], "slice_strides": [1, 2, 2]})
    f.add("slice with a step that does not divide", "slice", {"X": x}, {"Y": x[:, :, 0:4:3]},
          {"slices": [0, 2, 0, 3, 0, 4], "slice_strides": [1, 1, 3]})
    f.add("slice of nothing", "slice", {"X": x}, {"Y": x[:, 2:2, :]}, {"slices": [0, 2, 2, 2, 0, 4]})
    for axis in range(3):
        y = eighths([1 if a == axis else n for a, n in enumerate(x.shape)], axis)
        f.add(f"concatenate along {axis}", "concatenate", {"0": x, "1": y, "2": x},
              {"Y": np.concatenate([x, y, x], axis=axis)}, {"axis": axis})
    f.add("concatenate equal shapes", "concatenate", {"0": x, "1": -x}, {"Y": np.concatenate([x, -x], axis=1)}, {"axis": 1})
    f.add("concatenate one", "concatenate", {"0": x}, {"Y": x}, {"axis": 1, "in_place_index": 0})

    a, b = eighths((2, 3, 4), 1), eighths((2, 4, 5), 2)
    f.add("matmul", "matmul", {"A": a, "B": b}, {"C": a @ b})
    f.add("matmul of one A", "matmul", {"A": a[:1], "B": b}, {"C": a[:1] @ b})
    f.add("matmul of one B", "matmul", {"A": a, "B": b[1:]}, {"C": a @ b[1:]})
    a, b = eighths((2, 1, 3, 2), 3), eighths((1, 3, 2, 2), 4)
    f.add("matmul of two batch dims", "matmul", {"A": a, "B": b}, {"C": a @ b})
    f.add("matmul of no products", "matmul", {"A": np.zeros((1, 3, 0)), "B": np.zeros((1, 0, 2))}, {"C": np.zeros((1, 3, 2))})
    f.write()


if __name__ == "__main__":
    make()
