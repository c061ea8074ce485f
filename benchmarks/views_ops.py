"""View operations of a tensor against NumPy's, tinygrad's, and themselves on larger tensors.

    python benchmarks/views_ops.py [--samples 9] [--json FILE] [--small]

Everything goes through the public tensor, which checks its arguments, but for the chain against
tinygrad's ShapeTracker, which is a view as ours is.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import poplite as pl
from poplite.view import View, addresses
from rows import Row, in_turn, run

Op = Callable[[Any], object]

OPS: dict[str, tuple[Op, Op]] = {
    "t.slice(10, 20, 1)": (lambda t: t.slice(10, 20, 1), lambda a: a[:, 10:20]),
    "t[:, 10:20]": (lambda t: t[:, 10:20], lambda a: a[:, 10:20]),
    "dim_shuffle": (lambda t: t.dim_shuffle((1, 0)), lambda a: a.transpose((1, 0))),
    "reverse": (lambda t: t.reverse(1), lambda a: a[:, ::-1]),
    "sub_sample": (lambda t: t.sub_sample(2, 1), lambda a: a[:, ::2]),
    "t[5]": (lambda t: t[5], lambda a: a[5]),
}
"""What has a counterpart in NumPy: on the tensor, and on an array."""

OTHERS: dict[str, Op] = {
    "flatten": lambda t: t.flatten(),
    "broadcast": lambda t: t.broadcast(3, 1),
    "upsample": lambda t: t.upsample(3, 1),
    "expand": lambda t: t.expand([0]),
    "dim_roll": lambda t: t.dim_roll(1),
    "reshape_partial": lambda t: t.reshape_partial(1, 2, [2, t.shape[1] // 2]),
    "T.flatten": lambda t: t.T.flatten(),
}

SLOWEST: dict[str, Op] = {
    "slice across two digits": lambda t: t.slice(7, 1005, 0),
    "reshape across digits": lambda t: t.reshape((1001, 1000)),
}
"""On a transposed and flattened tensor: what has to be cut in two, and what needs a layer.

A slice across three digits is a concatenation of up to five pieces, which the target sets aside.
"""

BATCH, REPEATS = 50, 40
"""Calls in one sample, and samples for each that is asked for: short, so that some are left in
peace by whatever else the machine does."""


def batch(op: Op, argument: object, calls: int) -> Callable[[], None]:
    """Return a function that calls an operation many times."""

    def work() -> None:
        for _ in range(calls):
            op(argument)

    return work


def worst(name: str, target: float, rows: list[tuple[str, list[float], list[float]]]) -> Row:
    """Return the row of the operation with the largest ratio."""
    op, ours, baseline = max(rows, key=lambda row: min(row[1]) / min(row[2]))
    value = min(ours) / min(baseline)
    return Row(f"{name}: {op}", value, "x", "<=", target, ours, baseline)


def sizes(small: bool, samples: int) -> list[Row]:
    """T1: latency does not depend on the number of elements, and little on pieces."""
    calls, samples = (2, samples) if small else (BATCH, samples * REPEATS)
    graph = pl.Graph()
    few = graph.add_variable(pl.FLOAT, (25, 40))
    many = graph.add_variable(pl.FLOAT, (25_000, 40_000))
    pieces = pl.concat([graph.add_variable(pl.FLOAT, (40, 40)) for _ in range(1472)])
    single = graph.add_variable(pl.FLOAT, pieces.shape)
    ops = {**{name: op for name, (op, _) in OPS.items()}, **OTHERS}

    def compared(a: pl.Tensor, b: pl.Tensor) -> list[tuple[str, list[float], list[float]]]:
        return [
            (name, *in_turn(batch(op, a, calls), batch(op, b, calls), samples))
            for name, op in ops.items()
        ]

    return [
        worst("T1 op on 10^9 / on 10^3 elements", 1.25, compared(many, few)),
        worst("T1 op on 1,472 pieces / on one variable", 2.5, compared(pieces, single)),
    ]


def numpy_ops(small: bool, samples: int) -> list[Row]:
    """T2: each operation against NumPy's, and the slowest of all."""
    calls, samples = (2, samples) if small else (BATCH, samples * REPEATS)
    t = pl.Graph().add_variable(pl.FLOAT, (1001, 1000))
    array = np.empty(t.shape, np.float32)
    found = []
    for name, (op, numpy_op) in OPS.items():
        ours, baseline = in_turn(batch(op, t, calls), batch(numpy_op, array, calls), samples)
        ratio = min(ours) / min(baseline)
        found.append(Row(f"T2 {name} / NumPy", ratio, "x", "<=", 12, ours, baseline))
    flat = t.T.flatten()
    times = []
    for ops, tensor in ((OTHERS, t), (SLOWEST, flat)):
        for name, op in ops.items():
            ours, nothing = in_turn(batch(op, tensor, calls), batch(id, tensor, calls), samples)
            times.append((min(ours) / calls * 1e6, name, ours, nothing))
    slowest, name, ours, nothing = max(times)
    return [*found, Row(f"T2 slowest op: {name}", slowest, "us", "<=", 10, ours, nothing)]


