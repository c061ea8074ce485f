"""The stages of one reduction: a plan of arrays, which equal reductions of a graph share.

A plan depends on where elements lie, on which tiles outputs are wanted, on the order of the
reduction and on element types; on the names and the values of tensors it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from poplite.arrays.intervals import Int64, distinct
from poplite.expr.tree import ElementClass
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.machine.target import Target
from poplite.ops.reduce.levels import RemainingPartials, cheapest_levels
from poplite.ops.reduce.pieces import OutputPieces, joined, pieces_of, repeated
from poplite.ops.reduce.ranges import Mask
from poplite.ops.reduce.stage import (
    Effort,
    StageWork,
    plan_contiguous_outputs,
    plan_runs,
    stage,
    together,
)
from poplite.vertices.reduce import TYPES_OF_TILE

MOST_KEPT = 32
"""Plans that a graph keeps."""

MOST_INTERVALS = 1 << 14
"""Intervals of a mapping whose plans are kept: those of many pieces would fill the memory."""


@dataclass(frozen=True, slots=True)
class Types:
    """Element types of a reduction.

    Attributes:
        source: of what is reduced.
        partial: of partial results.
        result: of the result.
        is_expression: whether the first vertices compute what they reduce.
        slots: of an element that they compute and join; 0 where no table has its price.
    """

    source: ElementClass
    partial: ElementClass
    result: ElementClass
    is_expression: bool = False
    slots: float = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """What is reduced.

    Attributes:
        mapping: where its elements lie.
        wanted: where the elements of the result are, if it is on tiles.
        reduced: elements of each output.
        inner: outputs whose elements lie side by side.
        types: element types.
        breaks: int64[n], rising, where ranges of elements end that are one range of the memory of a
            tile, in all tensors that are read; None where vertices get their rows one by one.
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
        name: what it is called.
        work: its vertices.
        tile: int64[n], the tiles of its partial results, in their order.
        length: int64[n], how many there are.
        has_kept: whether a later stage still reads what this one reads.
    """

    name: str
    work: StageWork
    tile: Int64
    length: Int64
    has_kept: bool


class Plan(NamedTuple):
    """The stages of a reduction.

    Attributes:
        stages: in their order.
        homes: int64[3, n], where it puts outputs: tile, first, last.
        prices: cycles that were found for it, by what they are of.
    """

    stages: list[Stage]
    homes: Int64
    prices: dict[object, float]


_PLANS: WeakKeyDictionary[Graph, dict[object, Plan]] = WeakKeyDictionary()


def plan_for(graph: Graph, problem: Problem) -> Plan:
    """Return the plan of a reduction, the one of an equal reduction if the graph has it."""
    mapping, wanted, breaks = problem.mapping, problem.wanted, problem.breaks
    count = sum(len(each.begin) for each in (mapping, wanted) if each is not None)
    if count + (0 if breaks is None else len(breaks)) > MOST_INTERVALS:
        return _Planner(graph.target, problem).plan()
    key = (
        graph.target,
        *(None if each is None else _bytes(each) for each in (mapping, wanted)),
        None if breaks is None else breaks.tobytes(),
        (problem.reduced, problem.inner, problem.types),
    )
    known = _PLANS.setdefault(graph, {})
    found = known.get(key)
    if found is None:
        if len(known) >= MOST_KEPT:
            known.clear()
        found = known[key] = _Planner(graph.target, problem).plan()
    return found


def _bytes(mapping: TileMapping) -> tuple[bytes, ...]:
    return tuple(column.tobytes() for column in (mapping.ptr, mapping.begin, mapping.end))


class _Planner:
    """Plans a reduction, stage by stage."""

    def __init__(self, target: Target, problem: Problem) -> None:
        self.target, self.problem = target, problem
        self._is_first = True  # nothing but the tensor is read
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
                straight=self._lie_together,
                may_keep=self._may_keep(),
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
        """Tell whether vertices compute what they reduce."""
        return self._is_first and self.problem.types.is_expression

    def _may_keep(self) -> bool:
        """Tell whether single rows need no vertex, as they are what partial results are."""
        return self._source() is self.problem.types.partial and not self._computes()

    def _grains(self, element: ElementClass) -> tuple[int, int]:
        """Return the outputs that a load brings at once, and those it brings in every row."""
        size, inner = element.size_bytes, self.problem.inner
        loaded = max(1, self._loaded // size)
        if not self._is_first or inner == 1:
            return loaded, loaded
        stored = int(self.target.cost("atomic_store_bytes"))
        return loaded, max(1, stored // size, gcd(loaded, inner))

    def _effort(self) -> Effort:
        return Effort(self.problem.types.slots if self._is_first else 0, self.target)

    def _reached(self, made: OutputPieces, size: int, has_kept: bool) -> OutputPieces:
        """Return partial results as pieces of what is read next: behind what is still read."""
        if not len(made.tile):
            return made
        self._is_first = False
        begin = self._elements if has_kept else 0
        self._elements = begin + size
        return made._replace(begin=made.begin + begin)

    def _next(self, pieces: OutputPieces, has_shares: bool) -> tuple[str, Int64]:
        """Return which pieces are joined next, and what that step is called."""
        if has_shares:
            return "workers", pieces.tile
        tiles = distinct(pieces.tile)
        if self._groups is None:
            self._groups = [*cheapest_levels(self.target, self._spread(pieces, len(tiles)))]
        if not self._groups:
            return "final", np.zeros_like(pieces.tile)
        return "groups", np.searchsorted(tiles, pieces.tile) * self._groups.pop(0) // len(tiles)

    def _spread(self, pieces: OutputPieces, tiles: int) -> RemainingPartials:
        """Return how partial results lie that are on several tiles."""
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
        """Return where outputs are wanted, as `(end, tile)` of intervals from 0, if anywhere."""
        if self.problem.wanted is None:
            return None
        _, end, tile = self.problem.wanted.in_order()
        return end, tile

    def _may_share(self) -> tuple[bool, bool]:
        """Tell whether all workers of a tile may share partial results, and outputs.

        These are joined one by one, so they are of the type in which elements are joined, and of
        one that `columns_of_tile` has.
        """
        if self._computes():
            return False, False
        types, source = self.problem.types, self._source()
        first, second = (
            each is source and each in TYPES_OF_TILE for each in (types.partial, types.result)
        )
        return first, second

    def _lie_together(self, begin: Int64, end: Int64) -> Mask:
        """Return which ranges are one range of memory; partial results are, laid out by tile."""
        if not self._is_first:
            return np.ones(len(begin), np.bool_)
        breaks = self.problem.breaks
        if breaks is None:
            return np.zeros(len(begin), np.bool_)
        together: Mask = np.searchsorted(breaks, begin, "right") == np.searchsorted(breaks, end)
        return together
