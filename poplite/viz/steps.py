"""Steps as a list, in time, or summed up by scopes of names.

    cycles   of all   times   balance   step
    67,456   75.9%        7     92.8%   expand

A bar shows the average activity of a tile, waiting included, and is as long as the step.  Phases of
a step are those of its slowest tile from one sync to the next: between two syncs every tile
proceeds by itself, and the slowest one determines the length of the step.

In time, a row shows the activity of the busiest tile of a block in each interval::

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

Scopes are a tree of the parts of names that `/` separates::

    cycles  of all   scope
    89,402  100.0%   model
    67,456   75.5%     block1
    21,946   24.5%     block2/dense

Steps belong to the operation that recorded them, else to the scopes of their own names; a copy
belongs to the scope that its two tensors share.  A variable belongs to the scope of its name, the
result of an operation, which has its name, to the operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import UnknownName, did_you_mean, listed
from poplite.frozen import frozen
from poplite.machine.target import Limit, limits_of
from poplite.report import Report
from poplite.report.execution import TIME_PARTS, ExecutionStep, TimePart, between_syncs
from poplite.text import amount
from poplite.viz.colours import PHASES, SPENT, WAITING as WAITING_ROLE, Part, Role
from poplite.viz.draw.words import name_text, parts_of_name, share_text
from poplite.viz.marks import (
    MOST_ROWS,
    Legend,
    ListColumn,
    Listing,
    ListRow,
    Picture,
    TimeLanes,
    Words,
    composed,
)
from poplite.viz.names import chosen_steps, label_of_step, note_of, noted, part_of, tile_number
from poplite.viz.painters import PictureData, Table, by_field, by_name

LEAST_BAR, LONGEST_NAME = 10, 44

LIST_COLUMNS = (
    ListColumn("#"),
    ListColumn("cycles"),
    ListColumn("of all", spare=6),
    ListColumn("times", spare=4),
    ListColumn("balance", spare=5),
    ListColumn("op/cycle", spare=3),
    ListColumn("B/cycle", spare=2),
    ListColumn("code B", spare=1),
    ListColumn("step", "name", most=LONGEST_NAME),
    ListColumn("", "bar", least=LEAST_BAR),
)


NUMBERS = (
    *("number", "program", "name", "at", "executions", "cycles", "share", "balance"),
    *("flops", "flops_per_cycle", "exchanged_per_cycle", "code_bytes"),
)
"""The fields of a step in JSON and CSV."""


@frozen
class StepRow:
    """The cost of a step, over all its executions.

    Attributes:
        step: the step.
        label: its name, with its program where there are several.
        share: its share of the cycles of all steps.
        parts: its phases on the slowest tile, in order, with total cycles.
        time: the average activity of a tile, in cycles that add up to those of the step.
    """

    step: ExecutionStep
    label: str
    share: float
    parts: tuple[tuple[Part, int], ...]
    time: Mapping[TimePart, float]

    def numbers(self) -> tuple[object, ...]:
        """Return the numbers that `NUMBERS` names; None if unknown."""
        step = self.step
        return (
            *(step.number, step.program_name, step.name, step.at, step.executions, step.cycles),
            *(self.share, step.tile_balance, step.flops, step.flops_per_cycle),
            *(step.exchanged_per_cycle, step.code_bytes),
        )

    def tip(self) -> str:
        """Return all known facts about the step, on one line."""
        step = self.step
        parts = ", ".join(f"{PHASES[kind].words} {cycles:,}" for kind, cycles in self.parts)
        at = f" ({step.at})" if step.at else ""
        took = f"{amount(step.cycles, 'cycle')}, {amount(step.executions, 'time')}"
        return f"{step.number} {self.label}{at}: {took}{f'; {parts}' if parts else ''}"


@frozen
class StepList(PictureData):
    """The costs of steps.

    Attributes:
        note: the origin of the numbers, such as the number of runs.
        steps: those that are listed.
        cycles: of all steps, also of those that are not listed.
        num_steps: total number of steps.
        limits: the maximum work of a tile per cycle.
    """

    note: str
    steps: tuple[StepRow, ...]
    cycles: int
    num_steps: int
    limits: tuple[Limit, ...] = ()

    KIND: ClassVar[str] = "steps"

    @property
    def heading(self) -> str:
        """The number of steps, and their cost."""
        of = "" if len(self.steps) == self.num_steps else f" of {self.num_steps:,}"
        cycles = amount(sum(row.step.cycles for row in self.steps), "cycle")
        return noted(f"steps: {len(self.steps):,}{of}, {cycles}", self.note)

    def picture(self) -> Picture:
        """Return a row for each step, with a bar of the average activity of a tile.

        >>> StepList("", (), 0, 0).picture().title
        'steps: 0, 0 cycles'
        """
        present = {part for row in self.steps for part, cycles in row.time.items() if cycles > 0}
        legend = Legend(tuple(role for part, role in SPENT.items() if part in present))
        listing = self.listing() if self.steps else ()
        limits = limits_words(self.limits) if self.limits else ()
        return composed(self.heading, listing, legend if present else (), limits)

    def listing(self) -> Listing:
        """Return a row for each step."""
        rows = []
        for row in self.steps:
            step, share = row.step, share_text(row.share)
            numbers = f"{step.number}", f"{step.cycles:,}", share, f"{step.executions:,}"
            rates = f"{100 * step.tile_balance:.1f}%", *rates_of(step)
            bar = tuple((SPENT[part], each) for part, each in row.time.items() if each > 0)
            rows.append(ListRow((*numbers, *rates, row.label, bar), tip=row.tip()))
        return Listing(LIST_COLUMNS, rows, MOST_ROWS, rest="more steps; --all lists them")

    def data(self) -> dict[str, object]:
        """Return all fields, with names for both parts of a phase."""
        rows = [
            dict(zip(NUMBERS, row.numbers(), strict=True))
            | {"time": dict(row.time)}
            | {"parts": [{"kind": kind, "cycles": cycles} for kind, cycles in row.parts]}
            for row in self.steps
        ]
        return by_field(self) | {"steps": rows}

    def table(self) -> Table:
        """Return titles and rows of the CSV form; unknown numbers are empty."""
        return NUMBERS, [row.numbers() for row in self.steps]


def limits_words(limits: Sequence[Limit]) -> tuple[Words, ...]:
    """Return a text about numbers per cycle, whose tip contains the facts behind the limits."""
    facts = [f"{name}: {source}" for each in limits for name, source in each.sources.items()]
    tip = "; ".join(dict.fromkeys(facts))
    return tuple(Words(line, "soft", tip) for line in limits_text(limits))


def limits_text(limits: Sequence[Limit]) -> tuple[str, str]:
    """Return a text about operations and bytes per cycle, and the maximum of a tile.

    >>> from poplite.machine.target import Target
    >>> limits_text(limits_of(Target()))[1].partition(", ")[0]
    'B/cycle: of the tile that moves most in an exchange; at most 4'
    """
    floats, halves, many_floats, many_halves, link = (f"{each.number:g}" for each in limits)
    return (
        "op/cycle: floating-point operations of a tile on average, ? if unknown; at most "
        f"{floats} of floats and {halves} of halves in vectors, {many_floats} and {many_halves} "
        "in the matrix unit",
        f"B/cycle: of the tile that moves most in an exchange; at most {link}, twice that for "
        "neighbours that receive the same",
    )


def rates_of(step: ExecutionStep) -> tuple[str, str, str]:
    """Return operations and bytes per cycle, and the bytes of exchange code, of a step, as text."""
    code = f"{step.code_bytes:,}" if step.code_bytes else ""
    flops, moved = step.flops_per_cycle, step.exchanged_per_cycle
    return per_cycle_text(flops, "?"), per_cycle_text(moved, ""), code


def per_cycle_text(number: float | None, unknown: str) -> str:
    """Return a number per cycle with two digits; `unknown` if there is none.

    >>> per_cycle_text(0.0534, "?"), per_cycle_text(0.001, "?"), per_cycle_text(None, "?")
    ('0.05', '<0.01', '?')
    """
    if number is None:
        return unknown
    return "<0.01" if 0 < number < 0.005 else f"{number:.2f}"


def _less_of(part: TimePart, row: StepRow) -> float:
    """Return the key that puts the steps with most of a part of time first."""
    return -row.time[part]


SORTS: dict[str, Callable[[StepRow], Any]] = {
    "cycles": lambda row: -row.step.cycles,
    "program": lambda row: 0,
    "balance": lambda row: row.step.tile_balance,
    "times": lambda row: -row.step.executions,
    "name": lambda row: row.step.name,
    **{part: partial(_less_of, part) for part in TIME_PARTS},
}
"""How steps are sorted: by name of the order; equal ones stay in the order of the program."""


def step_list(
    report: Report, *, step: str | None = None, match: str = "", sort: str = "cycles"
) -> StepList:
    """Return the costs of the selected steps.

    `step` is a number, a range or a name, `match` a part of names, `sort` one of `SORTS`.
    Raises UnknownName if there are steps, but none is selected.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> report = pl.Engine(graph, pl.Copy(a, b)).report()
    >>> [(row.step.number, row.label, row.share) for row in step_list(report).steps]
    [(1, 'a to b', 1.0)]
    """
    steps = report.places
    whole = sum(each.cycles for each in steps)
    shown = steps if step is None else chosen_steps(steps, step)
    found = [each for each in shown if match.lower() in each.name.lower()]
    if match and shown and not found:
        known = list(dict.fromkeys(each.name for each in shown))
        names = listed([repr(name) for name in known], "names").replace("\n", ", ")
        raise UnknownName(
            f"no step has {match!r} in its name{did_you_mean(match, known)}",
            at=None,
            found=f"the names are {names}",
            fix=f"--match {known[0]!r}, or leave it out",
        )
    programs = {each.program_name for each in found}
    rows = []
    for each in found:
        label = label_of_step(each.program_name, each.name, programs)
        share = each.cycles / whole if whole else 0.0
        rows.append(StepRow(each, label, share, tuple(_parts(each)), each.time_parts()))
    ordered, limits = tuple(sorted(rows, key=SORTS[sort])), limits_of(report.compilation.target)
    return StepList(note_of(report), ordered, whole, len(steps), limits)


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


# -- in time -------------------------------------------------------------------------------------

ROWS = 32
"""Most rows of tiles."""

COLUMNS = 64
"""Number of time intervals in the JSON form."""

STATES: tuple[Part, ...] = tuple(PHASES)
"""The states of a cell, by number; one more means waiting."""

WAITING = len(STATES)


@frozen(eq=False)
class Stretch:
    """The activity of tiles from one sync to the next, over all executions.

    Attributes:
        begin: its first cycle.
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
class Timeline(PictureData):
    """All tiles in time.

    Attributes:
        steps: the list of the steps, in the order of the program.
        begins: the first cycle of each step.
        tiles: the number of tiles.
        ipus: the number of IPUs; no row has tiles on two of them.
        stretches: the activity of tiles, from sync to sync.
        cycles: total number of cycles shown.
        chosen: a tile with a separate row, if others are in blocks.
        part: the tiles that are in blocks; by default all.
        part_name: the owner of these tiles, such as "IPU 1"; empty for all.
    """

    steps: StepList
    begins: tuple[int, ...]
    tiles: int
    ipus: int
    stretches: tuple[Stretch, ...]
    cycles: int
    chosen: int | None = None
    part: range | None = None
    part_name: str = ""

    KIND: ClassVar[str] = "steps"

    @property
    def heading(self) -> str:
        """What is shown."""
        on = amount(self.tiles, "tile")
        if self.part is not None:
            on = f"tiles {_label(self.part)} of {on}: {self.part_name}"
        return f"{self.steps.heading}; one after the other on {on}"

    @property
    def block(self) -> int:
        """Tiles of a row, but the slowest tile's own."""
        pieces = self._pieces
        return -(-max(map(len, pieces)) // max(1, ROWS // len(pieces)))

    @property
    def slowest(self) -> int | None:
        """The tile that is busy longest; None if each tile has a row."""
        if self.block == 1 and self.part is None or not self.stretches:
            return None
        busy: Int64 = np.zeros(self.tiles, np.int64)
        for stretch in self.stretches:
            busy += stretch.busy
        return int(busy.argmax())

    @property
    def rows(self) -> list[range]:
        """The tiles of each row: blocks, then the separate rows of `beside`."""
        block = self.block
        blocks = [
            range(row, min(row + block, piece.stop))
            for piece in self._pieces
            for row in piece[::block]
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
        """Captions of rows, by number: each IPU but the first, and rows that are not blocks."""
        rows, beside = self.rows, self.beside
        blocks = len(rows) - len(beside)
        each = self.tiles // self.ipus
        ipus = {
            number: f"IPU {row.start // each}"
            for number, row in enumerate(rows[:blocks])
            if number and not row.start % each
        }
        return ipus | dict(enumerate(beside, blocks))

    @property
    def _pieces(self) -> list[range]:
        """The tiles in blocks, IPU by IPU."""
        part, each = self.part or range(self.tiles), self.tiles // self.ipus
        ipus = range(part.start // each, (part.stop - 1) // each + 1)
        return [
            range(max(part.start, ipu * each), min(part.stop, (ipu + 1) * each)) for ipu in ipus
        ]

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
        """Return the roles of the activities that occur, in the order of all roles."""
        found = {part for row in self.steps.steps for part, _ in row.parts}
        return tuple(role for part, role in PHASES.items() if part in found)

    def picture(self) -> Picture:
        """Return all tiles in time, and below them the listing of the steps."""
        steps = self.steps
        if not self.cycles:
            return steps.picture()
        begun = zip(steps.steps, self.begins, strict=True)
        lanes = TimeLanes(
            labels=tuple(_label(row) for row in self.rows),
            states=self.cells,
            roles=(*PHASES.values(), WAITING_ROLE),
            length=self.cycles,
            stretches=tuple((row.step.number, row.label, begin, row.tip()) for row, begin in begun),
            borders=self.borders,
        )
        legend = Legend((*self.present(), WAITING_ROLE))
        return composed(self.heading, (lanes, legend), steps.listing())

    def table(self) -> Table:
        """Return the table of the steps."""
        return self.steps.table()

    def data(self) -> dict[str, object]:
        """Return the steps, and all tiles in time: states by number in `states`, a list a row.

        Where rows are blocks, those of all tiles, of the `slowest` and of the `chosen` one follow.
        """
        found = by_name(self, "tiles", "block", "ipus", "slowest", "chosen", "begins")
        found |= {"part": self.part_name, "states": [*STATES, "waiting"], "length": self.cycles}
        found["rows"] = self.cells(COLUMNS) if self.cycles else []
        return self.steps.data() | {"timeline": found}


def _add(area: npt.NDArray[np.float64], edges: npt.NDArray[np.float64], a: Int64, b: Int64) -> None:
    """Add the time from `a` to `b` in each row to the cells that contain it."""
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
    report: Report,
    *,
    step: str | None = None,
    match: str = "",
    tile: int | str | None = None,
    ipu: int | None = None,
    rank: int | None = None,
) -> Timeline:
    """Return all tiles in time, in the selected steps (as for `step_list`).

    A named tile has a separate row; raises InvalidTileMapping if it does not exist.
    Blocks are of all tiles, of one IPU, or of one rank; raises InvalidOption if it does not exist.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> a, b = (graph.add_variable(pl.INT, (64,), name, mapping=0) for name in "ab")
    >>> timeline = timeline_of(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> [STATES[state] for state in timeline.cells(1)[0]], timeline.cells(1)[1:, 0].tolist()
    (['copy'], [6, 6, 6])
    """
    steps = step_list(report, step=step, match=match, sort="program")
    shown = {(row.step.program_name, row.step.number, row.step.name) for row in steps.steps}
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
    part, part_name = part_of(report, ipu, rank)
    return Timeline(
        steps=steps,
        begins=tuple(begins),
        tiles=target.tiles,
        ipus=target.ipus,
        stretches=tuple(stretches),
        cycles=begin,
        chosen=chosen,
        part=part,
        part_name=part_name,
    )


def listed_or_in_time(
    report: Report,
    *,
    sort: str,
    timeline: bool,
    step: str | None,
    match: str,
    **tiles: Any,
) -> StepList | Timeline:
    """Return a list of steps, or a timeline if that, or some of its tiles, is requested."""
    if timeline or any(each is not None for each in tiles.values()):
        return timeline_of(report, step=step, match=match, **tiles)
    return step_list(report, step=step, match=match, sort=sort)


def _stretches(step: ExecutionStep, begin: int) -> Iterator[Stretch]:
    for group in between_syncs(step.phases):
        phases = tuple((STATES.index(p.kind), p.tile_cycles.array()) for p in group)
        stretch = Stretch(begin, group[0].sync, phases)
        yield stretch
        begin = stretch.end


# -- scopes of names -------------------------------------------------------------------------------


LEVELS = tuple(Role("of all cycles", "█", f"q{step}", 0, "#") for step in (8, 6, 4))
"""The appearance of bars by level; levels from the fourth on look like the third."""

SCOPE_COLUMNS = (
    ListColumn("steps", spare=1),
    ListColumn("cycles"),
    ListColumn("of all", spare=4),
    ListColumn("received B", spare=3),
    ListColumn("memory B", spare=2),
    ListColumn("scope", "name", least=20, most=70),
    ListColumn("", "bar", most=32, track=True),
)


@frozen
class Cost:
    """The cost of a scope of names, or of a line of a file.

    Attributes:
        steps: its number of steps.
        cycles: total of them.
        share: of the cycles of all steps.
        received: total of bytes that tiles receive in them.
        memory: bytes that it added to memory, on all tiles.
    """

    steps: int
    cycles: int
    share: float
    received: int
    memory: int

    def texts(self) -> tuple[str, str, str, str]:
        """Return cycles, their share, and bytes, as a listing has them."""
        share = share_text(self.share)
        return f"{self.cycles:,}", share, f"{self.received:,}", f"{self.memory:,}"

    def row(self) -> tuple[object, ...]:
        """Return the numbers that `COST_TITLES` names, as in CSV."""
        return self.steps, self.cycles, f"{self.share:.6f}", self.received, self.memory


COST_TITLES = ("steps", "cycles", "share", "received_bytes", "bytes")


class CostSum:
    """A cost that is being summed up."""

    def __init__(self) -> None:
        self.steps = self.cycles = self.received = self.memory = 0

    def add_step(self, step: ExecutionStep) -> None:
        """Add the cost of a step."""
        self.steps += 1
        self.cycles += step.cycles
        self.received += sum(phase.received.total for phase in step.phases)

    def taken(self, whole: int) -> tuple[int, int, float, int, int]:
        """Return the fields of a `Cost`, given the total number of cycles."""
        share = self.cycles / whole if whole else 0.0
        return self.steps, self.cycles, share, self.received, self.memory


@frozen
class ScopeCost(Cost):
    """The cost of a scope, with everything inside it.

    Attributes:
        name: without the scopes that it is in; several parts where nothing else is between them.
        path: its name with all scopes.
        inside: scopes and steps in it.
    """

    name: str
    path: str
    inside: tuple[ScopeCost, ...]

    def num_inside(self) -> int:
        """Return the number of scopes and steps in it, at any depth."""
        return sum(1 + each.num_inside() for each in self.inside)


@frozen
class ScopeTree(PictureData):
    """The costs of the scopes of a report.

    Attributes:
        note: the origin of the numbers, such as the number of runs.
        whole: all of it.
        depth: how many levels are listed.
    """

    note: str
    whole: ScopeCost
    depth: int

    KIND: ClassVar[str] = "ops"

    @property
    def heading(self) -> str:
        """How much there is."""
        steps, cycles = amount(self.whole.steps, "step"), amount(self.whole.cycles, "cycle")
        return noted(f"operations: {steps}, {cycles}", self.note)

    def rows(self) -> Iterator[tuple[int, ScopeCost]]:
        """Yield the scopes that are listed, each with its level from 0."""
        pending = [(0, each) for each in reversed(self.whole.inside)]
        while pending:
            level, scope = pending.pop()
            yield level, scope
            if level + 1 < self.depth:
                pending += [(level + 1, each) for each in reversed(scope.inside)]

    def picture(self) -> Picture:
        """Return a row for each scope that is listed, with a bar for its share of all cycles.

        >>> nothing = ScopeCost(0, 0, 0.0, 0, 0, "", "", ())
        >>> ScopeTree("", nothing, 2).picture().title
        'operations: 0 steps, 0 cycles'
        """
        rows = tuple(self._row(level, scope) for level, scope in self.rows())
        columns = (*SCOPE_COLUMNS[:-1], replace(SCOPE_COLUMNS[-1], whole=self.whole.cycles or None))
        more = Words(f"(+N): more inside; --depth {self.depth + 1} shows them", "soft")
        return composed(
            self.heading,
            Listing(columns, rows, MOST_ROWS, rest="more scopes; --all lists them") if rows else (),
            more if any(row.aside for row in rows) else (),
        )

    def _row(self, level: int, scope: ScopeCost) -> ListRow:
        numbers = (f"{scope.steps:,}", *scope.texts())
        bar = ((LEVELS[min(level, 2)], scope.cycles),)
        more = scope.num_inside() if level + 1 == self.depth else 0
        titled = zip(SCOPE_COLUMNS, numbers, strict=False)
        said = ", ".join(f"{column.title} {text}" for column, text in titled)
        cells = (*numbers, name_text(scope.name), bar)
        aside, tip = f"(+{more:,})" if more else "", f"{name_text(scope.path)}: {said}"
        return ListRow(cells, aside=aside, level=level, tip=tip)

    def data(self) -> dict[str, object]:
        """Return the costs of scopes, with everything inside them."""
        return {"note": self.note, **by_field(self.whole)}

    def table(self) -> Table:
        """Return a line for each scope that is listed."""
        rows = [(level, name_text(each.path), *each.row()) for level, each in self.rows()]
        return ["level", "scope", *COST_TITLES], rows


SCOPE_SORTS: dict[str, Callable[[ScopeCost], Any]] = {
    "cycles": lambda scope: -scope.cycles,
    "received": lambda scope: -scope.received,
    "memory": lambda scope: -scope.memory,
    "name": lambda scope: scope.name,
    "program": lambda scope: 0,
}
"""How scopes are sorted within theirs; equal ones stay in the order of the program."""


class _Node(CostSum):
    """A scope that is being summed up."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: dict[str, _Node] = {}

    def at(self, parts: list[str]) -> list[_Node]:
        """Return the nodes from here to a path; missing ones are created."""
        found = [self]
        for part in parts:
            found.append(found[-1].inside.setdefault(part, _Node()))
        return found


def scope_tree(report: Report, *, depth: int = 2, sort: str = "cycles") -> ScopeTree:
    """Return the costs of scopes, to a given depth; `sort` is one of `SCOPE_SORTS`.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> with graph.scope("model"):
    ...     a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> tree = scope_tree(pl.Engine(graph, pl.Copy(a, b)).report())
    >>> [(level, scope.name, scope.memory) for level, scope in tree.rows()]
    [(0, 'model', 24), (1, 'a to b', 0)]
    """
    whole = _Node()
    steps_of = Counter(step.operation for step in report.places)
    for step in report.places:
        for node in whole.at(_path(step, is_alone=steps_of[step.operation] == 1)):
            node.add_step(step)
    memory = report.compilation.modelled
    results = {each.name for each in report.compilation.operations if each.result_bytes}
    for held in () if memory is None else memory.held:
        if held.shape is not None:
            parts = _parts_of(held.name)
            for node in whole.at(parts if held.name in results else parts[:-1]):
                node.memory += held.bytes.total
    return ScopeTree(note_of(report), _scope("", "", whole, whole.cycles, SCOPE_SORTS[sort]), depth)


def _parts_of(name: str) -> list[str]:
    return [part for part in parts_of_name(name) if part] or [name]


def _path(step: ExecutionStep, *, is_alone: bool) -> list[str]:
    """Return the scopes of a step, and last its name in them.

    The one step of an operation may be called after it and what is stored: `net/e[like net/x]`.
    """
    if step.kind == "copy" and step.name.count(" to ") == 1:
        source, to = (_parts_of(name) for name in step.name.split(" to "))
        scopes = zip(source[:-1], to[:-1], strict=False)
        shared = [one for one, _ in takewhile(lambda both: both[0] == both[1], scopes)]
        rest = "/".join(source[len(shared) :]), "/".join(to[len(shared) :])
        return [*(_parts_of(step.operation) if step.operation else shared), " to ".join(rest)]
    if not step.operation:
        return _parts_of(step.name)
    inside = step.name.removeprefix(step.operation)
    if inside != step.name and inside[:1] in ("", "/", "["):
        is_all = not inside or (is_alone and inside.startswith("["))
        return [*_parts_of(step.operation), *(() if is_all else _parts_of(inside))]
    return [*_parts_of(step.operation), step.name]


def _scope(
    name: str, before: str, node: _Node, cycles: int, sort: Callable[[ScopeCost], Any]
) -> ScopeCost:
    """Return a finished scope; a scope whose only content is another scope is merged with it."""
    while name and len(node.inside) == 1:
        ((inner, only),) = node.inside.items()
        if (only.steps, only.memory) != (node.steps, node.memory):
            break
        name, node = f"{name}/{inner}", only
    path = f"{before}/{name}" if before else name
    inside = (_scope(each, path, node.inside[each], cycles, sort) for each in node.inside)
    return ScopeCost(*node.taken(cycles), name, path, tuple(sorted(inside, key=sort)))
