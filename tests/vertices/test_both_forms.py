"""Every vertex of the repository gives the same bits compiled and interpreted.

Each vertex class in `vertices/`, `examples/`, `benchmarks/` and the code blocks of the README and
`docs/` has a recipe below, by file and class, that draws values for its fields and says what
NumPy expects; a class without a recipe fails the first test, and so does a recipe without a class.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poplite as pl
from poplite.vertices import add_reference
from poplite.vertices.amp import amp_reference
from poplite.vertices.partials import partials_reference
from poplite.vertices.reduce import Join, columns_reference, rows_reference

Floats = npt.NDArray[np.float32]
Values = dict[str, Any]
"""What each field holds before the vertex runs."""
Expected = dict[str, npt.NDArray[Any]]
"""What the writable fields hold afterwards."""
Key = tuple[str, str]
"""A file, from the root of the repository, and a class in it."""
Recipe = Callable[[np.random.Generator], tuple[Values, Expected]]

METADATA = pl.QuarterMetadata("F143", scale=1)
"""Of all QUARTER fields."""

PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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


def add(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(0, 40))
    dtype = np.dtype(rng.choice(["float32", "float16", "int32", "uint32"]))
    if dtype.kind == "f":
        a, b = (floats(rng, n).clip(-6e4, 6e4).astype(dtype) for _ in "ab")
    else:
        limits = np.iinfo(dtype.name)
        a, b = (rng.integers(limits.min, limits.max, n, dtype, endpoint=True) for _ in "ab")
    return {"a": a, "b": b, "out": a[::-1].copy()}, {"out": add_reference(a, b)}


def slice_(rng: np.random.Generator) -> tuple[Values, Expected]:
    first, count = (int(v) for v in rng.integers(0, 500, 2))
    step = np.float32(1 / rng.integers(1, 2000))
    x = (np.arange(first, first + count) + 0.5).astype(np.float32) * step
    partial = in_order(np.float32(0), np.float32(4) / (np.float32(1) + x * x)) * step
    state = {"first": first, "count": count, "step": float(step)}
    return {**state, "partial": floats(rng, 1)}, {"partial": partial}


def sum_of_two(rng: np.random.Generator) -> tuple[Values, Expected]:
    a, b = floats(rng, 1)[0], floats(rng, 1)[0]
    return {"a": a, "b": b, "total": floats(rng, 1)[0]}, {"total": a + b}


def sum_(x: str, total: str) -> Recipe:
    """Return the recipe of a sum of fields with these names."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        values = floats(rng, int(rng.integers(0, 40)))
        return {x: values, total: floats(rng, 1)}, {total: in_order(np.float32(0), values)}

    return recipe


def product(rows: int, cols: int) -> Recipe:
    """Return the recipe of a matrix product of this shape, added in order."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        inner = 4 * int(rng.integers(1, 3))
        a, b = floats(rng, rows, inner), floats(rng, inner, cols)
        c = np.zeros((rows, cols), np.float32)
        for k in range(inner):
            c = c + a[:, k : k + 1] * b[k]
        return {"a": a, "b": b, "c": floats(rng, rows * cols)}, {"c": c.ravel()}

    return recipe


def amp(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, inner, cols = (int(v) for v in rng.integers((1, 0, 1), (20, 40, 9)))
    dtype, out = rng.choice(["float32", "float16"], 2)
    weights, x = (floats(rng, n).clip(-99, 99).astype(dtype) for n in (rows * inner, inner * cols))
    made = amp_reference(weights.reshape(rows, inner), x.reshape(inner, cols), out)
    before = floats(rng, rows * cols).clip(-6e4, 6e4).astype(out)
    return {"weights": weights, "x": x, "out": before, "columns": cols}, {"out": made.ravel()}


def add_partials(rng: np.random.Generator) -> tuple[Values, Expected]:
    n, others = int(rng.integers(1, 40)), int(rng.integers(0, 6))
    dtype, out = rng.choice(["float32", "float16"], 2)
    own, *rest = floats(rng, others + 1, n).clip(-9e3, 9e3).astype(dtype)
    sent = np.array(rest, dtype).reshape(others, n)
    made = partials_reference(own, sent, out)
    return {"own": own, "others": sent.ravel(), "out": own.astype(out)}, {"out": made}


def dot(a: str, b: str, out: str) -> Recipe:
    """Return the recipe of the product of two vectors, of fields with these names."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        left, right = floats(rng, 2, int(rng.integers(0, 40)))
        made = in_order(np.float32(0), left * right)
        return {a: left, b: right, out: floats(rng, 1)}, {out: made}

    return recipe


def total(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 40)))
    y = in_order(np.float32(0.1), x) * np.float32(3)
    return {"x": x, "y": floats(rng, 1)}, {"y": y}


