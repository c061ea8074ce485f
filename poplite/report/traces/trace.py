"""What ran in which order, for viewing in Perfetto or Chrome; `trace_events` writes it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poplite.errors import InvalidTileMapping, UnknownName
from poplite.files import replacing
from poplite.machine.target import Target
from poplite.report.execution import Execution, ExecutionStep
from poplite.report.memory import Memory
from poplite.text import amount, clipped

if TYPE_CHECKING:
    from poplite.report.report import Report


@dataclass(slots=True, repr=False, eq=False)
class Trace:
    """What ran while `engine.tracing()` was on; complete once its `with` statement has ended.

    Attributes:
        target: the machine.
        steps: what ran, in order, a step that ran several times as often; its numbers are sums over
            all its executions in the trace.
        is_complete: whether all steps were recorded: there may have been more than the limit.
        memory: what the memory of tiles holds.
        replicas: how many replicas do what is told of one.
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
            tiles: those with tracks of their own; by default the busiest, the least busy of those
                that are used, and the one in the middle.

        Raises:
            InvalidTileMapping: when there is no such tile.
        """
        from poplite.report.traces.events import events_of

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
                found=f"tiles are 0 to {self.target.tiles - 1:,}",
                fix="leave tiles out for a few that tell most",
            )
        return shown

    def taken(self) -> Iterator[tuple[ExecutionStep, int]]:
        """Yield what ran, in order, with its cycles: on average, in whole numbers that add up."""
        ran: dict[int, int] = {}
        for step in self.steps:
            before = ran.get(id(step), 0)
            ran[id(step)] = before + 1
            first, last = (step.cycles * n // step.executions for n in (before, before + 1))
            yield step, last - first


def trace_of(report: Report) -> Trace:
    """Return the trace that a report keeps the order of; without steps where it keeps none.

    Steps take what they take on average over all their executions in the report.
    """
    places = report.execution.steps
    steps = [places[place] for place, times in report.order for _ in range(times)]
    compilation = report.compilation
    return Trace(
        compilation.target, steps, memory=compilation.modelled, replicas=compilation.replicas
    )


def order_of(execution: Execution, trace: Trace) -> tuple[tuple[int, int], ...]:
    """Return the steps of a trace as positions in an execution, and how often each in a row."""
    position = {(step.program_name, step.row): k for k, step in enumerate(execution.steps)}
    found: list[tuple[int, int]] = []
    for step in trace.steps:
        place = position.get((step.program_name, step.row))
        if place is None:
            raise UnknownName(
                f"report: {step.name!r} of the trace is no step of it",
                found=f"step {step.number:,} of program {step.program_name!r}",
                fix="make the report after the trace: engine.report().save(path, trace)",
            )
        times = found.pop()[1] if found and found[-1][0] == place else 0
        found.append((place, times + 1))
    return tuple(found)
