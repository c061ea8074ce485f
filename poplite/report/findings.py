"""Findings: the largest costs of a run by cause, where to look first, and their sentences.

Their cycles are computed: the cycles that the steps would save if the remedy removed the cause.

    every step   copied on its tile 18, exchange 12, waiting 4     of 90 cycles, at one line
    findings     copied on its tile: 3,600 cycles (20.0%) ... in 200 steps (model.py:12)
                 exchange: 2,400 cycles (13.3%) ...

Between two syncs each tile proceeds independently, so the cost of a phase is the time that the step
would save without it: work of a tile for which no other tile waits costs nothing.

>>> print(*insights_text(Insights(None, None, (Finding("guessed", 90, 0.5, ("Search",), (0,)),))))
guessed: the cycles of Search depend on data that was not counted
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.display import ReportPart
from poplite.frozen import frozen
from poplite.machine.target import Target, bytes_per_cycle
from poplite.report.execution import (
    Cause,
    Execution,
    ExecutionStep,
    Phase,
    PhaseKind,
    between_syncs,
)
from poplite.report.memory import freed_by_spreading, peaks_of, remedy_for
from poplite.text import amount, printable, shortened

if TYPE_CHECKING:
    from poplite.report.compilation import Compilation, JoinedCopies

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
"""Kinds of findings: tiles that wait for a slower one; idle workers on busy tiles; data that move;
data that are rearranged on their tile; adjacent Copies that could be one; guessed cycles; a tile
with too little memory."""

MOST = 10
"""Maximum number of findings that are printed."""

GAINS = "the cycles below are computed: what each remedy would save"
"""The meaning of the cycles of findings."""

NAME = 40
"""Maximum number of characters of a name in a table."""


@frozen
class WorstTile:
    """The tile that has the most of something.

    Attributes:
        tile: its number.
        most: its amount.
        mean: the average over tiles.
    """

    tile: int
    most: int
    mean: float


@frozen
class Finding(ReportPart):
    """Something that takes or loses cycles, summed over all places with the same cause and line.

    Attributes:
        kind: its kind.
        cycles: the expected gain: the cycles that all its steps would save without it; for
            "guessed" the cycles of the vertices, for "idle workers" the cycles that the workers of
            a tile are idle.
        share: these cycles as a share of all cycles that ran.
        names: the names of its steps, each once; for "guessed" the vertex class.
        steps: their positions in `Execution.steps`, those that lose most first.
        tile: the slowest tile; None if nothing waits for a tile, or steps wait for different
            ones.
        tiles: the maximum number of tiles that are busy with it in one step; for "out of memory"
            the number of tiles that need more than they have.
        bytes: total of bytes that move; for "out of memory" the bytes that the fullest tile lacks.
        what: the field or tensor, as named in messages; empty without one.
        why: why it moves, in words; how uneven or idle it is.
        at: the user's line; empty if unknown.
        of_tiles: number of tiles of the target.
        remedy: advice, in words; empty if unknown.
        tiles_without: for "waiting" because other tiles have no work, the number of those tiles.
        vertices: for "idle workers", the average number of vertices on a busy tile.
        pieces: contiguous pieces that move in one execution, in the step with the most; 0 where
            unknown.
        bytes_per_cycle: for exchanges, bytes per cycle on the tile, IPU or host that moves the
            most, in the step that loses most.
        link_bytes_per_cycle: bytes per cycle that a link can carry there.
        code_bytes: for exchanges, the maximum bytes of their code on a tile in one step.
        freed: for "out of memory", bytes that the fullest tile would save if the variable were
            spread evenly over all tiles.
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
    tiles_without: int = field(default=0, repr=False)
    vertices: float = field(default=0.0, repr=False)
    pieces: int = field(default=0, repr=False)
    bytes_per_cycle: float = field(default=0.0, repr=False)
    link_bytes_per_cycle: float = field(default=0.0, repr=False)
    code_bytes: int = field(default=0, repr=False)
    freed: int = field(default=0, repr=False)

    @property
    def text(self) -> str:
        """The finding as a sentence."""
        return f"{self.kind}: {self.sentence}{printable(where(self.at))}"

    @property
    def sentence(self) -> str:
        """The finding as a sentence, without its kind and its line."""
        return printable(_sentence(self))


