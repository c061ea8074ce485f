"""Sorting along a dimension."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import poplite.ops.operands as checks
from poplite.arrays.intervals import Int64, repeated
from poplite.errors import SizeOverflowError, TensorCreationError, checked_truth
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Slices, Tensor
from poplite.graph.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.fuse.maps import Mappings, cuts, grain_of, held, variable
from poplite.ops.operands import FLOATS, INDICES, NUMBERS
from poplite.ops.planning import received_cycles
from poplite.ops.record import map as stored
from poplite.program import Sequence as Steps
from poplite.program.recording import RecordedSteps as Block, Recorder, recorder
from poplite.types import BOOL, INTEGERS_32, LONGLONG, UNSIGNED_INT
from poplite.vertex.vertex import Vertex
from poplite.vertices import order as library
from poplite.vertices.slices import TakePart

ORDERED: tuple[ElementClass, ...] = (*FLOATS, *INTEGERS_32)
"""The element types that can be sorted."""


class Rows:
    """Rows of a tensor along a dimension, and the operation on them.

    The constructor checks its arguments; `begin` records the first steps after the caller has
    checked the others.

    Args:
        what: the call, for messages.
        x: the operand; an expression is stored by `begin`.
        dim: the dimension; None for all elements in row-major order.
        types: the element types that are allowed.
        name: the name of the steps.
        program: where the steps go; None for the open block.
        others: the other operands of the call.

    Attributes:
        given: the operand, as a tensor or an expression.
        shape: the shape of x; of rank 1 if `dim` is None.
        dim: the dimension, not negative.
        count: the number of rows.
        size: the length of a row.
        x: the tensor; set by `begin`, like the following attributes.
        rows: the rows, a tensor [count, size].
        recorder: receives the steps.
    """

    x: Tensor
    rows: Tensor
    recorder: Recorder

    def __init__(
        self,
        what: str,
        x: Operand,
        dim: int | None,
        types: tuple[ElementClass, ...],
        name: str,
        program: Steps | None,
        *others: object,
    ) -> None:
        self.given = checks.operand(what, x, program)
        checks.check_type(what, self.given, types)
        self.what, self.name, self.element_type = what, name, self.given.element_type
        self.shape = self.given.shape if dim is not None else (self.given.num_elements,)
        self.dim = checks.dimension(what, self.given, dim) if dim is not None else 0
        self.size = self.shape[self.dim]
        self.count = math.prod(self.shape[: self.dim] + self.shape[self.dim + 1 :])
        self.graph: Graph = checks.graph_of(what, self.given, program, *others)
        self.mappings = Mappings(self.graph)
        self._program, self._target = program, checks.steps_for(what, self.graph, name, program)

    def begin(self) -> None:
        """Store the operand if it is an expression, and start recording steps."""
        x = self.given
        if isinstance(x, Expr):
            x = stored(x, name=f"{self.name}/x", program=self._program)
        self.x = x if x.shape == self.shape else x.flatten()
        self.rows = self.of(self.x)
        self.recorder = recorder(self.graph, self._target)

    def of(self, tensor: Tensor) -> Tensor:
        """Reshape a tensor to rows; only its size along the dimension may differ from that of x."""
        last = tensor.rank - 1
        return tensor.dim_roll(self.dim, last).reshape((self.count, tensor.shape[self.dim]))

    def back(self, rows: Tensor) -> Tensor:
        """Reshape rows [count, k] to the shape of x, with size k along the dimension."""
        others = self.shape[: self.dim] + self.shape[self.dim + 1 :]
        return rows.reshape((*others, rows.shape[1])).dim_roll(len(others), self.dim)

    def variable(self, element_type: ElementClass, part: str, tile: Int64, length: Int64) -> Tensor:
        """Return a new variable of rank 1, with the given lengths on the given tiles, in order."""
        mapping = TileMapping(self.graph.target.tiles, tile, length)
        shape = (int(length.sum()),)
        return self.graph.add_variable(element_type, shape, f"{self.name}{part}", mapping=mapping)

    def execute(self, part: str, vertex: type[Vertex], tile: Int64, **fields: Any) -> None:
        """Record a compute set of vertices."""
        self.graph.add_vertices(
            self.recorder.compute_set(f"{self.name}{part}"), vertex, tile=tile, **fields
        )

    def finish(self, reads: Iterable[Tensor], writes: Iterable[Tensor]) -> None:
        """Append the steps to the program."""
        self.recorder.uses(self.name, list(reads), list(writes))
        self.recorder.finish(self._target, self.name)


class RowRanges(NamedTuple):
    """Ranges of rows, one for each vertex; all int64[n].

    Attributes:
        tile: the tile of each range.
        row: the row of each range.
        begin: the first element, counted from the start of the row.
        end: one past the last.
    """

    tile: Int64
    row: Int64
    begin: Int64
    end: Int64


def pieces(mapping: TileMapping, size: int, workers: int, grain: int) -> RowRanges:
    """Cut rows of `size` elements at the boundaries of tiles, workers and rows."""
    if not mapping.num_elements:
        return RowRanges(*(np.empty(0, np.int64) for _ in range(4)))
    found = cuts(*held(mapping), workers, grain)
    first, last = found.begin // size, (found.end - 1) // size
    count = last - first + 1
    source, within = repeated(count)
    row = first[source] + within
    begin = np.maximum(found.begin[source] - row * size, 0)
    return RowRanges(
        found.tile[source], row, begin, np.minimum(found.end[source] - row * size, size)
    )


def ranges(x: Tensor, begin: Int64, length: Int64) -> Slices:
    """Return slices of a flattened tensor."""
    return Slices(x.flatten(), 0, begin, begin + length)


# -- from sorted words to elements and positions ---------------------------------------------------


LEAST = 8
"""Minimum number of words per worker when the words of a tile are divided among workers."""


def check_positions(rows: Rows) -> None:
    """Raise an error for rows that are too long for positions."""
    if rows.size > library.POSITIONS:
        raise SizeOverflowError(
            f"{rows.what}: too many elements, {rows.size:,}, along dimension {rows.dim} of "
            f"{checks.called(rows.given)}",
            fix=f"pass at most {library.POSITIONS:,}",
        )


def write(
    rows: Rows, words: Tensor, count: int, rule: library.KeyRule | None, *, positions: bool = True
) -> list[Tensor]:
    """Record the values, if there is a rule, and the positions of the first `count` words of rows.

    Words are [rows, at least count]; a tile writes the results for the words on it.
    """
    first = words[:, :count]
    mapping = rows.graph.tile_mapping(first)
    begin, stop, tile = mapping.in_order()
    length = stop - begin
    workers = rows.graph.target.workers
    parts = np.clip(length // LEAST, 1, workers)
    source, part = repeated(parts)
    low, high = (length[source] * (part + end) // parts[source] for end in (0, 1))
    tile, begin, length = tile[source], begin[source] + low, high - low
    made = []
    for name, vertex, element_type, state in (
        ("/values", library.Values, rows.element_type, {} if rule is None else rule._asdict()),
        ("/indices", library.Positions, UNSIGNED_INT, {}),
    ):
        if (vertex is library.Values and rule is None) or (
            vertex is library.Positions and not positions
        ):
            continue
        out = rows.variable(element_type, name, tile, length)
        made.append(rows.back(out.reshape((rows.count, count))))
        if len(tile):
            fields = {
                "words": ranges(first, begin, length),
                "out": ranges(checks.ordered_bits(out), begin, length),
            }
            rows.execute(name, vertex, tile, **fields, **state)
    return made


# -- plans -----------------------------------------------------------------------------------------
# How rows are divided for sorting: the choice with the fewest modelled cycles.
#
# A row is divided into blocks, one per tile, and a block into runs, which workers sort. Sorted
# blocks are merged into lists of two blocks, then of four, and so on, in `levels` stages; then a
# network sorts the lists, merging two at a time. Merging longer and longer lists takes few stages,
# but every tile receives both lists; a network has more stages, but on shorter lists::
#
#     blocks  levels  merged                                            then exchanged
#     8       3       0+1 2+3 4+5 6+7, 01+23 45+67, 0123+4567           nothing
#     8       1       0+1 2+3 4+5 6+7                                   four lists of two blocks
#     8       0       nothing                                           eight lists of one block


BYTES_A_WORD = 64
"""Bytes of a tile's memory per word of a row that is sorted on one tile."""

