"""The largest or smallest elements of rows, in stages.

The stages in order:

    elements    LeastElements, one vertex for each piece of a row on a worker
    tiles       LeastWords, on the pieces of a row on one tile
    across 0    LeastWords, on the words of groups of tiles, until each row has one list
    values      Values and Positions, on the tile of the row's list

Rows are sorted instead if that takes fewer modelled cycles. The division of rows does not change
any bits: see `vertices/order.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.cost.step_cost import slowest_tile
from poplite.errors import SizeOverflowError, checked_truth
from poplite.expr.operand import Operand
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.ops.fuse.maps import grain_of
from poplite.ops.operands import called, count_of, ordered_bits
from poplite.ops.planning import received_cycles
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
from poplite.program import Sequence
from poplite.types import LONGLONG
from poplite.vertices.order import (
    KeyRule,
    LeastElements,
    LeastWords,
    key_rule,
    least_slots,
    order_slots,
)

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
    count = count_of(what, "k", k)
    if count > rows.size:
        raise SizeOverflowError(
            f"{what}: k is {count}, but a row has {rows.size} elements",
            found=f"{called(rows.given)} has shape {rows.shape}",
            fix=f"pass a k from 0 to {rows.size}",
        )
    check_positions(rows)
    falls = checked_truth(largest, f"{what}: largest")
    in_order = checked_truth(sorted, f"{what}: sorted")
    rows.begin()
    rule = key_rule(rows.element_type.dtype, falls=falls)
    words = _words(rows, count, rule, in_order=in_order)
    values, indices = write(rows, words, count, rule)
    rows.finish([rows.x], [values, indices])
    return Top(values, indices)


def _words(rows: Rows, k: int, rule: KeyRule, *, in_order: bool) -> Tensor:
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
    slots = least_slots(taken, lists.length, makes=True)
    cycles = float(slowest_tile(lists.tile, slots, target))
    for stage in stages:
        total = np.add.reduceat(stage.lists.length, stage.group)
        slots = least_slots(total, stage.made.length) + order_slots(stage.made.length)
        cycles += received_cycles(target, WORD * int(total.max()))
        cycles += slowest_tile(stage.made.tile, slots, target)
    return cycles


def _least(
    rows: Rows, k: int, rule: KeyRule, cut: Cut, stages: list[TopStage], *, in_order: bool
) -> Tensor:
    """Record the stages; return the words of all rows, [count, k]."""
    lists, begin, end = cut
    words = rows.variable(LONGLONG, "/words", lists.tile, lists.length)
    if words.num_elements:
        rows.execute(
            "/elements",
            LeastElements,
            lists.tile,
            x=ranges(rows.rows, lists.row * rows.size + begin, end - begin),
            bits=ranges(ordered_bits(rows.rows), lists.row * rows.size + begin, end - begin),
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
        LeastWords,
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
