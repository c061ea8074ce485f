"""The choice of plans: formulas price many ways, and the cheapest few may be priced exactly.

The steps:

    candidates    sizes of the blocks on tiles        an array for each dimension
    rank          excess bytes, cycles, ...           an array for each, the first counts most
    cheapest      the layouts of the first few        those that fit the memory of a tile
    best_priced   the cheapest of these by the        in the order of lower bounds, until no
                  cost model                          other layout can be cheaper

An operation defines its candidates and their rank, and makes the layout of a way. The data
that vertices read is priced by the cost model without a graph: the mapping of operands follows from
the layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

import poplite.cost as cost
from poplite.arrays.intervals import Int64, sorted_order
from poplite.errors import GraphMemoryAllocationError
from poplite.frozen import frozen
from poplite.graph.compute_sets.edge_table import edge_table
from poplite.graph.graph import Graph
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.program.copy import TensorCopy

Layout = TypeVar("Layout")

# -- candidates ------------------------------------------------------------------------------------


MOST_WAYS = 100_000
"""Maximum number of ways that are priced."""


def parts_of(size: int, passes: int, grain: int, most: int) -> tuple[Int64, Int64]:
    """Return sizes of equal parts of a pass, in complete grains, and the number of parts for each.

    >>> [numbers.tolist() for numbers in parts_of(100, 1, 16, 1000)]
    [[16, 32, 48, 64, 100], [7, 4, 3, 2, 1]]
    """
    grains = -(-size // (grain * passes))
    part = np.unique(-(-grains // np.arange(1, min(grains, most) + 1)))
    return np.minimum(part * grain, size), -(-grains // part)


def blocks_of_all(sizes: Sequence[int], grains: Sequence[int], most: int) -> tuple[Any, ...]:
    """Return the block sizes of all ways, an array for each dimension.

    `most` is the maximum number of parts in a dimension. Long lists are thinned out at equal
    ratios, so that there are no more than `MOST_WAYS` ways.
    """
    lists = [parts_of(size, 1, grain, most)[0] for size, grain in zip(sizes, grains, strict=True)]
    longest = max(map(len, lists))
    while math.prod(min(longest, len(each)) for each in lists) > MOST_WAYS:
        longest -= 1
    few = [_thinned(each, longest) for each in lists]
    return tuple(part.ravel() for part in np.meshgrid(*few, indexing="ij"))


def _thinned(parts: Int64, most: int) -> Int64:
    if len(parts) <= most:
        return parts
    at = np.unique(np.geomspace(1, len(parts), most).astype(int)) - 1
    kept: Int64 = parts[::-1][at][::-1]
    return kept


def part_edges(size: int | Int64, parts: int, grain: int | Int64) -> Int64:
    """Return the bounds of parts of the given sizes, int64[..., parts + 1], in complete grains.

    >>> part_edges(np.array([10, 3]), 3, 4).tolist()
    [[0, 4, 8, 10], [0, 0, 0, 3]]
    """
    size, grain = np.asarray(size)[..., None], np.asarray(grain)[..., None]
    edges: Int64 = np.minimum(np.arange(parts + 1) * -(-size // grain) // parts * grain, size)
    return edges


@frozen
class EqualParts:
    """Parts of equal size in a dimension.

    Attributes:
        begin: the start of the first part.
        end: the end of the last part.
        part: the size of each part.
        first: the index of the first part.
    """

    begin: int
    end: int
    part: int
    first: int

    @property
    def size(self) -> int:
        """The total size of the parts."""
        return self.end - self.begin

    @property
    def count(self) -> int:
        """The number of parts."""
        return self.size // self.part


def segments(size: int, part: int) -> tuple[EqualParts, ...]:
    """Return the parts of full size of a dimension, and the smaller last part.

    >>> segments(7, 3)
    (EqualParts(begin=0, end=6, part=3, first=0), EqualParts(begin=6, end=7, part=1, first=2))
    """
    complete = size // part * part
    found = (
        EqualParts(0, complete, part, 0),
        EqualParts(complete, size, size - complete, size // part),
    )
    return tuple(each for each in found if each.begin < each.end)


# -- ranks -----------------------------------------------------------------------------------------


KEPT = 8
"""Maximum number of ways that are returned, the best ones."""


@frozen
class PricedWays(Generic[Layout]):
    """Ways to divide an operation among tiles, priced by formulas.

    Attributes:
        rank: the arrays by which ways are compared, int64[ways] each: the first is the excess of a
            tile's memory in bytes, or 0.
        layout: makes the layout of a way.
    """

    rank: tuple[Int64, ...]
    layout: Callable[[int], Layout]


class Ranked(NamedTuple):
    """A way and its rank; the lowest rank is the best."""

    rank: tuple[int, ...]
    layout: Any

    @property
    def fits(self) -> bool:
        """Whether it fits the memory of tiles."""
        return not self.rank[0]


def cheapest(several: Sequence[PricedWays[Any]], count: int = KEPT) -> list[Ranked]:
    """Return the best few of all ways by their ranks, in order; among equals, the first."""
    columns = [np.concatenate(each) for each in zip(*(ways.rank for ways in several), strict=True)]
    first = np.cumsum([0, *(len(ways.rank[0]) for ways in several)])
    chosen = _first(columns, count)
    numbers = np.searchsorted(first, chosen, side="right") - 1
    ranks = zip(*(column[chosen].astype(np.int64).tolist() for column in columns), strict=True)
    places = zip(numbers.tolist(), (chosen - first[numbers]).tolist(), strict=True)
    return [
        Ranked(rank, several[number].layout(way))
        for rank, (number, way) in zip(ranks, places, strict=True)
    ]


def _first(rank: Sequence[Int64], count: int) -> Int64:
    """Return the indices of the best ways by their ranks, in order.

    >>> _first((np.array([0, 0, 1, 0]), np.array([5, 3, 1, 3])), 3).tolist()
    [1, 3, 0]
    """
    # Only a few are sorted: those chosen by the first rank in which ways differ.
    some = np.arange(len(rank[0]))
    for column in rank:
        if len(some) <= count:
            break
        own = column[some]
        last = np.partition(own, count - 1)[count - 1]
        some = some[own <= last]
        if (own < last).any():
            break
    return some[np.lexsort([column[some] for column in rank[::-1]])[:count]]


def best_priced(
    ways: Sequence[Layout], least: Callable[[Layout], int], exact: Callable[[Layout], int]
) -> tuple[Layout, int]:
    """Return the way with the fewest exact cycles, the first among equals, and these cycles.

    `least` returns a lower bound on the cycles of a way: one that cannot be cheaper than the best
    so far is not priced exactly.
    """
    (_, first), *others = sorted((least(way), number) for number, way in enumerate(ways))
    best = exact(ways[first]), first
    for bound, number in others:
        if (bound, number) > best:
            break
        best = min(best, (exact(ways[number]), number))
    return ways[best[1]], best[0]


# -- formulas --------------------------------------------------------------------------------------


@overload
def received_cycles(target: Target, received: float, times: float = 1) -> float: ...


@overload
def received_cycles(target: Target, received: Int64, times: Int64 | float = 1) -> Any: ...


def received_cycles(target: Target, received: Any, times: Any = 1) -> Any:
    """Return the cycles of exchanges from the bytes that a tile receives in them."""
    start = target.cost("sync_cycles") + target.cost("latency_cycles")
    return times * start + received / target.exchange_bytes_per_cycle


def exchanged(target: Target, received: Any, times: Any = 1) -> Int64:
    """Return the cycles of exchanges, rounded up; 0 if no bytes are received."""
    cycles = np.ceil(received_cycles(target, received, times))
    moved: Int64 = np.where(received > 0, cycles, 0).astype(np.int64)
    return moved


# -- reads of vertices -----------------------------------------------------------------------------


class Reads(NamedTuple):
    """A range of elements of a variable for each vertex.

    Attributes:
        mapping: the mapping of the variable.
        tile: int64[n], the tile of each vertex.
        begin: int64[n], the first element.
        end: int64[n], one past the last.
    """

    mapping: TileMapping
    tile: Int64
    begin: Int64
    end: Int64


def cycles_of_reads(
    target: Target, several: Sequence[Reads], size_bytes: int, *, once: bool = False
) -> int:
    """Return the cycles by the cost model until all vertices have received their inputs.

    Each item of `several` is for a different variable, whose elements have `size_bytes`, and the
    ranges of a tile do not overlap; with `once`, the ranges of different tiles do not overlap
    either.
    """
    # Between the addresses of two variables is one of neither.
    bases = np.cumsum([0, *(reads.mapping.num_elements + 1 for reads in several)])[:-1]
    pieces, rows = _moved(target, several, bases, size_bytes)
    cycles = int(cost.cycles_of_rows(target, rows).max())
    if len(pieces.to):
        exchange = cost.cycles_of_load(target, cost.load_of(target, [pieces], once))
        cycles += int(target.cost("sync_cycles") + exchange.max())
    return cycles


def _moved(
    target: Target, several: Sequence[Reads], bases: Int64, size_bytes: int
) -> tuple[cost.MovedPieces, cost.CopiedRows]:
    """Return the elements from other tiles, and the tile's own elements copied between them.

    The elements from other tiles are ordered by receiver and sender; `bases` are the addresses of
    the first elements of the variables.
    """
    tile, begin, end = _ranges(several, bases)
    low, high, owner, place = _homes(several, bases)
    first = np.searchsorted(low, begin, side="right") - 1
    counts = np.searchsorted(low, end) - first
    stop = np.cumsum(counts)
    piece = np.arange(counts.sum()) + np.repeat(first - stop + counts, counts)
    source, to, at = owner[piece], np.repeat(tile, counts), place[piece]
    low, high = low[piece], high[piece]
    is_read = counts > 0
    low[(stop - counts)[is_read]], high[stop[is_read] - 1] = begin[is_read], end[is_read]
    at += low
    size = high - low
    is_own = source == to
    own, others = np.flatnonzero(is_own), np.flatnonzero(~is_own)
    jumps = _next_to_own(own, to, low, high)
    order = others[sorted_order((to * target.tiles + source)[others])]
    width = np.full(len(order), size_bytes)
    moved = cost.MovedPieces(source[order], to[order], at[order], size[order], width, jumps[order])
    _note_first_jumps(moved, several, bases)
    vertex = np.searchsorted(stop, own, side="right")
    is_one_of_many = counts[vertex] > 1
    kept, vertex = own[is_one_of_many], vertex[is_one_of_many]
    into = low[kept] - begin[vertex]
    rows = to[kept], vertex, at[kept], into, size[kept], np.full(len(kept), size_bytes)
    return moved, cost.CopiedRows(*rows)


def _note_first_jumps(moved: cost.MovedPieces, several: Sequence[Reads], bases: Int64) -> None:
    """Let the first piece of each variable that reaches a tile jump to the variable's vector."""
    for base, reads in zip(bases, several, strict=True):
        is_inside = (moved.at >= base) & (moved.at < base + reads.mapping.num_elements)
        inside = np.flatnonzero(is_inside)
        moved.jumps[inside[np.diff(moved.to[inside], prepend=-1) != 0]] = True