WORD = 8
"""Bytes in a word."""

SHARE = 4
"""Lists from other tiles may take 1 / SHARE of a tile's memory, but no more than half of the memory
that unsorted elements leave free on the fullest tile, which also holds sorted words."""


@frozen
class SortPlan:
    """How each row is sorted.

    Attributes:
        blocks: the number of blocks in a row; if there are several lists, a multiple of the number
            of blocks in a list.
        run: the number of words in a run.
        levels: the number of stages that merge blocks before lists are exchanged; a list then has
            `2 ** levels` blocks.
        alternates: whether blocks move from one tile to another and back: then all elements of a
            block come from other tiles, and no element is copied within a tile.
        cycles: the cycles predicted by the cost model.
    """

    blocks: int
    run: int
    levels: int
    alternates: bool
    cycles: int


@lru_cache(maxsize=256)
def sort_plan(
    target: Target, count: int, size: int, element_bytes: int, held_bytes: int = 0
) -> SortPlan:
    """Return the cheapest plan.

    Args:
        target: the machine.
        count: the number of rows, at least one.
        size: the number of elements in a row, at least one.
        element_bytes: the size of an element.
        held_bytes: the bytes of the unsorted elements on the fullest tile.
    """
    pricing = _Pricing(target, count, size, element_bytes, held_bytes)
    found = [pricing.plan(*way) for way in pricing.ways()]
    return min(found, key=lambda each: (each.cycles, each.blocks, each.levels))


