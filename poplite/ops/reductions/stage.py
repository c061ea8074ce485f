"""One compute set for a reduction.

A tile gets as many vertices as are needed to keep its workers busy. The outputs of a part are
divided among the vertices. The rows of an output are divided among vertices only if there are too
few outputs for all workers, since a further stage then has to combine the results::

    part of 6 outputs, 5 rows      0 1 2|3 4 5        1 output, 600 rows     0 0 0 ... 0 0
                                   0 1 2|3 4 5                               vertex 0: 100 rows
                                   . . .|. . .                               vertex 1: 100 rows, ...

If a tile has only one part, and its outputs are divided among the workers, there is one vertex for
all workers, so that elements can be read in memory order. The same holds for *runs*: a run is a
contiguous interval on a tile with at least one element of each of its outputs; it may start and
end in the middle of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64, Mask, distinct, overlay, repeated
from poplite.machine.target import Target
from poplite.types import FLOAT
from poplite.vertices.estimators import reduce_columns, reduce_one

# -- pieces ----------------------------------------------------------------------------------------
# The elements on each tile, as arrays that do not depend on a graph.
#
# A tensor is reduced in the order `[outer, reduced, inner]`: `inner` adjacent elements belong to
# different outputs, and the next `inner` elements to the same outputs again::
#
#     outer 2, reduced 3, inner 4         output of each element, in memory order
#     0 1 2 3  0 1 2 3  0 1 2 3           outer 0
#     4 5 6 7  4 5 6 7  4 5 6 7           outer 1
#
# The elements on a tile are cut into *pieces*. A piece has a range of outputs `[low, high)` and
# `rows` rows, each with one element for every output of the range. The first row starts at element
# `begin`, and each other row `inner` elements after the previous one::
#
#     tile 0 holds elements 2 to 8        0 1[2 3  0 1 2 3  0]1 2 3
#     pieces                              [2, 4) one row, [0, 4) one row, [0, 1) one row


class OutputPieces(NamedTuple):
    """Elements grouped by their outputs, all int64[pieces].

    Attributes:
        tile: the tile of each piece.
        low: the first output.
        high: one past the last output.
        begin: the position of the first row in the flattened tensor.
        rows: the number of rows, `inner` elements apart.
    """

    tile: Int64
    low: Int64
    high: Int64
    begin: Int64
    rows: Int64

    def take(self, chosen: Int64) -> OutputPieces:
        """Return the pieces selected by indices or by a mask."""
        return OutputPieces(*(column[chosen] for column in self))

    def cut(self, breaks: Int64) -> tuple[OutputPieces, Int64]:
        """Cut pieces in front of the outputs in `breaks`, which are in ascending order.

        Returns:
            The parts, and for each part the index of the piece from which it was cut.

        >>> one = OutputPieces(*(np.array([k]) for k in (7, 2, 6, 10, 1)))
        >>> [column.tolist() for column in one.cut(np.array([4]))[0]]
        [[7, 7], [2, 4], [4, 6], [10, 12], [1, 1]]
        """
        far = np.iinfo(np.int64)
        source, _, low, high = overlay(self.low, self.high, np.r_[far.min, breaks, far.max])
        begin = self.begin[source] + low - self.low[source]
        return OutputPieces(self.tile[source], low, high, begin, self.rows[source]), source

    def merged(self) -> OutputPieces:
        """Merge single rows of a tile whose outputs and elements are both consecutive.

        >>> two = OutputPieces(*(np.array(k) for k in ([3, 3], [0, 4], [4, 5], [7, 11], [1, 1])))
        >>> [column.tolist() for column in two.merged()]
        [[3], [0], [5], [7], [1]]
        """
        follows = (
            (self.tile[1:] == self.tile[:-1])
            & (self.low[1:] == self.high[:-1])
            & (self.begin[1:] == self.begin[:-1] + (self.high - self.low)[:-1])
        )
        heads = np.flatnonzero(np.append(True, ~follows)[: len(self.tile)])
        last = np.append(heads[1:], len(self.tile))[: len(heads)] - 1
        return self.take(heads)._replace(high=self.high[last])

    def elements_by_output(self) -> tuple[Int64, Int64]:
        """Return the outputs at which the number of elements per output changes, and the new ones.

        >>> two = OutputPieces(*(np.array(k) for k in ([0, 1], [0, 2], [4, 4], [0, 4], [3, 1])))
        >>> [column.tolist() for column in two.elements_by_output()]
        [[0, 2, 4], [3, 4, 0]]
        """
        ends = np.concatenate([self.low, self.high])
        at = distinct(ends)
        change = np.bincount(
            np.searchsorted(at, ends), np.concatenate([self.rows, -self.rows]), len(at)
        )
        return at, np.cumsum(change).astype(np.int64)


def joined(parts: list[OutputPieces]) -> OutputPieces:
    """Concatenate lists of pieces."""
    return OutputPieces(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def pieces_of(tile: Int64, begin: Int64, end: Int64, reduced: int, inner: int) -> OutputPieces:
    """Cut the tiles' elements of a flattened tensor into pieces.

    Args:
        tile: int64[n], the tile of each interval.
        begin: int64[n], first elements.
        end: int64[n], one past the last elements, above `begin`.
        reduced: the number of elements in each output.
        inner: the number of outputs whose elements are adjacent.

    >>> held = [np.array([k]) for k in (0, 2, 9)]
    >>> [column.tolist() for column in pieces_of(*held, reduced=3, inner=4)]
    [[0, 0, 0], [2, 0, 0], [4, 4, 1], [2, 4, 8], [1, 1, 1]]
    """
    size = reduced * inner
    first = begin // size
    source, copy = repeated((end - 1) // size - first + 1)
    outer = first[source] + copy
    low = np.maximum(begin[source] - outer * size, 0)  # counted from the outer element
    high = np.minimum(end[source] - outer * size, size)
    parts = []
    whole, top = -(-low // inner), high // inner  # rows that are complete on the tile
    within = whole > top  # less than a row, which is cut at both ends
    for chosen, start, stop, rows in (
        (within | (low < whole * inner), low, np.where(within, high, whole * inner), 1),
        (whole < top, whole * inner, (whole + 1) * inner, top - whole),
        (~within & (top * inner < high), top * inner, high, 1),
    ):
        some = np.flatnonzero(chosen)
        origin = (outer * inner + start % inner)[some]
        parts.append(
            OutputPieces(
                tile[source[some]],
                origin,
                origin + (stop - start)[some],
                (outer * size + start)[some],
                np.broadcast_to(rows, outer.shape)[some],
            )
        )
    return joined(parts)


# -- ranges ----------------------------------------------------------------------------------------
# Ranges of outputs, and the tile that combines the elements of each.
#
# The pieces that are combined in one step form a *group*: the pieces on one tile, on several tiles,
# or on all tiles. Within a group, outputs are divided into *ranges*, cut wherever the set of pieces
# that contain elements of an output changes::
#
#     pieces of a group        [------)              ranges           0   1   2
#                                 [--------)         pieces of each   1   2   1
#
# A range is distributed to the tiles of its pieces, or to the tiles where its outputs are required.
# If its group has all elements of its outputs, the results are outputs; otherwise they are partial
# results.


class Ranges(NamedTuple):
    """Ranges of outputs, each with the pieces that contain its elements.

    Attributes:
        low: int64[n], the first output.
        high: int64[n], one past the last.
        ptr: int64[n + 1]; range `r` has the pieces from `ptr[r]` to `ptr[r + 1]`, exclusive.
        pieces: the pieces, cut to the ranges, in the order of their elements.
    """

    low: Int64
    high: Int64
    ptr: Int64
    pieces: OutputPieces

    @property
    def rows(self) -> Int64:
        """int64[n], the number of rows of elements in each range."""
        return np.add.reduceat(self.pieces.rows, self.ptr[:-1])

    def followed_by(self, other: Ranges) -> Ranges:
        """Return these ranges followed by those of `other`."""
        return Ranges(
            np.append(self.low, other.low),
            np.append(self.high, other.high),
            np.append(self.ptr, self.ptr[-1] + other.ptr[1:]),
            joined([self.pieces, other.pieces]),
        )


def ranges_of(pieces: OutputPieces, group: Int64) -> tuple[Ranges, Mask]:
    """Find the ranges of each group, and which of them have all elements of their outputs.

    Args:
        pieces: the pieces left to combine.
        group: int64[pieces], the group of each.

    >>> numbers = [0, 0, 1], [0, 2, 5], [4, 6, 7], [0, 4, 8], [1, 1, 1]
    >>> three = OutputPieces(*map(np.array, numbers))
    >>> found, is_whole = ranges_of(three, three.tile)
    >>> found.low.tolist(), found.high.tolist(), is_whole.tolist()
    ([0, 2, 4, 5, 5, 6], [2, 4, 5, 6, 6, 7], [True, True, True, False, False, True])
    """
    if not len(group):
        return Ranges(group, group, np.zeros(1, np.int64), pieces), np.zeros(0, np.bool_)
    found = _cut(pieces, group)
    one = np.ones_like(found.low)
    at, groups = OutputPieces(one, found.low, found.high, one, one).elements_by_output()
    changes = at[1:][np.diff(groups == 1)]
    if (np.searchsorted(changes, found.low, "right") < np.searchsorted(changes, found.high)).any():
        pieces, source = pieces.cut(changes)
        found = _cut(pieces, group[source])
    return found, groups[np.searchsorted(at, found.low, "right") - 1] == 1


def _cut(pieces: OutputPieces, group: Int64) -> Ranges:
    base = group * (int(pieces.high.max()) + 1)
    cuts = distinct(np.r_[base + pieces.low, base + pieces.high])
    first = np.searchsorted(cuts, base + pieces.low)
    source, copy = repeated(np.searchsorted(cuts, base + pieces.high) - first)
    number = first[source] + copy
    low, high = cuts[number] - base[source], cuts[number + 1] - base[source]
    begin = pieces.begin[source] + low - pieces.low[source]
    order = np.lexsort((begin, number))
    heads = np.flatnonzero(np.diff(number[order], prepend=-1))
    parts = OutputPieces(pieces.tile[source], low, high, begin, pieces.rows[source]).take(order)
    return Ranges(parts.low[heads], parts.high[heads], np.append(heads, len(order)), parts)


class RangeParts(NamedTuple):
    """Parts of ranges, each assigned to a tile; all int64[n] except the last.

    Attributes:
        range: the range of each part.
        tile: the tile that combines its elements.
        low: the first output.
        high: one past the last.
        is_here: bool[n], whether all its elements are on that tile.
    """

    range: Int64
    tile: Int64
    low: Int64
    high: Int64
    is_here: Mask

    def followed_by(self, other: RangeParts) -> RangeParts:
        """Return these parts followed by those of `other`."""
        return RangeParts(*(np.concatenate(columns) for columns in zip(self, other, strict=True)))


def cut(width: Int64, part: Int64, parts: Int64, grain: int | Int64) -> Int64:
    """Return the starts of equal parts of outputs, rounded to multiples of the grain.

    >>> cut(np.array([26] * 4), np.arange(4), np.array([3] * 4), 4).tolist()
    [0, 8, 16, 26]
    """
    found: Int64 = np.minimum(-(-width // grain) * part // parts * grain, width)
    return found


def distributed(
    found: Ranges, chosen: Int64, least: int, grain: int, home: Int64 | None
) -> RangeParts:
    """Distribute ranges to tiles.

    Args:
        found: the ranges.
        chosen: int64[k], the indices of the ranges to distribute.
        least: the minimum number of elements per tile if a range is divided among tiles.
        grain: parts start at multiples of this number of outputs.
        home: int64[ranges], the tile of each range; by default, each range is divided equally
            among the tiles of its pieces.

    >>> two = OutputPieces(*(np.array(k) for k in ([4, 7], [0, 0], [6, 6], [0, 6], [1, 1])))
    >>> parts = distributed(ranges_of(two, np.array([0, 0]))[0], np.array([0]), 6, 1, None)
    >>> parts.tile.tolist(), parts.low.tolist(), parts.high.tolist()
    ([4, 7], [0, 3], [3, 6])
    """
    of, _ = repeated(np.diff(found.ptr))
    order = np.lexsort((found.pieces.tile, of))
    of, tile = of[order], found.pieces.tile[order]
    new = np.append(True, (np.diff(of) != 0) | (np.diff(tile) != 0))
    of, tile = of[new], tile[new]  # the tiles of each range, once
    first = np.searchsorted(of, np.arange(len(found.low) + 1))
    tiles, width = np.diff(first)[chosen], (found.high - found.low)[chosen]
    count = np.ones_like(tiles)
    if home is None:
        count = found.rows[chosen] * width // least
        count = np.clip(count, 1, np.minimum(tiles, -(-width // grain)))
    source, copy = repeated(count)
    number, parts, width = chosen[source], count[source], width[source]
    # If there are fewer outputs than tiles, different ranges start on different tiles.
    turn = (found.low[number] + copy) % tiles[source]
    to = tile[first[number] + turn] if home is None else home[number]
    low, high = (found.low[number] + cut(width, copy + k, parts, grain) for k in (0, 1))
    is_here = (tiles[source] == 1) & (tile[first[number]] == to)
    return RangeParts(number, to, low, high, is_here)


# -- stages ----------------------------------------------------------------------------------------


LEAST_WORK = 128
"""Minimum number of elements per vertex, if there are that many: starting a vertex costs as much as
dozens of additions."""

LEAST_ROWS = 64
"""Minimum number of rows per vertex if workers divide rows, which takes a further stage."""

LEAST_SLOTS = 20
"""Number of slots of computation that justifies starting another vertex."""

NEAR = 1.05
"""Factor by which the number of slots may exceed the minimum if fewer vertices are needed."""

ContiguityTest = Callable[[Int64, Int64], Mask]
"""Returns which ranges are contiguous in memory, given the starts and ends of ranges."""


class Effort(NamedTuple):
    """The cost of combining elements, which determines how they are divided among workers.

    Attributes:
        slots: slots per element if elements are computed first; 0 if they are read from memory.
        target: the machine.
    """

    slots: float
    target: Target

    @property
    def workers(self) -> int:
        """The number of workers of a tile."""
        return self.target.workers

    @property
    def least_work(self) -> int:
        """Minimum number of elements per vertex, if there are that many."""
        return min(LEAST_WORK, ceil(LEAST_SLOTS / self.slots)) if self.slots else LEAST_WORK

    @property
    def begun_rows(self) -> int:
        """The number of rows whose addition takes as long as starting and ending their columns."""
        parts = ("outer", "inner", "sum")
        return int(sum(self.target.cost(f"reduce_columns_{part}") for part in parts))

    @property
    def least_rows(self) -> int:
        """Minimum number of rows per vertex if rows are divided among workers."""
        return min(LEAST_ROWS, ceil(LEAST_SLOTS / self.slots)) if self.slots else LEAST_ROWS

    def shares(self, length: Int64, count: Int64) -> Int64:
        """Return the number of parts into which each computed row is cut to take the fewest slots.

        Args:
            length: int64[n], the number of elements in each row.
            count: int64[n], the number of rows on the same tile.

        >>> effort = Effort(1.5, Target())
        >>> effort.shares(np.array([16, 64, 64, 900]), np.array([1, 1, 6, 4])).tolist()
        [1, 5, 1, 3]
        """
        target, workers = self.target, self.workers
        shares = np.arange(1, workers + 1)[:, None]
        rounds = -(-count * shares // workers)
        slots = rounds * (target.cost("reduce_one_entry") + -(-length // shares) * self.slots)
        joined = np.where(
            count == 1,
            reduce_one(FLOAT, FLOAT, shares, target),
            reduce_columns(FLOAT, FLOAT, count, shares, count, target, adds=True)
            + target.cost("worker_call") / workers,  # for combining their parts
        )
        slots[1:] += joined[1:]
        best: Int64 = np.argmax(slots <= slots.min(0) * NEAR, axis=0) + 1
        return best


class StageWork(NamedTuple):
    """The vertices of a stage.

    Attributes:
        tile: int64[n], the tile of each vertex.
        is_final: bool[n], whether it writes outputs rather than partial results.
        low: int64[n], the first output or partial result that it writes.
        high: int64[n], one past the last.
        is_rows: bool[n], whether it reads all elements of one output after another.
        stride: int64[n], the distance in elements between rows of its input, unless `is_rows`.
        first: int64[n], the output of its first element, counted from `low`; for a run, which may
            start in the middle of a row, otherwise 0.
        share: int64[n], the number of outputs per worker; 0 for a vertex of one worker.
        ptr: int64[n + 1]; vertex `v` reads the intervals from `ptr[v]` to `ptr[v + 1]`, exclusive.
        begin: int64[m], first elements of the intervals.
        end: int64[m], one past the last.
    """

    tile: Int64
    is_final: Mask
    low: Int64
    high: Int64
    is_rows: Mask
    stride: Int64
    first: Int64
    share: Int64
    ptr: Int64
    begin: Int64
    end: Int64


def together(works: Sequence[StageWork]) -> StageWork:
    """Return the vertices of several plans, sorted by tile and by the first element that they read.

    Vertices run in this order, and their inputs are usually stored in the order of tiles, so memory
    is read in ascending order.
    """
    counts = np.concatenate([np.diff(each.ptr) for each in works])
    begins = np.concatenate([each.ptr[:-1] for each in works])
    shifts = np.cumsum([0, *(len(each.begin) for each in works)])[:-1]
    begins += np.repeat(shifts, [len(each.tile) for each in works])
    joined = StageWork(*(np.concatenate(columns) for columns in zip(*works, strict=True)))
    order = np.lexsort((joined.begin[begins], joined.tile))
    source, copy = repeated(counts[order])
    reads = begins[order][source] + copy
    return StageWork(
        joined.tile[order],
        joined.is_final[order],
        joined.low[order],
        joined.high[order],
        joined.is_rows[order],
        joined.stride[order],
        joined.first[order],
        joined.share[order],
        np.append(0, np.cumsum(counts[order])),
        joined.begin[reads],
        joined.end[reads],
    )


class OutputRuns(NamedTuple):
    """Contiguous intervals with at least one element of each of their outputs.

    All arrays have length n.

    Attributes:
        tile: int64, the tile of each run.
        low: int64, the first output.
        begin: int64, the first element in the flattened tensor.
        end: int64, one past the last.
        is_whole: bool, whether the run has all elements of the outputs.
    """

    tile: Int64
    low: Int64
    begin: Int64
    end: Int64
    is_whole: Mask

    def ranges(self, inner: int) -> Ranges:
        """Return the outputs of each run as a range with a single row.

        `stage` replaces the interval of the row by the one of the run.
        """
        one, high = np.ones_like(self.low), self.low + inner
        pieces = OutputPieces(self.tile, self.low, high, self.begin, one)
        return Ranges(self.low, high, np.arange(len(one) + 1), pieces)

    def take(self, chosen: Mask) -> OutputRuns:
        """Return the runs selected by a mask."""
        tile, low, begin, end = (column[chosen] for column in self[:4])
        return OutputRuns(tile, low, begin, end, self.is_whole[chosen])


class StageOutcome(NamedTuple):
    """The vertices of a stage, and the pieces that remain after it.

    Attributes:
        work: its vertices.
        partials: its partial results as pieces, the first of which starts at element 0.
        kept: the pieces that it leaves unchanged.
        homes: int64[3, k], for the outputs that it writes: the tile, the first output, and one past
            the last.
        has_shares: whether the rows of an output are divided among workers.
    """

    work: StageWork
    partials: OutputPieces
    kept: OutputPieces
    homes: Int64
    has_shares: bool


def stage(
    pieces: OutputPieces,
    group: Int64,
    runs: OutputRuns,
    *,
    inner: int,
    effort: Effort,
    grain: int,
    least_grain: int,
    are_contiguous: ContiguityTest,
    may_keep: bool,
    may_share: tuple[bool, bool],
    wanted: tuple[Int64, Int64] | None = None,
) -> StageOutcome:
    """Plan one compute set.

    Args:
        pieces: the pieces left to combine.
        group: int64[pieces], the group of each in this stage.
        runs: runs to combine, on tiles without pieces.
        inner: the distance in elements between the rows of a piece.
        effort: the cost of combining an element.
        grain: the number of outputs per load; outputs are divided at multiples of it.
        least_grain: a smaller grain, used where it lets workers divide the outputs more evenly.
        are_contiguous: returns which ranges are contiguous in memory.
        may_keep: whether single rows may be left unchanged for a later stage.
        may_share: two flags: whether one vertex for all workers of a tile may write partial
            results, and whether one may write outputs.
        wanted: the tiles where outputs are required, as the arrays `(end, tile)` of consecutive
            intervals from output 0; by default, the tiles of their pieces.

    Returns:
        The vertices, and the remaining pieces; none remain if all outputs are written.
    """
    home = None
    if wanted is not None:
        pieces, source = pieces.cut(wanted[0])
        group = group[source]
    found, is_whole = ranges_of(pieces, group)
    is_whole &= ~np.isin(found.low // inner, runs.low // inner)  # a run has the other elements
    if wanted is not None:
        home = wanted[1][np.searchsorted(wanted[0], found.low, "right")]
    is_kept = (found.rows == 1) & ~is_whole & may_keep
    chosen, last = np.flatnonzero(~is_kept), len(is_kept)
    found, is_whole = found.followed_by(runs.ranges(inner)), np.append(is_whole, runs.is_whole)
    is_kept = np.append(is_kept, np.zeros_like(runs.is_whole))
    numbers, are_here = np.arange(last, len(is_kept)), np.ones_like(runs.is_whole)
    parts = distributed(found, chosen, LEAST_WORK, grain, home).followed_by(
        RangeParts(numbers, runs.tile, runs.low, runs.low + inner, are_here)
    )

    is_run = parts.range >= last
    rows, width = found.rows[parts.range], parts.high - parts.low
    needed = _shares(rows * width, parts.tile, effort)
    few = (width > 1) & (rows < effort.begun_rows)
    needed[few] = np.maximum(needed, _shares_of_few_rows(rows, width, parts.tile, effort))[few]
    grains = _best_grain(width, needed, grain, least_grain)
    columns = np.minimum(needed, -(-width // grains))
    shares = np.clip(rows // effort.least_rows, 1, -(-needed // width))
    if effort.slots:
        held = np.bincount(parts.tile, rows * width)[parts.tile]
        count = np.ceil(held / np.maximum(rows, 1)).astype(np.int64)
        shares = np.where(width == 1, effort.shares(rows, count), shares)
    shares[~parts.is_here] = 1
    is_final = is_whole[parts.range] & (shares == 1)
    is_shared = (np.bincount(parts.tile)[parts.tile] == 1) & (columns > 1) & (shares == 1)
    is_shared = is_run | (is_shared & np.where(is_final, may_share[1], may_share[0]))
    columns[is_shared] = 1
    share = np.where(is_shared, -(-width // (effort.workers * grains)) * grains, 0)
    partials, place, head = _placed(parts, np.where(is_final, 0, shares))

    part, copy = repeated(columns * shares)
    column, row = copy % columns[part], copy // columns[part]
    left, right = (cut(width[part], column + k, columns[part], grains[part]) for k in (0, 1))
    top, bottom = ((row + k) * rows[part] // shares[part] for k in (0, 1))
    target, final = parts.low[part], is_final[part]
    target[~final] = place[(head[part] + row)[~final]]
    within = is_run[part]
    run = parts.range[part[within]] - last
    reach, first = right - left, np.zeros_like(left)
    reach[within], first[within] = (runs.end - runs.begin)[run], runs.begin[run] % inner
    cells = Cells(
        parts.range[part],
        parts.is_here[part],
        parts.low[part] + left - found.low[parts.range[part]],
        reach,
        top,
        bottom,
    )
    stride, *reads = _intervals(found, cells, inner, are_contiguous)
    stride[within] = inner
    is_row = np.zeros(len(part), np.bool_)
    return StageOutcome(
        StageWork(
            parts.tile[part],
            final,
            target + left,
            target + right,
            is_row,
            stride,
            first,
            share[part],
            *reads,
        ),
        partials.merged(),
        found.pieces.take(np.repeat(is_kept, np.diff(found.ptr))),
        np.stack([parts.tile, parts.low, parts.high])[:, is_final],
        bool((shares > 1).any()),
    )


def _placed(parts: RangeParts, count: Int64) -> tuple[OutputPieces, Int64, Int64]:
    """Lay out partial results by tile, then by share of the rows.

    Args:
        parts: the parts of ranges that are combined.
        count: int64[parts], the number of partial results for each output of a part.

    Returns:
        The partial results as pieces; the start of the results of each share of each part; and the
        index of the first of these starts for each part.
    """
    of, share = repeated(count)
    order = np.lexsort((parts.low[of], share, parts.tile[of]))
    length = (parts.high - parts.low)[of]
    place = np.empty(len(of), np.int64)
    place[order] = np.cumsum(length[order]) - length[order]
    made = OutputPieces(parts.tile[of], parts.low[of], parts.high[of], place, np.ones_like(place))
    return made.take(order), place, np.cumsum(count) - count


def plan_contiguous_outputs(
    held: Int64, reduced: int, effort: Effort
) -> tuple[StageWork, Int64, Int64]:
    """Plan the vertices for contiguous outputs that are on one tile each.

    Args:
        held: int64[3, n], for each interval: the tile, the first element, and one past the last.
        reduced: the number of elements in each output, which are consecutive.
        effort: the cost of combining an element.

    Returns:
        The vertices; for their outputs, the tile, the first output, and one past the last; and the
        remaining intervals. If a tile has few outputs with many elements, these remain, so that
        their elements can be divided among workers.
    """
    tile, begin, end = held
    first, last = -(-begin // reduced), end // reduced
    rows = np.maximum(last - first, 0)
    count = np.bincount(tile, rows)[tile].astype(np.int64)
    if effort.slots:
        rows[effort.shares(np.full_like(count, reduced), count) > 1] = 0
    elif reduced >= 2 * LEAST_ROWS:
        rows[count < effort.workers] = 0
    some = rows > 0
    homes = np.stack([tile[some], first[some], last[some]])
    parts = np.minimum(_shares(rows[some] * reduced, tile[some], effort), rows[some])
    part, copy = repeated(parts)
    low, high = (homes[1][part] + (copy + k) * rows[some][part] // parts[part] for k in (0, 1))
    yes = np.ones(len(part), np.bool_)
    ptr = np.arange(len(part) + 1)
    none = np.zeros_like(low)
    ends = low * reduced, high * reduced
    work = StageWork(homes[0][part], yes, low, high, yes, high, none, none, ptr, *ends)
    left = np.concatenate(
        [
            held[:, ~some],
            np.stack([tile, begin, first * reduced])[:, some],
            np.stack([tile, last * reduced, end])[:, some],
        ],
        axis=1,
    )
    return work, homes, left[:, left[1] < left[2]]


def plan_runs(
    held: Int64,
    reduced: int,
    inner: int,
    workers: int,
    may_share: tuple[bool, bool],
    may_keep: bool,
) -> tuple[OutputRuns, Int64]:
    """Find the tiles all of whose intervals are runs.

    A run has at least one element of each of its outputs, and enough elements for all workers.

    Args:
        held: int64[3, n], for each interval: the tile, the first element, and one past the last.
        reduced: the number of elements in each output.
        inner: the number of outputs whose elements are adjacent.
        workers: the number of workers of each tile.
        may_share: as in `stage`.
        may_keep: as in `stage`.

    Returns:
        The runs on these tiles, and the intervals of all other tiles.
    """
    tile, begin, end = held
    size = reduced * inner
    outer = begin // size
    source, copy = repeated((end - 1) // size - outer + 1)
    outer = outer[source] + copy
    begin, end = (
        np.maximum(begin[source], outer * size),
        np.minimum(end[source], (outer + 1) * size),
    )
    is_whole = end - begin == size
    is_run = np.where(is_whole, may_share[1], may_share[0])
    is_run &= end - begin >= max(inner + may_keep, workers * LEAST_WORK)
    is_run &= inner >= workers * LEAST_WORK // LEAST_ROWS
    others = tile[source[~is_run]]
    is_run = ~np.isin(tile[source], others)
    runs = OutputRuns(tile[source], outer * inner, begin, end, is_whole)
    return runs.take(is_run), held[:, np.isin(tile, others)]


def _shares(work: Int64, tile: Int64, effort: Effort) -> Int64:
    """Return the number of vertices for each part that keeps all workers of its tile busy."""
    total = np.bincount(tile, work).astype(np.int64)[tile]
    shares: Int64 = np.minimum(-(-work * effort.workers // total), -(-work // effort.least_work))
    return shares


def _shares_of_few_rows(rows: Int64, width: Int64, tile: Int64, effort: Effort) -> Int64:
    """Return the same for columns of few elements, which take long to start for their length."""
    work = (rows + effort.begun_rows) * width
    total = np.bincount(tile, work).astype(np.int64)[tile]
    shares: Int64 = np.minimum(work * effort.workers // total, -(-work // effort.least_work))
    return shares


def _best_grain(width: Int64, needed: Int64, grain: int, least: int) -> Int64:
    """Return the grain of each part: `grain`, or `least` if the widest vertex is then narrower.

    >>> _best_grain(np.array([10, 17]), np.array([6, 6]), 4, 2).tolist()     # 4 4 2, or 2 2 2 2 2
    [2, 4]
    """

    def widest(size: int) -> Int64:
        count = -(-width // size)
        parts: Int64 = -(-count // np.minimum(needed, count)) * size
        return parts

    return np.where(widest(least) < widest(grain), least, grain)


class Cells(NamedTuple):
    """Rows and columns of ranges that each vertex combines; all arrays have length n.

    Attributes:
        range: the range of each vertex.
        is_here: bool, whether all elements of the range are on the vertex's tile.
        left: the first column, counted from the range's first output.
        width: the number of columns.
        top: the first row.
        bottom: one past the last row.
    """

    range: Int64
    is_here: Mask
    left: Int64
    width: Int64
    top: Int64
    bottom: Int64


def _intervals(
    found: Ranges, cells: Cells, inner: int, are_contiguous: ContiguityTest
) -> tuple[Int64, Int64, Int64, Int64]:
    """Return the stride of each vertex, and the intervals that it reads as `(ptr, begin, end)`."""
    # Adjoining pieces are merged: a vertex reads them like one piece.
    pieces = found.pieces
    of, _ = repeated(np.diff(found.ptr))
    follows = (np.diff(of) == 0) & (np.diff(pieces.begin) == (pieces.rows * inner)[:-1])
    heads = np.flatnonzero(np.append(True, ~follows))
    begin, rows = pieces.begin[heads], np.add.reduceat(pieces.rows, heads)
    ptr = np.searchsorted(of[heads], np.arange(len(found.low) + 1))
    before = np.cumsum(rows) - rows
    before -= before[ptr[:-1]][of[heads]]  # rows of the range above each

    vertex, copy = repeated(np.diff(ptr)[cells.range])
    entry = ptr[cells.range[vertex]] + copy
    upper = np.clip(cells.top[vertex] - before[entry], 0, rows[entry])
    lower = np.clip(cells.bottom[vertex] - before[entry], 0, rows[entry])
    some = lower > upper
    vertex, entry, upper, lower = vertex[some], entry[some], upper[some], lower[some]
    count, wide = lower - upper, cells.width[vertex]
    start = begin[entry] + upper * inner + cells.left[vertex]
    stop = start + (count - 1) * inner + wide
    # One interval from the first element to the last if those between rows are on the tile too.
    is_one = (count == 1) | (wide == inner)
    spans = np.flatnonzero(~is_one & cells.is_here[vertex])
    spans = spans[np.bincount(vertex, minlength=len(cells.width))[vertex[spans]] == 1]
    spans = spans[are_contiguous(start[spans], stop[spans])]
    is_one[spans] = True
    stride = cells.width.copy()
    stride[vertex[spans]] = inner
    source, row = repeated(np.where(is_one, 1, count))
    first = start[source] + row * inner
    last = np.where(is_one[source], stop[source], first + wide[source])
    return stride, np.searchsorted(vertex[source], np.arange(len(cells.width) + 1)), first, last
