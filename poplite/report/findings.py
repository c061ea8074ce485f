"""Findings: the largest costs of a run by cause, where to look first.

    every step   copied on its tile 18, exchange 12, waiting 4     of 90 cycles, at one line
    findings     copied on its tile: 3,600 cycles (20.0%) ... in 200 steps (model.py:12)
                 exchange: 2,400 cycles (13.3%) ...

Between two syncs each tile proceeds independently, so the cost of a phase is the time that the step
would save without it: work of a tile for which no other tile waits costs nothing.

>>> print(*insights_text(Insights(None, None, (Finding("guessed", 90, 0.5, ("Search",), (0,)),))))
guessed: the cycles of Search depend on data that was not counted
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.report.execution import Cause, PhaseKind, between_syncs
from poplite.report.memory import peaks_of, remedy_for
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
    "out of memory",
]
"""Kinds of findings: tiles that wait for a slower one; idle workers of busy tiles; data that move;
data that are rearranged on their tile; adjacent Copies that could be one; unattributed cycles; a
tile with too little memory."""

_OF_PHASE: dict[PhaseKind, FindingKind] = {
    "copy": "copied on its tile",
    "exchange": "exchange",
    "global exchange": "global exchange",
    "host exchange": "host exchange",
}
"""Kinds of findings in phases in which data move."""

_REMEDIES: dict[FindingKind, str] = {
    "idle workers": "more vertices a tile of equal work, or a MultiVertex, would use it",
    "exchange": "tensors on the tiles that read them, in long pieces, are not exchanged",
    "global exchange": "what is used together moves less on one IPU",
    "host exchange": "larger blocks, less often, take fewer cycles",
    "copied on its tile": "a tensor in the order in which vertices read it is not copied",
    "copies apart": "copy one `pl.concat` of all to another",
    "guessed": "a `cycles` method can state them",
}
"""What the user can do."""

_OF_LIBRARY = "another mapping of the operation's tensors changes it"
"""What the user can do about vertices of an operation."""

MOST = 10
"""Most findings that are printed."""

LITTLE = 0.01
"""Share of all cycles below which cycles are not a finding."""

NAME = 40
"""Maximum number of characters of a name in a table."""


@frozen
class WorstTile:
    """The tile that has the most of something.

    Attributes:
        tile: its number.
        most: how much it has.
        mean: the average over tiles.
    """

    tile: int
    most: int
    mean: float


@frozen
class Finding:
    """Something that takes or loses cycles, summed over all places with the same cause and line.

    Attributes:
        kind: its kind.
        cycles: the expected gain: by how many cycles all its steps would be shorter without it; for
            "guessed" the cycles of the vertices, for "idle workers" what a tile's workers could
            have issued in addition.
        share: the share of these cycles in all cycles that ran.
        names: the names of its steps, each once; for "guessed" the vertex class.
        steps: their positions in `Execution.steps`.
        tile: the slowest tile; None where nothing waits for a tile, or steps wait for different
            ones.
        tiles: the most tiles that are busy with it in one step; for "out of memory" those that need
            more than they have.
        bytes: total of bytes that move; for "out of memory" what the fullest tile lacks.
        what: the field or tensor, as named in messages; empty without one.
        why: why it moves, in words; how uneven or idle it is.
        at: the user's line; empty if unknown.
        of_tiles: number of tiles of the target.
        remedy: what can be done about it, in words; empty where unknown.
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
    remedy: str = field(default="", repr=False)

    @property
    def text(self) -> str:
        """The finding as a sentence."""
        return f"{self.kind}: {self.sentence}{printable(where(self.at))}"

    @property
    def sentence(self) -> str:
        """The same without its kind and its line."""
        return printable(_sentence(self))


@frozen
class Insights:
    """Where to look first.

    Attributes:
        busiest: the tile that computes longest; None if none computes.
        fullest: the tile that holds the most; None where memory is not modelled.
        findings: a tile with too little memory; causes that take or lose at least a hundredth of
            all cycles, the largest first; guesses.
    """

    busiest: WorstTile | None
    fullest: WorstTile | None
    findings: tuple[Finding, ...]


