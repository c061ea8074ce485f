"""Findings: the largest costs of a run by cause, what to look at first.

    every step   copied on its tile 18, exchange 12, waiting 4     of 90 cycles, at one line
    findings     copied on its tile: 3,600 cycles (20.0%) ... in 200 steps (model.py:12)
                 exchange: 2,400 cycles (13.3%) ...

Between two syncs each tile proceeds by itself, so the cost of a phase is the time that the step
would save without it: work of a tile for which no other one waits costs nothing.

>>> print(*insights_text(Insights(None, None, (Finding("guessed", 90, 0.5, ("Search",), (0,)),))))
guessed: the cycles of Search depend on data that was not counted; a `cycles` method can state them
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.report.execution import Cause, PhaseKind, between_syncs
from poplite.text import amount, printable, shortened

if TYPE_CHECKING:
    from poplite.report.compilation import Compilation, JoinedCopies
    from poplite.report.execution import Execution, ExecutionStep, Phase

FindingKind = Literal[
    "waiting",
    "idle workers",
    "exchange",
    "global exchange",
    "host exchange",
    "copied on its tile",
    "copies apart",
    "guessed",
]
"""Kinds of findings: tiles that wait for a slower one; idle workers of busy tiles; data that move;
data that are rearranged on their tile; neighbour Copies that could be one; unattributed cycles."""

_OF_PHASE: dict[PhaseKind, FindingKind] = {
    "copy": "copied on its tile",
    "exchange": "exchange",
    "global exchange": "global exchange",
    "host exchange": "host exchange",
}
"""Kinds of findings in phases in which data move."""

MOST = 10
"""Most findings that are printed."""

MUCH = 0.5
"""Share of idle workers beyond which they are a finding."""

LITTLE = 0.01
"""Share of all cycles below which cycles are not a finding."""

NAME = 40
"""Most characters of a name in a table."""


@frozen
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


@frozen
class Finding:
    """Something that takes or loses cycles, wherever it has the same cause and line.

    Attributes:
        kind: what it is.
        cycles: total that all its steps would be shorter by without it; of "guessed" what the
            vertices took, of "idle workers" what a tile's workers could have issued more.
        share: these cycles, of all cycles that ran.
        names: of its steps, each name once; of "guessed" the vertex class.
        steps: their positions in `Execution.steps`.
        tile: the one that takes longest; None where nothing waits for a tile, or steps wait for
            different ones.
        tiles: the most tiles that are busy with it in one step.
        bytes: total that moves.
        what: the field or tensor, as messages call it; empty without one.
        why: what happens to it, in words; how uneven or idle it is.
        at: the user's line; empty if it is not known.
        of_tiles: tiles of the target.
    """

    kind: FindingKind
    cycles: int
    share: float
    names: tuple[str, ...]
    steps: tuple[int, ...]
    tile: int | None = None
    tiles: int = 0
    bytes: int = 0
    what: str = ""
    why: str = ""
    at: str = ""
    of_tiles: int = field(default=0, repr=False)

    @property
    def text(self) -> str:
        """The finding as a sentence."""
        return printable(_text(self))


@frozen
class Insights:
    """What to look at first.

    Attributes:
        busiest: the tile that computes longest; None where none does.
        fullest: the tile that holds most; None where memory is not modelled.
        findings: what takes or loses at least a hundredth of all cycles, the most first; guesses
            come last.
    """

    busiest: WorstTile | None
    fullest: WorstTile | None
    findings: tuple[Finding, ...]


def insights_of(compilation: Compilation, execution: Execution) -> Insights:
    """Return what to look at first, from two parts of one report."""
    memory = compilation.modelled
    fullest = None if memory is None else memory.including_gaps
    return Insights(
        busiest=_busiest(compilation.target.tiles, execution.steps),
        fullest=None
        if fullest is None or fullest.worst_tile is None
        else WorstTile(fullest.worst_tile, fullest.most, fullest.mean),
        findings=(
            *sorted(
                (*_losses(execution), *_apart(compilation.joined, execution)),
                key=lambda each: -each.cycles,
            ),
            *_guessed(execution),
        ),
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
    lines += [each.text for each in insights.findings[:MOST]]
    if (more := len(insights.findings) - MOST) > 0:
        lines.append(f"... {more:,} more")
    return lines or ["none"]


def where(line: str) -> str:
    """Return the user's line in parentheses, as it follows a name; empty without one.

    >>> f"sums{where('model.py:12')}"
    'sums (model.py:12)'
    """
    return f" ({line})" if line else ""


# -- lost cycles -----------------------------------------------------------------------------------


class _Loss(NamedTuple):
    """A part of a finding: what one phase of one step loses."""

    kind: FindingKind
    cycles: float
    step: int
    tile: int | None
    tiles: int
    bytes: int
    what: str
    why: str
    at: str
    ideal: float
    """Of what waits or is idle: the cycles that it would take without that."""
    work: float
    """Of the same: the cycles that it takes; of waiting those of the slowest tile."""


def _losses(execution: Execution) -> list[Finding]:
    """Return losses of one kind, cause and line as one finding, the most cycles first."""
    steps, whole = execution.steps, execution.cycles or 0
    groups: dict[tuple[str, ...], list[_Loss]] = {}
    for number, step in enumerate(steps):
        for loss in _of_step(number, step):
            cause = (loss.what, loss.why) if loss.kind in _OF_PHASE.values() else ()
            groups.setdefault((loss.kind, loss.at or step.name, *cause), []).append(loss)
    found = (_finding(group, steps, whole, execution.target.tiles) for group in groups.values())
    worth = [each for each in found if each.cycles and each.cycles >= LITTLE * whole]
    return sorted(worth, key=lambda each: -each.cycles)


def _finding(
    group: Sequence[_Loss], steps: Sequence[ExecutionStep], whole: int, of_tiles: int
) -> Finding:
    most = max(group, key=lambda loss: loss.cycles)
    lost = sum(loss.cycles for loss in group)
    why = most.why
    if most.kind in ("waiting", "idle workers"):
        part = sum(loss.ideal for loss in group) / sum(loss.work for loss in group)
        why = (
            f"as tiles have {100 * part:.1f}% of its work on average"
            if most.kind == "waiting"
            else f"{100 * (1 - part):.1f}% of the time of workers"
        )
    numbers = tuple(dict.fromkeys(loss.step for loss in group))
    slowest = {loss.tile for loss in group}
    return Finding(
        kind=most.kind,
        cycles=round(lost),
        share=round(lost) / whole if whole else 0.0,
        names=tuple(dict.fromkeys(steps[number].name for number in numbers)),
        steps=numbers,
        tile=most.tile if most.kind != "waiting" or len(slowest) == 1 else None,
        tiles=max(loss.tiles for loss in group),
        bytes=sum(loss.bytes for loss in group),
        what=most.what,
        why=why,
        at=most.at,
        of_tiles=of_tiles,
    )


def _of_step(number: int, step: ExecutionStep) -> Iterator[_Loss]:
    """Yield the losses of a step, group by group of phases between syncs."""
    for group in between_syncs(step.phases):
        busy = [phase.tile_cycles.array() for phase in group]
        together: Int64 = np.sum(busy, axis=0)
        longest = int(together.max(initial=0))
        for phase, own in zip(group, busy, strict=True):
            # Vertices that are counted while they run may have another slowest tile each time.
            more = phase.cycles - int(own.max(initial=0))
            without = int((together - own).max(initial=0))
            taken = longest - without + more
            if phase.kind != "compute":
                yield from _moved(number, step, phase, taken)
            elif step.kind == "execute" and phase.cycles:
                yield from _computed(number, step, phase, taken)


def _moved(number: int, step: ExecutionStep, phase: Phase, taken: int) -> Iterator[_Loss]:
    """Yield what data that move take, each cause its part by bytes."""
    causes = phase.causes or (Cause("", "", step.at, 1),)
    weight = sum(cause.bytes for cause in causes) or 1
    for cause in causes:
        part = cause.bytes / weight
        yield _Loss(
            _OF_PHASE[phase.kind],
            taken * part,
            number,
            phase.tile_cycles.worst_tile,
            phase.tile_cycles.num_used,
            round(phase.moved * part),
            cause.what,
            cause.why,
            cause.at or step.at,
            0.0,
            0.0,
        )


def _computed(number: int, step: ExecutionStep, phase: Phase, taken: int) -> Iterator[_Loss]:
    """Yield what tiles wait for the slowest, and what idle workers lose."""
    busy = phase.tile_cycles
    worst, used = busy.worst_tile, busy.num_used
    if taken > busy.mean:
        lost, work = taken - busy.mean, float(phase.cycles)
        yield _Loss("waiting", lost, number, worst, used, 0, "", "", step.at, busy.mean, work)
    issued = sum(each.cycles for each in step.vertex_types)
    if busy.total > 0 and 1 - issued / busy.total > MUCH:
        ideal, work = issued / used, busy.total / used
        lost = work - ideal
        yield _Loss("idle workers", lost, number, None, used, 0, "", "", step.at, ideal, work)


def _apart(joined: Sequence[JoinedCopies], execution: Execution) -> Iterator[Finding]:
    """Yield neighbour Copies that would take fewer cycles as one."""
    if not joined:
        return
    at = {(step.program_name, step.row): n for n, step in enumerate(execution.steps)}
    for each in joined:
        numbers = tuple(at.get((each.program_name, row), -1) for row in each.rows)
        if min(numbers, default=-1) < 0:
            continue
        steps = [execution.steps[number] for number in numbers]
        taken, one = sum(step.cycles for step in steps), steps[0].executions * each.cycles
        if not (lost := taken - one) > LITTLE * (whole := execution.cycles or 0):
            continue
        yield Finding(
            kind="copies apart",
            cycles=lost,
            share=lost / whole if whole else 0.0,
            names=tuple(dict.fromkeys(step.name for step in steps)),
            steps=numbers,
            why=f"one Copy of all would take {one:,} cycles, not {taken:,}, and on the fullest "
            f"tile {each.code_bytes:,} B of code, not {each.apart_bytes:,}",
            at=steps[0].at,
            of_tiles=execution.target.tiles,
        )


def _guessed(execution: Execution) -> Iterator[Finding]:
    """Yield the vertex classes whose cycles are guesses."""
    for each in execution.vertex_types():
        if each.source == "guessed":
            steps = tuple(
                number
                for number, step in enumerate(execution.steps)
                for one in step.vertex_types
                if (one.name, one.source) == (each.name, "guessed")
            )
            whole = execution.worker_cycles() * execution.target.tiles
            yield Finding("guessed", each.cycles, each.cycles / (whole or 1), (each.name,), steps)


def _busiest(num_tiles: int, steps: Iterable[ExecutionStep]) -> WorstTile | None:
    busy = np.zeros(num_tiles, np.int64)
    for step in steps:
        for phase in step.phases:
            if phase.kind == "compute":
                busy[phase.tile_cycles.tiles.array()] += phase.tile_cycles.values.array()
    if not busy.any():
        return None
    worst = int(busy.argmax())
    return WorstTile(worst, int(busy[worst]), float(busy.mean()))


# -- as text ---------------------------------------------------------------------------------------


def _text(finding: Finding) -> str:
    """Return a finding as a sentence."""
    first = shortened(finding.names[0], NAME)
    if finding.kind == "guessed":
        why = "depend on data that was not counted; a `cycles` method can state them"
        return f"guessed: the cycles of {first} {why}"
    took = f"{finding.kind}: {finding.cycles:,} cycles ({100 * finding.share:.1f}%)"
    others = len(finding.steps) - 1
    inside = f"in {first}" + (f" and {amount(others, 'other step')}" if others else "")
    at = where(finding.at)
    if finding.kind == "copies apart":
        return f"{took} {inside}, as they are apart: {finding.why}{at}"
    if finding.kind == "waiting":
        slowest = "the slowest of each" if finding.tile is None else f"tile {finding.tile:,}"
        return f"{took} {inside} for {slowest}, {finding.why}{at}"
    if finding.kind == "idle workers":
        fix = "more vertices a tile of equal work, or a MultiVertex, would use it"
        return f"{took} {inside}, {finding.why}: {fix}{at}"
    few = ""
    if finding.kind == "copied on its tile" and finding.tiles < finding.of_tiles:
        few = f", on {finding.tiles:,} of {finding.of_tiles:,} tiles while the others wait"
    due = f": {finding.what} {finding.why}" if finding.what else ""
    return f"{took} for {finding.bytes:,} B {inside}{few}{due}{at}"