@frozen
class Insights(ReportPart):
    """Where to look first.

    Attributes:
        busiest: the tile that computes longest; None if none computes.
        fullest: the tile that needs the most memory; None if memory is not modelled.
        findings: a tile with too little memory; then causes that take or lose at least a hundredth
            of all cycles, the largest first; then guesses.
    """

    busiest: WorstTile | None
    fullest: WorstTile | None
    findings: tuple[Finding, ...]


def insights_text(insights: Insights) -> list[str]:
    """Return insights as text, a line each."""
    lines = []
    if (busiest := insights.busiest) is not None:
        mean = f"{busiest.mean:,.1f} on average"
        lines.append(f"busiest: tile {busiest.tile:,} computes {busiest.most:,} cycles; {mean}")
    if (fullest := insights.fullest) is not None:
        mean = f"{fullest.mean:,.1f} B on average"
        lines.append(f"fullest: tile {fullest.tile:,} holds {fullest.most:,} B; {mean}")
    shown = insights.findings[:MOST]
    if any(each.kind not in ("guessed", "out of memory") for each in shown):
        lines.append(GAINS)
    lines += [each.text for each in shown]
    if (more := len(insights.findings) - MOST) > 0:
        lines.append(f"... {more:,} more")
    return lines or ["none"]


def where(line: str) -> str:
    """Return the user's line in parentheses, to follow a name; empty without one.

    >>> f"sums{where('model.py:12')}"
    'sums (model.py:12)'
    """
    return f" ({line})" if line else ""


# -- as text ---------------------------------------------------------------------------------------


def _sentence(finding: Finding) -> str:
    """Return a finding as a sentence, without its kind and its line."""
    first = shortened(finding.names[0], NAME)
    do = f": {finding.remedy}" if finding.remedy else ""
    if finding.kind == "guessed":
        return f"the cycles of {first} depend on data that was not counted{do}"
    if finding.kind == "out of memory":
        over = f"tile {finding.tile:,} needs {finding.bytes:,} B more than it has"
        of = f"{finding.tiles:,} of {amount(finding.of_tiles, 'tile')} over the limit"
        freed = f" (if even, this frees {finding.freed:,} B there)" if finding.freed else ""
        return f"{over}, {of}: {finding.what} {finding.why}{do}{freed}"
    others = len(finding.steps) - 1
    took = f"{finding.cycles:,} cycles ({100 * finding.share:.1f}%)"
    inside = f"in {first}" + (f" and {amount(others, 'other step')}" if others else "")
    if finding.kind == "copies apart":
        return f"{took} {inside}, as they are separate: {finding.why}{do}"
    if finding.kind == "idle workers":
        return f"{took} {inside}, {finding.why}{do}"
    if finding.kind == "waiting":
        slowest = "the slowest tile of each" if finding.tile is None else f"tile {finding.tile:,}"
        waits = "" if finding.tiles_without else f" for {slowest}"
        return f"{took} {inside}{waits}, {finding.why}{do}"
    few = ""
    if finding.kind == "copied on its tile" and finding.tiles < finding.of_tiles:
        few = f", on {finding.tiles:,} of {finding.of_tiles:,} tiles while the others wait"
    due = f": {finding.what} {finding.why}" if finding.what else ""
    return f"{took} for {finding.bytes:,} B {inside}{few}{due}{_moves(finding)}{do}"


def _moves(finding: Finding) -> str:
    """Return the number of pieces, the speed and the code size of a move, as words."""
    words = ""
    if finding.pieces:
        words += f", in {amount(finding.pieces, 'piece')}"
    if finding.link_bytes_per_cycle:
        speed, most = finding.bytes_per_cycle, finding.link_bytes_per_cycle
        words += f", at {speed:,.1f} of the {most:,.1f} B per cycle that a link can carry"
    if finding.code_bytes:
        words += f"; its code takes {finding.code_bytes:,} B on a tile"
    return words


# -- remedies --------------------------------------------------------------------------------------

REMEDIES: Mapping[FindingKind, str] = {
    "waiting": "spread the work of the slowest tile over others",
    "idle workers": "add more vertices of equal work to each tile, or use a MultiVertex",
    "exchange": "map tensors to the tiles that read them, in long pieces",
    "global exchange": "map tensors that are used together to one IPU",
    "host exchange": "transfer larger blocks, less often",
    "copied on its tile": "store tensors in the order in which vertices read them",
    "copies apart": "copy one `pl.concat` of all sources to one of all destinations",
    "guessed": "define a `cycles` method in the class",
}
"""Remedies for steps that the user wrote."""

