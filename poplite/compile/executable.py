"""A compiled program: checked, lowered, not yet bound to memory.

An executable holds no address and no compiled code: it is what an engine needs to allocate
its arena, compile its drivers and run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from poplite.compile.actions import Action
from poplite.compile.emit import Code
from poplite.compile.layout import ArenaLayout
from poplite.compile.step import ComputeStep, CopyStep
from poplite.compute_set import ComputeSet
from poplite.graph import Graph

Checks = Literal["strict", "fast"]


@dataclass(frozen=True, slots=True)
class Executable:
    """A compiled graph.

    Attributes:
        graph: the graph it was made from.
        layout: where everything lies in the arena.
        steps: lowered compute sets and copies.
        programs: the ops of each program.
        actions: what Python does at the CALLBACK ops, by number.
        compute_sets: the compute set of each compute step, by step.
        checks: whether indices are checked.
        elements_per_tile: fewest and most variable elements on one tile.
    """

    graph: Graph
    layout: ArenaLayout
    steps: tuple[ComputeStep | CopyStep, ...]
    programs: Mapping[str, Code]
    actions: tuple[Action, ...]
    compute_sets: tuple[ComputeSet, ...]
    checks: Checks
    elements_per_tile: tuple[int, int]
