"""The vertices of linear algebra: factorisations, reflectors, sparse products."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values, floats
from helpers.vertices import Key

# -- factorisations --------------------------------------------------------------------------------


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


FACTORISATIONS: dict[Key, Recipe] = {
    (FILE, "CholeskyBlock"): cholesky,
    (FILE, "LuBlock"): lu,
    (FILE, "SolveColumn"): solve,
}


# -- reflectors ------------------------------------------------------------------------------------


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


REFLECTORS: dict[Key, Recipe] = {
    (FILE, "JoinReflectors"): join,
    (FILE, "ReflectColumn"): reflect,
    (FILE, "UpdateColumns"): update,
}


# -- sparse products -------------------------------------------------------------------------------


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


SPARSE_PRODUCTS: dict[Key, Recipe] = {
    (FILE, "SparseDots"): dots,
    (FILE, "SparseRows"): rows_of,
}

RECIPES = FACTORISATIONS | REFLECTORS | SPARSE_PRODUCTS