_OF_OPERATION: Mapping[FindingKind, str] = {
    "waiting": "map its operands evenly over more tiles, or pass a `mapping=` for its result",
    "idle workers": "use larger operands, or pass a `mapping=` for its result over fewer tiles",
    "exchange": "map its operands to the tiles of its result, or pass a `mapping=` for its result",
    "copied on its tile": "store its operands in the order of its result",
}
"""Remedies for steps of an operation of the library."""

_OF_PLAN: Mapping[FindingKind, str] = {
    "waiting": "change how its plan divides it, by `constraints=` or larger operands",
    "idle workers": "change how its plan divides it, by `constraints=` or larger operands",
    "exchange": "create its operands with its plan, for example by `plan.create_left()`",
    "copied on its tile": "create its operands with its plan, for example by `plan.create_left()`",
}
"""Remedies for steps of a planned operation."""

_PLANNED = re.compile(r"(^|/)(matmul|conv)")
"""Matches the names of steps of planned operations."""


def remedy_of(finding: Finding, step: ExecutionStep, target: Target) -> str:
    """Return the remedy for a finding whose largest loss is in a given step."""
    if step.operation:
        known = _OF_PLAN if _PLANNED.search(step.name) else _OF_OPERATION
        if finding.kind in known:
            return known[finding.kind]
    elif finding.kind == "waiting" and finding.tiles_without:
        return f"spread it over more than {amount(finding.tiles, 'tile')}"
    elif finding.kind == "idle workers" and finding.vertices >= target.workers:
        return (
            "give the vertices of a tile equal work; for the rows of a plane, use the grid of "
            f"`pl.near_square_grid(..., workers={target.workers})`"
        )
    elif finding.kind == "copied on its tile" and step.kind == "copy":
        return "alternate between two buffers, without a copy"
    return REMEDIES[finding.kind]


# -- from the phases of steps ----------------------------------------------------------------------

_OF_PHASE: dict[PhaseKind, FindingKind] = {
    "copy": "copied on its tile",
    "exchange": "exchange",
    "global exchange": "global exchange",
    "host exchange": "host exchange",
}
"""The kind of finding for each kind of phase in which data move."""

_KIND_OF_CODE: Mapping[str, PhaseKind] = {
    "internal_exchange_code": "exchange",
    "global_exchange_code": "global exchange",
    "host_exchange_code": "host exchange",
}
"""The kind of phase that uses the code in each category of memory."""

LITTLE = 0.01
"""Minimum share of all cycles for a finding; and minimum share of the largest loss of a finding
for another loss to be part of it."""


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
            *_out_of_memory(compilation, execution.steps),
            *sorted(
                (*_losses(compilation, execution), *_apart(compilation.joined, execution)),
                key=lambda each: -each.cycles,
            ),
            *_guessed(execution),
        ),
    )


# -- lost cycles -----------------------------------------------------------------------------------


class _Loss(NamedTuple):
    """A part of a finding: the loss in one phase of one step."""

    kind: FindingKind
    cycles: float
    step: int
    phase: Phase
    cause: Cause
    bytes: int = 0
    even: float = 0.0
    """For waiting: the cycles that the phase would take if the busy tiles had equal work."""

    @property
    def key(self) -> tuple[str, ...]:
        """The key, besides the line or step, that the losses of one finding share."""
        return self.kind, self.cause.what, self.cause.why


def _losses(compilation: Compilation, execution: Execution) -> list[Finding]:
    """Return the findings, each for all losses of one kind, cause and line."""
    steps, whole = execution.steps, execution.cycles or 0
    groups: dict[tuple[str, ...], list[_Loss]] = {}
    for number, step in enumerate(steps):
        for loss in _of_step(number, step):
            groups.setdefault((*loss.key, loss.cause.at or step.name), []).append(loss)
    lost = {each: sum(loss.cycles for loss in group) for each, group in groups.items()}
    worth = [each for each in groups if round(lost[each]) and round(lost[each]) >= LITTLE * whole]
    return [_finding(groups[each], compilation, execution) for each in worth]


