"""The costs of steps: of one execution at compile time, and of all executions after they have run.

    before      copies on tiles, sync, exchange, copies     bring the vertices their inputs
    vertices    one entry per family (`poplite.graph.compute_sets.edge_table`)
    after       copies, sync, exchange, copies              bring their results home

A Copy has a `before` only.  Slots of vertices without a formula are found later, from their
compiled code, or counted while they run where they depend on data (`data_dependent_steps`);
everything else in a `StepCost` is known when the graph is compiled.  Reports hold the same phases,
summed over the executions of a step.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.cost.spread import NOTHING, Spread
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.report.execution import TilePairs
from poplite.report.phase_kinds import PhaseKind
from poplite.source import SourceLocation
from poplite.vertex.compute import Checked, remembered
from poplite.vertex.vertex import Vertex

SlotSource = Literal["given", "formula", "automatic"]
"""Where the slots of vertices come from: `set_perf_estimate`; the class's `cycles` method or its
registered estimator; or their compiled code."""

_BRANCHES = (ast.If, ast.IfExp, ast.BoolOp, ast.While)
"""Branches in source; chained comparisons, which stop at the first false one, branch too."""


@dataclass(frozen=True, slots=True)
class PhaseCause:
    """A reason why a phase takes as long as it does.

    Attributes:
        what: the field or tensor, as messages call it.
        why: what happens to it, in words.
        at: the user's line; None where there is none.
        bytes: how much is moved.
    """

    what: str
    why: str
    at: SourceLocation | None
    bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The bytes that tiles receive from each other.

    Attributes:
        block: tiles that are counted together; 1 where each pair is known.
        bytes: by receiving and sending block: block `r` receives from block `s` what stands at
            `r * blocks + s`.
        largest: of blocks, some of the largest pairs: source, receiver, bytes.
    """

    block: int
    bytes: Spread
    largest: tuple[tuple[int, int, int], ...]

    def columns(self, num_tiles: int) -> tuple[Int64, Int64, Int64]:
        """Return receivers, sources and bytes of blocks of tiles, each int64[pairs]."""
        to, source = np.divmod(self.bytes.tiles.array(), -(-num_tiles // self.block))
        return to, source, self.bytes.values.array()

    def listed(self, num_tiles: int) -> list[tuple[int, int, int]]:
        """Return source, receiver and bytes of each pair of blocks."""
        to, source, size = (column.tolist() for column in self.columns(num_tiles))
        return list(zip(source, to, size, strict=True))

    def times(self, factor: int) -> Pairs:
        """Return the bytes of several executions."""
        if not factor:
            return NO_PAIRS
        largest = tuple((source, to, size * factor) for source, to, size in self.largest)
        return Pairs(self.block, self.bytes.times(factor), largest)

    def per_block(self, num_tiles: int) -> TilePairs | None:
        """Return the same as reports have it; None for no pairs."""
        if self.bytes.is_empty:
            return None
        blocks = -(-num_tiles // self.block)
        return TilePairs(self.block, self.bytes.per_tile(blocks * blocks), self.largest)


NO_PAIRS = Pairs(1, NOTHING, ())


@dataclass(frozen=True, slots=True, eq=False)
class PhaseCost:
    """One phase of a step.

    Attributes:
        kind: what happens.
        cycles: cycles that each tile takes.
        sync: cycles from the end of the last tile's previous phase to the beginning of this one; 0
            where no tile waits for the others.
        received: bytes that each tile receives.
        sent: bytes that each tile sends.
        copied: bytes that are rearranged on each tile.
        buffers: bytes that each tile needs until the step ends, to receive or rearrange data in.
        causes: the largest causes of the phase, the most bytes first; the last one may be of
            all others together, without a line.
        controls: instructions by which each tile sends and receives.
        pairs: bytes that tiles receive from each other in an exchange.
    """

    kind: PhaseKind
    cycles: Spread
    sync: int = 0
    received: Spread = NOTHING
    sent: Spread = NOTHING
    copied: Spread = NOTHING
    buffers: Spread = NOTHING
    causes: tuple[PhaseCause, ...] = ()
    controls: Spread = NOTHING
    pairs: Pairs = NO_PAIRS


@dataclass(frozen=True, slots=True, eq=False)
class VertexCosts:
    """The costs of the vertices of a family.

    Attributes:
        cls: the vertex class.
        numbers: position of each vertex in the compute set.
        tiles: the tile of each vertex.
        source: where `slots` come from.
        slots: worker slots of each vertex (tile cycles of a MultiVertex); None where the source is
            "automatic".
        flops: floating-point operations of each vertex; None where nobody stated them.
        shapes: int64[shapes, words], the distinct values that slots may depend on: see
            `poplite.graph.compute_sets.vertex_shapes`. None where slots are known.
        shape: the row of `shapes` of each vertex; None where slots are known.
    """

    cls: type[Vertex]
    numbers: Series
    tiles: VertexTiles
    source: SlotSource
    slots: Series | None
    flops: Series | None
    shapes: Int64 | None
    shape: Series | None


@dataclass(frozen=True, slots=True, eq=False)
class StepCost:
    """The cost of one execution of a step: phases before its vertices, vertices, phases after."""

    before: tuple[PhaseCost, ...] = ()
    vertices: tuple[VertexCosts, ...] = ()
    after: tuple[PhaseCost, ...] = ()


def data_dependent_steps(costs: Sequence[StepCost]) -> frozenset[int]:
    """Return the numbers of the steps whose vertices' work may depend on data."""
    automatic = {v.cls for cost in costs for v in cost.vertices if v.source == "automatic"}
    varying = {cls for cls in automatic if may_depend_on_data(cls)}
    return frozenset(
        number
        for number, cost in enumerate(costs)
        if any(each.source == "automatic" and each.cls in varying for each in cost.vertices)
    )


def may_depend_on_data(cls: type[Vertex]) -> bool:
    """Tell, from the source of a checked class, whether its work may depend on data."""
    return remembered(cls, "may depend on data", _may_depend_on_data)


def _may_depend_on_data(checked: Checked) -> bool:
    trees = (each.text.tree for each in checked.functions())
    branches = (
        isinstance(node, _BRANCHES) or (isinstance(node, ast.Compare) and len(node.ops) > 1)
        for tree in trees
        for node in ast.walk(tree)
    )
    return any(branches) or checked.varies
