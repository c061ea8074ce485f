"""What a recipe is, and those of vertices that stand in several places.

A recipe draws values for the fields of a vertex, and says what NumPy expects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import poplite as pl

Floats = npt.NDArray[np.float32]
Values = dict[str, Any]
"""What each field holds before the vertex runs."""
Expected = dict[str, npt.NDArray[Any]]
"""What the writable fields hold afterwards."""
Recipe = Callable[[np.random.Generator], tuple[Values, Expected]]

METADATA = pl.QuarterMetadata("F143", scale=1)
"""Of all QUARTER fields."""


def floats(rng: np.random.Generator, *shape: int) -> Floats:
    """Draw numbers of very different sizes, with zeros of both signs."""
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, shape)
    values[rng.random(shape) < 0.1] *= 0.0
    return values.astype(np.float32)


def in_order(first: np.float32, values: Floats) -> Floats:
    """Add from left to right; return the sum as one element."""
    total = first
    for value in values:
        total = total + value
    return np.array([total], np.float32)


def slice_(rng: np.random.Generator) -> tuple[Values, Expected]:
    first, count = (int(v) for v in rng.integers(0, 500, 2))
    step = np.float32(1 / rng.integers(1, 2000))
    x = (np.arange(first, first + count) + 0.5).astype(np.float32) * step
    partial = in_order(np.float32(0), np.float32(4) / (np.float32(1) + x * x)) * step
    state = {"first": first, "count": count, "step": float(step)}
    return {**state, "partial": floats(rng, 1)}, {"partial": partial}


def sum_(x: str, total: str) -> Recipe:
    """Return the recipe of a sum of fields with these names."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        values = floats(rng, int(rng.integers(0, 40)))
        return {x: values, total: floats(rng, 1)}, {total: in_order(np.float32(0), values)}

    return recipe


def dot(a: str, b: str, out: str) -> Recipe:
    """Return the recipe of the product of two vectors, of fields with these names."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        left, right = floats(rng, 2, int(rng.integers(0, 40)))
        made = in_order(np.float32(0), left * right)
        return {a: left, b: right, out: floats(rng, 1)}, {out: made}

    return recipe


def add_product(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, inner, columns = (int(v) for v in rng.integers(1, 9, 3))
    a, b, c = floats(rng, rows, inner), floats(rng, inner, columns), floats(rng, rows, columns)
    total = c
    for k in range(inner):
        total = total + a[:, k : k + 1] * b[k]
    return {"a": a, "b": b, "c": c}, {"c": total}


def axpy(factor: str) -> Recipe:
    """Return the recipe of `y = factor * x + y`, whose state has this name."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        n = int(rng.integers(0, 40))
        a, x, y = floats(rng, 1)[0], floats(rng, n), floats(rng, n)
        return {factor: float(a), "x": x, "y": y}, {"y": y + a * x}

    return recipe


def of_two(
    join: Callable[[Any, Any], Any],
    fields: tuple[str, str, str],
    dtype: type[np.generic] = np.float32,
) -> Recipe:
    """Return the recipe of a vector made of two, element by element, of fields with these names."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        a, b, before = floats(rng, 3, int(rng.integers(0, 20)))
        if dtype is np.int32:
            a, b, before = rng.integers(-(2**31), 2**31, (3, len(a)), np.int32)
        left, right, out = fields
        return {left: a, right: b, out: before}, {out: join(a, b)}

    return recipe


def increment(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 20)))
    return {"x": x}, {"x": x + np.float32(1)}


def diffuse(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = (int(v) for v in rng.integers(1, 9, 2))
    u = floats(rng, rows + 2, cols + 2)
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    new = np.float32(0.6) * u[1:-1, 1:-1] + np.float32(0.1) * around
    return {"old": u, "new": floats(rng, rows, cols)}, {"new": new}
