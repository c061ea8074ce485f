"""The vertices of linear algebra."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values
from helpers.vertex_classes import Key

FILE = "vertices/linear.py"

Floats = npt.NDArray[np.float32]


def matrix(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Return numbers of similar sizes."""
    made: Floats = rng.standard_normal((rows, columns)).astype(np.float32)
    return made


def cholesky(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(1, 9))
    x = matrix(rng, n, n)
    a = x @ x.T + np.float32(rng.choice([n, -0.5])) * np.eye(n, dtype=np.float32)
    made = a.copy()
    for i in range(n):
        for j in range(i + 1):
            rest = made[i, j]
            for k in range(j):
                rest = rest - made[i, k] * made[j, k]
            if i > j:
                made[i, j] = rest / made[j, j]
            else:
                made[i, j] = np.sqrt(rest) if rest > 0 else np.nan
    return {"a": a}, {"a": made}


def lu(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(1, 9))
    a = matrix(rng, n, n)
    made = a.copy()
    for i in range(n):
        for k in range(i):
            made[i, k] = made[i, k] / made[k, k]
            made[i, k + 1 :] = made[i, k + 1 :] - made[i, k] * made[k, k + 1 :]
    return {"a": a}, {"a": made}


def solve(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(1, 9))
    lower, unit = (bool(v) for v in rng.integers(0, 2, 2))
    a, x = matrix(rng, n, n), matrix(rng, 1, n)[0]
    made = x.copy()
    for i in range(n) if lower else range(n - 1, -1, -1):
        for k in range(i) if lower else range(i + 1, n):
            made[i] = made[i] - a[i, k] * made[k]
        if not unit:
            made[i] = made[i] / a[i, i]
    return {"a": a, "x": x, "lower": lower, "unit": unit}, {"x": made}


RECIPES: dict[Key, Recipe] = {
    (FILE, "CholeskyBlock"): cholesky,
    (FILE, "LuBlock"): lu,
    (FILE, "SolveColumn"): solve,
}
