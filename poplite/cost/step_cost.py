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

from collections.abc import Sequence
from typing import Any, Literal

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.frozen import frozen
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.report.per_tile import PerTile
from poplite.report.phase_parts import Cause, PhaseKind, TilePairs
from poplite.vertex.compute import flow_of
from poplite.vertex.vertex import Vertex

SlotSource = Literal["given", "formula", "automatic"]
"""Where the slots of vertices come from: `set_perf_estimate`; the class's `cycles` method or its
registered estimator; or their compiled code."""

NOTHING: Any = None
"""Stands for zero on every tile, of as many tiles as a phase has, where it is made."""


@frozen(eq=False)
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
        pairs: bytes that tiles receive from each other in an exchange; None where there are none.
    """

    kind: PhaseKind
    cycles: PerTile
    sync: int = 0
    received: PerTile = NOTHING
    sent: PerTile = NOTHING
    copied: PerTile = NOTHING
    buffers: PerTile = NOTHING
    causes: tuple[Cause, ...] = ()
    controls: PerTile = NOTHING
    pairs: TilePairs | None = None

    def __post_init__(self) -> None:
        for name in ("received", "sent", "copied", "buffers", "controls"):
            if getattr(self, name) is NOTHING:
                object.__setattr__(self, name, PerTile.nothing(self.cycles.num_tiles))


@frozen(eq=False)
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


@frozen(eq=False)
class StepCost:
    """The cost of one execution of a step: phases before its vertices, vertices, phases after."""

    before: tuple[PhaseCost, ...] = ()
    vertices: tuple[VertexCosts, ...] = ()
    after: tuple[PhaseCost, ...] = ()


def data_dependent_steps(costs: Sequence[StepCost]) -> frozenset[int]:
    """Return the numbers of the steps whose vertices' work may depend on data."""
    automatic = {v.cls for cost in costs for v in cost.vertices if v.source == "automatic"}
    varying = {cls for cls in automatic if flow_of(cls).may_depend_on_data}
    return frozenset(
        number
        for number, cost in enumerate(costs)
        if any(each.source == "automatic" and each.cls in varying for each in cost.vertices)
    )


@frozen(eq=False)
class JoinedCopyCost:
    """One Copy in place of several.

    Attributes:
        steps: the numbers of their steps, in the order of the Sequence.
        cost: what one execution of one Copy costs, by the cost model.
    """

    steps: tuple[int, ...]
    cost: StepCost