def _finding(group: Sequence[_Loss], compilation: Compilation, execution: Execution) -> Finding:
    """Return losses as one finding, the largest first, without those much smaller than it."""
    group = sorted(group, key=lambda loss: -loss.cycles)
    group = [loss for loss in group if loss.cycles >= LITTLE * group[0].cycles]
    most, whole, steps = group[0], execution.cycles, execution.steps
    lost = round(sum(loss.cycles for loss in group))
    numbers = tuple(dict.fromkeys(loss.step for loss in group))
    slowest = {loss.phase.tile_cycles.worst_tile for loss in group}
    waits = most.kind == "waiting"
    found = Finding(
        kind=most.kind,
        cycles=lost,
        share=lost / whole if whole else 0.0,
        names=tuple(dict.fromkeys(steps[number].name for number in numbers)),
        steps=numbers,
        tile=None
        if most.kind == "idle workers" or (waits and len(slowest) > 1)
        else most.phase.tile_cycles.worst_tile,
        tiles=max(loss.phase.tile_cycles.num_used for loss in group),
        bytes=sum(loss.bytes for loss in group),
        what=most.cause.what,
        why=most.cause.why,
        at=most.cause.at,
        of_tiles=execution.target.tiles,
    )
    if waits:
        found = _waiting(found, group, compilation, steps)
    elif most.kind == "idle workers":
        found = _idle(found, group, compilation, steps)
    else:
        found = _moving(found, group, execution.target)
    return replace(found, remedy=remedy_of(found, steps[most.step], execution.target))


def _waiting(
    found: Finding,
    group: Sequence[_Loss],
    compilation: Compilation,
    steps: Sequence[ExecutionStep],
) -> Finding:
    """Return a finding with the reason why tiles wait."""
    mean = sum(loss.phase.tile_cycles.mean for loss in group)
    work, even = (
        sum(each) for each in zip(*((e.phase.cycles, e.even) for e in group), strict=True)
    )
    without = found.of_tiles - found.tiles  # in the step with the fewest
    if without and 2 * (even - mean) > work - mean:
        why = f"as {without:,} of {amount(found.of_tiles, 'tile')} have no work"
        return replace(found, why=why, tiles_without=without)
    why = f"as tiles have {100 * mean / work:.1f}% of its work on average"
    if found.tile is not None:
        why += _running(compilation, steps[group[0].step], found.tile)
    return replace(found, why=why)


def _idle(
    found: Finding,
    group: Sequence[_Loss],
    compilation: Compilation,
    steps: Sequence[ExecutionStep],
) -> Finding:
    """Return a finding with the idle share of workers' time, and the number of vertices."""
    work = sum(loss.phase.tile_cycles.total / loss.phase.tile_cycles.num_used for loss in group)
    idle = sum(loss.cycles for loss in group)
    why = f"as workers are idle {100 * idle / work:.1f}% of the time"
    number = steps[group[0].step].compute_set
    if number is None:
        return replace(found, why=why)
    some = compilation.compute_sets[number].vertices
    each = sum(of.count_by_tile.total for of in some) / found.tiles
    return replace(found, why=why, vertices=each)


def _running(compilation: Compilation, step: ExecutionStep, tile: int) -> str:
    """Return the class whose vertices most exceed the average on a tile, in words; else ""."""
    if step.compute_set is None:
        return ""
    found = compilation.compute_sets[step.compute_set].vertices
    more = [(each.count_by_tile[tile] - each.count_by_tile.mean, each) for each in found]
    excess, most = max(more, key=lambda pair: pair[0], default=(0.0, None))
    if most is None or excess <= 0:
        return ""
    count, mean = most.count_by_tile[tile], most.count_by_tile.mean
    line = where(most.at.partition(", called at ")[0])
    return f"; it runs {count:,} {most.type}{line}, a tile {mean:,.1f} on average"


def _moving(found: Finding, group: Sequence[_Loss], target: Target) -> Finding:
    """Return a finding with its pieces, the speeds of its links, and its code."""
    most = group[0]
    speed, could = _speeds(most.phase, target)
    return replace(
        found,
        pieces=max(loss.cause.pieces for loss in group),
        bytes_per_cycle=speed,
        link_bytes_per_cycle=could,
        code_bytes=max(loss.phase.code_bytes for loss in group),
    )