def axpy(factor: str) -> Recipe:
    """Return the recipe of `y = factor * x + y`, whose state has this name."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        n = int(rng.integers(0, 40))
        a, x, y = floats(rng, 1)[0], floats(rng, n), floats(rng, n)
        return {factor: float(a), "x": x, "y": y}, {"y": y + a * x}

    return recipe


def diffuse(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = (int(v) for v in rng.integers(1, 9, 2))
    u = floats(rng, rows + 2, cols + 2)
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    new = np.float32(0.6) * u[1:-1, 1:-1] + np.float32(0.1) * around
    return {"old": u, "new": floats(rng, rows, cols)}, {"new": new}


def blur_of_vectors(vectors: int, dtype: type[np.floating[Any]] = np.float32) -> Recipe:
    """Return the recipe of a blur whose pixels have so many elements, all in one vector."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        height, width = (int(v) for v in rng.integers(1, 7, 2))
        image = floats(rng, height + 2, width + 2, vectors).clip(-6e3, 6e3).astype(dtype)
        x = image.astype(np.float32)
        left, middle, right = x[:, :-2], x[:, 1:-1], x[:, 2:]
        corners = left[:-2] + right[:-2] + left[2:] + right[2:]
        sides = middle[:-2] + left[1:-1] + right[1:-1] + middle[2:]
        quarter, eighth, sixteenth = (np.float32(2.0**-n) for n in (2, 3, 4))
        y = (sixteenth * corners + quarter * middle[1:-1] + eighth * sides).astype(dtype)
        values = {"x": image.ravel(), "y": y.ravel() * 0, "width": width, "height": height}
        return values, {"y": y.ravel()}

    return recipe


def around(x: Floats, ndim: int) -> list[Floats]:
    """Return the inside of the first dimensions of a block, and its neighbours there."""
    parts = []
    for axis, step in ((0, 0), *((axis, step) for axis in range(ndim) for step in (1, -1))):
        cut = [slice(1, -1)] * ndim
        cut[axis] = slice(1 + step, x.shape[axis] - 1 + step)
        parts.append(x[tuple(cut)])
    return parts


def heat_3d(rng: np.random.Generator) -> tuple[Values, Expected]:
    height, width, depth = (int(v) for v in rng.integers(1, 5, 3))
    old, alpha = floats(rng, height + 2, width + 2, depth + 2), floats(rng, 1)[0]
    inside, down, up, right, left, deeper, higher = around(old, 3)
    near = down + up + (right + left) + (deeper + higher)
    new = (np.float32(1) - np.float32(6) * alpha) * inside + alpha * near
    state = {"height": height, "width": width, "depth": depth, "alpha": float(alpha)}
    rows = {"old": old.reshape(-1, depth + 2), "new": floats(rng, height * width, depth)}
    return {**rows, **state}, {"new": new.reshape(height * width, depth)}


