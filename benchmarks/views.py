"""Views: operations, regions, aliases, sorted regions and tile mappings against NumPy and others.

    python benchmarks/views.py [--samples 9] [--json FILE] [--small]

Some rows compare with islpy, portion, bioframe, ncls or tinygrad 0.10.3; each says so and is
skipped where that is not installed.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.arrays.intervals import Int64, intersection, union
from poplite.graph import Graph
from poplite.graph.partitioners import map_linearly
from poplite.graph.variable_mapping import VariableMapping
from poplite.machine.target import Target
from poplite.view import View, addresses, chunks, contains_aliases, intersects, num_runs, runs
from rows import Row, in_turn, run, seconds

# -- operations ------------------------------------------------------------------------------------
# Everything goes through the public tensor, which checks its arguments, but for the chain against
# tinygrad's ShapeTracker, which is a view as ours is.


Op = Callable[[Any], object]

OPS: dict[str, tuple[Op, Op]] = {
    "t.slice(10, 20, 1)": (lambda t: t.slice(10, 20, 1), lambda a: a[:, 10:20]),
    "t[:, 10:20]": (lambda t: t[:, 10:20], lambda a: a[:, 10:20]),
    "dim_shuffle": (lambda t: t.dim_shuffle((1, 0)), lambda a: a.transpose((1, 0))),
    "reverse": (lambda t: t.reverse(1), lambda a: a[:, ::-1]),
    "sub_sample": (lambda t: t.sub_sample(2, 1), lambda a: a[:, ::2]),
    "t[5]": (lambda t: t[5], lambda a: a[5]),
}
"""Operations with a counterpart in NumPy: on the tensor, and on an array."""

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
"""Operations on a transposed and flattened tensor that must split a dimension or add a layer.
A slice across three digits is a concatenation of up to five pieces, which the target sets aside.
"""

BATCH, REPEATS = 50, 40
"""Calls per sample, and samples for each one requested: short, so that some are not disturbed by
other processes."""


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


def rows_of_operations(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [
        *sizes(small, samples),
        *numpy_ops(small, samples),
        tinygrad_chain(small, samples),
        memory(small, samples),
    ]


# -- regions ---------------------------------------------------------------------------------------
# NumPy gathers the indices that a view reads and encodes them as runs.  What a concatenation
# keeps from its first query (`poplite.view.concatenation_leaves`) is there before the samples, as
# NumPy's index array is.


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


def rows_of_regions(small: bool, samples: int) -> list[Row]:
    """Return all rows."""
    return [
        *transposed_rows(small, samples),
        windows_row(small, samples),
        concatenated_row(small, samples),
        *slices_rows(small, samples),
        count_row(small, samples),
        *stream_rows(small, samples),
    ]


# -- aliases ---------------------------------------------------------------------------------------
# NumPy and islpy are handed the index array or the map of the view, made before the samples.


CALLS = 1000
"""Calls in one sample of a query that takes about a microsecond."""

ELEMENTS_PER_SLICE = 16


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


def rows_of_shared_slices(small: bool, samples: int) -> list[Row]:
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


def rows_of_aliases(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [
        *strided_rows(small, samples),
        hard_row(small, samples),
        *rows_of_shared_slices(small, samples),
    ]


# -- sorted regions --------------------------------------------------------------------------------
# The tensor is a matrix, transposed; the baselines sort its addresses with NumPy, and for the
# rows by tile start from the addresses and positions of each tile, already apart.


TILES = 1472


def matrix(small: bool) -> tuple[pl.Graph, pl.Tensor, npt.NDArray[np.int64]]:
    """Return a transposed matrix spread over all tiles, and its addresses."""
    n = 64 if small else 4096
    graph = pl.Graph(pl.Target(tiles=TILES))
    x = graph.add_variable(pl.FLOAT, (n, n), "x", mapping="linear")
    return graph, x.T, np.ascontiguousarray(np.arange(n * n).reshape(n, n).T).reshape(-1)


def whole_row(small: bool, samples: int) -> Row:
    """The whole tensor against argsort."""
    graph, tensor, addresses = matrix(small)
    groups = graph.sorted_contiguous_regions(tensor)
    if len(groups) != 1 or (groups.begin != np.argsort(addresses)).any():
        sys.exit("sorted regions differ from argsort")
    ours, baseline = in_turn(
        lambda: graph.sorted_contiguous_regions(tensor),
        lambda: np.argsort(addresses, kind="stable"),
        samples,
    )
    name = f"T13 sorted regions, {len(addresses):,} transposed: argsort / poplite"
    return Row(name, min(baseline) / min(ours), "x", ">=", 20.0, ours, baseline)


def tiles_row(small: bool, samples: int) -> Row:
    """Every tile's groups against an argsort of every tile."""
    graph, tensor, addresses = matrix(small)
    mapping = graph.variable_tile_mapping(tensor)
    last = np.searchsorted(mapping.end, addresses, side="right")
    by_tile = np.argsort(last, kind="stable")
    cuts = np.searchsorted(last[by_tile], np.arange(len(mapping.end) + 1))
    apart = [(addresses[by_tile[a:b]], by_tile[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]

    def sort_each() -> list[npt.NDArray[np.int64]]:
        return [position[np.argsort(address, kind="stable")] for address, position in apart]

    groups = graph.sorted_contiguous_regions_by_tile(tensor).groups
    if (groups.begin != np.concatenate(sort_each())).any():
        sys.exit("sorted regions by tile differ from argsort")
    ours, baseline = in_turn(
        lambda: graph.sorted_contiguous_regions_by_tile(tensor), sort_each, samples
    )
    name = f"T13 the same on {TILES:,} tiles: argsort of each / poplite"
    return Row(name, min(baseline) / min(ours), "x", ">=", 8.0, ours, baseline)


def rows_of_order(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    return [make(small, samples) for make in (whole_row, tiles_row)]


# -- tile mappings ---------------------------------------------------------------------------------
# The baselines of T12 are given the runs of the view; poplite starts from the tensor.  In T14 all
# are given what they work on (objects, a frame, arrays); the intersection is that of two sorted
# lists, while ncls builds its index, as it would for any lists.


def rows_of_mappings(small: bool, samples: int) -> list[Row]:
    """Measure every row.

    Args:
        small: tiny sizes.
        samples: of each side.
    """
    return [
        *_split_rows(64 if small else 4096, samples),
        *_interval_rows(300 if small else 3_000, 2_000 if small else 10**6, samples),
        *_edit_rows(2_000 if small else 10**6, samples),
    ]


def _split_rows(side: int, samples: int) -> list[Row]:
    graph = Graph(Target(tiles=1472))
    matrix = graph.add_variable("float32", (side, side), "matrix")
    map_linearly(graph, matrix, grain=64)
    breaks, tiles = graph.variables[0].mapping.pieces()
    tiles = tiles.astype(np.int64)
    transposed = matrix.T
    begin, _ = runs(transposed.view)

    def ours() -> tuple[Int64, Int64, Int64]:
        mapping = graph.tile_mapping(transposed)
        return mapping.ptr, mapping.begin, mapping.end

    def searched() -> tuple[Int64, Int64, Int64]:
        tile = tiles[np.searchsorted(breaks, begin, side="right") - 1]
        starts = np.flatnonzero(np.append(True, tile[1:] != tile[:-1]))
        tile, ends = tile[starts], np.append(starts[1:], len(begin))
        order = np.argsort(tile, kind="stable")
        return np.searchsorted(tile[order], np.arange(1473)), starts[order], ends[order]

    if any((a != b).any() for a, b in zip(ours(), searched(), strict=True)):
        sys.exit("T12: the pieces differ")
    by_search = in_turn(ours, searched, samples)
    listed, addresses = breaks.tolist(), begin.tolist()

    def bisected() -> list[list[int]]:
        held: list[list[int]] = [[] for _ in range(1472)]
        last = -1
        for position, address in enumerate(addresses):
            tile = bisect_right(listed, address) - 1
            if tile != last:
                held[tile].append(position)
                last = tile
        return held

    # One sample: it takes seconds.
    by_bisection = [seconds(ours) for _ in range(3)], [seconds(bisected)]
    name = f"T12 split of {side}^2 transposed over 1,472 tiles"
    return [
        _ratio(f"{name}, searchsorted", by_search, 4),
        _ratio(f"{name}, bisect", by_bisection, 25),
    ]


def _interval_rows(few: int, many: int, samples: int) -> list[Row]:
    random = np.random.default_rng(0)

    def drawn(count: int) -> tuple[Int64, Int64]:
        begin = random.integers(0, 16 * count, count)
        return begin, begin + random.integers(1, 16, count)

    def against(
        name: str, package: str, baseline: Callable[[Any], Callable[[], object]],
        ours: Callable[[], object], target: float,
    ) -> Row:  # fmt: skip
        try:
            module = import_module(package)
        except ImportError:
            return Row.skipped(f"{name}, {package}")
        return _ratio(f"{name}, {package}", in_turn(ours, baseline(module), samples), target)

    some, most = drawn(few), drawn(many)

    def with_portion(portion: Any) -> Callable[[], object]:
        pairs = list(zip(*(column.tolist() for column in some), strict=True))
        atoms = [portion.closedopen(a, b) for a, b in pairs]
        return lambda: portion.Interval(*atoms)

    def with_bioframe(bioframe: Any) -> Callable[[], object]:
        columns = dict(zip(("start", "end"), most, strict=True))
        frame = import_module("pandas").DataFrame({"chrom": "x", **columns})
        return lambda: bioframe.merge(frame)

    first, second = union(*most), union(*drawn(many))

    def with_ncls(ncls: Any) -> Callable[[], object]:
        numbers = [np.arange(len(column[0])) for column in (first, second)]

        def both() -> object:
            index = ncls.NCLS(*first, numbers[0])
            return index.all_overlaps_both(*second, numbers[1])

        return both

    return [
        against(f"T14 union of {few:,} intervals", "portion", with_portion,
                lambda: union(*some), 20),
        against(f"T14 union of {many:,} intervals", "bioframe", with_bioframe,
                lambda: union(*most), 4),
        against(f"T14 intersection of {many:,} intervals", "ncls", with_ncls,
                lambda: intersection(*first, *second), 4),
    ]  # fmt: skip


def _edit_rows(count: int, samples: int) -> list[Row]:
    random = np.random.default_rng(0)
    size = 16 * count
    tile = random.integers(0, 1472, count)
    cells = random.permutation(count) * 16
    begin = random.integers(0, size - 256, count)
    edits = {
        "disjoint": (cells, cells + 16, 150),
        "overlapping": (begin, begin + random.integers(1, 256, count), 600),
    }
    made = []
    for kind, (first, last, target) in edits.items():
        times = []
        for _ in range(samples + 1):
            mapping = VariableMapping(size)
            mapping.paint_many(first, last, tile)
            times.append(seconds(mapping.pieces))
        name = f"T15 {count:,} {kind} edits compacted, each"
        made.append(Row(name, min(times) / count * 1e9, "ns", "<=", target, times, times))
    return made


def _ratio(name: str, times: tuple[list[float], list[float]], target: float) -> Row:
    ours, baseline = times
    return Row(name, min(baseline) / min(ours), "x", ">=", target, ours, baseline)


# -- all -------------------------------------------------------------------------------------------


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of all parts."""
    parts = (rows_of_operations, rows_of_regions, rows_of_aliases, rows_of_order, rows_of_mappings)
    return [row for part in parts for row in part(small, samples)]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
