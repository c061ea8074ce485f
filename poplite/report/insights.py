"""What to look at first: the worst tiles and steps, and their causes; a line for each.

>>> print(*insights_text(Insights(None, None, (), (), (), (), ("Search",))))
guessed: the cycles of Search depend on data that was not counted; a `cycles` method can state them
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.report.execution import Cause
from poplite.report.phase_kinds import PhaseKind
from poplite.text import shortened

if TYPE_CHECKING:
    from poplite.report.compilation import Compilation
    from poplite.report.execution import Execution, ExecutionStep, Phase

MOST = 5
"""Most findings of one kind."""

MUCH = 0.5
"""Share of idle workers beyond which they are a finding."""

LITTLE = 0.01
"""Share of all cycles below which lost cycles are not a finding."""

NAME = 40
"""Most characters of a name in a table."""

MOVING: tuple[PhaseKind, ...] = ("exchange", "global exchange", "host exchange")


@dataclass(frozen=True, slots=True)
class WorstTile:
    """A tile that has most of something.

    Attributes:
        tile: its number.
        most: how much it has.
        mean: how much tiles have on average.
    """

    tile: int
    most: int
    mean: float


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A compute phase in which most tiles wait for a few.

    Attributes:
        step: its name.
        lost: total of cycles that would be saved if all tiles were equally busy.
        balance: how long tiles are busy on average, of the slowest.
        worst_tile: the slowest.
        at: the user's line that added its first vertices.
    """

    step: str
    lost: int
    balance: float
    worst_tile: int
    at: str


@dataclass(frozen=True, slots=True)
class IdleWorkers:
    """A compute phase in which most workers of its busy tiles have nothing to do.

    Attributes:
        step: its name.
        lost: total of cycles of a tile, on average, in which its workers could have issued more.
        idle: how much of the time of workers that is, from 0 to 1.
        at: the user's line that added its first vertices.
    """

    step: str
    lost: float
    idle: float
    at: str


@dataclass(frozen=True, slots=True)
class LargeExchange:
    """A phase that moves much.

    Attributes:
        step: its name.
        kind: between what.
        bytes: total that tiles receive, all together; of a host exchange what they send or
            receive.
        cycles: total that it takes.
        cause: what moves most in one execution; None where nobody knows.
    """

    step: str
    kind: PhaseKind
    bytes: int
    cycles: int
    cause: Cause | None


@dataclass(frozen=True, slots=True)
class ForcedCopy:
    """An edge whose data must be rearranged on its tile, though nobody asked for a copy.

    Attributes:
        step: the step that needs it.
        cause: what it is, and why; its bytes are the total of all executions.
    """

    step: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Insights:
    """What to look at first.

    Attributes:
        busiest: the tile that computes longest; None where none does.
        fullest: the tile that holds most; None where memory is not modelled.
        imbalances: compute phases, the most lost cycles first.
        idle_workers: compute phases in which most workers are idle, the most lost cycles first.
        exchanges: phases that move data, those that take longest first.
        copies: edges that force a copy on their tile, the most bytes first.
        guessed: vertex classes whose cycles are guesses.
    """

    busiest: WorstTile | None
    fullest: WorstTile | None
    imbalances: tuple[Imbalance, ...]
    idle_workers: tuple[IdleWorkers, ...]
    exchanges: tuple[LargeExchange, ...]
    copies: tuple[ForcedCopy, ...]
    guessed: tuple[str, ...]


def insights_of(compilation: Compilation, execution: Execution) -> Insights:
    """Return what to look at first, from two parts of one report."""
    phases = [(step, phase) for step in execution.steps for phase in step.phases]
    computing = [(step, phase) for step, phase in phases if phase.kind == "compute"]
    shared = [(step, phase) for step, phase in computing if step.kind == "execute" and phase.cycles]
    unbalanced = [each for each in starmap(_imbalance, shared) if each.lost]
    idle = [each for each in starmap(_idle_workers, shared) if each.idle > MUCH]
    little = LITTLE * (execution.cycles or 0)
    moving = [_exchange(*each) for each in phases if each[1].kind in MOVING]
    copies = [
        ForcedCopy(step.name, Cause(cause.what, cause.why, cause.at, cause.bytes * step.executions))
        for step, phase in phases
        if phase.kind == "copy" and step.kind == "execute"
        for cause in phase.causes
    ]
    memory = compilation.modelled
    fullest = None if memory is None else memory.including_gaps
    guessed = (each.name for each in execution.vertex_types() if each.source == "guessed")
    return Insights(
        busiest=_busiest(compilation.target.tiles, [phase for _, phase in computing]),
        fullest=None
        if fullest is None or fullest.worst_tile is None
        else WorstTile(fullest.worst_tile, fullest.most, fullest.mean),
        imbalances=_first([e for e in unbalanced if e.lost >= little], lambda each: each.lost),
        idle_workers=_first([e for e in idle if e.lost >= little], lambda each: each.lost),
        exchanges=_first([each for each in moving if each.cycles], lambda each: each.cycles),
        copies=_first(copies, lambda each: each.cause.bytes),
        guessed=tuple(guessed),
    )


