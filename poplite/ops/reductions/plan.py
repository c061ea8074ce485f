"""The stages of one reduction: a plan made of arrays, shared by equal reductions.

A plan depends on the mappings of the elements and of the outputs, on the order of the reduction
and on element types, but not on the names and values of tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import gcd
from typing import NamedTuple

import numpy as np

import poplite.cost as cost
from poplite.arrays.intervals import Int64, Mask, distinct, repeated
from poplite.arrays.series import Dim, digits_of
from poplite.expr.tree import ElementClass
from poplite.frozen import frozen
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import NO_TILE, TileMapping
from poplite.machine.target import Target
from poplite.ops.fuse import pricing
from poplite.ops.planning import received_cycles
from poplite.ops.reductions.stage import (
    LEAST_WORK,
    Effort,
    OutputPieces,
    OutputRuns,
    StageWork,
    joined,
    pieces_of,
    plan_contiguous_outputs,
    plan_runs,
    ranges_of,
    stage,
    together,
)
from poplite.vertices.estimators import Slots, columns_slots, reduce_columns, reduce_one, rows_slots
from poplite.vertices.reduce import TYPES_OF_TILE

# -- levels ----------------------------------------------------------------------------------------
# The number of levels in which partial results are combined across tiles: the cheapest by a model.
#
#     one level       a tile reads the partial results of an output from all tiles that have one
#     two levels      the tiles are divided into groups: one tile combines the partial results of
#                     an output in its group, and another tile combines the results of the groups
#     three levels    groups of groups
#
#     cycles of a level = start of an exchange + bytes that a tile receives, at its rate
#                       + the vertices of a tile
#
# The model assumes that all tiles do the same: each output has the same number of partial results,
# on the same number of tiles, which are adjacent or equally far apart.


MOST_OF_TWO, MOST_OF_THREE = 60, 6
"""How many numbers of groups to try with two levels, and for each level but the last of three."""


Levels = tuple[int, ...]
"""The numbers of groups of tiles in each level but the last, in descending order."""


class RemainingPartials(NamedTuple):
    """The partial results that remain to be combined.

    Attributes:
        element: the element type.
        rows: the maximum number of partial results of an output.
        elements: the number of partial results of all outputs together.
        tiles: the number of tiles that hold them.
        final_tiles: the number of tiles on which outputs are required; 0 for any tiles.
        span: the number of tiles from the first to the last that holds partial results of one
            output; equal to `rows` if these tiles are adjacent, and 0 means the same.
    """

    element: ElementClass
    rows: int
    elements: int
    tiles: int
    final_tiles: int = 0
    span: int = 0


@lru_cache(maxsize=1 << 10)
def cheapest_levels(target: Target, spread: RemainingPartials) -> Levels:
    """Return the levels with the fewest modelled cycles; among equals, the fewest levels.

    >>> from poplite.types import FLOAT
    >>> cheapest_levels(Target(), RemainingPartials(FLOAT, rows=3, elements=3, tiles=3))
    ()
    """
    ways = levels_to_try(spread)
    return min(ways, key=lambda way: (cycles_of(target, spread, way), len(way), way))


def levels_to_try(spread: RemainingPartials) -> list[Levels]:
    """Return the candidates with one, two, and three levels."""
    most = min(spread.rows, spread.tiles) // 2
    few = MOST_OF_THREE
    two = [(size,) for size in _sizes(most, MOST_OF_TWO)]
    three = [(a, b) for a in _sizes(most, few) for b in _sizes(a // 2, few)]
    return [(), *two, *three]


def cycles_of(target: Target, spread: RemainingPartials, way: Levels) -> int:
    """Return the modelled cycles of combining partial results in the given levels."""
    rows, places, span = spread.rows, spread.tiles, max(spread.span, spread.rows)
    width, cycles = -(-spread.elements // spread.tiles), 0
    grain = _grain(target, spread.element)
    for groups in way:
        size = -(-places // groups)
        joined = min(rows, -(-rows * size // span))
        tiles = _tiles(joined, width, grain)
        width = -(-width // tiles)
        cycles += _level(target, spread.element, joined, width)
        span = -(-span // size)
        rows, places = min(rows, span), groups
    if spread.final_tiles:
        width = -(-spread.elements // (spread.rows * spread.final_tiles))
    else:
        width = -(-width // _tiles(rows, width, grain))
    return cycles + _level(target, spread.element, rows, width)


@lru_cache(maxsize=1 << 6)
def _grain(target: Target, element: ElementClass) -> int:
    """Return the number of outputs per load."""
    return max(1, int(target.cost("load_bytes_per_cycle")) // element.size_bytes)


def _tiles(rows: int, width: int, grain: int) -> int:
    """Return among how many tiles `stage` distributes the outputs of a group."""
    return min(max(rows * width // LEAST_WORK, 1), rows, -(-width // grain))


def _level(target: Target, element: ElementClass, rows: int, width: int) -> int:
    """Return the cycles of a tile that receives and combines rows of partial results."""
    columns, grain = width, _grain(target, element)
    if rows * width > LEAST_WORK:  # workers divide the columns
        columns = min(width, -(-width // (target.workers * grain)) * grain)
    received = received_cycles(target, rows * width * element.size_bytes)
    slots = (
        reduce_one(element, element, rows, target)
        if columns == 1
        else reduce_columns(element, element, columns, rows, columns, target, adds=True)
    )
    return math.ceil(received) + slots * target.workers


def _sizes(most: int, count: int) -> Iterator[int]:
    """Yield up to `count` numbers from 2 to `most`, in about a geometric progression.

    >>> list(_sizes(50, 5)), list(_sizes(1, 5))
    ([2, 4, 10, 22, 50], [])
    """
    last = 1
    for k in range(count):
        size = round(2 * (most / 2) ** (k / (count - 1)))
        if last < size <= most:
            last = size
            yield size


# -- plans -----------------------------------------------------------------------------------------


MOST_KEPT = 64
"""Maximum number of plans in the cache."""

MOST_INTERVALS = 1 << 14
"""Maximum number of intervals of the mappings of a cached plan, which limits memory."""


@frozen
class Types:
    """Element types of a reduction.

    Attributes:
        source: the type of the operand.
        partial: the type of partial results.
        result: the type of the result.
        is_expression: whether the first vertices compute what they reduce.
        slots: number of slots for computing and combining an element; 0 if there is no price.
    """

    source: ElementClass
    partial: ElementClass
    result: ElementClass
    is_expression: bool = False
    slots: float = 0


@frozen
class Problem:
    """The operand and the types of a reduction.

    Attributes:
        mapping: the mapping of the operand.
        wanted: the mapping of the result, if it has one.
        reduced: the number of elements in each output.
        inner: the number of outputs whose elements are adjacent.
        types: the element types.
        breaks: int64[n] in ascending order, the ends of ranges that are contiguous in the memory of
            a tile in every tensor that is read; None if vertices get their rows one by one.
    """

    mapping: TileMapping
    wanted: TileMapping | None
    reduced: int
    inner: int
    types: Types
    breaks: Int64 | None


class Stage(NamedTuple):
    """One compute set.

    Attributes:
        name: the name of the compute set.
        work: its vertices.
        tile: int64[n], the tile of each interval of its partial results, in their order.
        length: int64[n], the number of partial results in each interval.
        has_kept: whether a later stage also reads the operand of this stage.
    """

    name: str
    work: StageWork
    tile: Int64
    length: Int64
    has_kept: bool


class Plan(NamedTuple):
    """The stages of a reduction.

    Attributes:
        stages: the stages in order.
        homes: int64[3, n], the mapping of outputs: the tile, the first output, and one past the
            last.
        prices: cached cycles of the plan, by key.
    """

    stages: list[Stage]
    homes: Int64
    prices: dict[object, float]

    def mapping(self, target: Target) -> TileMapping:
        """Return the mapping of outputs, in their order."""
        tile, low, high = self.homes
        first = np.argsort(low)
        return TileMapping(target.tiles, tile[first], (high - low)[first])


_PLANS = pricing.Remembered[Plan](MOST_KEPT)


def plan_for(target: Target, problem: Problem) -> Plan:
    """Return the plan of a reduction, from the cache if it has the plan of an equal reduction."""
    mapping, wanted, breaks = problem.mapping, problem.wanted, problem.breaks
    count = sum(len(each.begin) for each in (mapping, wanted) if each is not None)
    if count + (0 if breaks is None else len(breaks)) > MOST_INTERVALS:
        return _Planner(target, problem).plan()
    key = (
        target,
        *(None if each is None else _bytes(each) for each in (mapping, wanted)),
        None if breaks is None else breaks.tobytes(),
        (problem.reduced, problem.inner, problem.types),
    )
    return _PLANS.of(key, _Planner(target, problem).plan)


def _bytes(mapping: TileMapping) -> tuple[bytes, ...]:
    return tuple(column.tobytes() for column in (mapping.ptr, mapping.begin, mapping.end))


class _Planner:
    """Plans a reduction, stage by stage."""

    def __init__(self, target: Target, problem: Problem) -> None:
        self.target, self.problem = target, problem
        self._is_first = True  # only the tensor itself is read so far
        self._elements = problem.mapping.num_elements
        self._groups: list[int] | None = None
        self._loaded = int(target.cost("load_bytes_per_cycle"))

    def plan(self) -> Plan:
        """Return all stages."""
        problem, workers, mapping = self.problem, self.target.workers, self.problem.mapping
        held = np.stack([repeated(np.diff(mapping.ptr))[0], mapping.begin, mapping.end])
        works, homes, stages = [], [], []
        if problem.inner == 1:
            work, home, held = plan_contiguous_outputs(held, problem.reduced, self._effort())
            homes.append(home)
            works.append(work)
        runs, held = plan_runs(
            held, problem.reduced, problem.inner, workers, self._may_share(), self._may_keep()
        )
        tile, begin, end = held
        pieces = pieces_of(tile, begin, end, problem.reduced, problem.inner)
        name, group, wanted = "tiles", pieces.tile, None
        while len(pieces.tile) or len(runs.tile):
            grain, least_grain = self._grains(self._source())
            outcome = stage(
                pieces,
                group,
                runs,
                inner=problem.inner,
                effort=self._effort(),
                grain=grain,
                least_grain=least_grain,
                are_contiguous=self._are_contiguous,
                may_keep=self._may_keep() or self._leaves_all(pieces, group, runs),
                may_share=self._may_share(),
                wanted=wanted,
            )
            partials, has_kept = outcome.partials, len(outcome.kept.tile) > 0
            homes.append(outcome.homes)
            work, length = together([*works, outcome.work]), partials.high - partials.low
            stages.append(Stage(name, work, partials.tile, length, has_kept))
            works, runs = [], runs.take(np.zeros_like(runs.is_whole))
            pieces = joined([outcome.kept, self._reached(partials, int(length.sum()), has_kept)])
            if len(pieces.tile):
                name, group = self._next(pieces, outcome.has_shares)
                wanted = self._wanted() if name == "final" else None
        if works:
            none = np.empty(0, np.int64)
            stages.append(Stage(name, together(works), none, none, has_kept=False))
        held = np.concatenate(homes, axis=1) if homes else np.empty((3, 0), np.int64)
        return Plan(stages, held, {})

    def _source(self) -> ElementClass:
        types = self.problem.types
        return types.source if self._is_first else types.partial

    def _computes(self) -> bool:
        """Return whether vertices compute the elements that they reduce."""
        return self._is_first and self.problem.types.is_expression

    def _may_keep(self) -> bool:
        """Return whether single rows need no vertex because they already are partial results."""
        return self._source() is self.problem.types.partial and not self._computes()

    def _leaves_all(self, pieces: OutputPieces, group: Int64, runs: OutputRuns) -> bool:
        """Return whether a stage would only convert single rows, which the next one can read."""
        if self._computes() or len(runs.tile):
            return False
        found, is_whole = ranges_of(pieces, group)
        return bool((found.rows == 1).all()) and not is_whole.any()

    def _grains(self, element: ElementClass) -> tuple[int, int]:
        """Return the number of outputs per load, and the smaller grain for dividing them."""
        size, inner = element.size_bytes, self.problem.inner
        loaded = max(1, self._loaded // size)
        if not self._is_first or inner == 1:
            return loaded, loaded
        stored = int(self.target.cost("atomic_store_bytes"))
        return loaded, max(1, stored // size, gcd(loaded, inner))

    def _effort(self) -> Effort:
        return Effort(self.problem.types.slots if self._is_first else 0, self.target)

    def _reached(self, made: OutputPieces, size: int, has_kept: bool) -> OutputPieces:
        """Return partial results as pieces of the next operand, after elements that are kept."""
        if not len(made.tile):
            return made
        self._is_first = False
        begin = self._elements if has_kept else 0
        self._elements = begin + size
        return made._replace(begin=made.begin + begin)

    def _next(self, pieces: OutputPieces, has_shares: bool) -> tuple[str, Int64]:
        """Return the name of the next step, and the group of each piece in it."""
        if has_shares:
            return "workers", pieces.tile
        tiles = distinct(pieces.tile)
        if self._groups is None:
            self._groups = [*cheapest_levels(self.target, self._spread(pieces, len(tiles)))]
        if not self._groups:
            return "final", np.zeros_like(pieces.tile)
        return "groups", np.searchsorted(tiles, pieces.tile) * self._groups.pop(0) // len(tiles)

    def _spread(self, pieces: OutputPieces, tiles: int) -> RemainingPartials:
        """Return the distribution of the partial results that are on several tiles."""
        at, counts = pieces.elements_by_output()
        rows, output = int(counts.max()), at[counts.argmax()]
        own = pieces.tile[(pieces.low <= output) & (output < pieces.high)]
        first, last = np.searchsorted(distinct(pieces.tile), [own.min(), own.max()])
        elements = int(((pieces.high - pieces.low) * pieces.rows).sum())
        wanted = self._wanted()
        final = 0 if wanted is None else len(distinct(wanted[1]))
        span = int(last - first) + 1
        return RemainingPartials(self.problem.types.partial, rows, elements, tiles, final, span)

    def _wanted(self) -> tuple[Int64, Int64] | None:
        """Return where outputs are required, as `(end, tile)` of intervals from 0, if anywhere."""
        if self.problem.wanted is None:
            return None
        _, end, tile = self.problem.wanted.in_order()
        return end, tile

    def _may_share(self) -> tuple[bool, bool]:
        """Return whether vertices for all workers of a tile may write partial results, and outputs.

        They combine in place, so what they write must have the type of the elements that they read,
        and a type that `columns_of_tile` supports.
        """
        if self._computes():
            return False, False
        types, source = self.problem.types, self._source()
        first, second = (
            each is source and each in TYPES_OF_TILE for each in (types.partial, types.result)
        )
        return first, second

    def _are_contiguous(self, begin: Int64, end: Int64) -> Mask:
        """Return which ranges are contiguous in memory; those of partial results always are."""
        if not self._is_first:
            return np.ones(len(begin), np.bool_)
        breaks = self.problem.breaks
        if breaks is None:
            return np.zeros(len(begin), np.bool_)
        together: Mask = np.searchsorted(breaks, begin, "right") == np.searchsorted(breaks, end)
        return together


# -- whether an expression is stored first ---------------------------------------------------------
# Whether an expression is computed where it is reduced, or stored first: the cheaper of the two.
#
#     in one      the vertices of the first stage compute the elements that they combine
#     stored      a map computes the elements, divided evenly among all workers of a tile; elements
#                 that are combined on other tiles are sent there
#
# Both are priced tile by tile from `poplite.vertices.estimators`, including the copies for their
# vertices (`poplite.ops.fuse.pricing`).


ACROSS = ("groups", "final")
"""The names of the stages that read results from other tiles."""


class ReductionWay(NamedTuple):
    """A way of reducing an expression, or a tensor that holds it.

    Attributes:
        problem: the operand and the types.
        plan: makes the plan for the problem.
        operands: the operands that vertices of the first stage read.
        adds: whether the reduction is a sum.
        before: returns the cycles of the preceding steps.
        least_before: a lower bound on the cycles of the preceding steps.
        computed: the computation in the first stage; None if the expression is stored.
        sent: cycles until the tile that sends the most to the first stage is done.
    """

    problem: Problem
    plan: Callable[[], Plan]
    operands: tuple[pricing.ReadOperand, ...]
    adds: bool
    before: Callable[[], float]
    least_before: float
    computed: pricing.Computed | None = None
    sent: float = 0

    def cycles(self, target: Target, *, across: bool) -> float:
        """Return the cycles of the stages across tiles, or of everything before them."""
        plan = self.plan()
        where = [each.mapping and _bytes(each.mapping) for each in self.operands]
        read = [each._replace(mapping=None) for each in self.operands]
        key = across, *read, *where, self.computed, self.adds
        total = plan.prices.get(key)
        if total is None:
            total = plan.prices[key] = self._of_stages(target, plan.stages, across=across)
        return total if across else max(self.before() + total, self.sent)

    def total(self, target: Target) -> float:
        """Return the cycles of all stages, including the preceding steps."""
        return sum(self.cycles(target, across=across) for across in (False, True))

    def bounds(self, target: Target) -> Iterator[pricing.Bound]:
        """Yield ever tighter bounds on the cycles before the stages across tiles.

        The last bound is exact and needs the plan.
        """
        if self.computed is None:
            joined = self._least_joined(target)
            yield pricing.Bound(self.least_before + joined)
            yield pricing.Bound(self.before() + joined)
        else:
            most = int(self.problem.mapping.elements_per_tile.max(initial=0))
            yield pricing.Bound(self.least_before + most * self.problem.types.slots)
            if not all(_is_local(each) for each in self.operands):  # operands that must be gathered
                yield pricing.Bound(self._of_fullest_tile(target))
        yield pricing.Bound(self.cycles(target, across=False), is_exact=True)

    def _of_fullest_tile(self, target: Target) -> float:
        """Return a quick estimate: the cycles of computing and combining on the fullest tile."""
        problem, types = self.problem, self.problem.types
        alone = replace(problem, mapping=_fullest(problem.mapping), wanted=None)

        def cycles(result: ElementClass) -> float:
            own = replace(alone, types=replace(types, result=result))
            way = self._replace(problem=own, plan=lambda: plan_for(target, own))
            return way.cycles(target, across=False)

        return min(map(cycles, {types.result, types.partial}))  # writing outputs, or partials

    def _least_joined(self, target: Target) -> float:
        """Return a lower bound on the cycles of combining stored elements, without a plan.

        Some worker of the fullest tile has at least an equal share of its elements. The first and
        the last element of an interval are not counted: each may be the only one of its output and
        need no vertex.
        """
        mapping, types = self.problem.mapping, self.problem.types
        if self.problem.inner > 1 or self.problem.reduced == 1:
            return 0
        fullest = int(mapping.elements_per_tile.argmax())
        intervals = int(mapping.ptr[fullest + 1] - mapping.ptr[fullest])
        joined = int(mapping.elements_per_tile[fullest]) - 2 * intervals
        share = joined // target.workers
        if share < 1:
            return 0
        outputs = -(-share // self.problem.reduced)
        made = [
            rows_slots(types.source, result, outputs, share, target)
            for result in (types.partial, types.result)
        ]
        return float(min(made)) * target.workers

    def _of_stages(self, target: Target, stages: Sequence[Stage], *, across: bool) -> float:
        """Return the cycles of the stages of a plan that are across tiles, or that are not."""
        makes = [len(stage.length) > 0 for stage in stages]
        return sum(
            self._of_stage(target, stage, is_first=not any(makes[:number]))
            for number, stage in enumerate(stages)
            if (stage.name in ACROSS) == across
        )

    def _of_stage(self, target: Target, stage: Stage, *, is_first: bool) -> float:
        """Return the cycles of a stage."""
        work, types = stage.work, self.problem.types
        if not len(work.tile):
            return 0
        computed = self.computed if is_first else None
        element = types.source if is_first else types.partial
        operands = self.operands
        if not is_first:
            operands = (pricing.ReadOperand(((int(work.end.max()), 1),), element.size_bytes),)
        joined, slots = (element, 0.0) if computed is None else (computed.joined, computed.slots)
        made = {
            result: _slots(target, work, joined, result, slots, adds=self.adds)
            for result in (types.partial, types.result)
        }
        taken = np.where(work.is_final, made[types.result], made[types.partial])
        cycles = float(cost.slowest_tile(work.tile, taken, target))
        if stage.name not in ACROSS:
            reads = pricing.VectorReads(work.tile, work.ptr, work.begin, work.end)
            placed = reads.in_memory(self.problem.mapping) if is_first else reads
            cycles += pricing.gathering_cycles(
                target, [(placed if _is_local(each) else reads, each) for each in operands]
            )
        else:  # a tile copies its own elements next to those that it receives
            cycles += target.cost("worker_call") + target.cost("copy_piece_cycles")
            read = (work.end - work.begin) * element.size_bytes
            received = np.bincount(work.tile[repeated(np.diff(work.ptr))[0]], read).max()
            cycles += pricing.exchange_cycles(target, float(received), 0)
        return cycles + self._sent_results(target, work)

    def _sent_results(self, target: Target, work: StageWork) -> float:
        """Return the cycles of sending outputs to the tiles where they are required."""
        wanted, final = self.problem.wanted, work.is_final
        if wanted is None or not final.any():
            return 0
        begin, end, tile = wanted.in_order()
        made = work.tile[final], work.low[final], work.high[final]
        moves = pricing.moves_of(target.tiles, *made, np.append(begin, end[-1]), tile)
        if not moves.pieces.any():
            return 0
        size = self.problem.types.result.size_bytes
        return pricing.exchange_cycles(
            target, moves.received * size, moves.pieces, moves.sent * size
        )


def is_cheaper_in_one(target: Target, in_one: ReductionWay, stored: ReductionWay) -> bool:
    """Return whether computing an expression where it is reduced takes no more cycles.

    The stages across tiles are the same in both ways if the expression is stored on the same tiles;
    otherwise the stored way has at least as many tiles.
    """
    own, other = pricing.compared(in_one.bounds(target), stored.bounds(target))
    if own.cycles <= other.cycles and not other.is_exact:
        return True
    if not own.is_exact and stored.problem.mapping == in_one.problem.mapping:
        return False
    return in_one.total(target) <= stored.total(target)


def _fullest(mapping: TileMapping) -> TileMapping:
    """Return a mapping with only the elements of its fullest tile."""
    tile = int(mapping.elements_per_tile.argmax())
    held = mapping[tile]
    ends = np.stack([held.begin, held.end], axis=1).ravel()
    owner = np.full(len(ends) + 1, NO_TILE)
    owner[1::2] = tile
    return TileMapping(len(mapping), owner, np.diff(ends, prepend=0, append=mapping.num_elements))


def _slots(
    target: Target,
    work: StageWork,
    element: ElementClass,
    result: ElementClass,
    slots: float,
    *,
    adds: bool,
) -> Slots:
    """Return the number of slots of each vertex of a stage; `slots` is the number per element."""
    outputs = work.high - work.low
    is_row = (work.stride == 1) & (outputs == 1) | work.is_rows
    read = np.add.reduceat(work.end - work.begin, work.ptr[:-1])
    if is_row.all():
        return rows_slots(element, result, outputs, read, target, slots)
    stride = np.maximum(work.stride, 1)
    rows = -(-np.maximum(read - outputs, 0) // stride) + 1
    own = np.where(work.share, np.minimum(work.share, outputs), outputs)
    taken = columns_slots(element, result, own, rows, stride, target, adds=adds, slots=slots)
    if not is_row.any():
        return taken
    return np.where(is_row, rows_slots(element, result, outputs, read, target, slots), taken)


def _is_local(operand: pricing.ReadOperand) -> bool:
    """Return whether each tile has all elements of an operand that it reads, in order."""
    return operand.mapping is None and len(operand.digits) == 1 and operand.digits[0][1] == 1


# -- order -----------------------------------------------------------------------------------------
# The order in which the elements of a tensor are reduced: close to memory order.
#
# Dimensions are split where their strides change and sorted by stride, the largest first, except
# that reduced dimensions are adjacent. Dimensions that are kept come before and after them:
#
#     x of shape (2, 3, 4), steps 12, 4, 1        outer   reduced   inner
#     reduced along 1                             2       3         4
#     along 0 and 2                               3       2 * 4     1
#     along 0                                     1       2         3 * 4
#
# The order among the elements of an output affects only float sums and products.


class Order(NamedTuple):
    """The order in which the elements of a tensor are reduced.

    Attributes:
        tensor: the tensor, flattened from `[outer, reduced, inner]`.
        reduced: the number of elements in each output.
        inner: the number of outputs whose elements are adjacent.
        extents: the sizes into which dimensions are split.
        gone: the split dimensions that are reduced.
        backwards: the split dimensions that have a negative stride.
        permutation: the order of the split dimensions.
    """

    tensor: Tensor
    reduced: int
    inner: int
    extents: list[int]
    gone: list[int]
    backwards: list[int]
    permutation: list[int]

    def arranged(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the same shape, flattened in the same order."""
        return self._arranged(tensor, self.permutation)

    def result(self, tensor: Tensor) -> Tensor:
        """Return the result, flattened in the same way: `[outer, inner]`."""
        return self._arranged(tensor, [k for k in self.permutation if k not in self.gone])

    @property
    def is_row_major(self) -> bool:
        """Whether it is the row-major order of the tensor's elements."""
        return self.permutation == sorted(self.permutation) and not self.backwards

    def _arranged(self, tensor: Tensor, order: list[int]) -> Tensor:
        parts = sorted(order)
        tensor = tensor.reshape([self.extents[k] for k in parts])
        for k in self.backwards:
            if k in order:
                tensor = tensor.reverse(parts.index(k))
        return tensor.dim_shuffle([parts.index(k) for k in order]).flatten()


