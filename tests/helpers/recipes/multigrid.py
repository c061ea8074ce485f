"""The vertices of benchmarks/ops_multigrid.py."""

from __future__ import annotations

import numpy as np

from helpers.recipes.shared import Expected, Floats, Recipe, Values, floats
from helpers.vertex_classes import Key

FILE = "benchmarks/ops_multigrid.py"


def inside(rng: np.random.Generator) -> tuple[int, int]:
    """Return rows and columns of a block."""
    return int(rng.integers(1, 9)), int(rng.integers(1, 9))


def summed(u: Floats) -> Floats:
    """Return above, below, before and behind, added in this order."""
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]


def residual(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    high, low = (floats(rng, rows + 2, cols + 2) for _ in "hl")
    b, u, ring = floats(rng, rows, cols), high[1:-1, 1:-1], low
    across = (u - high[1:-1, :-2]) - (high[1:-1, 2:] - u)
    along = (u - high[:-2, 1:-1]) - (high[2:, 1:-1] - u)
    around = (ring[:-2, 1:-1] + ring[2:, 1:-1]) + (ring[1:-1, :-2] + ring[1:-1, 2:])
    rest = np.float32(4) * low[1:-1, 1:-1] - around
    fields = {"high": high, "low": low, "b": b, "r": floats(rng, rows, cols)}
    return fields, {"r": b - ((across + along) + rest)}


def start(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    b = floats(rng, rows + 2, cols + 2)
    e = np.float32(0.24) * b[1:-1, 1:-1] + np.float32(0.04) * summed(b)
    return {"b": b, "e": floats(rng, rows, cols)}, {"e": e}


def smooth(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    old, b = floats(rng, rows + 2, cols + 2), floats(rng, rows, cols)
    new = np.float32(0.2) * (old[1:-1, 1:-1] + summed(old) + b)
    return {"old": old, "b": b, "new": floats(rng, rows, cols)}, {"new": new}


def defect(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    e, b = floats(rng, rows + 2, cols + 2), floats(rng, rows, cols)
    r = b + summed(e) - np.float32(4) * e[1:-1, 1:-1]
    return {"e": e, "b": b, "r": floats(rng, rows, cols)}, {"r": r}


def restrict(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    r, two = floats(rng, 2 * rows + 1, 2 * cols + 1), np.float32(2)
    columns = r[:-2:2] + r[2::2] + two * r[1:-1:2]
    b = np.float32(0.25) * (columns[:, :-2:2] + columns[:, 2::2] + two * columns[:, 1:-1:2])
    return {"r": r, "b": floats(rng, rows, cols)}, {"b": b}


def correct(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    coarse, e = floats(rng, rows // 2 + 2, cols // 2 + 2), floats(rng, rows, cols)
    half = np.float32(0.5)
    columns = np.empty((rows, cols // 2 + 2), np.float32)
    for i in range(rows):
        columns[i] = half * (coarse[(i + 1) // 2] + coarse[i // 2 + 1])
    added = np.empty((rows, cols), np.float32)
    added[:, 1::2] = columns[:, 1 : cols // 2 + 1]
    added[:, ::2] = half * (columns[:, :-1] + columns[:, 1:])[:, : (cols + 1) // 2]
    return {"coarse": coarse, "e": e}, {"e": e + added}


def add(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    e, high, low = rng.standard_normal((3, rows, cols)).astype(np.float32)
    new = high + e
    # Numbers so near to each other have an exact sum in double precision.
    error = (high.astype(float) + e - new).astype(np.float32)
    return {"e": e, "high": high, "low": low}, {"high": new, "low": low + error}


RECIPES: dict[Key, Recipe] = {
    (FILE, "Add"): add,
    (FILE, "Correct"): correct,
    (FILE, "Defect"): defect,
    (FILE, "Residual"): residual,
    (FILE, "Restrict"): restrict,
    (FILE, "Smooth"): smooth,
    (FILE, "Start"): start,
}
