"""The vertices of linear algebra."""

from __future__ import annotations

from typing import Any

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
    n, columns = (int(v) for v in rng.integers(1, 9, 2))
    lower, unit = (bool(v) for v in rng.integers(0, 2, 2))
    a, x = matrix(rng, n, n), matrix(rng, n, columns)
    made = x.copy()
    for i in range(n) if lower else range(n - 1, -1, -1):
        for k in range(i) if lower else range(i + 1, n):
            made[i] = made[i] - a[i, k] * made[k]
        if not unit:
            made[i] = made[i] / a[i, i]
    return {"a": a, "x": x, "lower": lower, "unit": unit}, {"x": made}


def householder(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(1, 6))
    m = n + int(rng.integers(0, 6))
    a, zero, one = matrix(rng, m, n), np.float32(0), np.float32(1)
    # A column of zeros has tau 0; squares of the others would vanish, or overflow.
    a[:, rng.integers(0, n)] *= np.float32(rng.choice([0, 1, 1e-30, 1e30]))
    r, v, t = a.copy(), np.zeros((m, n), np.float32), np.zeros((n, n), np.float32)
    sums: Any = np.zeros(n, np.float32)
    for j in range(n):
        largest, squares = abs(r[j:, j]).max(), zero
        factor = np.float32(2.0 ** (86 * (int(largest < 2.0**-40) - int(largest > 2.0**40))))
        r[j:, j] *= factor
        for i in range(j + 1, m):
            squares = squares + r[i, j] * r[i, j]
        length = np.sqrt(r[j, j] * r[j, j] + squares)
        first, tau, scale = r[j, j], zero, zero
        reflected = -length if first >= 0 else length
        if squares == 0:
            reflected = first
        else:
            tau, scale = (reflected - first) / reflected, one / (first - reflected)
        v[j + 1 :, j], v[j, j] = r[j + 1 :, j] * scale, 1
        r[j:, j] = 0
        r[j, j] = reflected / factor
        sums = np.zeros(n, np.float32)
        for i in range(j, m):
            sums[:j] += v[i, :j] * v[i, j]
            sums[j + 1 :] += r[i, j + 1 :] * v[i, j]
        for i in range(j, m):
            r[i, j + 1 :] -= tau * v[i, j] * sums[j + 1 :]
        for k in range(j):
            total = zero
            for l in range(k, j):  # noqa: E741
                total = total + t[k, l] * sums[l]
            t[k, j] = -tau * total
        t[j, j] = tau
    fields = {"a": a, "v": matrix(rng, m, n), "t": matrix(rng, n, n), "sums": matrix(rng, 1, n)[0]}
    return fields, {"a": r, "v": v, "t": t, "sums": sums}


RECIPES: dict[Key, Recipe] = {
    (FILE, "CholeskyBlock"): cholesky,
    (FILE, "HouseholderBlock"): householder,
    (FILE, "LuBlock"): lu,
    (FILE, "SolveBlock"): solve,
}
