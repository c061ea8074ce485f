"""What steps took, once their vertices have prices: what reports are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poplite.cost.spread import Spread
from poplite.cost.step_cost import Cause
from poplite.report.execution import PhaseKind, Source
from poplite.vertex.vertex import Vertex


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


@dataclass(frozen=True, slots=True)
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
