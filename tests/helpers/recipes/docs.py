"""The vertices of examples/, the README and docs/."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from helpers.recipes.shared import (
    METADATA,
    Expected,
    Recipe,
    Values,
    add_product,
    axpy,
    diffuse,
    dot,
    floats,
    in_order,
    of_two,
    slice_,
    sum_,
)
from helpers.vertices import Key
from poplite.vertices.reduce import rows_reference


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
    values: Values = {"left": left, "right": right, "swapped": ~swapped}
    return values, {"left": merged[:n], "right": merged[n:], "swapped": swapped}


def expand(rng: np.random.Generator) -> tuple[Values, Expected]:
    block = rng.random((int(rng.integers(1, 9)), int(rng.integers(1, 9)))) < 0.3
    rows, columns = np.nonzero(block)
    starts = np.searchsorted(rows, np.arange(len(block) + 1)).astype(np.uint16)
    frontier = rng.random(block.shape[1]) < 0.5
    hit = np.asarray((block & frontier).any(axis=1))
    matrix: Values = {"starts": starts, "columns": columns.astype(np.uint16)}
    return {**matrix, "frontier": frontier, "hit": np.logical_not(hit)}, {"hit": hit}


def total(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 40)))
    y = in_order(np.float32(0.1), x) * np.float32(3)
    return {"x": x, "y": floats(rng, 1)}, {"y": y}


def sum_of_squares(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 40)))
    total = in_order(np.float32(0), x * x)
    values = {"x": x, "squares": floats(rng, len(x)), "total": floats(rng, 1)}
    return values, {"squares": x * x, "total": total}


def dot_in_lanes(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, int(rng.integers(0, 200))), floats(rng, 200)
    y = y[: len(x)]
    products = np.zeros((1, -(-len(x) // 64) * 64 + 64), np.float32)
    products[0, 64 : 64 + len(x)] = x * y
    return {"x": x, "y": y, "out": floats(rng, 1)}, {"out": rows_reference(np.add, products)}


def weighted_sum(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, weights = floats(rng, 3, int(rng.integers(1, 9))), floats(rng, 3)
    y = in_order(np.float32(0), (weights[:, np.newaxis] * rows).reshape(-1))
    return {"rows": rows, "weights": weights, "y": floats(rng, 1)}, {"y": y}


def doubled(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 40))).clip(-3e4, 3e4).astype(np.float16)
    return {"x": x, "y": x[::-1].copy()}, {"y": x + x}


def doubled_in_place(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 40)))
    return {"x": x}, {"x": x + x}


def times_factor(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, factor = floats(rng, int(rng.integers(0, 40))), floats(rng, 1)[0]
    return {"x": x, "factor": factor}, {"x": factor * x}


def settle(rng: np.random.Generator) -> tuple[Values, Expected]:
    goal, x = floats(rng, 1)[0], floats(rng, 1)
    return {"goal": float(goal), "x": x}, {"x": (x + goal) / np.float32(2)}


def add_one_number(rng: np.random.Generator) -> tuple[Values, Expected]:
    by, x = (rng.integers(0, 2**32, n, np.uint32) for n in (1, int(rng.integers(0, 40))))
    return {"by": by, "x": x}, {"x": x + by}


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


def copied(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 20)))
    return {"x": x, "y": x * 0}, {"y": x}


def end(position: int) -> Recipe:
    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        x, factor = floats(rng, int(rng.integers(1, 20))), floats(rng, 1)[0]
        return {"x": x, "y": np.float32(0), "factor": factor}, {"y": x[position] * factor}

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


def inverse(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, 1)
    with np.errstate(divide="ignore"):
        return {"x": x}, {"x": np.float32(1) / x}


def stored(rng: np.random.Generator) -> tuple[Values, Expected]:
    y = np.zeros(int(rng.integers(0, 20)), np.float16)
    return {"y": y}, {"y": y + np.float16(2050)}


def shift(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, times = floats(rng, int(rng.integers(0, 20))), int(rng.integers(0, 5))
    y = x
    for _ in range(times):
        y = y + np.float32(1)
    return {"x": x, "times": times}, {"x": y}


def shortened(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(0, 40)))
    y = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return {"x": x, "y": floats(rng, len(x))}, {"y": y}


def scale_rows(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, columns = (int(v) for v in rng.integers(1, 6, 2))
    x, b = floats(rng, rows, columns), floats(rng, columns)
    y = (x - b) * np.float32(0.5) + np.float32(1)
    return {"x": x.ravel(), "b": b, "y": floats(rng, x.size)}, {"y": y.ravel()}


def midpoint(rng: np.random.Generator) -> tuple[Values, Expected]:
    first, step = int(rng.integers(-9, 9)), np.float32(rng.uniform())
    values = {"first": first, "step": step, "partial": np.float32(0)}
    return values, {"partial": np.asarray(np.float32(first + 0.5) * step)}


def times_factor_to(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, factor = floats(rng, int(rng.integers(0, 40))), floats(rng, 1)[0]
    return {"x": x, "y": x * 0, "factor": factor}, {"y": factor * x}


def mean_of_neighbours(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = (int(v) for v in rng.integers(1, 9, 2))
    u = floats(rng, rows + 2, cols + 2)
    columns = u[1:-1, :-2] + u[1:-1, 2:]
    mean = (columns + u[:-2, 1:-1] + u[2:, 1:-1]) / np.float32(4)
    return {"around": u, "own": floats(rng, rows, cols)}, {"own": mean}


def pushed(rng: np.random.Generator) -> tuple[Values, Expected]:
    ring, value = floats(rng, int(rng.integers(1, 20))), floats(rng, 1)
    oldest = rng.integers(0, len(ring), 1, np.uint32)
    after = ring.copy()
    after[oldest] = value
    mean = in_order(np.float32(0), after) / np.float32(len(ring))
    values = {"value": value, "ring": ring, "oldest": oldest, "mean": floats(rng, 1)}
    last = ((oldest + 1) % len(ring)).astype(np.uint32)
    return values, {"ring": after, "oldest": last, "mean": mean}


def looked_up(rng: np.random.Generator) -> tuple[Values, Expected]:
    table, x = floats(rng, 256), rng.integers(0, 256, int(rng.integers(0, 40)), np.uint8)
    return {"table": table, "x": x, "y": floats(rng, len(x))}, {"y": table[x]}


def taps_added(rng: np.random.Generator) -> tuple[Values, Expected]:
    taps, y = floats(rng, 2, int(rng.integers(0, 40)))
    return {"taps": taps, "y": y}, {"y": y + taps}


def added_up(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, total = floats(rng, int(rng.integers(0, 40))), floats(rng, 1)
    return {"x": x, "total": total}, {"total": in_order(total[0], x)}


def smoothed(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(2, 40)))
    y = (x[:-2] + x[1:-1] + x[2:]) / np.float32(3)
    return {"x": x, "y": floats(rng, len(y))}, {"y": y}


RECIPES: dict[Key, Recipe] = {
    ("README.md", "Slice"): slice_,
    ("docs/arithmetic.md", "Invert"): inverse,
    ("docs/arithmetic.md", "Store"): stored,
    ("docs/arithmetic.md", "Total"): total,
    ("docs/cookbook.md", "AddTaps"): taps_added,
    ("docs/cookbook.md", "AddUp"): added_up,
    ("docs/cookbook.md", "Diffuse"): mean_of_neighbours,
    ("docs/cookbook.md", "Lookup"): looked_up,
    ("docs/cookbook.md", "Push"): pushed,
    ("docs/cookbook.md", "Scale"): times_factor_to,
    ("docs/costs.md", "Shift"): copied,
    ("docs/costs.md", "Total"): sum_("x", "y"),
    ("docs/description.md", "Scale"): times_factor,
    ("docs/errors.md", "Double"): doubled_in_place,
    ("docs/guide.md", "Add"): add_one_number,
    ("docs/guide.md", "Axpy"): axpy("factor"),
    ("docs/guide.md", "Grow"): grow,
    ("docs/guide.md", "Halve"): halve,
    ("docs/guide.md", "Settle"): settle,
    ("docs/guide.md", "Total"): sum_("x", "total"),
    ("docs/index.md", "Scale"): times_factor,
    ("docs/ipu.md", "Axpy"): axpy("factor"),
    ("docs/ipu.md", "Double"): doubled_in_place,
    ("docs/ipu.md", "Midpoint"): midpoint,
    ("docs/operations.md", "Diffuse"): diffuse,
    ("docs/operations.md", "Dot"): dot("row", "x", "partial"),
    ("docs/operations.md", "Scale"): scale_rows,
    ("docs/start.md", "Smooth"): smoothed,
    ("docs/testing.md", "Axpy"): axpy("a"),
    ("docs/testing.md", "SumOfSquares"): sum_of_squares,
    ("docs/vertices.md", "AddProduct"): add_product,
    ("docs/vertices.md", "Attend"): attend,
    ("docs/vertices.md", "Axpy"): axpy("factor"),
    ("docs/vertices.md", "Dot"): dot("a", "b", "y"),
    ("docs/vertices.md", "DotInLanes"): dot_in_lanes,
    ("docs/vertices.md", "Double"): doubled,
    ("docs/vertices.md", "First"): end(0),
    ("docs/vertices.md", "Half"): scaled(0.5),
    ("docs/vertices.md", "Invert"): invert,
    ("docs/vertices.md", "Last"): end(-1),
    ("docs/vertices.md", "Negate"): negate,
    ("docs/vertices.md", "Quantise"): quantise,
    ("docs/vertices.md", "Rows"): nothing,
    ("docs/vertices.md", "Running"): running,
    ("docs/vertices.md", "Scale"): scale,
    ("docs/vertices.md", "Shift"): shift,
    ("docs/vertices.md", "Shortened"): shortened,
    ("docs/vertices.md", "Third"): scaled(1 / 3),
    ("docs/vertices.md", "Total"): totals,
    ("docs/vertices.md", "WeightedSum"): weighted_sum,
    ("examples/bfs.py", "Expand"): expand,
    ("examples/first_tiles.py", "SuffixSum"): sum_("tail", "total"),
    ("examples/heat.py", "Diffuse"): diffuse,
    ("examples/matvec.py", "Dot"): dot("row", "x", "partial"),
    ("examples/matvec.py", "Sum"): sum_("partials", "y"),
    ("examples/photo.py", "Blur"): blur,
    ("examples/pi.py", "Slice"): slice_,
    ("examples/sort.py", "MergeSplit"): merge_split,
    ("examples/sort.py", "SortBlock"): sort_block,
    ("examples/streams.py", "Add"): of_two(np.add, ("x", "y", "z")),
}
