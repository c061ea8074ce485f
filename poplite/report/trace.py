"""Traces: the order of execution, for viewing in Perfetto or Chrome.

    IPU 0   steps       | blur                                  | a to b       |
            phases      | sync | exchange | compute             | sync | exch. |
            tile 7      |      | exch. | compute                |      | ex    |

            live bytes on the fullest tile  ____________----------__________
            tiles waiting                   ---___------__--_____-----------

Steps are shown one after the other, as if all tiles synchronized between them; within a step each
tile proceeds independently until the next sync.  Time is cycles at the clock of the target.

Format: "Trace Event Format", complete events (X), counters (C), instants (i) and names (M);
Perfetto, "Visualizing external trace formats": events of one track must not overlap, so times are
whole nanoseconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidTileMapping, UnknownName
from poplite.files import replacing
from poplite.frozen import frozen
from poplite.machine.target import Target
from poplite.report.execution import Cause, Execution, ExecutionStep, Phase, between_syncs
from poplite.report.memory import Memory
from poplite.text import amount, clipped

if TYPE_CHECKING:
    from poplite.report.report import Report


STEPS, PHASES, FIRST_TILE = range(1, 4)
"""Tracks of each IPU: steps, phases of its slowest tile, single tiles.  Numbers of processes and
threads begin at 1, as Perfetto treats 0 as idle."""

FIRST_IPU = 1

LIVE, WAITING = "live bytes on the fullest tile", "tiles waiting"
"""Counters, shown with the first IPU although they cover all tiles."""

Event = dict[str, Any]


def events_of(trace: Trace, tiles: Sequence[int]) -> list[Event]:
    """Return the events of a trace; each of `tiles` has a separate track."""
    events = list(_names(trace.target, tiles))
    live = {} if trace.memory is None else _live(trace.memory)
    parts: dict[int, tuple[list[_Group], Event]] = {}
    begin, clock = 0, _Clock(trace.target.clock_hz)
    for step, cycles in trace.taken():
        if id(step) not in parts:
            parts[id(step)] = list(_groups(step)), _step_details(step)
        groups, details = parts[id(step)]
        place = step.program_name, step.row
        if place in live:
            events.append(clock.numbers(LIVE, begin, {"bytes": live[place]}))
        for ipu in range(trace.target.ipus):
            track = FIRST_IPU + ipu, STEPS
            name = step.name, "step"
            events.append(clock.stretch(track, name, begin, begin + cycles, details))
        for group in groups:
            events += _of_group(clock, group, begin, trace.target, tiles)
        begin += cycles
    return [*events, clock.numbers(WAITING, begin, {"tiles": 0})]


@frozen
class _Group:
    """The events from one sync to the next in one execution of a step.

    Attributes:
        begin: its beginning, in cycles since the step began.
        sync: cycles for which all tiles wait at the beginning.
        phases: the phases after the sync.
        cycles: the cycles for which each tile is busy with each phase.
        moved: bytes that each tile moves in each phase: the maximum of received, sent and
            rearranged.
        details: details of each phase besides its time, for all tiles.
    """

    begin: int
    sync: int
    phases: list[Phase]
    cycles: list[Int64]
    moved: list[Int64]
    details: list[Event]

    @property
    def busy(self) -> Int64:
        """The cycles for which each tile is busy."""
        total: Int64 = np.sum(self.cycles, axis=0)
        return total

    @property
    def waiting(self) -> int:
        """The number of tiles that wait after the sync, on average."""
        busy = self.busy
        most = int(busy.max())
        return round(len(busy) - int(busy.sum()) / most) if most else 0

    def on_tile(self, number: int, tile: int) -> Event:
        """Return details of a phase on one tile: its bytes, and the cause if there is only one."""
        moved, causes = int(self.moved[number][tile]), self.phases[number].causes
        why = {} if len(causes) != 1 else {"why": _why(causes[0]), "at": causes[0].at}
        return {name: each for name, each in {"bytes": moved, **why}.items() if moved and each}


def _groups(step: ExecutionStep) -> Iterator[_Group]:
    """Yield the groups of one execution of a step, from sync to sync."""
    begin, times = 0, step.executions
    for phases in between_syncs(step.phases):
        cycles = [phase.tile_cycles.array() // times for phase in phases]
        moved = [_moved(phase) // times for phase in phases]
        details = [_phase_details(phase, times) for phase in phases]
        group = _Group(begin, phases[0].sync // times, phases, cycles, moved, details)
        yield group
        begin += group.sync + int(group.busy.max())


@frozen
class _Clock:
    """Creates events at given cycles."""

    hertz: float

    def stretch(
        self, track: tuple[int, int], name: tuple[str, str], begin: int, end: int, details: Event
    ) -> Event:
        """Return an event with a duration, on a track, with a name and a category."""
        first, last = self._nanoseconds(begin), self._nanoseconds(end)
        return {
            "name": name[0],
            "cat": name[1],
            "ph": "X",
            "pid": track[0],
            "tid": track[1],
            "ts": first / 1000,
            "dur": (last - first) / 1000,
            "args": {"cycles": end - begin, **details},
        }

    def instant(self, name: str, at: int, details: Event) -> Event:
        """Return an instant event of all IPUs."""
        own = {"ts": self._nanoseconds(at) / 1000, "pid": FIRST_IPU, "tid": PHASES}
        return {"name": name, "cat": name, "ph": "i", "s": "g", **own, "args": details}

    def numbers(self, name: str, at: int, numbers: dict[str, int]) -> Event:
        """Return the values of a counter from a given cycle on."""
        own = {"ts": self._nanoseconds(at) / 1000, "pid": FIRST_IPU}
        return {"name": name, "ph": "C", **own, "args": numbers}

    def _nanoseconds(self, cycles: int) -> int:
        return round(cycles * 1e9 / self.hertz)


def _of_group(
    clock: _Clock, group: _Group, begin: int, target: Target, tiles: Sequence[int]
) -> Iterator[Event]:
    """Yield the events from one sync to the next, in a step that begins at a given cycle."""
    at, size, busy = begin + group.begin, target.tiles_per_ipu, group.busy
    start = at + group.sync
    if group.sync:
        yield clock.instant("sync", at, {"cycles": group.sync})
        yield clock.numbers(WAITING, at, {"tiles": target.tiles})
    yield clock.numbers(WAITING, start, {"tiles": group.waiting})
    for ipu in range(target.ipus):
        process = FIRST_IPU + ipu
        if group.sync:
            yield clock.stretch((process, PHASES), ("sync", "sync"), at, start, {})
        slowest = ipu * size + int(busy[ipu * size : (ipu + 1) * size].argmax())
        own = [(FIRST_TILE + tile, tile) for tile in tiles if tile // size == ipu]
        for track, tile in [(PHASES, slowest), *own]:
            done = start
            for number, (phase, cycles) in enumerate(zip(group.phases, group.cycles, strict=True)):
                end = done + int(cycles[tile])
                if end > done:
                    details = (
                        group.details[number] if track == PHASES else group.on_tile(number, tile)
                    )
                    name = phase.kind, phase.kind
                    yield clock.stretch((process, track), name, done, end, details)
                done = end


def _names(target: Target, tiles: Sequence[int]) -> Iterator[Event]:
    """Yield the names of processes and threads: IPUs and tracks."""
    for ipu in range(target.ipus):
        process = {"ph": "M", "pid": FIRST_IPU + ipu}
        yield {"name": "process_name", "args": {"name": f"IPU {ipu}"}, **process}
        tracks = {STEPS: "steps", PHASES: "phases"}
        tracks |= {FIRST_TILE + t: f"tile {t}" for t in tiles if target.ipu_of(t) == ipu}
        for track, name in tracks.items():
            yield {"name": "thread_name", "tid": track, "args": {"name": name}, **process}
            order = {"sort_index": track}
            yield {"name": "thread_sort_index", "tid": track, "args": order, **process}


def _live(memory: Memory) -> dict[tuple[str, int], int]:
    """Return the live bytes of the fullest tile in each step, by program and row."""
    tile = memory.including_gaps.worst_tile
    if tile is None:
        return {}
    change: Int64 = np.zeros(len(memory.steps) + 1, np.int64)
    for held in memory.held:
        size = held.bytes[tile]
        for first, last in ((0, len(memory.steps) - 1),) if held.steps is None else held.steps:
            change[first] += size
            change[last + 1] -= size
    sizes = np.cumsum(change).tolist()
    return {
        (step.program, row): size
        for step, size in zip(memory.steps, sizes, strict=False)
        for row in step.rows
    }


def _step_details(step: ExecutionStep) -> Event:
    """Return details of a step besides its time, for one execution."""
    received = sum(phase.received.total for phase in step.phases) // step.executions
    known = {"step": step.number, "at": step.at, "received": received}
    return {"balance": round(step.tile_balance, 4), **{k: v for k, v in known.items() if v}}


def _phase_details(phase: Phase, executions: int) -> Event:
    """Return details of a phase on all tiles besides its time, for one execution."""
    causes, lines = phase.causes, {cause.at for cause in phase.causes}
    known = {
        "bytes": phase.moved // executions,
        "why": "; ".join(map(_why, causes)),
        "at": lines.pop() if len(lines) == 1 else "",
    }
    return {"balance": round(phase.balance, 4), **{k: v for k, v in known.items() if v}}


def _why(cause: Cause) -> str:
    return f"{cause.what} {cause.why}"


def _moved(phase: Phase) -> Int64:
    """Return the bytes that each tile moves in all executions: int64[tiles]."""
    if phase.kind == "host exchange":
        return phase.received.array() + phase.sent.array()
    kinds = [each.array() for each in (phase.received, phase.sent, phase.copied)]
    most: Int64 = np.max(kinds, axis=0)
    return most


@dataclass(slots=True, repr=False, eq=False)
class Trace:
    """The steps that ran during `engine.tracing()`; complete once its `with` statement has ended.

    Attributes:
        target: the machine.
        steps: the steps in order of execution, repeated if a step ran several times; its numbers
            are sums over all its executions in the trace.
        is_complete: whether all steps were recorded, and not only those up to the limit.
        memory: the contents of the tiles' memory.
        replicas: number of replicas; the trace shows one of them.
    """

    target: Target
    steps: Sequence[ExecutionStep] = ()
    is_complete: bool = True
    memory: Memory | None = None
    replicas: int = 1

    @property
    def cycles(self) -> int:
        """Cycles of all steps that were recorded."""
        return sum(cycles for _, cycles in self.taken())

    def to_json(self, tiles: Iterable[int] | None = None) -> str:
        """Return the trace in Chrome's format.

        Args:
            tiles: the tiles with separate tracks; by default the busiest, the least busy of those
                that are used, and the one with the median of busy cycles.

        Raises:
            InvalidTileMapping: when there is no such tile.
        """
        events = events_of(self, self._tiles(tiles))
        other = {
            "cycles": self.cycles,
            "complete": self.is_complete,
            "replicas": self.replicas,
            "target": repr(self.target),
        }
        outer = {"displayTimeUnit": "ns", "otherData": other, "traceEvents": events}
        return json.dumps(outer, separators=(",", ":")) + "\n"

    def save(self, path: str | os.PathLike[str], tiles: Iterable[int] | None = None) -> None:
        """Write the trace to a file, for https://ui.perfetto.dev or chrome://tracing.

        Args:
            path: the file; one that exists is replaced.
            tiles: the tiles with separate tracks, as for `to_json`.

        Raises:
            InvalidTileMapping: when there is no such tile.
            FileLoadError: when the file cannot be written.
        """
        text = self.to_json(tiles)
        with replacing(path, "trace.json") as file:
            file.write(text.encode())

    def __repr__(self) -> str:
        more = "" if self.is_complete else ", and more"
        return f"<Trace {amount(len(self.steps), 'step')}{more}, {self.cycles:,} cycles>"

    def _tiles(self, tiles: Iterable[int] | None) -> list[int]:
        if tiles is None:
            busy = np.zeros(self.target.tiles, np.int64)
            for step in {id(step): step for step in self.steps}.values():
                busy += step.tile_cycles
            used = np.flatnonzero(busy)
            order = used[np.argsort(busy[used], kind="stable")].tolist()
            return sorted({order[0], order[len(order) // 2], order[-1]}) if order else []
        shown = sorted(set(tiles))
        wrong = [tile for tile in shown if not 0 <= tile < self.target.tiles]
        if wrong:
            raise InvalidTileMapping(
                f"trace: no tile {clipped(wrong[0])} on {self.target!r}",
                found=f"tiles are 0 to {self.target.tiles - 1:,}",
                fix="leave `tiles` out for the default tiles",
            )
        return shown

    def taken(self) -> Iterator[tuple[ExecutionStep, int]]:
        """Yield the steps in order with their average cycles, in integers that add up."""
        ran: dict[int, int] = {}
        for step in self.steps:
            before = ran.get(id(step), 0)
            ran[id(step)] = before + 1
            first, last = (step.cycles * n // step.executions for n in (before, before + 1))
            yield step, last - first


def trace_of(report: Report) -> Trace:
    """Return the trace from the order of a report; it has no steps if the report has no order.

    Each step takes its average over all its executions in the report.
    """
    places = report.execution.steps
    steps = [places[place] for place, times in report.order for _ in range(times)]
    compilation = report.compilation
    return Trace(
        compilation.target, steps, memory=compilation.modelled, replicas=compilation.replicas
    )


def trace_order(execution: Execution, trace: Trace) -> tuple[tuple[int, int], ...]:
    """Return the steps of a trace as positions in an execution, with their repeat counts."""
    position = {(step.program_name, step.row): k for k, step in enumerate(execution.steps)}
    found: list[tuple[int, int]] = []
    for step in trace.steps:
        place = position.get((step.program_name, step.row))
        if place is None:
            raise UnknownName(
                f"report: step {step.name!r} of the trace is not in the report",
                found=f"step {step.number:,} of program {step.program_name!r}",
                fix="make the report after the trace: engine.report().save(path, trace)",
            )
        times = found.pop()[1] if found and found[-1][0] == place else 0
        found.append((place, times + 1))
    return tuple(found)