def ordered(tensor: Tensor, dims: Collection[int], steps: Sequence[Dim] | None = None) -> Order:
    """Arrange the elements of a tensor in an order close to memory order.

    Args:
        tensor: the operand, with at least one element.
        dims: the dimensions to reduce.
        steps: the strides by which to order, such as those of another tensor of the same shape; by
            default, those of the tensor.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x, y = graph.add_variable(pl.INT, (2, 3, 4), "x"), graph.add_variable(pl.INT, (4, 3), "y")
    >>> order = ordered(x.T, [2])
    >>> order.reduced, order.inner, order.tensor.is_contiguous()
    (2, 12, True)
    >>> order.result(y) == y.T.flatten()
    <same elements: True (not ops.equal)>
    """
    by_dim = zip(tensor.shape, steps or tensor.view.dims, strict=True)
    digits = [
        (extent, step, d in dims)
        for d, (size, each) in enumerate(by_dim)
        for extent, step in digits_of(size, each)
    ]
    far = max((abs(step) for _, step, _ in digits), default=0) + 1  # broadcast dimensions go first
    order = sorted(range(len(digits)), key=lambda k: -(abs(digits[k][1]) or far))
    reduced = [k for k in order if digits[k][2]]
    inner = order[order.index(reduced[-1]) + 1 :] if reduced else order
    outer = [k for k in order if k not in reduced and k not in inner]
    found = Order(
        tensor,
        math.prod(digits[k][0] for k in reduced),
        math.prod(digits[k][0] for k in inner),
        [extent for extent, _, _ in digits],
        reduced,
        [k for k, (_, step, _) in enumerate(digits) if step < 0],
        [*outer, *reduced, *inner],
    )
    return found._replace(tensor=found.arranged(tensor))