def insights_text(insights: Insights) -> list[str]:
    """Return insights as text, a line each."""
    lines = []
    if (busiest := insights.busiest) is not None:
        mean = f"{busiest.mean:,.1f} on average"
        lines.append(f"busiest: tile {busiest.tile:,} computes {busiest.most:,} cycles; {mean}")
    if (fullest := insights.fullest) is not None:
        mean = f"{fullest.mean:,.1f} B on average"
        lines.append(f"fullest: tile {fullest.tile:,} holds {fullest.most:,} B; {mean}")
    for each in insights.imbalances:
        lines.append(
            f"waiting: {each.lost:,} cycles in {shortened(each.step, NAME)} for tile "
            f"{each.worst_tile:,}, as tiles have {100 * each.balance:.1f}% of its work on average"
            f"{where(each.at)}"
        )
    for idle in insights.idle_workers:
        lines.append(
            f"idle workers: {100 * idle.idle:.1f}% of the time in {shortened(idle.step, NAME)}: "
            f"more vertices a tile of equal work, or a MultiVertex, would use it{where(idle.at)}"
        )
    for moved in insights.exchanges:
        due = "" if moved.cause is None else f": {_cause(moved.cause)}"
        what = f"{moved.cycles:,} cycles for {moved.bytes:,} B in {shortened(moved.step, NAME)}"
        lines.append(f"{moved.kind}: {what}{due}")
    for copy in insights.copies:
        what = f"{copy.cause.bytes:,} B in {shortened(copy.step, NAME)}"
        lines.append(f"copied on its tile: {what}: {_cause(copy.cause)}")
    for name in insights.guessed:
        why = "depend on data that was not counted; a `cycles` method can state them"
        lines.append(f"guessed: the cycles of {name} {why}")
    return lines or ["none"]


def where(line: str) -> str:
    """Return the user's line in parentheses, as it follows a name; empty where there is none.

    >>> f"sums{where('model.py:12')}"
    'sums (model.py:12)'
    """
    return f" ({line})" if line else ""


def _first(found: list[Any], size: Callable[[Any], int]) -> tuple[Any, ...]:
    """Return the largest findings; equal ones keep their order."""
    return tuple(sorted(found, key=lambda each: -size(each))[:MOST])


def _imbalance(step: ExecutionStep, phase: Phase) -> Imbalance:
    busy = phase.tile_cycles
    worst = busy.worst_tile
    assert worst is not None, "its slowest tile took a while"
    lost = phase.cycles - round(busy.mean)
    return Imbalance(step.name, lost, phase.balance, worst, step.at)


def _idle_workers(step: ExecutionStep, phase: Phase) -> IdleWorkers:
    busy = phase.tile_cycles
    used = sum(each.cycles for each in step.vertex_types)
    lost = (busy.total - used) / busy.num_used
    return IdleWorkers(step.name, lost, 1 - used / busy.total, step.at)


def _exchange(step: ExecutionStep, phase: Phase) -> LargeExchange:
    moved = max(phase.received.total, phase.sent.total)
    return LargeExchange(step.name, phase.kind, moved, phase.cycles, next(iter(phase.causes), None))


def _busiest(num_tiles: int, phases: list[Phase]) -> WorstTile | None:
    busy = np.zeros(num_tiles, np.int64)
    for phase in phases:
        busy[phase.tile_cycles.tiles.array()] += phase.tile_cycles.values.array()
    if not busy.any():
        return None
    worst = int(busy.argmax())
    return WorstTile(worst, int(busy[worst]), float(busy.mean()))


def _cause(cause: Cause) -> str:
    return f"{cause.what} {cause.why}{where(cause.at)}"