def heat_pairs(dimensions: int) -> Recipe:
    """Return the recipe of heat by pairs of cells along the last dimension."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        *sizes, pairs = (int(v) for v in rng.integers(1, 5, dimensions))
        old = floats(rng, *(size + 2 for size in sizes), pairs + 1)
        alpha, new = floats(rng, 1)[0], floats(rng, *sizes, 2 * pairs)
        inside, down, up, *beside = (part[..., 1:-1] for part in around(old, dimensions - 1))
        middle, *_ = around(old, dimensions - 1)
        left, right = middle[..., :-2] + inside, inside + middle[..., 2:]
        # In the order of each vertex.
        near = left + up + down + (beside[1] + beside[0]) if beside else up + left + down
        beta = np.float32(1) - np.float32(2 * dimensions) * alpha
        made = new.copy()
        made[..., 1 : 2 * pairs - 2 : 2] = beta * inside + alpha * near
        made[..., 2 : 2 * pairs - 1 : 2] = right
        state = dict(zip(("height", "width"), sizes, strict=False))
        rows = {"old": old.reshape(-1, pairs + 1), "new": new.reshape(-1, 2 * pairs)}
        return {**rows, **state, "pairs": pairs, "alpha": float(alpha)}, {"new": made}

    return recipe


def at_distances(x: Floats) -> list[list[Floats]]:
    """Return, for each dimension, the inside of a block moved by -2, -1, 0, 1 and 2."""
    moved = []
    for axis in range(x.ndim):
        inside = x[
            tuple(slice(2 * (k != axis), n - 2 * (k != axis)) for k, n in enumerate(x.shape))
        ]
        size = x.shape[axis] - 4
        moved.append([inside.take(range(by, by + size), axis) for by in range(5)])
    return moved


def diffusion(rng: np.random.Generator) -> tuple[Values, Expected]:
    height, width, depth = (int(v) for v in rng.integers(1, 4, 3))
    old = rng.standard_normal((height + 4, width + 4, depth + 4), np.float32)
    alpha, dt, r0, *rates = rng.random(6, np.float32)
    change: Any = 0
    for rate, (far, near, e, next_, last) in zip(rates, at_distances(old), strict=True):
        sides = np.float32(0.083333333) * (far + last), np.float32(1.3333333) * (near + next_)
        change = change + rate * (np.float32(-2.5) * e - sides[0] + sides[1])
    new = (dt * (alpha * change + r0 * e)).reshape(-1, depth)
    sizes = {"height": height, "width": width, "depth": depth}
    names = ("alpha", "dt", "r0", "r1", "r2", "r3")
    state = dict(zip(names, map(float, (alpha, dt, r0, *rates)), strict=True))
    return {"old": old.reshape(-1, depth + 4), "new": new * 0, **sizes, **state}, {"new": new}


def wave(rng: np.random.Generator) -> tuple[Values, Expected]:
    height, width, depth = (int(v) for v in rng.integers(1, 4, 3))
    now = rng.standard_normal((height + 4, width + 4, depth + 4), np.float32)
    before, damp, speed = rng.random((3, height, width, depth), np.float32) + np.float32(0.5)
    r0, r1 = rng.random(2, np.float32)
    (x0, x1, e, x3, x4), (y0, y1, _, y3, y4), (z0, z1, _, z3, z4) = at_distances(now)
    far = (x0 + y0) + (z0 + z4) + (y4 + x4)
    near = (x1 + y1) + (z1 + z3) + (y3 + x3)
    r2 = np.float32(1) / (speed * speed)
    inertia = r2 * (np.float32(2) * r0 * e - r0 * before)
    pull = np.float32(0.013333333) * near - np.float32(0.00083333332) * far - np.float32(0.075) * e
    new = (r1 * damp * e + inertia + pull) / (r0 * r2 + r1 * damp)
    blocks = {"before": before, "damp": damp, "speed": speed, "new": new * 0}
    rows = {name: block.reshape(-1, depth) for name, block in blocks.items()}
    sizes = {"height": height, "width": width, "depth": depth, "r0": float(r0), "r1": float(r1)}
    return {"now": now.reshape(-1, depth + 4), **rows, **sizes}, {"new": new}


def heart(rng: np.random.Generator) -> tuple[Values, Expected]:
    height, width = (int(v) for v in rng.integers(1, 5, 2))
    e_in, r = (
        rng.random((height + 2, width + 2), np.float32),
        rng.random((height, width), np.float32),
    )
    names = ("delta", "epsilon", "my1", "my2", "h", "dt", "k", "a", "b")
    constants = dict(zip(names, rng.random(9, np.float32) + np.float32(0.5), strict=True))
    delta, epsilon, my1, my2, h, dt, k, a, b = constants.values()
    e, down, up, right, left = around(e_in, 2)
    one, near = np.float32(1), down + up + (right + left)
    change = delta / (h * h) * (np.float32(-4) * e + near)
    change = change - k * e * (e - a) * (e - one) - e * r
    recovery = (-epsilon - my1 * r / (my2 + e)) * (r + k * e * (e - (b + one)))
    state = {name: float(value) for name, value in constants.items()}
    values = {"e_in": e_in, "e_out": r * 0, "r": r, "height": height, "width": width, **state}
    return values, {"e_out": e + change * dt, "r": r + recovery * dt}


def blur(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = (int(v) for v in rng.integers(1, 7, 2))
    x = floats(rng, rows + 2, (cols + 2) * 4)
    y = np.float32(0.0625) * x[:-2, :-8]
    for r in range(3):
        for c in range(3):
            if (r, c) != (0, 0):
                weight = np.float32((1, 2, 1)[r] * (1, 2, 1)[c] / 16)
                y = y + weight * x[r : r + rows, 4 * c : 4 * (c + cols)]
    return {"x": x, "y": floats(rng, rows, cols * 4)}, {"y": y}


def weighted_sum(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, weights = floats(rng, 3, int(rng.integers(1, 9))), floats(rng, 3)
    y = in_order(np.float32(0), (weights[:, np.newaxis] * rows).reshape(-1))
    return {"rows": rows, "weights": weights, "y": floats(rng, 1)}, {"y": y}


def doubled(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 40))).clip(-3e4, 3e4).astype(np.float16)
    return {"x": x, "y": x[::-1].copy()}, {"y": x + x}


def settle(rng: np.random.Generator) -> tuple[Values, Expected]:
    goal, x = floats(rng, 1)[0], floats(rng, 1)
    return {"goal": float(goal), "x": x}, {"x": (x + goal) / np.float32(2)}


def add_one_number(rng: np.random.Generator) -> tuple[Values, Expected]:
    by, x = (rng.integers(0, 2**32, n, np.uint32) for n in (1, int(rng.integers(0, 40))))
    return {"by": by, "x": x}, {"x": x + by}


def count_from(rng: np.random.Generator) -> tuple[Values, Expected]:
    begin, end = rng.integers(0, 2**32, 2, np.uint32)
    values = {"begin": begin, "end": end, "index": ~begin, "goes_on": begin >= end}
    return values, {"index": np.array(begin), "goes_on": np.array(begin < end)}


def count_on(rng: np.random.Generator) -> tuple[Values, Expected]:
    step, end, index = rng.integers(0, 2**32, 3, np.uint32)
    beyond = int(index) + int(step)  # which may not fit 32 bits
    goes_on = np.array(beyond < end)
    values = {"step": int(step), "end": end, "index": index, "goes_on": ~goes_on}
    return values, {"index": np.array(min(beyond, int(end)), np.uint32), "goes_on": goes_on}


def attend(rng: np.random.Generator) -> tuple[Values, Expected]:
    n, rows = (int(v) for v in rng.integers(1, 9, 2))
    query, keys = floats(rng, n), floats(rng, rows, n)
    scores = np.concatenate([in_order(np.float32(0), query * key) for key in keys])
    return {"query": query, "keys": keys, "scores": scores * 0}, {"scores": scores.clip(0, 2)}


def scaled(factor: float) -> Recipe:
    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        x = floats(rng, 1)[0]
        return {"x": x, "y": np.float32(0)}, {"y": x * np.float32(factor)}

    return recipe


def scale(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(0, 20))
    values = [floats(rng, n), rng.integers(-(2**31), 2**31, n, np.int32)][int(rng.integers(2))]
    factor = values.dtype.type(3)
    return {"factor": factor, "x": values, "out": values * 0}, {"out": values * factor}


def negate(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, 1)[0]
    return {"x": x}, {"x": -x}


def totals(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = rng.integers(-100, 100, int(rng.integers(0, 40)), np.int32)
    partials = np.array([x[worker::6].sum() for worker in range(6)], np.int32)
    return {"x": x, "partials": partials * 0}, {"partials": partials}


def nothing(rng: np.random.Generator) -> tuple[Values, Expected]:
    written: Expected = {
        "z": rng.integers(0, 9, 2, np.int32),
        "y": floats(rng, 1)[0],
        "out": floats(rng, 2),
    }
    values = {"a": floats(rng, 1)[0], "n": np.int32(7), "flag": np.True_, "x": floats(rng, 3)}
    return {"rows": floats(rng, 2, 3), "k": 2, "w": [1, 2], **values, **written}, written


def quantise(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 40)))
    with np.errstate(over="ignore"):
        quarters = np.ldexp(x, -METADATA.scale).astype(ml_dtypes.float8_e4m3fnuz)
    q = np.ldexp(quarters.astype(np.float32), METADATA.scale)
    return {"x": x, "q": x * 0}, {"q": q}


def halve(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = rng.integers(-(2**31), 2**31, (), np.int32)
    half = np.array(n // 2 if n % 2 == 0 else n, np.int32)
    written = {"n": half, "above_one": np.array(half > 1), "is_even": np.array(half % 2 == 0)}
    return {"n": n, "above_one": np.False_, "is_even": np.False_}, written


def grow(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = rng.integers(-1000, 1000, (), np.int32)
    return {"n": n}, {"n": np.array(3 * n + 1, np.int32)}


def invert(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = 1 + np.abs(floats(rng, int(rng.integers(0, 9)))) % np.float32(900)
    return {"x": x}, {"x": np.float32(1) / x}


def running(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 9)))
    sums = [in_order(np.float32(0), x[: i + 1])[0] for i in range(len(x))]
    return {"x": x}, {"x": np.array(sums, np.float32)}


def of_many(rng: np.random.Generator, join: Join, shape: tuple[int, int]) -> npt.NDArray[Any]:
    """Draw numbers that a reduction takes; NaN among them for the least and the greatest."""
    if join in (np.logical_and, np.logical_or):
        return rng.random(shape) < rng.random()
    if rng.integers(2):
        return rng.integers(-(2**31), 2**31, shape, np.int32)
    x = floats(rng, *shape) + np.float32(0)  # one zero
    if join in (np.minimum, np.maximum):
        x[rng.random(shape) < 0.1] = np.nan
    return x


def rows(join: Join) -> Recipe:
    """Return the recipe of a reduction of equally long rows."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        count, length = int(rng.integers(1, 5)), int(rng.integers(1, 40))
        x = of_many(rng, join, (count, length))
        with np.errstate(over="ignore", invalid="ignore"):
            out = rows_reference(join, x)
        return {"x": x.ravel(), "out": x[:, 0]}, {"out": out}

    return recipe