def _ranges(several: Sequence[Reads], bases: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the tile, and the first and last address, of all reads, by tile and address."""
    tile = np.concatenate([reads.tile for reads in several])
    begin, end = (
        np.concatenate([reads[side] + base for reads, base in zip(several, bases, strict=True)])
        for side in (2, 3)
    )
    order = sorted_order(tile * (int(bases[-1]) + several[-1].mapping.num_elements) + begin)
    return tile[order], begin[order], end[order]


def _homes(several: Sequence[Reads], bases: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """Return the intervals of variables on tiles, by address.

    These are: first and last address, the tile, and the distance from an address to its place.
    """
    columns = []
    for reads, base in zip(several, bases, strict=True):
        low, high, owner = reads.mapping.in_order()
        columns.append((low + base, high + base, owner, _places(owner, high - low) - low))
    low, high, owner, place = map(np.concatenate, zip(*columns, strict=True))
    return low, high, owner, place


def _next_to_own(own: Int64, to: Int64, low: Int64, high: Int64) -> npt.NDArray[np.bool_]:
    """Return the indices of pieces that are next to one of the tile's own.

    Such a piece is not contiguous with the piece before.
    """
    found = np.zeros(len(to), np.bool_)
    for step in (1, -1):
        is_inside = (own + step >= 0) & (own + step < len(to))
        near, beside = own[is_inside] + step, own[is_inside]
        follows = high[np.minimum(near, beside)] == low[np.maximum(near, beside)]
        found[near] |= follows & (to[near] == to[beside])
    return found


def _places(owner: Int64, size: Int64) -> Int64:
    """Return the starts of pieces in memory, where those of a tile are contiguous, in order."""
    order = np.argsort(owner, kind="stable")
    places = np.empty_like(size)
    places[order] = np.cumsum(size[order]) - size[order]
    return places


# -- whole graphs ----------------------------------------------------------------------------------


def cycles_of_graph(graph: Graph, copies: Sequence[TensorCopy]) -> int:
    """Return the cycles by the cost model of all compute sets and of copies, each executed once."""
    cycles = 0
    for step in cost.step_costs(graph, graph.compute_sets, edge_table, copies):
        slots = [each.slots for each in step.vertices if each.slots is not None]
        for phase in (*step.before, *step.after):
            cycles += phase.sync + phase.cycles.most
        cycles += cost.tile_cycles(step.vertices, slots, graph.target).most
    return cycles


# -- texts -----------------------------------------------------------------------------------------


def too_large(
    what: str,
    target: Target,
    memory: float,
    held: Sequence[int],
    terms: Sequence[str],
    tries: Sequence[str],
) -> GraphMemoryAllocationError:
    """Return the error for exceeding the limit on a tile's memory, with each term."""
    whole, least = target.tile_memory_bytes, sum(held)
    parts = [(name, size) for name, size in zip(terms, held, strict=True) if size]
    largest, most = max(parts, key=lambda part: part[1])
    share = [f"memory={math.ceil(100 * least / whole) / 100:g}"] if least <= whole else []
    return GraphMemoryAllocationError(
        f"{what} does not fit: a tile needs at least {least:,} B of "
        f"{int(memory * whole):,} B ({memory:g} of its {whole:,} B)",
        found=f"{held_text(terms, held)} B; the largest term is {largest}, {most:,} B",
        fix=f"use {', or '.join([*share, *tries])}",
    )


def by(numbers: Sequence[int]) -> str:
    """Return sizes as text for a plan."""
    return " x ".join(f"{n:,}" for n in numbers)


def cycles_text(cycles: tuple[int, int, int], *, has_partials: bool) -> str:
    """Return the cycles of a way by its formulas, as text for a plan."""
    names = ("exchange", "products", "sums") if has_partials else ("exchange", "products")
    return " + ".join(f"{name} {n:,}" for name, n in zip(names, cycles, strict=False))


def others_text(others: Sequence[tuple[str, str, int]]) -> list[str]:
    """Return lines for the alternatives: their division among tiles, cycles, and bytes."""
    starts = ["or", *("  " for _ in others)]
    return [
        f"  {start}       {shared}: {cycles}, {held:,} B"
        for start, (shared, cycles, held) in zip(starts, others, strict=False)
    ]


def held_text(names: Sequence[str], held: Sequence[int]) -> str:
    """Return the memory of a tile by purpose, as text for a plan."""
    return " + ".join(f"{n} {b:,}" for n, b in zip(names, held, strict=True) if b)
