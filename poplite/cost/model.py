"""The costs of everything that an executable does, computed from its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.cost.exchange.phases import (
    Phases,
    phases_of_alike,
    phases_of_compute_set,
    phases_of_copy,
    phases_of_host,
)
from poplite.cost.step_cost import PhaseCost, StepCost
from poplite.cost.vertex_costs import vertex_costs
from poplite.program import CycleStamp
from poplite.report.per_tile import PerTile

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.compute_sets.edge_table import EdgeTable
    from poplite.graph.graph import Graph
    from poplite.program import CrossReplicaCopy, Program, TensorCopy


def step_costs(
    graph: Graph,
    compute_sets: Iterable[ComputeSet],
    edges_of: Callable[[ComputeSet], EdgeTable],
    copies: Iterable[TensorCopy | CrossReplicaCopy],
) -> tuple[StepCost, ...]:
    """Return the costs of compute sets, then those of copies; compute sets are checked already."""
    costs = []
    known: dict[EdgeTable, Phases] = {}
    for compute_set in compute_sets:
        table = edges_of(compute_set)
        found = None
        if table.alike in known:
            found = phases_of_alike(known[table.alike], table.alike, table)
        if found is None:
            found = phases_of_compute_set(graph, compute_set, table)
        before, after = known[table] = found
        costs.append(StepCost(before, vertex_costs(graph, compute_set, table), after))
    costs += [StepCost(phases_of_copy(graph, copy)) for copy in copies]
    return tuple(costs)


def host_costs(graph: Graph, programs: Sequence[Program | None]) -> tuple[StepCost | None, ...]:
    """Return the costs of programs that move data from or to the host or remote buffers.

    None stands for an action that costs nothing.
    """
    return tuple(None if p is None else _host_cost(graph, p) for p in programs)


def _host_cost(graph: Graph, program: Program) -> StepCost:
    if not isinstance(program, CycleStamp):
        return StepCost(phases_of_host(graph, program))
    cycles = np.zeros(graph.target.tiles, np.int64)
    cycles[graph.tile_mapping(program.tensor).tiles] = graph.target.cost("cycle_stamp_cycles")
    return StepCost((PhaseCost("compute", PerTile.of(cycles)),))