def columns(join: Join) -> Recipe:
    """Return the recipe of a reduction of some columns of a matrix."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        count, width = int(rng.integers(1, 9)), int(rng.integers(1, 30))
        stride = width + int(rng.integers(0, 9))
        x = of_many(rng, join, (count, stride))
        with np.errstate(over="ignore", invalid="ignore"):
            out = columns_reference(join, x[:, :width])
        reads = x.ravel()[: (count - 1) * stride + width]
        return {"x": reads, "out": x[0, :width], "stride": stride}, {"out": out}

    return recipe


def sort_block(rng: np.random.Generator) -> tuple[Values, Expected]:
    keys = rng.integers(-50, 50, int(rng.integers(0, 40)), np.int32)
    return {"keys": keys}, {"keys": np.sort(keys)}


def merge_split(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(1, 20))
    left, right = (np.sort(rng.integers(low, 50, n, np.int32)) for low in (-50, -20))
    if rng.integers(2):
        left, right = left - 100, right
    merged = np.sort(np.concatenate([left, right]))
    swapped = np.array([left[-1] > right[0]])
    scratch = np.zeros(2 * n, np.int32)
    values: Values = {"left": left, "right": right, "scratch": scratch, "swapped": ~swapped}
    halves = {"left": merged[:n], "right": merged[n:], "scratch": merged if swapped else scratch}
    return values, {**halves, "swapped": swapped}


def count(dtype: type[np.generic]) -> Recipe:
    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        number = np.array(rng.integers(0, 1000), dtype)
        return {"number": number}, {"number": number + np.array(1, dtype)}

    return recipe


def expand(rng: np.random.Generator) -> tuple[Values, Expected]:
    block = rng.random((int(rng.integers(1, 9)), int(rng.integers(1, 9)))) < 0.3
    rows, columns = np.nonzero(block)
    starts = np.searchsorted(rows, np.arange(len(block) + 1)).astype(np.uint16)
    frontier = rng.random(block.shape[1]) < 0.5
    hit = np.asarray((block & frontier).any(axis=1))
    matrix: Values = {"starts": starts, "columns": columns.astype(np.uint16)}
    return {**matrix, "frontier": frontier, "hit": np.logical_not(hit)}, {"hit": hit}


def update(rng: np.random.Generator) -> tuple[Values, Expected]:
    n, far = int(rng.integers(0, 20)), 2**31 - 1
    reached = rng.random(n) < 0.5
    distance = np.where(rng.random(n) < 0.5, far, 3).astype(np.uint32)
    new = reached & (distance == far)
    values = {"reached": reached, "level": np.uint32(4), "distance": distance, "frontier": ~new}
    return values, {"distance": np.where(new, 4, distance).astype(np.uint32), "frontier": new}


def add_streams(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, 2, int(rng.integers(0, 20)))
    return {"x": x, "y": y, "z": x}, {"z": x + y}


def inverse(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, 1)
    with np.errstate(divide="ignore"):
        return {"x": x}, {"x": np.float32(1) / x}


def stored(rng: np.random.Generator) -> tuple[Values, Expected]:
    y = np.zeros(int(rng.integers(0, 20)), np.float16)
    return {"y": y}, {"y": y + np.float16(2050)}


def increment(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 20)))
    return {"x": x}, {"x": x + np.float32(1)}


def shift(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, times = floats(rng, int(rng.integers(0, 20))), int(rng.integers(0, 5))
    y = x
    for _ in range(times):
        y = y + np.float32(1)
    return {"x": x, "times": times}, {"x": y}


def count_all(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = rng.integers(-(2**31), 2**31, int(rng.integers(0, 20)), np.int32)
    return {"x": x, "n": len(x)}, {"x": x + np.int32(1)}


def collatz(rng: np.random.Generator) -> tuple[Values, Expected]:
    numbers = rng.integers(-2, 100, int(rng.integers(0, 9)), np.int32)
    steps = np.zeros_like(numbers)
    for i, number in enumerate(numbers.tolist()):
        while number > 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps[i] += 1
    return {"numbers": numbers, "steps": ~steps}, {"steps": steps}


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


def triad(rng: np.random.Generator) -> tuple[Values, Expected]:
    values, expected = of_two(lambda b, c: b + np.float32(0.1) * c, ("b", "c", "a"))(rng)
    return {**values, "q": float(np.float32(0.1))}, expected


def scale_add(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, 2, int(rng.integers(0, 40)))
    return {"x": x, "y": y}, {"y": y + np.float32(2) * x}


def rotate(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, 2, int(rng.integers(0, 40)))
    cosine, sine = rng.standard_normal(2, np.float32)
    made = {"x_out": cosine * x - sine * y, "y_out": sine * x + cosine * y}
    angle = {"cosine": float(cosine), "sine": float(sine)}
    return {**angle, "x": x, "y": y, "x_out": y, "y_out": x}, made


def fixed(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, 2, int(rng.integers(0, 20)))
    return {"x": x, "around": floats(rng, 8, 3), "y": y}, {"y": x}


def gelu(rng: np.random.Generator) -> tuple[Values, Expected]:
    half = floats(rng, int(rng.integers(0, 40))).clip(-9, 9).astype(np.float16)
    x = half.astype(np.float32)
    one, a, b = (np.float32(v) for v in (1, 0.79788456, 0.044715))
    made = np.float32(0.5) * x * (one + np.tanh(a * (x + b * x * x * x)))
    return {"x": half, "out": half * 0}, {"out": made.astype(np.float16)}


def cholesky(rng: np.random.Generator) -> tuple[Values, Expected]:
    n = int(rng.integers(1, 7))
    root = np.tril(rng.random((n, n), np.float32) + np.eye(n, dtype=np.float32))
    a = root @ root.T
    made = a.copy()
    for i in range(n):
        for k in range(i + 1):
            rest = in_order(made[i, k], -made[i, :k] * made[k, :k])[0]
            made[i, k] = np.sqrt(rest) if i == k else rest / made[k, k]
    return {"n": n, "a": a.ravel()}, {"a": made.ravel()}


RECIPES: dict[Key, Recipe] = {
    ("README.md", "Slice"): slice_,
    ("benchmarks/engine_accounting.py", "Collatz"): collatz,
    ("benchmarks/engine_axpy.py", "Axpy"): axpy("a"),
    ("benchmarks/executable.py", "Add"): sum_of_two,
    ("benchmarks/engine_bulk.py", "Add"): sum_of_two,
    ("benchmarks/engine_heat.py", "Diffuse"): diffuse,
    ("benchmarks/engine_matmul.py", "Product"): product(16, 128),
    ("benchmarks/engine_matmul.py", "SquareProduct"): product(32, 32),
    ("benchmarks/engine_reduction.py", "Sum"): sum_("x", "total"),
    ("benchmarks/fidelity_blur.py", "Blur"): blur_of_vectors(4, np.float16),
    ("benchmarks/fidelity_blur.py", "BlurOfOne"): blur_of_vectors(1),
    ("benchmarks/fidelity_blur.py", "BlurOfTwo"): blur_of_vectors(2),
    ("benchmarks/fidelity_heat.py", "AlievPanfilov"): heart,
    ("benchmarks/fidelity_heat.py", "Diffusion"): diffusion,
    ("benchmarks/fidelity_heat.py", "Heat2DPairs"): heat_pairs(2),
    ("benchmarks/fidelity_heat.py", "Heat3D"): heat_3d,
    ("benchmarks/fidelity_heat.py", "Heat3DPairs"): heat_pairs(3),
    ("benchmarks/fidelity_heat.py", "Wave"): wave,
    ("benchmarks/fidelity_loops.py", "AddConstant"): increment,
    ("benchmarks/fidelity_loops.py", "AddInts"): of_two(np.add, ("a", "b", "out"), np.int32),
    ("benchmarks/fidelity_loops.py", "Count"): count_all,
    ("benchmarks/fidelity_loops.py", "Gelu"): gelu,
    ("benchmarks/fidelity_loops.py", "Greater"): of_two(np.maximum, ("a", "b", "out")),
    ("benchmarks/fidelity_loops.py", "TriadOfVectors"): of_two(
        lambda b, c: b + np.float32(3) * c, ("b", "c", "a")
    ),
    ("benchmarks/fidelity_programs.py", "Dot"): dot("a", "b", "out"),
    ("benchmarks/fidelity_programs.py", "Fixed"): fixed,
    ("benchmarks/fidelity_programs.py", "Sum"): sum_("x", "out"),
    ("benchmarks/fidelity_vertices.py", "Cholesky"): cholesky,
    ("benchmarks/fidelity_vertices.py", "Rotate"): rotate,
    ("benchmarks/fidelity_vertices.py", "ScaleAdd"): scale_add,
    ("benchmarks/fidelity_vertices.py", "Triad"): triad,
    ("docs/arithmetic.md", "Invert"): inverse,
    ("docs/arithmetic.md", "Store"): stored,
    ("docs/arithmetic.md", "Total"): total,
    ("docs/costs.md", "Total"): sum_("x", "y"),
    ("docs/guide.md", "Add"): add_one_number,
    ("docs/guide.md", "Axpy"): axpy("factor"),
    ("docs/guide.md", "Grow"): grow,
    ("docs/guide.md", "Halve"): halve,
    ("docs/guide.md", "Settle"): settle,
    ("docs/guide.md", "Total"): sum_("x", "total"),
    ("docs/testing.md", "Axpy"): axpy("a"),
    ("docs/vertices.md", "Attend"): attend,
    ("docs/vertices.md", "Axpy"): axpy("factor"),
    ("docs/vertices.md", "Dot"): dot("a", "b", "y"),
    ("docs/vertices.md", "Double"): doubled,
    ("docs/vertices.md", "Half"): scaled(0.5),
    ("docs/vertices.md", "Invert"): invert,
    ("docs/vertices.md", "Negate"): negate,
    ("docs/vertices.md", "Quantise"): quantise,
    ("docs/vertices.md", "Rows"): nothing,
    ("docs/vertices.md", "Running"): running,
    ("docs/vertices.md", "Scale"): scale,
    ("docs/vertices.md", "Shift"): shift,
    ("docs/vertices.md", "Third"): scaled(1 / 3),
    ("docs/vertices.md", "Total"): totals,
    ("docs/vertices.md", "WeightedSum"): weighted_sum,
    ("examples/bfs.py", "Count"): count(np.uint32),
    ("examples/bfs.py", "Expand"): expand,
    ("examples/bfs.py", "Update"): update,
    ("examples/first_tiles.py", "SuffixSum"): sum_("tail", "total"),
    ("examples/heat.py", "Diffuse"): diffuse,
    ("examples/matvec.py", "Dot"): dot("row", "x", "partial"),
    ("examples/matvec.py", "Sum"): sum_("partials", "y"),
    ("examples/photo.py", "Blur"): blur,
    ("examples/pi.py", "Slice"): slice_,
    ("examples/sort.py", "Count"): count(np.int32),
    ("examples/sort.py", "MergeSplit"): merge_split,
    ("examples/sort.py", "SortBlock"): sort_block,
    ("examples/streams.py", "Add"): add_streams,
    ("examples/streams.py", "Increment"): increment,
    ("vertices/amp.py", "AmpMatMul"): amp,
    ("vertices/counting.py", "CountFrom"): count_from,
    ("vertices/counting.py", "CountOn"): count_on,
    ("vertices/elementwise.py", "Add"): add,
    ("vertices/partials.py", "AddPartials"): add_partials,
    ("vertices/reduce.py", "AllColumns"): columns(np.logical_and),
    ("vertices/reduce.py", "AllRows"): rows(np.logical_and),
    ("vertices/reduce.py", "AnyColumns"): columns(np.logical_or),
    ("vertices/reduce.py", "AnyRows"): rows(np.logical_or),
    ("vertices/reduce.py", "GreatestColumns"): columns(np.maximum),
    ("vertices/reduce.py", "GreatestRows"): rows(np.maximum),
    ("vertices/reduce.py", "LeastColumns"): columns(np.minimum),
    ("vertices/reduce.py", "LeastRows"): rows(np.minimum),
    ("vertices/reduce.py", "ProductColumns"): columns(np.multiply),
    ("vertices/reduce.py", "ProductRows"): rows(np.multiply),
    ("vertices/reduce.py", "SumColumns"): columns(np.add),
    ("vertices/reduce.py", "SumRows"): rows(np.add),
}


INTERPRETED = frozenset({("docs/vertices.md", "Running")})
"""Classes that print, and so cannot be compiled."""


def text_of(path: Path) -> str:
    """Return the Python of a file; of a page, its blocks on the page's own lines."""
    text = path.read_text()
    if path.suffix == ".py":
        return text
    lines = [""] * (text.count("\n") + 1)
    for block in PYTHON_BLOCK.finditer(text):
        first = text[: block.start(1)].count("\n")
        lines[first : first + block[1].count("\n")] = block[1].splitlines()
    return "\n".join(lines) + "\n"