def insights_of(compilation: Compilation, execution: Execution) -> Insights:
    """Return where to look first, from two parts of one report."""
    memory = compilation.modelled
    fullest = None if memory is None else memory.including_gaps
    return Insights(
        busiest=_busiest(compilation.target.tiles, execution.steps),
        fullest=None
        if fullest is None or fullest.worst_tile is None
        else WorstTile(fullest.worst_tile, fullest.most, fullest.mean),
        findings=(
            *_out_of_memory(compilation),
            *sorted(
                (*_losses(compilation, execution), *_apart(compilation.joined, execution)),
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
    """A part of a finding: the loss in one phase of one step."""

    kind: FindingKind
    cycles: float
    step: int
    tile: int | None
    tiles: int
    bytes: int = 0
    what: str = ""
    why: str = ""
    at: str = ""
    ideal: float = 0.0
    """For waiting or idle workers: the cycles that the phase would take without that."""
    even: float = 0.0
    """For waiting: the cycles that the phase would take if the busy tiles had equal work."""
    work: float = 0.0
    """For both: the cycles that it takes; for waiting those of the slowest tile."""


def _losses(compilation: Compilation, execution: Execution) -> list[Finding]:
    """Return losses of one kind, cause and line as one finding, the most cycles first."""
    steps, whole = execution.steps, execution.cycles or 0
    groups: dict[tuple[str, ...], list[_Loss]] = {}
    for number, step in enumerate(steps):
        for loss in _of_step(number, step):
            cause = (loss.what, loss.why) if loss.kind in _OF_PHASE.values() else ()
            groups.setdefault((loss.kind, loss.at or step.name, *cause), []).append(loss)
    lost = {each: sum(loss.cycles for loss in group) for each, group in groups.items()}
    worth = [each for each in groups if round(lost[each]) and round(lost[each]) >= LITTLE * whole]
    found = (_finding(groups[each], compilation, execution) for each in worth)
    return sorted(found, key=lambda each: -each.cycles)


def _finding(group: Sequence[_Loss], compilation: Compilation, execution: Execution) -> Finding:
    most, whole = max(group, key=lambda loss: loss.cycles), execution.cycles
    lost = round(sum(loss.cycles for loss in group))
    steps, of_tiles = execution.steps, execution.target.tiles
    numbers = tuple(dict.fromkeys(loss.step for loss in group))
    slowest, tiles = {loss.tile for loss in group}, max(loss.tiles for loss in group)
    tile = most.tile if most.kind != "waiting" or len(slowest) == 1 else None
    why, remedy = most.why, _REMEDIES.get(most.kind, "")
    ideal, even, work = (
        sum(each) for each in zip(*((e.ideal, e.even, e.work) for e in group), strict=True)
    )
    if most.kind == "idle workers":
        why = f"{100 * (1 - ideal / work):.1f}% of the time of workers"
    elif most.kind == "waiting" and 2 * (even - ideal) > work - ideal:
        why = f"as {of_tiles - tiles:,} of {amount(of_tiles, 'tile')} have no work"
        remedy = f"spread it over more of the tiles than {tiles:,}"
    elif most.kind == "waiting":
        why = f"as tiles have {100 * ideal / work:.1f}% of its work on average"
        if tile is not None:
            why += _running(compilation, steps[most.step], tile)
        remedy = "spread the work of the slowest tile over others"
    elif most.kind == "copied on its tile" and steps[most.step].kind == "copy":
        remedy = "two buffers that take turns need no copy"
    if steps[most.step].operation and most.kind in ("waiting", "idle workers"):
        remedy = _OF_LIBRARY
    return Finding(
        kind=most.kind,
        cycles=lost,
        share=lost / whole if whole else 0.0,
        names=tuple(dict.fromkeys(steps[number].name for number in numbers)),
        steps=numbers,
        tile=tile,
        tiles=tiles,
        bytes=sum(loss.bytes for loss in group),
        what=most.what,
        why=why,
        at=most.at,
        of_tiles=of_tiles,
        remedy=remedy,
    )


def _running(compilation: Compilation, step: ExecutionStep, tile: int) -> str:
    """Return the vertices of which a tile runs more than tiles do on average; empty if none."""
    if step.compute_set is None:
        return ""
    found = compilation.compute_sets[step.compute_set].vertices
    more = [(each.count_by_tile[tile] - each.count_by_tile.mean, each) for each in found]
    excess, most = max(more, key=lambda pair: pair[0], default=(0.0, None))
    if most is None or excess <= 0:
        return ""
    count, mean = most.count_by_tile[tile], most.count_by_tile.mean
    line = where(most.at.partition(", called at ")[0])
    return f"; it runs {count:,} {most.type}{line}, tiles {mean:,.1f} on average"


def _of_step(number: int, step: ExecutionStep) -> Iterator[_Loss]:
    """Yield the losses of a step, group by group of phases between syncs."""
    for group in between_syncs(step.phases):
        busy = [phase.tile_cycles.array() for phase in group]
        together: Int64 = np.sum(busy, axis=0)
        longest = int(together.max(initial=0))
        for phase, own in zip(group, busy, strict=True):
            # Vertices that are counted while they run may have a different slowest tile each time.
            more = phase.cycles - int(own.max(initial=0))
            without = int((together - own).max(initial=0))
            taken = longest - without + more
            if phase.kind != "compute":
                yield from _moved(number, step, phase, taken)
            elif step.kind == "execute" and phase.cycles:
                yield from _computed(number, step, phase, taken)


def _moved(number: int, step: ExecutionStep, phase: Phase, taken: int) -> Iterator[_Loss]:
    """Yield the cycles of moving data, divided among causes by bytes."""
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
        )


def _computed(number: int, step: ExecutionStep, phase: Phase, taken: int) -> Iterator[_Loss]:
    """Yield the losses from waiting for the slowest tile, and from idle workers."""
    busy = phase.tile_cycles
    worst, used = busy.worst_tile, busy.num_used
    if taken > busy.mean:
        mean = busy.total / used
        lost, work = taken - busy.mean, float(phase.cycles)
        yield _Loss(
            "waiting",
            lost,
            number,
            worst,
            used,
            at=step.at,
            ideal=busy.mean,
            even=mean,
            work=work,
        )
    issued = sum(each.cycles for each in step.vertex_types)
    if busy.total > issued:
        ideal, work = issued / used, busy.total / used
        lost = work - ideal
        yield _Loss("idle workers", lost, number, None, used, at=step.at, ideal=ideal, work=work)


def _apart(joined: Sequence[JoinedCopies], execution: Execution) -> Iterator[Finding]:
    """Yield adjacent Copies that would take fewer cycles as one."""
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
            remedy=_REMEDIES["copies apart"],
        )


def _out_of_memory(compilation: Compilation) -> Iterator[Finding]:
    """Yield the fullest tile, if it needs more memory than it has."""
    memory, target = compilation.modelled, compilation.target
    limit = target.tile_memory_bytes
    if memory is None or (tile := memory.including_gaps.worst_tile) is None:
        return
    if (needed := memory.including_gaps.most) <= limit:
        return
    step = int(peaks_of(memory).step[tile])
    there = (each for each in memory.held if each.steps is None or each.is_in(step))
    largest = max(there, key=lambda each: each.bytes[tile])
    yield Finding(
        kind="out of memory",
        cycles=0,
        share=0.0,
        names=(largest.name,),
        steps=(),
        tile=tile,
        tiles=memory.num_over(limit),
        bytes=needed - limit,
        what=f"{largest.category.replace('_', ' ')} '{largest.name}'",
        why=f"has {largest.bytes[tile]:,} of {needed:,} B; a tile has {limit:,} B",
        at=largest.at,
        of_tiles=target.tiles,
        remedy=remedy_for(largest, tile, target.tiles),
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
            yield Finding(
                kind="guessed",
                cycles=each.cycles,
                share=each.cycles / (whole or 1),
                names=(each.name,),
                steps=steps,
                remedy=_REMEDIES["guessed"],
            )


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


def _sentence(finding: Finding) -> str:
    """Return a finding as a sentence, without its kind and its line."""
    first = shortened(finding.names[0], NAME)
    do = f": {finding.remedy}" if finding.remedy else ""
    if finding.kind == "guessed":
        return f"the cycles of {first} depend on data that was not counted{do}"
    if finding.kind == "out of memory":
        over = f"{finding.bytes:,} B too many on tile {finding.tile:,}"
        of = f"{finding.tiles:,} of {amount(finding.of_tiles, 'tile')} over the limit"
        return f"{over}, {of}: {finding.what} {finding.why}{do}"
    others = len(finding.steps) - 1
    took = f"{finding.cycles:,} cycles ({100 * finding.share:.1f}%)"
    inside = f"in {first}" + (f" and {amount(others, 'other step')}" if others else "")
    if finding.kind == "copies apart":
        return f"{took} {inside}, as they are apart: {finding.why}{do}"
    if finding.kind == "idle workers":
        return f"{took} {inside}, {finding.why}{do}"
    if finding.kind == "waiting":
        slowest = "the slowest of each" if finding.tile is None else f"tile {finding.tile:,}"
        waits = "" if finding.why.endswith("no work") else f" for {slowest}"
        return f"{took} {inside}{waits}, {finding.why}{do}"
    few = ""
    if finding.kind == "copied on its tile" and finding.tiles < finding.of_tiles:
        few = f", on {finding.tiles:,} of {finding.of_tiles:,} tiles while the others wait"
    due = f": {finding.what} {finding.why}" if finding.what else ""
    return f"{took} for {finding.bytes:,} B {inside}{few}{due}{do}"
