"""The vertices of reflectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values
from helpers.vertex_classes import Key

FILE = "vertices/linear.py"

Floats = npt.NDArray[np.float32]

ZERO, ONE = np.float32(0), np.float32(1)


def numbers(rng: np.random.Generator, *shape: int) -> Floats:
    """Return numbers of similar sizes."""
    made: Floats = rng.standard_normal(shape).astype(np.float32)
    return made


def factor_of(largest: Any) -> np.float32:
    """Return what numbers are multiplied by, so that their squares are FLOAT."""
    return np.float32(2.0 ** (86 * (int(largest < 2.0**-40) - int(largest > 2.0**40))))


def columns_of(rng: np.random.Generator) -> tuple[Values, int, int, np.float32]:
    """Return fields that both vertices of a column have, the column, its row here, and sizes."""
    rows, columns, workers = int(rng.integers(1, 8)), int(rng.integers(1, 6)), rng.integers(1, 4)
    j, first = int(rng.integers(0, columns)), int(rng.integers(0, 5))
    a = numbers(rng, columns, rows)
    size = np.float32(rng.choice([0, 1, 1e-30, 1e30]))
    a[j] *= size
    own = {
        "a": a,
        "v": numbers(rng, columns, rows),
        "taus": numbers(rng, columns),
        "column": j,
        "first": first,
        "workers": int(workers),
    }
    return own, j, min(max(j - first, -1), rows), size


def update(rng: np.random.Generator) -> tuple[Values, Expected]:
    own, j, diagonal, _ = columns_of(rng)
    columns, rows = own["a"].shape
    dots, a = numbers(rng, own["workers"], columns), own["a"].copy()
    for c in range(j, columns if j else 0):
        total = ZERO
        for each in dots[:, c]:
            total = total + each
        a[c] -= own["v"][j - 1] * (total * own["taus"][j - 1])
    largest = abs(a[j, max(diagonal, 0) :]).max(initial=0)
    factor, squares = factor_of(largest), ZERO
    for each in a[j, diagonal + 1 :] * factor:
        squares = squares + each * each
    top = a[j, diagonal] if 0 <= diagonal < rows else ZERO
    found = np.array([largest, top, squares, ONE / factor], np.float32)
    fields = {**own, "dots": dots.ravel(), "found": numbers(rng, 4)}
    return fields, {"a": a, "found": found}


def reflect(rng: np.random.Generator) -> tuple[Values, Expected]:
    own, j, diagonal, size = columns_of(rng)
    columns, rows = own["a"].shape
    found = abs(numbers(rng, own["workers"], 4))
    found[:, :2] *= size
    found[:, 2] *= np.float32(rng.choice([0, 1]))
    found[:, 3] = [ONE / factor_of(each) for each in found[:, 0]]
    largest, first, squares = found[:, 0].max(), ZERO, ZERO
    factor = factor_of(largest)
    for _, top, part, unscaled in found:
        first = first + top
        squares = squares + part * (factor * unscaled) * (factor * unscaled)
    first = first * factor
    length = np.sqrt(first * first + squares)
    reflected = -length if first >= 0 else length
    tau, scale = ZERO, ZERO
    if squares == 0:
        reflected = first
    else:
        tau, scale = (reflected - first) / reflected, ONE / (first - reflected)
    a, v, taus, dots = own["a"].copy(), own["v"].copy(), own["taus"].copy(), numbers(rng, columns)
    taus[j] = tau
    v[j] = np.where(np.arange(rows) > diagonal, a[j] * factor * scale, ZERO)
    if 0 <= diagonal < rows:
        v[j, diagonal], a[j, diagonal] = ONE, reflected / factor
    made = dots.copy()
    for c in range(j + 1, columns):
        made[c] = ZERO
        for i in range(max(diagonal, 0), rows):
            made[c] += v[j, i] * a[c, i]
    fields = {**own, "found": found.ravel(), "dots": dots}
    return fields, {"a": a, "v": v, "taus": taus, "dots": made, "column": np.int32(j + 1)}


def join(rng: np.random.Generator) -> tuple[Values, Expected]:
    columns = int(rng.integers(1, 7))
    row = int(rng.integers(0, columns))
    products, taus, t = (
        numbers(rng, *shape) for shape in ((columns, columns), (columns,), (columns,))
    )
    made = np.zeros_like(t)
    for j in range(row, columns):
        total = ZERO
        for l in range(row, j):  # noqa: E741
            total = total + made[l] * products[j, l]
        made[j] = -taus[j] * total if j > row else taus[j]
    return {"products": products, "taus": taus, "t": t, "row": row}, {"t": made}


RECIPES: dict[Key, Recipe] = {
    (FILE, "JoinReflectors"): join,
    (FILE, "ReflectColumn"): reflect,
    (FILE, "UpdateColumns"): update,
}
