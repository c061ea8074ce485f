"""Sums of ten million elements against fast-math loops over cores: ratios.

    python benchmarks/ops_sums.py [--samples 9] [--json FILE] [--small]

FLOAT elements on 1,472 tiles. The loops may add in any order; poplite's order is fixed. So that the
sums can be compared in bits, they are of whole numbers, with which no order loses anything.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numba
import numpy as np

from ops_maps import Floats, engine_of, least
from poplite import ops
from rows import SETTLING, Row, in_turn, run


@numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
def sum_of_all(x: Any, out: Any) -> None:
    """The sum of a matrix, row after row."""
    total = np.float32(0)
    for i in numba.prange(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j]
    out[0] = total


@numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
def sums_of_rows(x: Any, out: Any) -> None:
    """The sum of each row."""
    for i in numba.prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total


@numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
def sums_of_columns(x: Any, out: Any) -> None:
    """The sum of each column: each core adds up rows of its own."""
    cores = numba.get_num_threads()
    partials = np.zeros((cores, x.shape[1]), np.float32)
    for core in numba.prange(cores):
        for i in range(core * len(x) // cores, (core + 1) * len(x) // cores):
            for j in range(x.shape[1]):
                partials[core, j] += x[i, j]
    out[:] = partials.sum(0)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    warm_up = 0.0 if small else SETTLING
    shape = (100, 100) if small else (10_000, 1_000)
    x: Floats = np.random.default_rng(7).integers(-2, 3, shape).astype(np.float32)
    made = []
    for what, dims, hand, limit in (
        ("7 sum of 10^7", None, sum_of_all, 1.4),
        ("8 sums of rows, 10^4 x 10^3", 1, sums_of_rows, 1.6),
        ("8 sums of columns, 10^4 x 10^3", 0, sums_of_columns, 1.3),
    ):
        engine, result = engine_of(small, {"x": x}, partial(ops.sum, dims=dims))
        expected = np.atleast_1d(x.sum(dims, dtype=np.float32))
        out = np.empty_like(expected)
        engine.run()
        hand(x, out)
        for found in (np.atleast_1d(engine.read(result)), out):
            if found.tobytes() != expected.tobytes():
                sys.exit(f"{what}: the sums differ")
        ours, theirs = in_turn(engine.run, partial(hand, x, out), samples, warm_up=warm_up)
        name = f"{what}: poplite / fast-math prange"
        made.append(Row(name, least(ours, theirs), "x", "<=", limit, ours, theirs))
    return made


if __name__ == "__main__":
    sys.exit(run(__doc__, rows))