def names_of(path: Path, root: Path) -> dict[str, Any]:
    """Run a file or the blocks of a page; return what it defines."""
    if path.suffix == ".md":
        names: dict[str, Any] = {"__name__": f"both_forms_{path.stem}"}
        exec(compile(text_of(path), str(path), "exec", dont_inherit=True), names)
        return names
    if path.is_relative_to(root / "vertices"):
        module_name = ".".join(("poplite", *path.relative_to(root).with_suffix("").parts))
        return vars(importlib.import_module(module_name.removesuffix(".__init__")))
    name = f"both_forms_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # vertex classes look their module up
    spec.loader.exec_module(module)
    return vars(module)


def class_statements(node: ast.AST) -> Iterator[ast.ClassDef]:
    """Yield the statements that define a class upon one called Vertex; not those tried."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            bases = {ast.unparse(base).split(".")[-1] for base in child.bases}
            if bases & {"Vertex", "MultiVertex"}:
                yield child
        elif not isinstance(child, ast.Try):  # a page shows that a class is refused
            yield from class_statements(child)


def vertex_classes(path: Path, root: Path) -> Iterator[tuple[Key, type[pl.Vertex]]]:
    """Yield the vertex classes that a file or page defines; refuse those it hides."""
    names = names_of(path, root)
    own = [
        value
        for value in names.values()
        if isinstance(value, type)
        and issubclass(value, pl.Vertex)
        and value.__module__ == names["__name__"]
    ]
    file = path.relative_to(root).as_posix()
    hidden = len(list(class_statements(ast.parse(text_of(path))))) - len(own)
    assert hidden <= 0, f"{file} defines {hidden} vertex classes twice or inside functions"
    yield from (((file, value.__name__), value) for value in own)


@pytest.fixture(scope="session")
def classes(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Key, type[pl.Vertex]]:
    """All vertex classes of the repository by file and name."""
    folders = [root / name for name in ("vertices", "examples", "benchmarks")]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            patch.syspath_prepend(folder)  # scripts import each other
        with contextlib.chdir(tmp_path_factory.mktemp("pages")):
            return dict(found for path in (*files, *pages) for found in vertex_classes(path, root))


def run(vertex: type[pl.Vertex], values: Values, *, interpret: bool) -> dict[str, Any]:
    """Run one vertex over these values; return what its writable fields hold."""
    graph = pl.Graph(pl.Target(tiles=2))
    work = graph.add_compute_set("work")
    tensors = {}
    fields = dict(values)
    for field in vertex.fields.values():
        if field.is_edge and not field.is_implicit:
            array = np.asarray(values[field.name])
            element = field.element if field.variable is None else array.dtype
            metadata = METADATA if field.element is pl.QUARTER else None
            tensors[field.name] = graph.add_variable(
                element, array.shape, field.name, mapping=1, initial_value=array, metadata=metadata
            )
            fields[field.name] = tensors[field.name]
    graph.add_vertex(work, vertex, tile=1, **fields)
    engine = pl.Engine(graph, pl.Execute(work), interpret=interpret)
    engine.run()
    return {
        field.name: engine.read(tensors[field.name])
        for field in vertex.fields.values()
        if field.writes
    }


def test_every_vertex_has_a_recipe(classes: dict[Key, type[pl.Vertex]]) -> None:
    assert sorted(classes) == sorted(RECIPES)


@pytest.mark.filterwarnings("ignore::poplite.UnwrittenOutputWarning")  # one of docs/vertices.md
@pytest.mark.parametrize("key", sorted(RECIPES), ids=":".join)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_forms_give_the_same_bits(
    classes: dict[Key, type[pl.Vertex]], key: Key, seed: int
) -> None:
    vertex = classes[key]
    values, expected = RECIPES[key](np.random.default_rng(seed))
    interpreted = run(vertex, values, interpret=True)
    if key in INTERPRETED:
        with pytest.raises(pl.VertexCompileError, match="interpreted form only"):
            run(vertex, values, interpret=False)
        compiled = interpreted
    else:
        compiled = run(vertex, values, interpret=False)
    assert set(expected) == {field.name for field in vertex.fields.values() if field.writes}
    for field, want in expected.items():
        assert compiled[field].tobytes() == interpreted[field].tobytes(), field
        assert compiled[field].tobytes() == want.tobytes(), field


def test_classes_of_one_name_are_both_found(tmp_path: Path) -> None:
    text = "import poplite as pl\n\n\nclass Same(pl.Vertex):\n    pass\n"
    for folder in ("examples", "benchmarks"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.py").write_text(text)
    paths = sorted(tmp_path.rglob("*.py"))
    found = [key for path in paths for key, _ in vertex_classes(path, tmp_path)]
    assert found == [("benchmarks/one.py", "Same"), ("examples/one.py", "Same")]


def test_a_class_defined_twice_is_refused(tmp_path: Path) -> None:
    block = "```python\nimport poplite as pl\n\nclass Same(pl.Vertex):\n    pass\n```\n"
    (tmp_path / "page.md").write_text(f"# Page\n\n{block}\n{block}")
    with pytest.raises(AssertionError, match=r"page\.md defines 1 vertex classes twice"):
        list(vertex_classes(tmp_path / "page.md", tmp_path))
