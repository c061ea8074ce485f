"""The vertices of sparse products."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values, floats
from helpers.vertex_classes import Key

FILE = "vertices/sparse.py"


def fields(rng: np.random.Generator) -> tuple[Values, npt.NDArray[Any], npt.NDArray[Any]]:
    """Return what all have, the row of each non-zero, and x."""
    rows, count, met = (int(v) for v in rng.integers((0, 0, 1), (9, 30, 9)))
    columns, dtype = int(rng.choice([1, 5, 17, 50, 70])), rng.choice(["float32", "float16"])
    row = np.sort(rng.integers(0, rows, count if rows else 0))
    starts = np.searchsorted(row, np.arange(rows + 1))
    x = floats(rng, met, columns).clip(-99, 99).astype(dtype)
    places = rng.integers(0, met, len(row))
    shares = np.arange(7) * rows // 6
    shared: Values = {"x": x, "places": places, "starts": starts, "shares": shares}
    return {**shared, "columns": columns, "busiest": len(row)}, row, x


def rows_of(rng: np.random.Generator) -> tuple[Values, Expected]:
    shared, row, x = fields(rng)
    values = floats(rng, len(row)).clip(-99, 99).astype(x.dtype)
    out = np.zeros((len(shared["starts"]) - 1, x.shape[1]), np.float32)
    for r, value, place in zip(row, values, shared["places"], strict=True):
        out[r] += np.float32(value) * x[place].astype(np.float32)
    made = out.astype(x.dtype).ravel()
    return {**shared, "values": values, "out": np.ones_like(made)}, {"out": made}


def dots(rng: np.random.Generator) -> tuple[Values, Expected]:
    shared, row, x = fields(rng)
    shape = len(shared["starts"]) - 1, x.shape[1]
    gradient = floats(rng, *shape).clip(-99, 99).astype(x.dtype)
    products = np.zeros((len(row), 128), np.float32)
    products[:, : x.shape[1]] = gradient[row].astype(np.float32) * x[shared["places"]]
    lanes = (np.float32(0) + products[:, :64]) + products[:, 64:]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    made = lanes[:, 0].astype(x.dtype)
    values = {**shared, "gradient": gradient.ravel(), "out": np.ones_like(made)}
    return values, {"out": made}


RECIPES: dict[Key, Recipe] = {(FILE, "SparseDots"): dots, (FILE, "SparseRows"): rows_of}
