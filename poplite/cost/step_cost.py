"""What one execution of a step costs: plain data, made when a graph is compiled.

    before      copies on tiles, sync, exchange, copies     what brings the vertices their inputs
    vertices    one entry a family (`poplite.graph.compute_sets.edge_table`)
    after       copies, sync, exchange, copies              what brings their results home

A Copy has a `before` only.  The slots of vertices that come without a formula are found later,
from their compiled code; everything else is known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.cost.spread import NOTHING, Spread
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.report.execution import PhaseKind
from poplite.source import SourceLocation
from poplite.vertex.vertex import Vertex

SlotSource = Literal["given", "formula", "automatic"]
"""Where the slots of vertices come from: `set_perf_estimate`; the class's `cycles`, or its
registered estimator; or their compiled code."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that makes a phase as long as it is.

    Attributes:
        what: the field or tensor, as messages call it.
        why: what about it, in words.
        at: the user's line; None where there is none.
        bytes: how much is moved.
    """

    what: str
    why: str
    at: SourceLocation | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a step.

    Attributes:
        kind: what happens.
        cycles: tile cycles that each tile takes.
        sync: cycles from the last tile's end of what was before to the beginning; 0 where no tile
            waits for the others.
        received: bytes that come to each tile.
        sent: bytes that leave each tile.
        copied: bytes that are rearranged on each tile.
        buffers: bytes that each tile needs until the step ends, to receive or rearrange in.
        causes: what it is due to, the most bytes first; a few.
        controls: instructions by which each tile sends and receives.
    """

    kind: PhaseKind
    cycles: Spread
    sync: int = 0
    received: Spread = NOTHING
    sent: Spread = NOTHING
    copied: Spread = NOTHING
    buffers: Spread = NOTHING
    causes: tuple[Cause, ...] = ()
    controls: Spread = NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class VertexCosts:
    """What the vertices of a family cost.

    Attributes:
        cls: their class.
        numbers: position of each in the compute set.
        tiles: the tile of each.
        source: where `slots` come from.
        slots: worker slots of each vertex; of a MultiVertex, tile cycles. None where they are
            "automatic".
        flops: floating-point operations of each, where somebody told.
        shapes: int64[shapes, words], what slots may hang on, each once: see
            `poplite.graph.compute_sets.vertex_shapes`. None where slots are known.
        shape: the shape of each vertex; None where slots are known.
    """

    cls: type[Vertex]
    numbers: Series
    tiles: VertexTiles
    source: SlotSource
    slots: Series | None
    flops: Series | None
    shapes: Int64 | None
    shape: Series | None


@dataclass(frozen=True, slots=True)
class StepCost:
    """What one execution of a step costs.

    Attributes:
        before: phases before the vertices run.
        vertices: what runs.
        after: phases after they have run.
    """

    before: tuple[Phase, ...] = ()
    vertices: tuple[VertexCosts, ...] = ()
    after: tuple[Phase, ...] = ()
