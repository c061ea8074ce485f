"""What a step took since an earlier report of the same engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from poplite.report.execution import ExecutionStep, Phase, TypeCycles
from poplite.report.per_tile import PerTile


def steps_since(
    later: Sequence[ExecutionStep], earlier: Sequence[ExecutionStep]
) -> dict[tuple[str, int], ExecutionStep]:
    """Return what steps took from one report to the next, by program and row.

    Args:
        later: the steps of the later report.
        earlier: those of the earlier one.

    Returns:
        The steps that ran in between, with numbers of these executions only.
    """
    before = {(step.program_name, step.row): step for step in earlier}
    found = {}
    for step in later:
        place = step.program_name, step.row
        known = before.get(place)
        if known is None:
            found[place] = step
        elif step.executions > known.executions:
            found[place] = _step_since(step, known)
    return found


def _step_since(later: ExecutionStep, earlier: ExecutionStep) -> ExecutionStep:
    phases = zip(later.phases, earlier.phases, strict=True)
    types = zip(later.vertex_types, earlier.vertex_types, strict=True)
    return replace(
        later,
        executions=later.executions - earlier.executions,
        cycles=later.cycles - earlier.cycles,
        phases=tuple(_phase_since(*both) for both in phases),
        vertex_types=tuple(_type_since(*both) for both in types),
    )


def _phase_since(later: Phase, earlier: Phase) -> Phase:
    return replace(
        later,
        cycles=later.cycles - earlier.cycles,
        sync=later.sync - earlier.sync,
        tile_cycles=_minus(later.tile_cycles, earlier.tile_cycles),
        received=_minus(later.received, earlier.received),
        sent=_minus(later.sent, earlier.sent),
        copied=_minus(later.copied, earlier.copied),
    )


def _type_since(later: TypeCycles, earlier: TypeCycles) -> TypeCycles:
    flops = None if later.flops is None else later.flops - (earlier.flops or 0)
    vertices, cycles = later.vertices - earlier.vertices, later.cycles - earlier.cycles
    return replace(later, vertices=vertices, cycles=cycles, flops=flops)


def _minus(later: PerTile, earlier: PerTile) -> PerTile:
    if not earlier.num_used:
        return later
    return PerTile.of(later.array() - earlier.array())
