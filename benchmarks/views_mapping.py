"""Tile mapping at scale: the split of a view by tile, interval algebra, edits (T12, T14, T15).

    python benchmarks/views_mapping.py [--samples 9] [--json FILE] [--small]

The baselines of T12 are given the runs of the view; poplite starts from the tensor.  In T14 all are
given what they work on (objects, a frame, arrays); the intersection is that of two sorted lists,
while ncls builds its index, as it would for any lists.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import intersection, union
from poplite.graph import Graph
from poplite.graph.mapping.variable_mapping import VariableMapping
from poplite.graph.partition import map_linearly
from poplite.machine.target import Target
from poplite.view import runs
from rows import Row, in_turn, run, seconds

if TYPE_CHECKING:
    from collections.abc import Callable


def rows(small: bool, samples: int) -> list[Row]:
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


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
