"""Rows in parts: their largest elements, or running sums, products and extremes.

The stages for the largest or smallest elements:

    elements    LeastElements, one vertex for each piece of a row on a worker
    tiles       LeastWords, on the pieces of a row on one tile
    across 0    LeastWords, on the words of groups of tiles, until each row has one list
    values      Values and Positions, on the tile of the row's list

Rows are sorted instead if that takes fewer modelled cycles. The division of rows does not change
any bits: see `vertices/order.py`. Running sums have three steps, and their parts, therefore also
the bits of a result, depend only on the size of the dimension:

    totals    TotalSum         each part of a row except the last
    before    CumulativeSum    the totals of a row
    running   CumulativeSum    each part
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

import poplite.ops.operands as checks
from poplite.arrays.intervals import Int64
from poplite.cost.step_cost import slowest_tile
from poplite.errors import SizeOverflowError, TensorCreationError, checked_truth
from poplite.expr.operand import Operand
from poplite.expr.tree import Expr
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.fuse.maps import Mappings, grain_of, variable
from poplite.ops.operands import NUMBERS
from poplite.ops.planning import received_cycles
from poplite.ops.record import map as stored, zero
from poplite.ops.sorting import (
    ORDERED,
    WORD,
    Rows,
    check_positions,
    pieces,
    plan_of,
    ranges,
    sorted_words,
    write,
)
from poplite.program import Execute, Sequence
from poplite.program.recording import RecordedSteps as Block
from poplite.public import arguments_of
from poplite.types import FLOAT, HALF, LONGLONG, UNSIGNED_INT
from poplite.vertices import order as library, scans
from poplite.vertices.slices import PackUnique, TakeRanks, pack_slots, rank_slots

MOST_KEPT = 512
"""Maximum number of words that a vertex keeps; to keep more, rows are sorted."""

MOST_MERGED = 4096
"""Maximum number of words per vertex if all lists of a row are merged at once."""

MOST_STAGES = 4
"""Maximum number of stages across tiles to try."""


class Top(NamedTuple):
    """The results of `top_k`.

    Attributes:
        values: the k largest or smallest elements.
        indices: the positions of the values along the dimension, UNSIGNED_INT.
    """

    values: Tensor
    indices: Tensor


class Lists(NamedTuple):
    """Lists of words, sorted by row and tile; all int64[n].

    Attributes:
        row: the row of each list.
        tile: the tile of each list.
        length: the number of words in each list.
    """

    row: Int64
    tile: Int64
    length: Int64


Cut = tuple[Lists, Int64, Int64]
"""The first lists, and the ranges of elements, within their rows, from which they are made."""


def top_k(
    x: Operand,
    k: int,
    dim: int = -1,
    *,
    largest: bool = True,
    sorted: bool = True,  # noqa: A002  (the name that other libraries have)
    name: str = "top_k",
    program: Sequence | None = None,
) -> Top:
    """Record steps that find the k largest elements along a dimension, and their positions.

    Among equal elements, the first ones are taken and come first. A NaN is larger than all
    numbers, as in NumPy's sort, and -0.0 as large as 0.0.

    Args:
        x: FLOAT, HALF, or integers of up to 32 bits; any shape. An expression is stored first.
        k: the number of elements, from 0 to the size of the dimension.
        dim: the dimension; negative ones count from the last.
        largest: whether to find the largest elements rather than the smallest.
        sorted: whether the results are sorted, the best first; otherwise they are in any order.
        name: the name of the new variables and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        Values and indices, with the shape of x but size k along the dimension. Those of a row are
        on one tile, or in blocks if the row is sorted. All NaNs are returned with the same bits.

    Raises:
        ElementTypeError: for an x of any other element type.
        TensorIndexError: for a dimension that x does not have.
        SizeOverflowError: for a k above the size of the dimension.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[3, 9, 4, 9, 1])
    >>> values, indices = top_k(x, 3, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(values).tolist(), engine.read(indices).tolist()
    ([9, 9, 4], [1, 3, 2])
    """
    what = "ops.top_k"
    rows = Rows(what, x, dim, ORDERED, name, program)
    count = checks.count_of(what, "k", k)
    if count > rows.size:
        raise SizeOverflowError(
            f"{what}: k is {count}, but a row has {rows.size} elements",
            found=f"{checks.called(rows.given)} has shape {rows.shape}",
            fix=f"pass a k from 0 to {rows.size}",
        )
    check_positions(rows)
    falls = checked_truth(largest, f"{what}: largest")
    in_order = checked_truth(sorted, f"{what}: sorted")
    rows.begin()
    rule = library.key_rule(rows.element_type.dtype, falls=falls)
    words = _words(rows, count, rule, in_order=in_order)
    values, indices = write(rows, words, count, rule)
    rows.finish([rows.x], [values, indices])
    return Top(values, indices)


def _words(rows: Rows, k: int, rule: library.KeyRule, *, in_order: bool) -> Tensor:
    """Record the computation of the words, [count, at least k]: by lists, or by sorting."""
    if k > MOST_KEPT:
        return sorted_words(rows, rule)
    cut = _pieces(rows, k)
    lists, begin, end = cut
    stages: list[TopStage] = []
    if len(lists.row):
        cycles, _, stages = min(
            _ways(rows.graph.target, lists, end - begin, k), key=itemgetter(0, 1)
        )
        if plan_of(rows).cycles < cycles:
            return sorted_words(rows, rule)
    return _least(rows, k, rule, cut, stages, in_order=in_order)


class TopStage(NamedTuple):
    """A stage that merges each group of lists into one.

    Attributes:
        level: the name of the stage.
        lists: the lists before the stage.
        group: int64[n], the first list of each group.
        made: the resulting lists.
    """

    level: str
    lists: Lists
    group: Int64
    made: Lists


def _ways(
    target: Target, lists: Lists, taken: Int64, k: int
) -> Iterator[tuple[float, int, list[TopStage]]]:
    """Yield stages that leave one list per row, preceded by their modelled cycles and their number.

    The time for merging lists grows with their words, and each stage starts an exchange.
    """
    most = int(np.bincount(lists.row[_starts(lists.row, lists.tile)]).max())
    for number in range(1, MOST_STAGES + 1):
        fan_in = max(2, math.ceil(most ** (1 / number)))
        if number > 1 or fan_in * k <= MOST_MERGED:
            stages = _stages(lists, k, fan_in)
            yield _cycles(target, lists, taken, stages), number, stages


def _stages(lists: Lists, k: int, fan_in: int) -> list[TopStage]:
    """Return the stages that leave one list per row; lists on the same tile are merged first."""
    stages: list[TopStage] = []
    rows = len(np.unique(lists.row))
    group, level, across = _starts(lists.row, lists.tile), "/tiles", 0
    while len(lists.row) > rows:
        if len(group) < len(lists.row):
            total = np.add.reduceat(lists.length, group)
            made = Lists(lists.row[group], lists.tile[group], np.minimum(total, k))
            stages.append(TopStage(level, lists, group, made))
            lists = made
        group = _starts(lists.row, _rank(lists.row) // fan_in)
        level, across = f"/across {across}", across + 1
    return stages


def _cycles(target: Target, lists: Lists, taken: Int64, stages: list[TopStage]) -> float:
    """Return the modelled cycles of making the first lists from their elements, and of stages."""
    slots = library.least_slots(taken, lists.length, makes=True)
    cycles = float(slowest_tile(lists.tile, slots, target))
    for stage in stages:
        total = np.add.reduceat(stage.lists.length, stage.group)
        slots = library.least_slots(total, stage.made.length) + library.order_slots(
            stage.made.length
        )
        cycles += received_cycles(target, WORD * int(total.max()))
        cycles += slowest_tile(stage.made.tile, slots, target)
    return cycles


def _least(
    rows: Rows, k: int, rule: library.KeyRule, cut: Cut, stages: list[TopStage], *, in_order: bool
) -> Tensor:
    """Record the stages; return the words of all rows, [count, k]."""
    lists, begin, end = cut
    words = rows.variable(LONGLONG, "/words", lists.tile, lists.length)
    if words.num_elements:
        rows.execute(
            "/elements",
            library.LeastElements,
            lists.tile,
            x=ranges(rows.rows, lists.row * rows.size + begin, end - begin),
            bits=ranges(checks.ordered_bits(rows.rows), lists.row * rows.size + begin, end - begin),
            words=ranges(words, np.cumsum(lists.length) - lists.length, lists.length),
            first=begin,
            in_order=not stages and in_order,
            **rule._asdict(),
        )
        for stage in stages:
            words = _merge(rows, stage, words, in_order=in_order and stage is stages[-1])
    return words.reshape((rows.count, k))


def _merge(rows: Rows, stage: TopStage, words: Tensor, *, in_order: bool) -> Tensor:
    """Record a stage; return the words of its lists."""
    made, total = stage.made, np.add.reduceat(stage.lists.length, stage.group)
    out = rows.variable(LONGLONG, f"{stage.level} words", made.tile, made.length)
    rows.execute(
        stage.level,
        library.LeastWords,
        made.tile,
        x=ranges(words, np.cumsum(total) - total, total),
        words=ranges(out, np.cumsum(made.length) - made.length, made.length),
        in_order=in_order,
    )
    return out


def _pieces(rows: Rows, k: int) -> Cut:
    """Divide rows among workers, in place if that makes few pieces; return ranges within rows."""
    target = rows.graph.target
    workers = target.tiles * target.workers
    if not (rows.count and k):
        none = np.empty(0, np.int64)
        return Lists(none, none, none), none, none
    mapping = rows.mappings.of(rows.rows)
    tile, row, begin, end = pieces(mapping, rows.size, target.workers, grain_of(rows.element_type))
    if len(row) > 2 * max(workers, rows.count):
        parts = max(1, min(workers // rows.count, rows.size // (2 * k)))
        row = np.repeat(np.arange(rows.count), parts)
        part = np.tile(np.arange(parts), rows.count)
        begin, end = part * rows.size // parts, (part + 1) * rows.size // parts
        tile = np.arange(len(row)) * target.tiles // len(row)
    order = np.lexsort((begin, tile, row))
    row, tile, begin, end = row[order], tile[order], begin[order], end[order]
    return Lists(row, tile, np.minimum(end - begin, k)), begin, end


def _starts(row: Int64, other: Int64) -> Int64:
    """Return the positions at which a row or another number differs from the previous one."""
    begins = (np.diff(row, prepend=-1) != 0) | (np.diff(other, prepend=-1) != 0)
    return np.flatnonzero(begins)


def _rank(row: Int64) -> Int64:
    """Return the index of each list within its row."""
    first = np.flatnonzero(np.diff(row, prepend=-1))
    count = np.diff(np.append(first, len(row)))
    rank: Int64 = np.arange(len(row)) - np.repeat(first, count)
    return rank


# -- running sums ----------------------------------------------------------------------------------


def cumulative_sum(
    x: Operand,
    dim: int | None = -1,
    *,
    exclusive: bool = False,
    name: str = "cumulative_sum",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that sum the elements along a dimension, up to and including each element.

    A row of n elements is divided into parts of max(64, ceil(sqrt(n))) elements. Elements are added
    in order within each part; the totals of parts are added in order; and the total before a part
    is added to the sums within it. So the bits of a float sum depend only on the size of the
    dimension, not on tiles: `poplite.vertices.scans.running_reference` computes the same bits in
    NumPy. HALF is added in FLOAT and rounded once; integers wrap.

    Args:
        x: numbers of any type except QUARTER, of any shape. An expression is stored first.
        dim: the dimension; negative ones count from the last. None means all elements in row-major
            order, with a result of rank 1.
        exclusive: whether each sum excludes the element itself; the first sum is then 0.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor with the shape and type of x, whose parts are spread over the tiles.

    Raises:
        ElementTypeError: for an x of an unsupported element type.
        TensorIndexError: for a dimension that x does not have.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 1])
    >>> y = cumulative_sum(x, program=program)
    >>> before = cumulative_sum(x, exclusive=True, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist(), engine.read(before).tolist()
    ([3, 12, 16, 17], [0, 3, 12, 16])
    """
    vertices = scans.TotalSum, scans.CumulativeSum
    return _running("ops.cumulative_sum", vertices, x, dim, exclusive, name, program)


@arguments_of(cumulative_sum)
def cumulative_product(
    x: Operand,
    dim: int | None = -1,
    *,
    exclusive: bool = False,
    name: str = "cumulative_product",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that multiply the elements along a dimension, up to and including each of them.

    The order is that of `cumulative_sum`; exclusive products start with 1.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 1])
    >>> y = cumulative_product(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [3, 27, 108, 108]
    """
    vertices = scans.TotalProduct, scans.CumulativeProduct
    return _running("ops.cumulative_product", vertices, x, dim, exclusive, name, program)


@arguments_of(cumulative_sum)
def cumulative_max(
    x: Operand,
    dim: int | None = -1,
    *,
    name: str = "cumulative_max",
    program: Sequence | None = None,
) -> Tensor:
    """Record steps that find the largest element up to and including each, along a dimension.

    After a NaN all are NaN, as in `numpy.maximum.accumulate`.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 10])
    >>> y = cumulative_max(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [3, 9, 9, 10]
    """
    vertices = scans.TotalMax, scans.CumulativeMax
    return _running("ops.cumulative_max", vertices, x, dim, False, name, program)


def _running(
    what: str,
    vertices: tuple[type[scans.TotalSum[Any, Any]], type[scans.CumulativeSum[Any, Any]]],
    x: Operand,
    dim: int | None,
    exclusive: bool,
    name: str,
    program: Sequence | None,
) -> Tensor:
    total_of, running_of = vertices
    rows = Rows(what, x, dim, NUMBERS, name, program)
    excludes = checked_truth(exclusive, f"{what}: exclusive")
    rows.begin()
    length = scans.part_length(rows.size)
    parts = -(-rows.size // length)
    row, part = np.divmod(np.arange(rows.count * parts), max(parts, 1))
    begin = part * length
    size = np.minimum(begin + length, rows.size) - begin
    tile = np.arange(len(row)) * rows.graph.target.tiles // max(len(row), 1)
    out = rows.variable(rows.element_type, "", tile, size)
    wide = FLOAT if rows.element_type is HALF else rows.element_type
    inner = max(parts - 1, 0)  # parts of a row that are not the last
    ones = np.ones(rows.count * inner, np.int64)
    before = rows.variable(wide, "/before", tile[part > 0], ones)
    if len(ones):
        totals = rows.variable(wide, "/parts", tile[part < inner], ones)
        mine = part < inner
        rows.execute(
            "/totals",
            total_of,
            tile[mine],
            x=ranges(rows.rows, (row * rows.size + begin)[mine], size[mine]),
            total=totals,
        )
        shape = (rows.count, inner)
        rows.execute(
            "/before",
            running_of,
            tile[part == 0],
            x=totals.reshape(shape),
            before=before[:0].reshape((1, 0)).broadcast(rows.count, 0),
            out=before.reshape(shape),
            excludes=False,
        )
    if len(row):
        is_later = (part > 0).astype(np.int64)
        rows.execute(
            "/running",
            running_of,
            tile,
            x=ranges(rows.rows, row * rows.size + begin, size),
            before=ranges(before, np.cumsum(is_later) - is_later, is_later),
            out=ranges(out, np.cumsum(size) - size, size),
            excludes=excludes,
        )
    result = rows.back(out.reshape((rows.count, rows.size)))
    rows.finish([rows.x], [result])
    return result


# -- distinct elements -----------------------------------------------------------------------------


SHARE = 4
"""A part of the elements may take 1 / SHARE of a tile's memory."""


class Unique(NamedTuple):
    """The results of `unique_sorted`.

    Attributes:
        values: the distinct elements, padded with zeros to the size of x.
        length: the number of distinct elements, known when the program has run: UNSIGNED_INT[].
    """

    values: Tensor
    length: Tensor


def unique_sorted(
    x: Operand, *, name: str = "unique_sorted", program: Sequence | None = None
) -> Unique:
    """Record steps that pack the elements that differ from the previous one.

    In a sorted tensor, these are the distinct elements. 0.0 and -0.0 are equal (the first of them
    is kept), and so are any two NaNs.

    Args:
        x: FLOAT, HALF, or integers of up to 32 bits; rank 1. An expression is stored first.
        name: the name of the new variables and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        Values and length.

    Raises:
        ElementTypeError: for an x of any other element type.
        TensorCreationError: for an x whose rank is not 1.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[1, 1, 2, 5, 5])
    >>> values, length = unique_sorted(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(values).tolist(), int(engine.read(length))
    ([1, 2, 5, 0, 0], 3)
    """
    what = "ops.unique_sorted"
    given = checks.operand(what, x, program)
    checks.check_type(what, given, ORDERED)
    checks.check_placed(given)
    if given.rank != 1:
        raise TensorCreationError(
            f"{what}: {checks.called(given)} has rank {given.rank}",
            found=f"shape {given.shape}",
            fix="pass x.flatten(), sorted",
        )
    graph = checks.graph_of(what, given, program)
    place = checks.steps_for(what, graph, name, program)
    if isinstance(given, Expr):
        given = stored(given, name=f"{name}/x", program=program)
    steps = Block(graph, name)
    found = _packed(graph, given, name, steps)
    place.add(steps)
    return found


def _packed(graph: Graph, x: Tensor, name: str, steps: Sequence) -> Unique:
    """Record steps in which blocks pack their new elements, and each tile takes its part."""
    values = variable(Mappings(graph), x.element_type, x.shape, name, [x])
    zero(values, name=f"{name}/zero", program=steps)
    none = graph.add_constant(UNSIGNED_INT, (1,), 0, f"{name}/none", mapping=0)
    if not x.num_elements:
        return Unique(values, none[0])
    size = x.element_type.size_bytes
    block = -(-x.num_elements // best_blocks(graph.target, x.num_elements, size))
    front, counts = _fronts(graph, x, block, name, steps)
    ends = cumulative_sum(counts, name=f"{name}/ranks", program=steps)
    starts, blocks = concat([none, ends]), ends.num_elements
    at_once = max(1, graph.target.tile_memory_bytes // SHARE // (4 + block * size))
    for low in range(0, blocks, at_once):
        high = min(low + at_once, blocks)
        part = front[low * block : high * block]
        _take(graph, part, starts[low : high + 1], values, block, f"{name}/take", steps)
    return Unique(values, ends[blocks - 1])


def _fronts(
    graph: Graph, x: Tensor, block: int, name: str, steps: Sequence
) -> tuple[Tensor, Tensor]:
    """Record the move of new elements to the front of blocks; return the blocks and the counts."""
    begin = np.arange(0, x.num_elements, block)
    end = np.minimum(begin + block, x.num_elements)
    tiles = graph.target.tiles
    tile = np.arange(len(begin)) * tiles // len(begin)
    front = graph.add_variable(
        x.element_type, x.shape, f"{name}/front", mapping=TileMapping(tiles, tile, end - begin)
    )
    ones = TileMapping(tiles, tile, np.ones(len(begin), np.int64))
    counts = graph.add_variable(UNSIGNED_INT, (len(begin),), f"{name}/counts", mapping=ones)
    pack = graph.add_compute_set(f"{name}/pack")
    graph.add_vertices(
        pack,
        PackUnique,
        tile=tile,
        x=ranges(x, begin, end - begin),
        before=ranges(x, np.maximum(begin - 1, 0), np.minimum(begin, 1)),
        out=ranges(front, begin, end - begin),
        count=counts,
    )
    steps.add(Execute(pack))
    return front, counts


def _take(
    graph: Graph,
    front: Tensor,
    starts: Tensor,
    values: Tensor,
    block: int,
    name: str,
    steps: Sequence,
) -> None:
    """Record steps in which tiles copy their elements from the blocks that have them."""
    size, workers = values.num_elements, graph.target.workers
    mapping, grain = graph.tile_mapping(values), grain_of(values.element_type)
    found = pieces(mapping, size, workers, grain)
    bits, out, count = checks.ordered_bits(front), checks.ordered_bits(values), len(found.tile)
    take = graph.add_compute_set(name)
    graph.add_vertices(
        take,
        TakeRanks,
        tile=found.tile,
        x=bits.expand([0]).broadcast(count, 0),
        starts=starts.expand([0]).broadcast(count, 0),
        out=ranges(out, found.begin, found.end - found.begin),
        first=found.begin,
        size=block,
    )
    steps.add(Execute(take))


@lru_cache(maxsize=256)
def best_blocks(target: Target, size: int, element_bytes: int) -> int:
    """Return the cheapest number of blocks in which elements are packed first.

    Args:
        target: the machine.
        size: the number of elements, at least one.
        element_bytes: the size of an element.
    """
    workers, tiles = target.workers, target.tiles
    most = max(1, min(size, tiles * workers, target.tile_memory_bytes // SHARE // 8))

    def cycles(blocks: int) -> float:
        """Return the modelled cycles of packing, of ranks, and of receiving and copying."""
        turns = -(-blocks // (tiles * workers))
        part = min(scans.part_length(blocks), blocks)
        runs = pack_slots(-(-size // blocks)) * turns + scans.running_slots(part) * (
            1 + (blocks > part)
        )
        share = -(-size // (tiles * workers))
        runs += rank_slots(share, blocks, -(-share * blocks // size))
        received = (size * element_bytes + 4 * blocks) / target.cost("pair_tiles")
        return workers * runs + received_cycles(target, received, 3 if blocks <= part else 5)

    sizes = {1 << k for k in range(most.bit_length())} | {most, min(most, tiles)}
    return min(sorted(sizes), key=cycles)
