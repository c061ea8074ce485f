"""Insights: how findings follow from the phases of steps, and from memory.

    every step   copied on its tile 18, exchange 12, waiting 4     of 90 cycles, at one line
    findings     copied on its tile: 3,600 cycles (20.0%) ... in 200 steps (model.py:12)
                 exchange: 2,400 cycles (13.3%) ...

Between two syncs each tile proceeds independently, so the cost of a phase is the time that the step
would save without it: work of a tile for which no other tile waits costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.machine.target import Target, bytes_per_cycle
from poplite.report.execution import (
    Cause,
    Execution,
    ExecutionStep,
    Phase,
    PhaseKind,
    between_syncs,
)
from poplite.report.findings import NAME, Finding, FindingKind, Insights, WorstTile, where
from poplite.report.memory import freed_by_spreading, peaks_of, remedy_for
from poplite.report.remedies import REMEDIES, remedy_of
from poplite.text import amount, shortened

if TYPE_CHECKING:
    from poplite.report.compilation import Compilation, JoinedCopies

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
