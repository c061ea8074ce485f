"""All tiles in time, in a grid: what the busiest tile of each block does in each stretch of time.

    steps      1            2
     0-31   ▓▓▒▒████::::::::▒▒██::
    32-63   ▓▓▒▒████████████▒▒████
    deciding ─────────────────────
     0-63   ▓▓▒▒████████████▒▒████
    slowest ──────────────────────
       40   ▓▓▒▒████████████▒▒██::

Steps follow each other in the order of the program, each with all its executions.  A step is drawn
from sync to sync: there all tiles begin, and each goes through its phases by itself; what is left
until the slowest has finished is waiting.  A block shows in each stretch the tile of it that others
wait for, which need not be the same in the next one.  One more row shows those of all tiles, which
decide when the program ends, and one the tile that is busy longest in all stretches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.report.execution import ExecutionStep, between_syncs
from poplite.text import amount
from poplite.viz.colours import PHASES, WAITING as WAITING_ROLE, Part, Role
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import name_text
from poplite.viz.marks import Gap, Legend, Picture, TimeLanes, heading
from poplite.viz.names import tile_number
from poplite.viz.painters import Forms, forms_of
from poplite.viz.steps import (
    StepList,
    step_list,
    step_tip,
    steps_data,
    steps_marks,
    steps_picture,
)

if TYPE_CHECKING:
    from poplite.report import Report

ROWS = 32
"""Most rows of tiles."""

COLUMNS = 64
"""Stretches of time of the JSON form."""

STATES: tuple[Part, ...] = tuple(PHASES)
"""What a cell may show, by number; one more is waiting."""

WAITING = len(STATES)


@frozen(eq=False)
class Stretch:
    """What tiles do from one sync to the next, with all executions.

    Attributes:
        begin: the cycle that it begins at.
        sync: cycles that all tiles wait at first.
        phases: state and int64[tiles] cycles of each phase.
    """

    begin: int
    sync: int
    phases: tuple[tuple[int, Int64], ...]

    @property
    def busy(self) -> Int64:
        """Cycles of each tile in all phases."""
        found: Int64 = np.sum([cycles for _, cycles in self.phases], axis=0)
        return found

    @property
    def end(self) -> int:
        """The cycle at which the slowest tile has finished."""
        return self.begin + self.sync + int(self.busy.max(initial=0))


@frozen(eq=False)
class Timeline:
    """All tiles in time.

    Attributes:
        steps: the list of the steps, in the order of the program.
        begins: the cycle that each of them begins at.
        tiles: how many there are.
        ipus: how many IPUs they are on; no row has tiles of two.
        stretches: what tiles do.
        cycles: of all that is shown.
        chosen: a tile that has a row of its own, where others are in blocks.
    """

    steps: StepList
    begins: tuple[int, ...]
    tiles: int
    ipus: int
    stretches: tuple[Stretch, ...]
    cycles: int
    chosen: int | None = None

    @property
    def heading(self) -> str:
        """What is shown."""
        return f"{self.steps.heading}; one after the other on {amount(self.tiles, 'tile')}"

    @property
    def block(self) -> int:
        """Tiles of a row, but the slowest tile's own."""
        return -(-self._tiles_per_ipu // max(1, ROWS // self.ipus))

    @property
    def slowest(self) -> int | None:
        """The tile that is busy longest; None where each tile has a row."""
        if self.block == 1 or not self.stretches:
            return None
        busy: Int64 = np.zeros(self.tiles, np.int64)
        for stretch in self.stretches:
            busy += stretch.busy
        return int(busy.argmax())

    @property
    def rows(self) -> list[range]:
        """The tiles of each row: blocks, and `beside` them what has rows of its own."""
        each = self._tiles_per_ipu
        blocks = [
            range(row, min(row + self.block, first + each))
            for first in range(0, self.tiles, each)
            for row in range(first, first + each, self.block)
        ]
        return [*blocks, *self.beside.values()]

    @property
    def beside(self) -> dict[str, range]:
        """The tiles of rows below the blocks: of all, the slowest and the chosen one."""
        slowest = self.slowest
        if slowest is None:
            return {}
        found = {"deciding": range(self.tiles), "slowest": range(slowest, slowest + 1)}
        if self.chosen is not None:
            found["chosen"] = range(self.chosen, self.chosen + 1)
        return found

    @property
    def borders(self) -> dict[int, str]:
        """What begins with a row, by its number: an IPU but the first, or a row beside blocks."""
        rows, beside = self.rows, self.beside
        blocks = len(rows) - len(beside)
        ipus = {
            number: f"IPU {row.start // self._tiles_per_ipu}"
            for number, row in enumerate(rows[:blocks])
            if row.start and not row.start % self._tiles_per_ipu
        }
        return ipus | dict(enumerate(beside, blocks))

    @property
    def _tiles_per_ipu(self) -> int:
        return self.tiles // self.ipus

    def cells(self, columns: int) -> npt.NDArray[np.uint8]:
        """Return the state of each cell: what takes most of its time, on the busiest tile.

        uint8[rows, columns]; where as much is taken by two states, it is the first of them, and
        waiting the last.
        """
        edges, rows = np.linspace(0, self.cycles, columns + 1), self.rows
        area = np.zeros((len(STATES) + 1, len(rows), columns))
        for stretch in self.stretches:
            busy = stretch.busy
            tiles = [row.start + int(busy[row.start : row.stop].argmax()) for row in rows]
            sync: Int64 = np.full(len(rows), stretch.begin)
            done = sync + stretch.sync
            _add(area[STATES.index("sync")], edges, sync, done)
            for state, cycles in stretch.phases:
                begin, done = done, done + cycles[tiles]
                _add(area[state], edges, begin, done)
        whole = np.diff(edges)
        area[WAITING] = whole - area.sum(axis=0)
        area[WAITING][area[WAITING] < 1e-9 * whole] = 0
        found: npt.NDArray[np.uint8] = area.argmax(axis=0).astype(np.uint8)
        return found

    def present(self) -> tuple[Role, ...]:
        """Return the roles of what tiles do at any time, in the order of all of them."""
        found = {part for row in self.steps.rows for part, _ in row.parts}
        return tuple(role for part, role in PHASES.items() if part in found)


def _add(area: npt.NDArray[np.float64], edges: npt.NDArray[np.float64], a: Int64, b: Int64) -> None:
    """Add the time from `a` to `b` of each row to the cells that it lies in."""
    used = b > a
    if not used.any():
        return
    low = int(np.searchsorted(edges, a[used].min(), "right")) - 1
    high = int(np.searchsorted(edges, b[used].max(), "left"))
    left, right = edges[low:high], edges[low + 1 : high + 1]
    inside = np.minimum(b[:, None], right) - np.maximum(a[:, None], left)
    area[:, low:high] += np.clip(inside, 0, None)


def _label(row: range) -> str:
    """Return the tiles of a row."""
    return f"{row.start:,}" if len(row) == 1 else f"{row.start:,}-{row.stop - 1:,}"


def timeline_of(
    report: Report, *, step: str | None = None, match: str = "", tile: int | str | None = None
) -> Timeline:
    """Return all tiles in time, in the steps that are wanted (as for `step_list`).

    A tile that is named has a row of its own; raises InvalidTileMapping where there is none.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (64,), name, mapping=0) for name in "ab")
    >>> timeline = timeline_of(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> [STATES[state] for state in timeline.cells(1)[0]], timeline.cells(1)[1:, 0].tolist()
    (['copy'], [6, 6, 6])
    """
    steps = step_list(report, step=step, match=match, sort="program")
    shown = {(row.program, row.number, row.name) for row in steps.rows}
    begin = 0
    begins: list[int] = []
    stretches: list[Stretch] = []
    for each in report.places:
        if (each.program_name, each.number, each.name) in shown:
            begins.append(begin)
            stretches += _stretches(each, begin)
            # Where another tile is the slowest each time, all of them wait somewhat longer; what a
            # report says of phases is drawn whole, also where it says less of their step.
            begin = max([begin + each.cycles, *(stretch.end for stretch in stretches[-1:])])
    target = report.compilation.target
    chosen = None if tile is None else tile_number(tile, target.tiles)
    return Timeline(
        steps, tuple(begins), target.tiles, target.ipus, tuple(stretches), begin, chosen
    )


def _stretches(step: ExecutionStep, begin: int) -> Iterator[Stretch]:
    for group in between_syncs(step.phases):
        phases = tuple((STATES.index(p.kind), p.tile_cycles.array()) for p in group)
        stretch = Stretch(begin, group[0].sync, phases)
        yield stretch
        begin = stretch.end


# -- picture ---------------------------------------------------------------------------------------


def timeline_forms(timeline: Timeline) -> Forms:
    """Return the forms of all tiles in time."""
    return forms_of(timeline_picture(timeline), partial(timeline_json, timeline))


def timeline_picture(timeline: Timeline) -> Picture:
    """Return all tiles in time, and below them the listing of the steps."""
    steps = timeline.steps
    if not timeline.cycles:
        return steps_picture(steps)
    begun = zip(steps.rows, timeline.begins, strict=True)
    lanes = TimeLanes(
        labels=tuple(_label(row) for row in timeline.rows),
        states=timeline.cells,
        roles=(*PHASES.values(), WAITING_ROLE),
        length=timeline.cycles,
        stretches=tuple(
            (row.number, name_text(steps.label(row)), begin, step_tip(steps, row))
            for row, begin in begun
        ),
        borders=timeline.borders,
    )
    listing, *_ = steps_marks(steps)
    legend = Legend((*timeline.present(), WAITING_ROLE))
    marks = (*heading(timeline.heading), Gap(), lanes, legend, Gap(), listing)
    return Picture(timeline.heading, marks)


# -- data ------------------------------------------------------------------------------------------


def timeline_json(timeline: Timeline) -> str:
    """Return all tiles in time as JSON: states by number in `states`, a list for each row.

    Where rows are blocks, those of all tiles, of the `slowest` and of the `chosen` one follow.
    """
    rows: Sequence[list[int]] = timeline.cells(COLUMNS).tolist() if timeline.cycles else []
    data = {
        "tiles": timeline.tiles,
        "block": timeline.block,
        "ipus": timeline.ipus,
        "slowest": timeline.slowest,
        "chosen": timeline.chosen,
        "states": [*STATES, "waiting"],
        "begins": list(timeline.begins),
        "length": timeline.cycles,
        "rows": rows,
    }
    return json_text("steps", steps_data(timeline.steps) | {"timeline": data})
