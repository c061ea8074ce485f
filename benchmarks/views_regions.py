"""Runs of consecutive elements: listed, counted and streamed, against NumPy on index arrays.

    python benchmarks/views_regions.py [--samples 9] [--json FILE] [--small]

NumPy gathers the indices that a view reads and encodes them as runs.  What a concatenation keeps
from its first query (`poplite.view.contiguous_runs`) is there before the samples, as
NumPy's index array is.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

import poplite as pl
from poplite.arrays.intervals import Int64
from poplite.view import View, chunks, num_runs, runs
from rows import Row, in_turn, run

VARIABLES = 1472
COUNTS = 1000
"""Calls in one sample of a count, which takes about a microsecond."""


def variable(*shape: int) -> pl.Tensor:
    """Return a tensor whose element i has address i."""
    return pl.Graph().add_variable(pl.FLOAT, shape)


def encode(addresses: Int64) -> tuple[Int64, Int64]:
    """Return begins and lengths of the runs of an index array."""
    flat = addresses.reshape(-1)
    starts = np.empty(flat.size, np.bool_)
    starts[0] = True
    np.not_equal(flat[1:], flat[:-1] + 1, out=starts[1:])
    first = np.flatnonzero(starts)
    return flat[first], np.diff(first, append=flat.size)


def against_numpy(
    name: str, target: float, view: View, gather: Callable[[], Int64], samples: int
) -> Row:
    """Compare the runs of a view with those of the addresses that `gather` returns."""
    for ours, theirs in zip(runs(view), encode(gather()), strict=True):
        if (ours != theirs).any():
            sys.exit(f"{name}: the runs differ")
    times = in_turn(lambda: runs(view), lambda: encode(gather()), samples)
    speedup = min(times[1]) / min(times[0])
    return Row(f"{name}: NumPy / poplite", speedup, "x", ">=", target, *times)


def transposed_rows(small: bool, samples: int) -> list[Row]:
    """T4: a flattened transposed matrix."""
    n = 256 if small else 4096
    view = variable(n, n).T.flatten().view
    index = np.arange(n * n).reshape(n, n)
    times = in_turn(lambda: runs(view), lambda: np.arange(n * n), samples)
    name = f"T4 {n}^2 transposed: poplite / np.arange"
    return [
        Row(name, min(times[0]) / min(times[1]), "x", "<=", 2.0, *times),
        against_numpy(f"T4 {n}^2 transposed", 10.0, view, lambda: index.T.reshape(-1), samples),
    ]


def windows_row(small: bool, samples: int) -> Row:
    """T5: the windows of a 3x3 convolution, channels innermost."""
    batch, side, channels = (2, 8, 4) if small else (32, 56, 64)
    x = variable(batch, side, side, channels)
    out = side - 2
    columns = [x.slice(i, i + out, 2).expand([3]) for i in range(3)]
    wide = pl.concat(columns, 3)
    view = pl.concat([wide.slice(i, i + out, 1).expand([3]) for i in range(3)], 3).flatten().view
    index = np.arange(x.num_elements).reshape(x.shape)
    windows = np.lib.stride_tricks.sliding_window_view(index, (3, 3), (1, 2))
    windows = windows.transpose(0, 1, 2, 4, 5, 3)
    return against_numpy("T5 im2col 3x3", 80.0, view, lambda: windows.reshape(-1), samples)


def concatenated_row(small: bool, samples: int) -> Row:
    """T6: many variables side by side."""
    shape = (4, 8) if small else (64, 128)
    graph = pl.Graph()
    tensors = [graph.add_variable(pl.FLOAT, shape) for _ in range(VARIABLES)]
    view = pl.concat(tensors, 1).flatten().view
    size = shape[0] * shape[1]
    # Variables are one element apart.
    parts = [np.arange(size).reshape(shape) + k * (size + 1) for k in range(VARIABLES)]
    name = f"T6 {VARIABLES:,} variables side by side"
    return against_numpy(name, 50.0, view, lambda: np.concatenate(parts, 1), samples)


def slices_rows(small: bool, samples: int) -> list[Row]:
    """T6: shuffled slices, in order and as a transposed matrix."""
    n = 128 if small else 4096
    count = n * n // 16
    order = np.random.default_rng(1).permutation(count)
    begins = order * 16
    joined = pl.concat(variable(n * n).slices(np.stack([begins, begins + 16], 1)))
    index = np.arange(n * n).reshape(count, 16)
    shuffled = index[order].reshape(n, n)
    name = f"T6 {count:,} shuffled slices"
    return [
        against_numpy(name, 5.0, joined.view, lambda: index[order], samples),
        against_numpy(
            f"{name}, transposed",
            4.0,
            joined.reshape((n, n)).T.flatten().view,
            lambda: shuffled.T.reshape(-1),
            samples,
        ),
    ]


def count_row(small: bool, samples: int) -> Row:
    """T7: the count alone, against listing a view of 2^20 elements."""
    n = 2**8 if small else 2**15
    view = variable(n, n).T.view
    listed = variable(2**10, 2**10).T.view
    if num_runs(listed) != len(runs(listed)[0]) or num_runs(view) != n * n:
        sys.exit("T7: the count differs from the list")

    def count() -> None:
        for _ in range(COUNTS):
            num_runs(view)

    times = in_turn(count, lambda: runs(listed), samples)
    ours = [seconds / COUNTS for seconds in times[0]]
    name = f"T7 count runs of {n * n:,} elements; listing 2^20"
    return Row(name, 1e6 * min(ours), "us", "<=", 5.0, ours, times[1])


def stream_rows(small: bool, samples: int) -> list[Row]:
    """T8: more runs than fit, in parts."""
    n = 2**11 if small else 2**15
    view = variable(n, n).T.view

    def stream() -> None:
        if sum([len(begin) for begin, _ in chunks(view)]) != n * n:
            sys.exit("T8: runs are missing")

    def in_parts() -> None:
        for _ in range(0, n * n, 2**20):
            np.arange(2**20)

    times = in_turn(stream, in_parts, min(samples, 3))
    name = f"T8 stream {n * n:,} runs; np.arange in parts"
    tracemalloc.start()
    start = time.perf_counter()
    stream()
    traced = [time.perf_counter() - start]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return [
        Row(name, 1e9 * min(times[0]) / (n * n), "ns/run", "<=", 2.0, *times),
        Row("T8 memory of that", peak / 2**20, "MiB", "<=", 64.0, traced, times[1]),
    ]


def rows(small: bool, samples: int) -> list[Row]:
    """Return all rows."""
    return [
        *transposed_rows(small, samples),
        windows_row(small, samples),
        concatenated_row(small, samples),
        *slices_rows(small, samples),
        count_row(small, samples),
        *stream_rows(small, samples),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
