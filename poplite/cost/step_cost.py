"""What steps cost: of one execution when a graph is compiled, of all of them when they have run.

    before      copies on tiles, sync, exchange, copies     what brings the vertices their inputs
    vertices    one entry a family (`poplite.graph.compute_sets.edge_table`)
    after       copies, sync, exchange, copies              what brings their results home

A Copy has a `before` only.  The slots of vertices that come without a formula are found later,
from their compiled code, or counted while they run where data decide them (`data_dependent_steps`);
everything else of a `StepCost` is known when a graph is compiled.  A `StepTotal` is what reports
are made of: the same phases, summed over the executions of a step.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series
from poplite.cost.spread import NOTHING, Spread
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.report.phase_kinds import PhaseKind, Source
from poplite.source import SourceLocation
from poplite.vertex.compute import Checked, remembered
from poplite.vertex.vertex import Vertex

SlotSource = Literal["given", "formula", "automatic"]
"""Where the slots of vertices come from: `set_perf_estimate`; the class's `cycles`, or its
registered estimator; or their compiled code."""


_BRANCHES = (ast.If, ast.IfExp, ast.BoolOp, ast.While)
"""Also comparisons of more than two values, which end at the first that is false."""


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


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True)
class VertexType:
    """What the vertices of one class took in a step.

    Attributes:
        cls: their class.
        vertices: how many run in one execution.
        source: how it is known.
        slots: worker slots of all of them (of a MultiVertex tile cycles), over all executions.
        flops: floating-point operations over all executions; None where nobody told.
    """

    cls: type[Vertex]
    vertices: int
    source: Source
    slots: int
    flops: int | None


@dataclass(frozen=True, slots=True, eq=False)
class PhaseTotal:
    """What one phase of a step took, over all executions of the step.

    Attributes:
        kind: what happens in it.
        cycles: of its slowest tile, summed over executions.
        sync: cycles that tiles were let wait for each other before it, summed.
        tile_cycles: cycles that each tile was busy, summed.
        received: bytes that came to each tile, summed.
        sent: bytes that left each tile, summed.
        copied: bytes rearranged on each tile, summed.
        causes: what it is due to, the most bytes first.
    """

    kind: PhaseKind
    cycles: int
    sync: int
    tile_cycles: Spread
    received: Spread
    sent: Spread
    copied: Spread
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StepTotal:
    """What a step took, over all its executions.

    Attributes:
        name: of the compute set, or what is copied where.
        kind: "execute", "copy", or "host".
        number: of the step; of "host", of the action.
        program: the name of the program whose rows ran it.
        row: which row of the program's code it is.
        executions: how often it ran.
        phases: its phases, in order.
        types: what ran in it.
        cycles: from its beginning to its end, summed: phases between two syncs overlap, as each
            tile goes on with the next when it has finished one.
    """

    name: str
    kind: Literal["execute", "copy", "host"]
    number: int
    program: str
    row: int
    executions: int
    phases: tuple[PhaseTotal, ...]
    types: tuple[VertexType, ...]
    cycles: int


def data_dependent_steps(costs: Sequence[StepCost]) -> frozenset[int]:
    """Return the numbers of steps of whose vertices data may decide what they do.

    Args:
        costs: of each step.
    """
    automatic = {v.cls for cost in costs for v in cost.vertices if v.source == "automatic"}
    varying = {cls for cls in automatic if may_depend_on_data(cls)}
    return frozenset(
        number
        for number, cost in enumerate(costs)
        if any(each.source == "automatic" and each.cls in varying for each in cost.vertices)
    )


def may_depend_on_data(cls: type[Vertex]) -> bool:
    """Tell, by its text, whether data may decide what vertices of a class do.

    Args:
        cls: a vertex class that has passed its checks.
    """
    return remembered(cls, "may depend on data", _may_depend_on_data)


def _may_depend_on_data(checked: Checked) -> bool:
    trees = (each.text.tree for each in checked.functions())
    branches = (
        isinstance(node, _BRANCHES) or (isinstance(node, ast.Compare) and len(node.ops) > 1)
        for tree in trees
        for node in ast.walk(tree)
    )
    return any(branches) or checked.varies
