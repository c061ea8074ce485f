"""What ran in which order, for viewing in Perfetto or Chrome.

    IPU 0   steps       | blur                                  | a to b       |
            phases      | sync | exchange | compute             | sync | exch. |
            tile 7      |      | exch. | compute                |      | ex    |

Steps are shown one after the other, as all tiles meet between them; within a step each tile
proceeds independently until the next sync.  Time is cycles at the clock of the target.

Format: "Trace Event Format", complete events (X) and names (M); Perfetto, "Visualizing external
trace formats": events of one track must not overlap, so times are whole nanoseconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidTileMapping, UnknownName
from poplite.files import replacing
from poplite.machine.target import Target
from poplite.report.execution import Execution, ExecutionStep, between_syncs
from poplite.source import here
from poplite.text import amount, clipped

STEPS, PHASES, FIRST_TILE = range(1, 4)
"""Tracks of each IPU: steps, phases of its slowest tile, single tiles.  Perfetto takes process and
thread 0 for the idle ones of an operating system, so both are counted from 1."""

FIRST_IPU = 1

Event = dict[str, Any]


@dataclass(slots=True, repr=False, eq=False)
class Trace:
    """What ran while `engine.tracing()` was on; complete once its `with` statement has ended.

    Attributes:
        target: the machine.
        steps: what ran, in order, a step that ran several times as often; its numbers are sums over
            all its executions in the trace.
        is_complete: whether all steps were recorded: there may have been more than the limit.
    """

    target: Target
    steps: Sequence[ExecutionStep] = ()
    is_complete: bool = True

    @property
    def cycles(self) -> int:
        """Cycles of all steps that were recorded."""
        return sum(cycles for _, cycles in self._taken())

    def to_json(self, tiles: Iterable[int] | None = None) -> str:
        """Return the trace in Chrome's format.

        Args:
            tiles: those with tracks of their own; by default the busiest, the least busy of those
                that are used, and the one in the middle.

        Raises:
            InvalidTileMapping: when there is no such tile.
        """
        events = [*_names(self.target, shown := self._tiles(tiles)), *self._events(shown)]
        other = {"cycles": self.cycles, "complete": self.is_complete, "target": repr(self.target)}
        outer = {"displayTimeUnit": "ns", "otherData": other, "traceEvents": events}
        return json.dumps(outer, separators=(",", ":")) + "\n"

    def save(self, path: str | os.PathLike[str], tiles: Iterable[int] | None = None) -> None:
        """Write the trace to a file, for https://ui.perfetto.dev or chrome://tracing.

        Args:
            path: the file; one that exists is replaced.
            tiles: those with tracks of their own, as of `to_json`.

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
                at=here(),
                found=f"tiles are 0 to {self.target.tiles - 1:,}",
                fix="leave tiles out for a few that tell most",
            )
        return shown

    def _taken(self) -> Iterator[tuple[ExecutionStep, int]]:
        """Yield steps with their cycles: on average, in whole numbers that add up to all."""
        ran: dict[int, int] = {}
        for step in self.steps:
            before = ran.get(id(step), 0)
            ran[id(step)] = before + 1
            first, last = (step.cycles * n // step.executions for n in (before, before + 1))
            yield step, last - first

    def _events(self, tiles: Sequence[int]) -> Iterator[Event]:
        parts: dict[int, list[_Slice]] = {}
        begin = 0
        for step, cycles in self._taken():
            if id(step) not in parts:
                parts[id(step)] = list(_slices(step, tiles))
            end = begin + cycles
            for ipu in range(self.target.ipus):
                yield self._event(_Slice(ipu, STEPS, step.name, begin, end, "step"), 0)
            for part in parts[id(step)]:
                yield self._event(part, begin)
            begin = end

    def _event(self, part: _Slice, begin: int) -> Event:
        first, last = (self._nanoseconds(begin + at) for at in (part.begin, part.end))
        return {
            "name": part.name,
            "cat": part.kind,
            "ph": "X",
            "pid": FIRST_IPU + part.ipu,
            "tid": part.track,
            "ts": first / 1000,
            "dur": (last - first) / 1000,
            "args": {"cycles": part.end - part.begin},
        }

    def _nanoseconds(self, cycles: int) -> int:
        return round(cycles * 1e9 / self.target.clock_hz)


def order_of(execution: Execution, trace: Trace) -> tuple[tuple[int, int], ...]:
    """Return the steps of a trace as positions in an execution, and how often each in a row."""
    position = {(step.program_name, step.row): k for k, step in enumerate(execution.steps)}
    found: list[tuple[int, int]] = []
    for step in trace.steps:
        place = position.get((step.program_name, step.row))
        if place is None:
            raise UnknownName(
                f"report: {step.name!r} of the trace is no step of it",
                at=here(),
                found=f"step {step.number:,} of program {step.program_name!r}",
                fix="make the report after the trace: engine.report().save(path, trace)",
            )
        times = found.pop()[1] if found and found[-1][0] == place else 0
        found.append((place, times + 1))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Slice:
    """A stretch of time on a track, in cycles since the beginning of its step."""

    ipu: int
    track: int
    name: str
    begin: int
    end: int
    kind: str


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


def _slices(step: ExecutionStep, tiles: Sequence[int]) -> Iterator[_Slice]:
    """Yield what one execution of a step does on the tracks of phases and tiles."""
    size, at = step.target.tiles_per_ipu, 0
    for group in between_syncs(step.phases):
        cycles = [phase.tile_cycles.array() // step.executions for phase in group]
        total: Int64 = np.sum(cycles, axis=0)
        sync = group[0].sync // step.executions
        for ipu in range(step.target.ipus):
            if sync:
                yield _Slice(ipu, PHASES, "sync", at, at + sync, "sync")
            slowest = ipu * size + int(total[ipu * size : (ipu + 1) * size].argmax())
            own = [tile for tile in tiles if tile // size == ipu]
            for track, tile in [(PHASES, slowest), *((FIRST_TILE + t, t) for t in own)]:
                begin = at + sync
                for phase, busy in zip(group, cycles, strict=True):
                    end = begin + int(busy[tile])
                    if end > begin:
                        yield _Slice(ipu, track, phase.kind, begin, end, phase.kind)
                    begin = end
        at += sync + int(total.max())