def _speeds(phase: Phase, target: Target) -> tuple[float, float]:
    """Return bytes per cycle on the busiest link of an exchange, and the most it can carry."""
    if phase.kind == "copy" or not phase.cycles:
        return 0.0, 0.0
    if phase.kind == "host exchange":
        return phase.moved / phase.cycles, target.cost("host_bytes_per_cycle")
    if phase.kind == "exchange":
        most = max(phase.received.most, phase.sent.most) / phase.cycles
        could = float(target.exchange_bytes_per_cycle)
        # Two neighbours that receive the same words can use both of their links.
        return most, could if most <= could else 2 * could
    by_ipu = (each.array().reshape(target.ipus, -1).sum(1) for each in (phase.received, phase.sent))
    return max(int(each.max()) for each in by_ipu) / phase.cycles, bytes_per_cycle(target, 0, 1)


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
            elif step.kind == "execute" and phase.cycles and phase.tile_cycles.num_used:
                yield from _computed(number, step, phase, taken)


def _moved(number: int, step: ExecutionStep, phase: Phase, taken: int) -> Iterator[_Loss]:
    """Yield the cycles of moving data, divided among causes by bytes."""
    causes = phase.causes or (Cause("", "", step.at, 1),)
    weight = sum(cause.bytes for cause in causes) or 1
    for cause in causes:
        part = cause.bytes / weight
        cause = replace(cause, at=cause.at or step.at)
        num_bytes = round(phase.moved * part)
        yield _Loss(_OF_PHASE[phase.kind], taken * part, number, phase, cause, num_bytes)


def _computed(number: int, step: ExecutionStep, phase: Phase, taken: int) -> Iterator[_Loss]:
    """Yield the losses from waiting for the slowest tile, and from idle workers."""
    busy, here = phase.tile_cycles, Cause("", "", step.at, 0)
    even = busy.total / busy.num_used
    if taken > busy.mean:
        yield _Loss("waiting", taken - busy.mean, number, phase, here, even=even)
    issued = sum(each.cycles for each in step.vertex_types)
    if busy.total > issued:
        lost = (busy.total - issued) / busy.num_used
        yield _Loss("idle workers", lost, number, phase, here)


def _apart(joined: Sequence[JoinedCopies], execution: Execution) -> Iterator[Finding]:
    """Yield findings for adjacent Copies that would take fewer cycles as one."""
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
            why=f"one Copy of all would take {one:,} cycles instead of {taken:,}, and "
            f"{each.code_bytes:,} B of code instead of {each.apart_bytes:,} on the fullest tile",
            at=steps[0].at,
            of_tiles=execution.target.tiles,
            remedy=REMEDIES["copies apart"],
        )


def _out_of_memory(compilation: Compilation, steps: Sequence[ExecutionStep]) -> Iterator[Finding]:
    """Yield a finding for the fullest tile, if it needs more memory than it has."""
    memory, target = compilation.modelled, compilation.target
    limit = target.tile_memory_bytes
    if memory is None or (tile := memory.including_gaps.worst_tile) is None:
        return
    if (needed := memory.including_gaps.most) <= limit:
        return
    step = int(peaks_of(memory).step[tile])
    there = (each for each in memory.held if each.steps is None or each.is_in(step))
    largest = max(there, key=lambda each: each.bytes[tile])
    code = [number for number, step in enumerate(steps) if _code_of(step, largest.category)]
    code.sort(key=lambda number: -_code_of(steps[number], largest.category))
    found = Finding(
        kind="out of memory",
        cycles=0,
        share=0.0,
        names=(largest.name,),
        steps=tuple(code),
        tile=tile,
        tiles=memory.num_over(limit),
        bytes=needed - limit,
        what=f"{largest.category.replace('_', ' ')} '{largest.name}'",
        why=f"takes {largest.bytes[tile]:,} of the {needed:,} B; a tile has {limit:,} B",
        at=largest.at,
        of_tiles=target.tiles,
        remedy=remedy_for(largest, tile, target.tiles),
        freed=freed_by_spreading(largest, tile, target.tiles),
    )
    if code:
        first = steps[code[0]]
        size, name = _code_of(first, largest.category), shortened(first.name, NAME)
        remedy = f"move fewer, longer pieces in '{name}', which has up to {size:,} B of it"
        found = replace(found, remedy=remedy, at=first.at)
    yield found


def _code_of(step: ExecutionStep, category: str) -> int:
    """Return the exchange code of a step in a category, in bytes on the tile with the most."""
    kind = _KIND_OF_CODE.get(category)
    return max((phase.code_bytes for phase in step.phases if phase.kind == kind), default=0)


def _guessed(execution: Execution) -> Iterator[Finding]:
    """Yield findings for the vertex classes whose cycles are guesses."""
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
                remedy=REMEDIES["guessed"],
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
