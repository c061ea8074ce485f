"""Aliases and intersections: against NumPy counting or comparing elements, and against islpy.

    python benchmarks/views_aliases.py [--samples 9] [--json FILE] [--small]

NumPy and islpy are handed the index array or the map of the view, made before the samples.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module

import numpy as np

import poplite as pl
from poplite.arrays.intervals import Int64
from poplite.view import View, contains_aliases, intersects
from rows import Row, in_turn, run, seconds

CALLS = 1000
"""Calls in one sample of a query that takes about a microsecond."""

ELEMENTS_PER_SLICE = 16


def variable(*shape: int) -> pl.Tensor:
    """Return a tensor whose element i has address i."""
    return pl.Graph().add_variable(pl.FLOAT, shape)


def check(name: str, ours: bool, theirs: bool) -> None:
    """Stop when the two sides differ."""
    if ours != theirs:
        sys.exit(f"{name}: poplite says {ours}, the baseline {theirs}")


def per_call(query: Callable[[], object]) -> Callable[[], None]:
    """Return work that makes a sample of many calls."""

    def work() -> None:
        for _ in range(CALLS):
            query()

    return work


def counted(addresses: Int64) -> bool:
    """Return whether an address occurs twice, as a NumPy user would."""
    return bool((np.bincount(addresses) > 1).any())


def strided_rows(small: bool, samples: int) -> list[Row]:
    """T9: a transposed matrix, against counting its elements and against islpy."""
    n = 64 if small else 4096
    view = variable(n, n).T.flatten().view
    addresses = np.ascontiguousarray(np.arange(n * n).reshape(n, n).T).reshape(-1)
    name = f"T9 aliases of {n} x {n} transposed"
    check(name, contains_aliases(view), counted(addresses))
    work = per_call(lambda: contains_aliases(view))
    ours, theirs = in_turn(work, lambda: counted(addresses), samples)
    ours = [sample / CALLS for sample in ours]
    speedup = min(theirs) / min(ours)
    rows = [Row(f"{name}: bincount / poplite", speedup, "x", ">=", 10_000, ours, theirs)]
    name = f"{name}: islpy / poplite"
    try:
        islpy = import_module("islpy")
    except ImportError:
        return [*rows, Row.skipped(name)]
    indexing = islpy.Map(f"{{ [j, i] -> [{n} * i + j] : 0 <= i, j < {n} }}")
    check(name, contains_aliases(view), not indexing.is_injective())
    ours, theirs = in_turn(work, per_call(indexing.is_injective), samples)
    ours, theirs = ([sample / CALLS for sample in side] for side in (ours, theirs))
    return [*rows, Row(name, min(theirs) / min(ours), "x", ">=", 10, ours, theirs)]


def hard_row(small: bool, samples: int) -> Row:
    """T10: the pair that the manual of `numpy.shares_memory` warns of."""
    n = 49 if small else 1049
    addresses = 192_163_377
    memory = np.zeros(addresses, np.int8)
    space = variable(addresses).view.space
    instance = (
        (0, (n, n, n), (36674, 61119, 85569)),
        (64_023_025, (n, n, 1), (12223, 12224, 1)),
    )
    one, other = (
        np.lib.stride_tricks.as_strided(memory[at:], shape, strides)
        for at, shape, strides in instance
    )
    a, b = (View(shape, strides, at, space) for at, shape, strides in instance)
    name = "T10 hard pair of the NumPy manual"
    check(name, intersects(a, b), np.shares_memory(one, other))
    ours = [seconds(lambda: intersects(a, b)) for _ in range(samples)]
    # Seconds each: once more is enough.
    theirs = [seconds(lambda: np.shares_memory(one, other))]
    speedup = min(theirs) / min(ours)
    return Row(f"{name}: np.shares_memory / poplite", speedup, "x", ">=", 20, ours, theirs)


def slices_rows(small: bool, samples: int) -> list[Row]:
    """T11: slices in an order that no stride describes, first query and later ones."""
    number = 2**10 if small else 2**20
    begin = np.random.default_rng(1).permutation(number) * ELEMENTS_PER_SLICE
    bounds = np.stack([begin, begin + ELEMENTS_PER_SLICE], axis=1)
    base = variable(number * ELEMENTS_PER_SLICE)
    addresses = (begin[:, None] + np.arange(ELEMENTS_PER_SLICE)).reshape(-1)
    pieces = base.slices(bounds, 0)
    name = f"T11 aliases of {number:,} shuffled slices"
    check(name, contains_aliases(pl.concat(pieces).view), counted(addresses))
    cold, counts = [], []
    for _ in range(samples):
        view = pl.concat(pieces).view
        cold.append(seconds(partial(contains_aliases, view)))
        counts.append(seconds(lambda: counted(addresses)))
    speedup = min(counts) / min(cold)
    work = per_call(lambda: contains_aliases(view))
    warm = [seconds(work) / CALLS for _ in range(samples)]
    return [
        Row(f"{name}, cold: bincount / poplite", speedup, "x", ">=", 1.5, cold, counts),
        Row(f"{name}, warm", 1e6 * min(warm), "us", "<=", 5, warm, counts),
    ]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [
        *strided_rows(small, samples),
        hard_row(small, samples),
        *slices_rows(small, samples),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
