"""Steps as a list: what each takes, and its phases.

    cycles   of all   times   balance   step
    67,456   75.9%        7     92.8%   expand

A bar is what a tile does on average, waiting included, and as long as the step.  Phases of a step
are those of its slowest tile from one sync to the next: between two syncs every tile proceeds by
itself, and the slowest of them is what the step takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import UnknownName, did_you_mean, listed
from poplite.frozen import frozen
from poplite.report.execution import TIME_PARTS, ExecutionStep, TimePart, between_syncs
from poplite.text import amount
from poplite.viz.colours import PHASES, SPENT, Part
from poplite.viz.draw.json_text import by_field, json_text
from poplite.viz.draw.units import name_text, share_text
from poplite.viz.marks import (
    BarCell,
    Gap,
    Legend,
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Picture,
    heading,
)
from poplite.viz.names import chosen_steps, note_of
from poplite.viz.painters import Forms, forms_of

if TYPE_CHECKING:
    from poplite.report import Report


@frozen
class StepRow:
    """What a step took, over all its executions.

    Attributes:
        number: from 1 over all programs.
        program: the name of its program.
        name: its name.
        at: the user's line; empty where it is not known.
        executions: how often it ran.
        cycles: total of them.
        share: of the cycles of all steps.
        balance: mean of the tiles' busy cycles, divided by the busiest tile's.
        parts: its phases on the slowest tile, in order, with total cycles.
        time: what a tile did on average, in cycles that add up to those of the step.
    """

    number: int
    program: str
    name: str
    at: str
    executions: int
    cycles: int
    share: float
    balance: float
    parts: tuple[tuple[Part, int], ...]
    time: Mapping[TimePart, float]


@frozen
class StepList:
    """What steps took.

    Attributes:
        note: what the numbers are of.
        rows: the steps.
        cycles: of all steps, also of those that are not listed.
        num_steps: how many steps there are in all.
    """

    note: str
    rows: tuple[StepRow, ...]
    cycles: int
    num_steps: int

    @property
    def heading(self) -> str:
        """How many steps, and what they take."""
        of = "" if len(self.rows) == self.num_steps else f" of {self.num_steps:,}"
        cycles = sum(row.cycles for row in self.rows)
        return f"steps: {len(self.rows):,}{of}, {amount(cycles, 'cycle')}{self.note}"

    @property
    def has_programs(self) -> bool:
        """Whether the steps are of several programs."""
        return len({row.program for row in self.rows}) > 1

    def label(self, row: StepRow) -> str:
        """Return the name of a step, with its program where there are several."""
        return f"{row.program}: {row.name}" if self.has_programs else row.name


def _less_of(part: TimePart, row: StepRow) -> float:
    """Return the key that puts the steps with most of a part of time first."""
    return -row.time[part]


SORTS: dict[str, Callable[[StepRow], Any]] = {
    "cycles": lambda row: -row.cycles,
    "program": lambda row: 0,
    "balance": lambda row: row.balance,
    "times": lambda row: -row.executions,
    "name": lambda row: row.name,
    **{part: partial(_less_of, part) for part in TIME_PARTS},
}
"""How steps are sorted: by name of the order; equal ones stay in the order of the program."""


def step_list(
    report: Report, *, step: str | None = None, match: str = "", sort: str = "cycles"
) -> StepList:
    """Return what steps took, those that are wanted.

    `step` is a number, a range or a name, `match` a part of names, `sort` one of `SORTS`.
    Raises UnknownName where there are steps, and none of them is wanted.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> report = pl.Engine(graph, pl.Copy(a, b)).report()
    >>> [(row.number, row.name, row.share) for row in step_list(report).rows]
    [(1, 'a to b', 1.0)]
    """
    steps = report.places
    whole = sum(each.cycles for each in steps)
    shown = steps if step is None else chosen_steps(steps, step)
    rows = [_row(each, whole) for each in shown if match.lower() in each.name.lower()]
    if match and shown and not rows:
        known = list(dict.fromkeys(each.name for each in shown))
        raise UnknownName(
            f"no step has {match!r} in its name{did_you_mean(match, known)}",
            at=None,
            found=f"the names are {listed([repr(name) for name in known], 'names')}".replace(
                "\n", ", "
            ),
            fix=f"--match {known[0]!r}, or leave it out",
        )
    return StepList(note_of(report), tuple(sorted(rows, key=SORTS[sort])), whole, len(steps))


def _row(step: ExecutionStep, whole: int) -> StepRow:
    return StepRow(
        number=step.number,
        program=step.program_name,
        name=step.name,
        at=step.at,
        executions=step.executions,
        cycles=step.cycles,
        share=step.cycles / whole if whole else 0.0,
        balance=step.tile_balance,
        parts=tuple(_parts(step)),
        time=step.time_parts(),
    )


def _parts(step: ExecutionStep) -> Iterator[tuple[Part, int]]:
    """Yield the phases of a step on its slowest tile, group by group of those between syncs."""
    for group in between_syncs(step.phases):
        if group[0].sync:
            yield "sync", group[0].sync
        busy = [phase.tile_cycles.array() for phase in group]
        together: Int64 = np.sum(busy, axis=0)
        slowest = int(together.argmax())
        for phase, cycles in zip(group, busy, strict=True):
            if cycles[slowest]:
                yield phase.kind, int(cycles[slowest])


# -- picture ---------------------------------------------------------------------------------------

LONGEST_NAME = 44
LEAST_BAR = 10

COLUMNS = (
    ListColumn("#"),
    ListColumn("cycles"),
    ListColumn("of all", spare=3),
    ListColumn("times", spare=1),
    ListColumn("balance", spare=2),
    ListColumn("step", "name", most=LONGEST_NAME),
    ListColumn("", "bar", least=LEAST_BAR),
)


def steps_forms(steps: StepList) -> Forms:
    """Return the forms of what steps took."""
    return forms_of(steps_picture(steps), partial(steps_json, steps))


def steps_picture(steps: StepList) -> Picture:
    """Return a row for each step, with a bar of its phases.

    >>> steps_picture(StepList("", (), 0, 0)).title
    'steps: 0, 0 cycles'
    """
    rows = (Gap(), *steps_marks(steps)) if steps.rows else ()
    return Picture(steps.heading, (*heading(steps.heading), *rows))


def steps_marks(steps: StepList) -> tuple[Mark, ...]:
    """Return the listing of steps and what its colours mean."""
    present = {part for row in steps.rows for part, cycles in row.time.items() if cycles > 0}
    legend = Legend(tuple(role for part, role in SPENT.items() if part in present))
    listing = Listing(COLUMNS, tuple(_list_row(steps, row) for row in steps.rows))
    return (listing, *((Gap(), legend) if present else ()))


def _list_row(steps: StepList, row: StepRow) -> ListRow:
    numbers = (
        f"{row.number}",
        f"{row.cycles:,}",
        share_text(row.share),
        f"{row.executions:,}",
        f"{100 * row.balance:.1f}%",
    )
    cells = (*numbers, name_text(steps.label(row)), _bar(row))
    return ListRow(cells, tip=step_tip(steps, row))


def _bar(row: StepRow) -> BarCell:
    """Return what a tile did on average."""
    return tuple((SPENT[part], cycles) for part, cycles in row.time.items() if cycles > 0)


def step_tip(steps: StepList, row: StepRow) -> str:
    """Return all that is known of a step, on one line."""
    parts = ", ".join(f"{PHASES[kind].words} {cycles:,}" for kind, cycles in row.parts)
    at = f" ({row.at})" if row.at else ""
    took = f"{amount(row.cycles, 'cycle')}, {amount(row.executions, 'time')}"
    name = f"{row.number} {name_text(steps.label(row))}{at}"
    return f"{name}: {took}; {parts}" if parts else f"{name}: {took}"


# -- data ------------------------------------------------------------------------------------------


def steps_data(steps: StepList) -> dict[str, object]:
    """Return a list of steps as data of JSON."""
    return {
        "note": steps.note.removeprefix("; "),
        "cycles": steps.cycles,
        "num_steps": steps.num_steps,
        "steps": [
            by_field(row, "parts", "time")
            | {"parts": [{"kind": kind, "cycles": cycles} for kind, cycles in row.parts]}
            | {"time": dict(row.time)}
            for row in steps.rows
        ],
    }


def steps_json(steps: StepList) -> str:
    """Return a list of steps as JSON.

    >>> '"num_steps": 0' in steps_json(StepList("", (), 0, 0))
    True
    """
    return json_text("steps", steps_data(steps))