class _Pricing:
    """The cycles of plans for rows of equal length."""

    def __init__(
        self, target: Target, count: int, size: int, element_bytes: int, held_bytes: int
    ) -> None:
        self.target, self.count, self.size, self.bytes = target, count, size, element_bytes
        self.held_bytes = held_bytes

    def ways(self) -> Iterator[tuple[int, int, bool]]:
        """Yield numbers of blocks and levels that fit in memory, and whether blocks alternate."""
        target, size = self.target, self.size
        least = -(-size // max(1, target.tile_memory_bytes // BYTES_A_WORD))
        here = target.tiles_per_ipu  # links between IPUs are far slower than an exchange
        most = max(least, min(size, here // self.count))
        sizes = {least, most, most // 2, *(1 << k for k in range(most.bit_length()))}
        memory = target.tile_memory_bytes
        limit = min(memory // SHARE, (memory - self.held_bytes) // 2)
        for wished in sorted(each for each in sizes if least <= each <= most):
            for levels in range((wished - 1).bit_length() + 1):
                length = 1 << levels
                blocks = wished if length >= wished else wished // length * length
                received = WORD * min(2 * length, blocks) * -(-size // blocks)
                if levels and (received > limit or blocks < least):
                    break
                yield blocks, levels, False
                if blocks > 1 and 2 * blocks * self.count <= here:
                    yield blocks, levels, True

    def plan(self, blocks: int, levels: int, alternates: bool) -> SortPlan:
        """Return a plan with its cycles."""
        block = -(-self.size // blocks)
        a_tile = -(-self.count * blocks // self.target.tiles)
        workers = self._workers
        several = [*range(1, workers + 1), 2 * workers, 4 * workers]
        cycles, run = min(self._block(block, a_tile, runs) for runs in several)
        length = block
        for _ in range(levels):
            cycles += self._merged(block, length, a_tile, alternates=alternates)
            length *= 2
        lists = -(-blocks >> levels) if blocks > 1 else 1
        depth = (lists - 1).bit_length()
        stages = depth * (depth + 1) // 2
        if stages:
            cycles += stages * self._merged(block, length, a_tile, alternates=alternates)
        cycles += a_tile * workers * library.value_slots(-(-block // workers))
        return SortPlan(blocks, run, levels, alternates, cycles)

    @property
    def _workers(self) -> int:
        return self.target.workers

    def _block(self, block: int, a_tile: int, runs: int) -> tuple[int, int]:
        """Return the cycles for sorting a tile's blocks in `runs` runs each, and a run's length."""
        run = -(-block // runs)
        runs = -(-block // run)
        cycles = self._received(a_tile * block * self.bytes)
        cycles += self._workers * -(-a_tile * runs // self._workers) * library.sort_slots(run)
        length = run
        while length < block:
            pairs = -(-block // (2 * length))
            cycles += pairs * a_tile * self._merge(min(2 * length, block), length)
            length *= 2
        return cycles, run

    def _merged(self, block: int, length: int, a_tile: int, *, alternates: bool) -> int:
        """Return the cycles of a stage that makes blocks from two lists of `length` words."""
        cost = self.target.cost
        cycles = a_tile * self._merge(block, length)
        if length == block and not alternates:  # there is only one list
            return cycles + self._received(a_tile * WORD * length)
        if not alternates:
            copied = math.ceil(WORD * block / cost("memcpy_bytes_per_cycle"))
            cycles += int(cost("worker_call") + a_tile * (cost("copy_piece_cycles") + copied))
        both = 2 * length / (cost("pair_tiles") if length > block else 1)  # shared by a pair
        return cycles + self._received(a_tile * WORD * both)

    def _merge(self, words: int, length: int) -> int:
        """Return a vertex's cycles for merging `words` words from two lists of `length` words."""
        return self._workers * library.merge_slots(-(-words // self._workers), length)

    def _received(self, size: float) -> int:
        return math.ceil(received_cycles(self.target, size))


# -- rows of words on several tiles ----------------------------------------------------------------
# A plan divides a row into blocks of equal size, one per tile, and a block into runs::
#
#     sort        SortElements    each run of each block
#     merge 0     MergeWords      adjacent runs of a block: 6 -> 3 -> 2 -> 1
#     join 0      MergeWords      adjacent lists of blocks: 0+1 2+3, then 01+23
#     exchange 0  MergeWords      two lists: the smaller half of their words, and the larger half
#
# The exchanges are those of Batcher's odd-even merge sort, in which a comparison of two elements
# becomes a merge of two lists. Each tile computes the words of its own block of the merged lists,
# and reads both lists. Every block has two buffers and moves from one to the other whenever it
# takes part, because no vertex may write elements that another vertex of the compute set reads.
#
# Source: D. Knuth, "The Art of Computer Programming", volume 3, 5.2.2, algorithm M, for any number
# of elements; 5.3.4, exercise 38, for blocks.


NO_TILES = np.empty(0, np.int64)


def exchanges(count: int) -> Iterator[tuple[Int64, Int64]]:
    """Yield the stages of a sorting network: the lower and the higher positions of each pair.

    >>> [(low.tolist(), high.tolist()) for low, high in exchanges(4)]
    [([0, 1], [2, 3]), ([0, 2], [1, 3]), ([1], [2])]
    """
    top = 1 << max(0, (count - 1).bit_length() - 1)
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            low = np.arange(max(0, count - d))
            low = low[(low & p) == r]
            yield low, low + d
            if q == p:
                break
            q, r, d = q // 2, p, q - p
        p //= 2


def plan_of(rows: Rows) -> SortPlan:
    """Return the plan for sorting rows of at least one element, given their mapping."""
    graph, size = rows.graph, rows.element_type.size_bytes
    held = size * int(graph.tile_mapping(rows.rows).elements_per_tile.max())
    return sort_plan(graph.target, rows.count, rows.size, size, held)


def sorted_words(rows: Rows, rule: library.KeyRule) -> Tensor:
    """Record the sorting of all rows; return their words, [count, at least size], on few tiles."""
    if not rows.count * rows.size:
        return rows.variable(LONGLONG, "/words", NO_TILES, NO_TILES).reshape((rows.count, 0))
    return NetworkBlocks(rows, rule, plan_of(rows)).sort()


class NetworkBlocks:
    """The blocks of all rows, with two buffers each."""

    def __init__(self, rows: Rows, rule: library.KeyRule, plan: SortPlan) -> None:
        self.rows, self.rule, self.plan = rows, rule, plan
        self.blocks, self.run = plan.blocks, plan.run
        self.runs = -(-rows.size // (plan.blocks * plan.run))
        self.size = self.run * self.runs
        count, tiles = rows.count * self.blocks, rows.graph.target.tiles
        self.count, number = count, np.arange(2 * count)
        if plan.alternates:
            self.tile = number
        elif self.blocks > 1 and count <= tiles:
            self.tile = number % count
        else:
            self.tile = number % count * tiles // count
        lengths = np.full(2 * count, self.size)
        self.words = rows.variable(LONGLONG, "/words", self.tile, lengths)
        self.place = np.zeros(count, np.int64)
        """The current buffer of each block: 0 or 1."""

    def sort(self) -> Tensor:
        """Record all stages; return the words [count, at least size]."""
        rows, plan = self.rows, self.plan
        self._sort_runs()
        length, level = self.run, 0
        while length < self.size:
            self._merge_runs(length, level)
            length, level = 2 * length, level + 1
        for number in range(plan.levels):
            begin = np.arange(0, self.blocks, 2 << number)
            middle, end = (np.minimum(begin + (k << number), self.blocks) for k in (1, 2))
            other = np.minimum(middle, self.blocks - 1)  # a list without a partner also moves
            self._join(begin, middle, other, other + end - middle, f"/join {number}")
        list_size = 1 << plan.levels
        for number, (low, high) in enumerate(exchanges(-(-self.blocks // list_size))):
            one, other = low * list_size, high * list_size
            if len(low):
                self._join(one, one + list_size, other, other + list_size, f"/exchange {number}")
        parts = self.words.reshape((2, self.count, self.size))
        shape = (rows.count, self.blocks * self.size)
        if not self.place.any() or self.place.all():
            return parts[int(self.place[0])].reshape(shape)
        blocks = [parts[place, block] for block, place in enumerate(self.place.tolist())]
        return concat(blocks).reshape(shape)

    def _sort_runs(self) -> None:
        """Record the sorting of runs; those past the end of a row have no elements."""
        rows = self.rows
        row, within = np.divmod(np.arange(self.count * self.runs), self.blocks * self.runs)
        begin = np.minimum(within * self.run, rows.size)
        end = np.minimum(begin + self.run, rows.size)
        rows.execute(
            "/sort",
            library.SortElements,
            np.repeat(self.tile[: self.count], self.runs),
            x=ranges(checks.ordered_bits(rows.rows), row * rows.size + begin, end - begin),
            words=self.words[: len(row) * self.run].reshape((len(row), self.run)),
            first=begin,
            **self.rule._asdict(),
        )

    def _merge_runs(self, length: int, level: int) -> None:
        """Record merges of adjacent runs of `length` words within all blocks."""
        pairs = -(-self.size // (2 * length))
        block, pair = np.divmod(np.arange(self.count * pairs), pairs)
        begin = pair * 2 * length
        middle, end = (np.minimum(begin + k * length, self.size) for k in (1, 2))
        source, target = self._at(block), self._at(block, moved=True)
        self._merge(
            f"/merge {level}",
            self._tile_of(block, moved=True),
            (source + begin, middle - begin),
            (source + middle, end - middle),
            (target + begin, end - begin),
            np.zeros(len(block), np.int64),
        )
        self.place = 1 - self.place

    def _join(self, begin: Int64, end: Int64, other: Int64, last: Int64, part: str) -> None:
        """Record a merge of two lists of blocks of each row; each block receives its words.

        Args:
            begin: the first block of each first list, in row 0.
            end: one past the last block of each first list.
            other: the first block of each second list.
            last: one past the last block of each second list.
            part: the name of the step.
        """
        blocks = end - begin + last - other
        pair, number = repeated(blocks)
        is_first = number < (end - begin)[pair]
        taker = np.where(is_first, begin[pair] + number, other[pair] + number - (end - begin)[pair])
        row = np.arange(self.rows.count)[:, None] * self.blocks
        left, right, taker = ((row + each).ravel() for each in (begin[pair], other[pair], taker))
        lengths = (
            np.tile((x - y)[pair], self.rows.count) for x, y in ((end, begin), (last, other))
        )
        one, two = (each * self.size for each in lengths)
        self._merge(
            part,
            self._tile_of(taker, moved=True),
            (self._at(left), one),
            (self._at(right), two),
            (self._at(taker, moved=True), np.full(len(taker), self.size)),
            np.tile(number * self.size, self.rows.count),
        )
        self.place[taker] = 1 - self.place[taker]

    def _merge(
        self,
        part: str,
        tile: Int64,
        left: tuple[Int64, Int64],
        right: tuple[Int64, Int64],
        out: tuple[Int64, Int64],
        first: Int64,
    ) -> None:
        """Record a step of merges; each range of words is given by its start and its length."""
        workers = self.rows.graph.target.workers
        self.rows.execute(
            part,
            library.MergeWords,
            tile,
            left=ranges(self.words, *left),
            right=ranges(self.words, *right),
            out=ranges(self.words, *out),
            first=first,
            share=-(-out[1] // workers),
        )

    def _at(self, block: Int64, *, moved: bool = False) -> Int64:
        """Return the starts of blocks in their current buffers, or in the other ones if `moved`."""
        begin: Int64 = self._number(block, moved) * self.size
        return begin

    def _tile_of(self, block: Int64, *, moved: bool) -> Int64:
        tile: Int64 = self.tile[self._number(block, moved)]
        return tile

    def _number(self, block: Int64, moved: bool) -> Int64:
        place = 1 - self.place[block] if moved else self.place[block]
        number: Int64 = place * self.count + block
        return number


# -- elements by positions -------------------------------------------------------------------------
# The positions are known only when the program runs.


MOVED: tuple[ElementClass, ...] = (*NUMBERS, BOOL)

ROW_SHARE = 4
"""A part of a row may take at most 1 / ROW_SHARE of a tile's memory."""


def take_along_axis(
    x: Operand,
    indices: Operand,
    dim: int | None = -1,
    *,
    name: str = "take_along_axis",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that take elements along a dimension: `numpy.take_along_axis`.

    Args:
        x: a tensor or an expression of any type except QUARTER and CHAR. An expression is stored
            first.
        indices: INT or UNSIGNED_INT, read when the program runs; of the shape of x, except for
            the size of the dimension. Negative indices count from the end.
        dim: the dimension; negative ones count from the last. None means all elements in row-major
            order.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor with the shape and the mapping of `indices`. Every tile receives the rows from
        which it takes elements; long rows come in parts.

    Raises:
        ElementTypeError: for a QUARTER or CHAR x, or indices that are not INT or UNSIGNED_INT.
        TensorIndexError: for a dimension that x does not have.
        TensorCreationError: for indices of the wrong shape.
        ControlProgramError: if `program` is omitted outside any block of steps.

    When the program runs, an index outside its row raises an IndexError.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (2, 3), "x", mapping=0, initial_value=[[3, 9, 4], [1, 2, 3]])
    >>> at = [[1, 1], [-1, 0]]
    >>> which = graph.add_variable(pl.INT, (2, 2), "which", mapping=1, initial_value=at)
    >>> y = take_along_axis(x, which, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [[9, 9], [3, 1]]
    """
    what = "ops.take_along_axis"
    rows = Rows(what, x, dim, MOVED, name, program, indices)
    which = checks.own_operand(what, rows.graph, indices, program, "indices")
    checks.check_type(what, which, INDICES, "indices")
    checks.check_placed(which)
    shape = which.shape if dim is not None else (which.num_elements,)
    there = rows.shape[: rows.dim] + rows.shape[rows.dim + 1 :]
    rest = shape[: rows.dim] + shape[rows.dim + 1 :]
    if len(shape) != len(rows.shape) or rest != there:
        raise TensorCreationError(
            f"{what}: indices have shape {shape}, but {checks.called(rows.given)} has {rows.shape}",
            fix=f"pass the same sizes in all dimensions except {rows.dim}",
        )
    if which.num_elements and not rows.size:
        raise TensorCreationError(
            f"{what}: cannot take {which.num_elements:,} elements from rows without elements",
            found=f"{checks.called(rows.given)} has shape {rows.shape}",
        )
    if isinstance(which, Expr):
        which = stored(which, name=f"{name}/indices", program=program)
    rows.begin()
    return _taken(rows, which if which.shape == shape else which.flatten())


def _taken(rows: Rows, which: Tensor) -> Tensor:
    """Record the steps, and return the taken elements."""
    graph, count = rows.graph, which.shape[rows.dim]
    out = variable(rows.mappings, rows.element_type, which.shape, rows.name, [which])
    mine, wanted = rows.of(out), rows.of(which)
    held = graph.tile_mapping(mine)
    found = pieces(held, count, graph.target.workers, grain_of(out.element_type))
    length = graph.target.tile_memory_bytes // ROW_SHARE // rows.element_type.size_bytes
    at, size = found.row * count + found.begin, found.end - found.begin
    for part, begin in enumerate(range(0, rows.size if len(at) else 0, max(1, length))):
        end = min(begin + length, rows.size)
        rows.execute(
            f"/part {part}" if length < rows.size else "",
            TakePart,
            found.tile,
            x=ranges(
                checks.ordered_bits(rows.rows), found.row * rows.size + begin, 0 * at + end - begin
            ),
            indices=ranges(wanted, at, size),
            out=ranges(checks.ordered_bits(mine), at, size),
            first=begin,
            size=rows.size,
        )
    rows.finish([rows.x, which], [out])
    return out


# -- sorting ---------------------------------------------------------------------------------------


class Sorted(NamedTuple):
    """The results of `sort_key_value`.

    Attributes:
        keys: the sorted keys.
        values: the values in the order of the keys.
    """

    keys: Tensor
    values: Tensor


def sort(
    x: Operand,
    dim: int | None = -1,
    *,
    descending: bool = False,
    name: str = "sort",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that sort the elements along a dimension.

    Sorting is stable: 0.0 and -0.0 compare equal, so they keep their relative order. A NaN is
    larger than all numbers, as in NumPy.

    Args:
        x: FLOAT, HALF, or integers of up to 32 bits; any shape. An expression is stored first.
        dim: the dimension; negative ones count from the last. None sorts all elements in row-major
            order, and the result has rank 1.
        descending: whether the largest elements come first.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        A new tensor with the shape of x. A row is divided into blocks on separate tiles, as
        many as the cost model finds cheapest. All NaNs are stored with the same bits.

    Raises:
        ElementTypeError: for an x of any other element type.
        TensorIndexError: for a dimension that x does not have.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[3, 9, 4, 9, 1])
    >>> y = sort(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [1, 3, 4, 9, 9]
    """
    return _sorted("ops.sort", x, dim, descending, name, program, values=True, positions=False)[0]


def argsort(
    x: Operand,
    dim: int | None = -1,
    *,
    descending: bool = False,
    name: str = "argsort",
    program: Steps | None = None,
) -> Tensor:
    """Record steps that find the positions of the elements along a dimension in sorted order.

    Args:
        x: as in `sort`.
        dim: as in `sort`.
        descending: whether the largest elements come first; equal elements are in ascending order
            of position in either case.
        name: the name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        Positions along the dimension, UNSIGNED_INT, with the shape of x.

    Raises:
        whatever `ops.sort` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (5,), "x", mapping="linear", initial_value=[3, 9, 4, 9, 1])
    >>> y = argsort(x, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(y).tolist()
    [4, 0, 2, 1, 3]
    """
    return _sorted("ops.argsort", x, dim, descending, name, program, values=False, positions=True)[
        0
    ]


def sort_key_value(
    keys: Operand,
    values: Operand,
    dim: int | None = -1,
    *,
    descending: bool = False,
    name: str = "sort_key_value",
    program: Steps | None = None,
) -> Sorted:
    """Record steps that sort keys along a dimension, and rearrange values with them.

    Args:
        keys: like x in `sort`.
        values: a tensor of the shape of the keys, of any type except QUARTER and CHAR.
        dim: as in `sort`.
        descending: whether the largest keys come first.
        name: the name of the new variables and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        Keys and values.

    Raises:
        TensorCreationError: for values that do not have the shape of the keys.
        whatever `ops.sort` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=1)), pl.Sequence()
    >>> x = graph.add_variable(pl.INT, (4,), "x", mapping="linear", initial_value=[3, 9, 4, 1])
    >>> y = graph.add_variable(pl.HALF, (4,), "y", mapping=0, initial_value=[0.5, 1.5, 2.5, 3.5])
    >>> keys, values = sort_key_value(x, y, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(keys).tolist(), engine.read(values).tolist()
    ([1, 3, 4, 9], [3.5, 0.5, 2.5, 1.5])
    """
    what = "ops.sort_key_value"
    checks.check_name(what, name)
    inner = f"{name}/keys"
    rows = Rows(what, keys, dim, ORDERED, inner, program, values)
    check_positions(rows)
    first, second = rows.given, checks.own_operand(what, rows.graph, values, program)
    checks.check_type(what, second, MOVED)
    if first.shape != second.shape:
        raise TensorCreationError(
            f"{what}: values have shape {second.shape}, but keys have {first.shape}",
            fix="pass values of the shape of the keys",
        )
    descending = checked_truth(descending, f"{what}: descending")
    place = checks.steps_for(what, rows.graph, name, program)
    if isinstance(first, Expr):
        first = stored(first, name=f"{inner}/x", program=program)
    if isinstance(second, Expr):
        second = stored(second, name=f"{name}/values/x", program=program)
    steps = Block(rows.graph, name)
    made, order = _sorted(what, first, dim, descending, inner, steps, values=True, positions=True)
    moved = take_along_axis(second, order, dim, name=f"{name}/values", program=steps)
    place.add(steps)
    return Sorted(made, moved)


def _sorted(
    what: str,
    x: Operand,
    dim: int | None,
    descending: bool,
    name: str,
    program: Steps | None,
    *,
    values: bool,
    positions: bool,
) -> list[Tensor]:
    rows = Rows(what, x, dim, ORDERED, name, program)
    check_positions(rows)
    falls = checked_truth(descending, f"{what}: descending")
    rows.begin()
    rule = library.key_rule(rows.element_type.dtype, falls=falls)
    words = sorted_words(rows, rule)
    made = write(rows, words, rows.size, rule if values else None, positions=positions)
    rows.finish([rows.x], made)
    return made
