"""Copies: 64 MiB at once against NumPy, and 262,144 pieces against prange over the pieces.

    python benchmarks/engine_copies.py [--samples 9] [--json FILE] [--small]

The pieces lie in order but at uneven distances, so that no stride describes them; they are
packed into one variable.
"""

from __future__ import annotations

import sys
from typing import Any

import numba
import numpy as np

import poplite as pl
from rows import SETTLING, Row, check, in_turn, run

TILES = 1472


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def copy_segments(destination: Any, source: Any, to: Any, start: Any, length: int) -> None:
    """What a Numba user writes; unsigned positions, as signed ones would be tested for a wrap."""
    for piece in numba.prange(len(to)):
        here, there = to[piece], start[piece]
        for i in range(length):
            destination[here + i] = source[there + i]


def whole_row(small: bool, samples: int) -> Row:
    """One variable to another."""
    mebibytes = 1 if small else 64
    values = np.random.default_rng(1).random(mebibytes << 18, np.float32)
    graph = pl.Graph(pl.Target(tiles=TILES))
    a = graph.add_variable(pl.FLOAT, values.shape, "a", mapping="linear", initial_value=values)
    b = graph.add_variable(pl.FLOAT, values.shape, "b", mapping="linear")
    engine = pl.Engine(graph, pl.Copy(a, b))
    copied = np.zeros_like(values)
    engine.run()
    np.copyto(copied, values)
    name = f"R12 Copy of {mebibytes} MiB"
    check(name, engine.read(b), copied)
    ours, theirs = in_turn(
        engine.run, lambda: np.copyto(copied, values), samples, warm_up=0.0 if small else SETTLING
    )
    title = f"{name}: poplite / np.copyto"
    return Row(title, min(ours) / min(theirs), "x", "<=", 1.1, ours, theirs)


def segments_row(small: bool, samples: int) -> Row:
    """Pieces of 16 elements, packed."""
    pieces, length = (256 if small else 262_144), 16
    rng = np.random.default_rng(1)
    start = np.cumsum(length + rng.integers(1, 9, pieces)) - length
    values = rng.random(int(start[-1]) + length, np.float32)
    graph = pl.Graph(pl.Target(tiles=TILES))
    a = graph.add_variable(pl.FLOAT, values.shape, "a", mapping="linear", initial_value=values)
    b = graph.add_variable(pl.FLOAT, (pieces * length,), "b", mapping="linear")
    source = pl.concat(a.slices(np.stack([start, start + length], axis=1), 0))
    engine = pl.Engine(graph, pl.Copy(source, b))
    copied = np.zeros(pieces * length, np.float32)
    to = np.arange(0, pieces * length, length, dtype=np.uint32)
    positions = (copied, values, to, start.astype(np.uint32), length)
    engine.run()
    copy_segments(*positions)
    name = f"R13 Copy of {pieces:,} pieces of {length}"
    check(name, engine.read(b), copied)
    ours, theirs = in_turn(
        engine.run, lambda: copy_segments(*positions), samples, warm_up=0.0 if small else SETTLING
    )
    title = f"{name}: poplite / prange"
    return Row(title, min(ours) / min(theirs), "x", "<=", 1.3, ours, theirs)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [whole_row(small, samples), segments_row(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