def chain(v: View) -> View:
    """Apply eleven operations of all kinds."""
    v = v.slice(128, 896, 0).reverse(1).dim_shuffle((1, 0)).slice(10, 522, 0)
    v = v.broadcast(2, 0).dim_shuffle((1, 0)).upsample(3, 1).reverse(0)
    return v.reshape((768 * 3072,)).slice(3072, 500 * 3072, 0).reshape((499, 512, 6))


def tracker_chain(shape: tuple[int, ...], tracker: Any) -> Any:
    """Apply the same to a ShapeTracker, which repeats as tinygrad's `Tensor.repeat` does."""
    s = tracker.from_shape(shape)
    s = s.shrink(((128, 896), (0, 768))).flip((False, True)).permute((1, 0))
    s = s.shrink(((10, 522), (0, 768)))
    s = s.reshape((1, 512, 768)).expand((2, 512, 768)).reshape((1024, 768)).permute((1, 0))
    s = s.reshape((768, 1024, 1)).expand((768, 1024, 3)).reshape((768, 3072)).flip((True, False))
    s = s.reshape((768 * 3072,)).shrink(((3072, 500 * 3072),))
    return s.reshape((499, 512, 6))


def tracked(tracker: Any) -> np.ndarray[Any, Any]:
    """Return the address of every element that a ShapeTracker shows."""
    index = np.arange(tracker.views[-1].size())
    for view in reversed(tracker.views):
        digits = np.unravel_index(index, view.shape)
        index = view.offset + sum(d * s for d, s in zip(digits, view.strides, strict=True))
    return np.asarray(index)


def tinygrad_chain(small: bool, samples: int) -> Row:
    """T3: a chain of operations on a view against a ShapeTracker that has not seen it before."""
    name = "T3 ShapeTracker, caches cleared / chain of 11 ops"
    try:
        trackers = import_module("tinygrad.shape.shapetracker")
    except ImportError:  # not installed, or a later version, which has none
        return Row.skipped(name)
    view = import_module("tinygrad.shape.view")
    scopes = (vars(trackers), vars(view), vars(view.View))
    caches = [f for scope in scopes for f in scope.values() if hasattr(f, "cache_clear")]
    start = pl.Graph().add_variable(pl.FLOAT, (1024, 768)).view
    theirs = tracker_chain(start.shape, trackers.ShapeTracker)
    if (tracked(theirs) != addresses(chain(start)).reshape(-1)).any():
        sys.exit("the two chains show different elements")

    def cold() -> None:
        tracker_chain(start.shape, trackers.ShapeTracker)

    def cleared() -> None:
        for cached in caches:
            cached.cache_clear()

    ours, baseline = in_turn(lambda: chain(start), cold, samples * REPEATS, before=cleared)
    return Row(name, min(baseline) / min(ours), "x", ">=", 5, ours, baseline)


def memory(small: bool, samples: int) -> Row:
    """T16: bytes that a slice of a matrix keeps, with its tuples and numbers."""
    rows, columns = (10, 10) if small else (300, 300)
    t = pl.Graph().add_variable(pl.FLOAT, (4096, 4096))

    def part(k: int) -> pl.Tensor:
        i, j = divmod(k, columns)
        return t[300 + i : 700 + 2 * i, 300 + j : 700 + 2 * j]

    # The list itself does not count, nor the cached line.
    kept = [part(0)] * (rows * columns)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for k in range(rows * columns):
        kept[k] = part(k)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    value = round((after - before) / len(kept), 1)  # the loop has a few numbers of its own
    return Row("T16 a slice of a matrix, all it keeps", value, "bytes", "<=", 280, [0.0], [0.0])


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [
        *sizes(small, samples),
        *numpy_ops(small, samples),
        tinygrad_chain(small, samples),
        memory(small, samples),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
