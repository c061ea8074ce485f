"""Memory: what every tile needs in its own fullest step, or what one tile needs in each step.

>>> import poplite as pl
>>> graph = pl.Graph(pl.Target(tiles=2))
>>> x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
>>> bars = memory_bars(pl.Engine(graph, pl.Sequence()).report())
>>> bars.heading
'memory: fits; fullest tile 1: 3,568 B of 638,976 B, 0.6%'
>>> [(part.role.words, part.sizes.tolist()) for part in bars.parts]
[('variables', [0, 400]), ('stacks', [3168, 3168])]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Literal

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.report import Report
from poplite.report.memory import (
    GAPS,
    KIND_NAMES,
    NO_STEP,
    OTHER,
    Memory,
    Peaks,
    bytes_by_step,
    peaks_of,
    thing_kind,
)
from poplite.text import amount
from poplite.viz.colours import MEMORY, Role, category_role
from poplite.viz.draw.words import name_text, share_text, size_text
from poplite.viz.marks import (
    MOST_ROWS,
    BarPart,
    Legend,
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Picture,
    StackedBars,
    Words,
    composed,
    left_out,
)
from poplite.viz.names import (
    full_title,
    label_of_step,
    modelled_memory,
    name_of,
    noted,
    of_replicas,
    short_name,
    tile_number,
    title_of,
)
from poplite.viz.one_tile import Thing, things_listing, things_on
from poplite.viz.painters import PictureData, Table, by_field, by_name

Stack = Literal["kind", "variable", "live"]
Sort = Literal["tile", "size"]

STACKS: tuple[Stack, ...] = ("kind", "variable", "live")
SORTS: tuple[Sort, ...] = ("tile", "size")

COLORED = 5
"""Things that have a colour of their own where each is a part; the others are one part together."""

LONGEST_PART, LONGEST_NAME = 22, 70
"""Units that the name of a part has before columns are left out for it, and that it has at most."""

TOP = 10
"""Things of the fullest tile that are listed, unless more are asked for."""


@frozen(eq=False)
class MemoryBars(PictureData):
    """The memory that every tile needs.

    Attributes:
        note: the origin of the numbers, such as the number of runs.
        limit_bytes: memory of a tile.
        needed: int64[tiles], the bytes that each needs.
        step: int64[tiles], number of the fullest step of each; 0 if everything is always live.
        parts: the parts of the bars, from bottom to top.
        stack: the kind of parts.
        order: int64[tiles], the tiles from left to right.
        sort: how they are ordered.
        when: the fullest step of the fullest tile; empty if everything is always live.
        things: the contents of the fullest tile then, the largest first.
        fit_words: text about the parts that fit, if everything fits.
        top: number of things listed.
    """

    note: str
    limit_bytes: int
    needed: Int64
    step: Int64
    parts: tuple[BarPart, ...]
    stack: Stack
    order: Int64
    sort: Sort
    when: str
    things: tuple[Thing, ...]
    fit_words: str = "fits"
    top: int = TOP

    KIND: ClassVar[str] = "memory"

    @property
    def tile(self) -> int:
        """The fullest tile, the first of several."""
        return int(self.needed.argmax())

    @property
    def fits(self) -> bool:
        """Whether no tile needs more than it has."""
        return bool(self.needed[self.tile] <= self.limit_bytes)

    @property
    def heading(self) -> str:
        """Whether everything fits, and how full the fullest tile is."""
        most, limit = int(self.needed[self.tile]), self.limit_bytes
        size = f"{size_text(most)} of {size_text(limit)}, {share_text(most / limit)}"
        if self.fits:
            said = f"memory: {self.fit_words}; fullest tile {self.tile:,}: {size}"
            return noted(said, self.note)
        others = int((self.needed > limit).sum()) - 1
        more = f", and {amount(others, 'more tile')}" if others else ""
        over = f"{size_text(most - limit)} over{more}"
        return noted(f"! memory: does not fit; tile {self.tile:,}: {size}, {over}", self.note)

    def summary(self) -> str:
        """Return the total, the mean and the least, on one line."""
        least = int(self.needed.argmin())
        return (
            f"{size_text(int(self.needed.sum()))} on {amount(len(self.needed), 'tile')}, mean "
            f"{size_text(round(float(self.needed.mean())))}, "
            f"least {size_text(int(self.needed[least]))} (tile {least:,})"
        )

    def place(self) -> str:
        """Return where and when the table of parts is."""
        when = f", fullest in {self.when}" if self.when else ", where everything is always live"
        return f"on tile {self.tile:,}{when}"

    def picture(self) -> Picture:
        """Return a bar for each tile, then the parts and largest things of the fullest tile."""
        axis = ("fullest", "tiles", "emptiest")
        if self.sort == "tile":
            axis = ("0", "tile", f"{len(self.order) - 1:,}")
        rest = self.things[self.top :]
        size = size_text(sum(thing.bytes for thing in rest))
        return composed(
            self.heading,
            StackedBars(self.parts, self.order, axis, self.limit_bytes),
            [Words(self.place(), "strong"), self._parts_listing()],
            [things_listing(self.things[: self.top]), *left_out(len(rest), f"more, {size} in all")],
            notes=[self.summary()],
        )

    def _parts_listing(self) -> Listing:
        """Return a row for each part, in the order of the bars."""
        columns = (
            ListColumn("bytes"),
            ListColumn("share"),
            ListColumn("mean of all", spare=1),
            ListColumn("most on a tile", spare=2),
            ListColumn("", "name", least=LONGEST_PART, most=LONGEST_NAME),
            ListColumn("", "bar", most=20),
        )
        rows = []
        for part in reversed(self.parts):
            size, most = int(part.sizes[self.tile]), int(part.sizes.argmax())
            share = share_text(size / int(self.needed[self.tile]))
            mean = f"{round(float(part.sizes.mean())):,}"
            numbers = (f"{size:,}", share, mean, f"{part.sizes[most]:,} ({most:,})")
            bar = ((part.role.solid(), size),)
            rows.append(ListRow((*numbers, part.role.words, bar), part.role))
        return Listing(columns, tuple(rows))

    def data(self) -> Mapping[str, object]:
        """Return the memory that every tile needs, and the contents of the fullest one."""
        return by_name(self, "heading", "fits", "limit_bytes", "stack") | {
            "needed_bytes": self.needed,
            "fullest_step": self.step,
            "parts": [{"name": p.role.words, "bytes": p.sizes} for p in self.parts],
            "fullest_tile": self.tile,
            "on_fullest_tile": [by_field(each) | {"always": each.always} for each in self.things],
        }

    def table(self) -> Table:
        """Return a row for each tile, in the order of the bars."""
        titles = ["tile", "needed bytes", "fullest step", *(p.role.words for p in self.parts)]
        columns = [self.needed, self.step, *(part.sizes for part in self.parts)]
        rows = np.stack([self.order, *(column[self.order] for column in columns)], axis=1)
        return titles, rows.tolist()


def memory_bars(
    report: Report, *, stack: Stack = "kind", sort: Sort = "tile", top: int = TOP
) -> MemoryBars:
    """Return what every tile needs.

    Raises InvalidOption if memory is not modelled.
    """
    memory, target = modelled_memory(report), report.compilation.target
    peaks, needed = peaks_of(memory), memory.including_gaps.array()
    tile = int(needed.argmax())
    by_size = np.argsort(-needed, kind="stable")
    numbers = np.array([step.number for step in memory.steps] + [0])  # NO_STEP is the last
    fullest = int(peaks.step[tile])
    live = (each for each in things_on(memory, tile, fullest) if each.is_live)
    return MemoryBars(
        note=of_replicas(report.replicas),
        limit_bytes=target.tile_memory_bytes,
        needed=needed,
        step=numbers[peaks.step],
        parts=tuple(_parts(peaks, stack, tile)),
        stack=stack,
        order=by_size if sort == "size" else np.arange(len(needed)),
        sort=sort,
        when="" if fullest == NO_STEP else full_title(memory.steps[fullest], memory.steps),
        things=tuple(sorted(live, key=lambda each: -each.bytes)),
        fit_words=report.fit_words,
        top=top,
    )


def _parts(peaks: Peaks, stack: Stack, tile: int) -> list[BarPart]:
    if stack == "kind":
        return [BarPart(MEMORY[name], sizes) for name, sizes in peaks.kinds().items()]
    parts = _parts_by_time(peaks) if stack == "live" else _parts_by_thing(peaks, tile)
    return [part for part in parts if part.sizes.any()]


def _parts_by_time(peaks: Peaks) -> list[BarPart]:
    memory = peaks.memory
    always, beside = memory.always_live.array(), memory.not_always_live.array()
    gaps = memory.including_gaps.array() - always - beside
    return [
        BarPart(category_role("always live", 0), always),
        BarPart(category_role("live in the fullest step", 1), beside),
        BarPart(MEMORY[GAPS], gaps),
    ]


def _parts_by_thing(peaks: Peaks, tile: int) -> list[BarPart]:
    """Return the largest things of the fullest tile, and all others together."""
    memory, left = peaks.memory, peaks.memory.including_gaps.array()
    step = int(peaks.step[tile])
    held = [each for each in memory.held if each.steps is None or each.is_in(step)]
    largest = sorted(held, key=lambda each: -each.bytes[tile])[:COLORED]
    parts = [
        BarPart(category_role(name_of(each), k), peaks.bytes_of(each))
        for k, each in enumerate(each for each in largest if each.bytes[tile])
    ]
    for part in parts:
        left = left - part.sizes
    return [*parts, BarPart(Role("all others", "o", MEMORY[OTHER].kind), left)]


# -- step by step ----------------------------------------------------------------------------------

WORST = "worst"
"""Stands for the fullest tile."""

LIVE_COLUMNS = (
    ListColumn("#"),
    ListColumn("step", "name", least=17, most=44),
    ListColumn("live"),
    ListColumn("", spare=2),
    ListColumn("", "bar", least=8, most=44),
    ListColumn("largest", "name", spare=1, least=12, most=40),
)


@frozen
class LiveRow:
    """The memory that a tile needs in a step.

    Attributes:
        number: number of the step in its program; 0 if unknown.
        program: the name of its program.
        title: the title of the step.
        at: the user's line; empty if there is none.
        bytes: live in it, but not always.
        kinds: the same by kind of thing, in the order of stacks.
        largest: the largest thing among them; empty if there is none.
        largest_bytes: its bytes.
        is_peak: whether it is the first step with the maximum.
    """

    number: int
    program: str
    title: str
    at: str
    bytes: int
    kinds: Mapping[str, int]
    largest: str
    largest_bytes: int
    is_peak: bool


@frozen
class LiveSteps(PictureData):
    """The memory that a tile needs, step by step.

    Attributes:
        tile: its number.
        is_worst: whether no tile needs more.
        always_live_bytes: bytes that are always live there.
        needed_bytes: total bytes that it needs, with gaps.
        limit_bytes: its memory.
        steps: those that are shown, in order.
        num_steps: total number of steps.
        note: the origin of the numbers, such as the number of runs.
    """

    tile: int
    is_worst: bool
    always_live_bytes: int
    needed_bytes: int
    limit_bytes: int
    steps: tuple[LiveRow, ...]
    num_steps: int
    note: str

    KIND: ClassVar[str] = "liveness"

    @property
    def heading(self) -> str:
        """The tile, its always-live bytes, and the bytes on top of them."""
        which = ", the fullest" if self.is_worst else ""
        always = f"{size_text(self.always_live_bytes)} always live"
        more = "" if not self.num_steps else ", and"
        return noted(f"liveness of tile {self.tile:,}{which}: {always}{more}", self.note)

    def total(self) -> str:
        """Return the total that the tile needs, on one line."""
        mark = "! " if self.needed_bytes > self.limit_bytes else ""
        size = f"{size_text(self.needed_bytes)} of {size_text(self.limit_bytes)}"
        return f"{mark}in all, with gaps: {size}"

    def kinds(self) -> list[str]:
        """Return the kinds of things in any step, in the order of stacks."""
        return [kind for kind in KIND_NAMES if any(kind in row.kinds for row in self.steps)]

    def picture(self) -> Picture:
        """Return a row for each step, with a bar by kind of thing."""
        marks: list[Mark] = []
        if self.steps:
            rest = f"more steps; --top {MOST_ROWS} shows the largest"
            marks.append(Listing(LIVE_COLUMNS, tuple(self._rows()), MOST_ROWS, rest=rest))
        marks += left_out(self.num_steps - len(self.steps), "more steps need less")
        legend = Legend(tuple(MEMORY[kind] for kind in self.kinds()))
        return composed(self.heading, [*marks, Words(self.total())], legend if legend.roles else ())

    def _rows(self) -> Iterator[ListRow]:
        programs = {row.program for row in self.steps}
        for row in self.steps:
            kinds = ", ".join(f"{kind} {size_text(size)}" for kind, size in row.kinds.items())
            label = label_of_step(row.program, row.title, programs)
            number, peak = f"{row.number:,}" if row.number else "", "peak" * row.is_peak
            bar = tuple((MEMORY[kind], size) for kind, size in row.kinds.items())
            largest = f"{row.largest} {size_text(row.largest_bytes)}" if row.largest else ""
            cells = (number, label, size_text(row.bytes), peak, bar, largest)
            tip = f"{label}{f' ({row.at})' if row.at else ''}: {kinds or size_text(0)}"
            yield ListRow(cells, tone="strong" if row.is_peak else "plain", tip=tip)

    def table(self) -> Table:
        """Return a row for each step, with its bytes by kind of thing."""
        kinds = self.kinds()
        titles = ["program", "step", "name", "bytes", *kinds, "largest", "largest bytes", "line"]
        rows = []
        for row in self.steps:
            about = row.program, row.number, row.title
            sizes = (row.bytes, *(row.kinds.get(kind, 0) for kind in kinds))
            rows.append((*about, *sizes, row.largest, row.largest_bytes, row.at))
        return titles, rows


def live_steps(report: Report, tile: int | str = WORST, *, top: int | None = None) -> LiveSteps:
    """Return the memory that a tile, or the fullest one, needs in all or the `top` largest steps.

    Raises InvalidTileMapping if there is no such tile, and InvalidOption if memory is not
    modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b, c = (graph.add_variable(pl.INT, (9,), name, mapping=0) for name in "abc")
    >>> program = pl.Sequence(pl.Copy(a, b), pl.Copy(b, c))
    >>> live = live_steps(pl.Engine(graph, program).report(), "worst")
    >>> [(row.title, row.bytes, row.largest) for row in live.steps]
    [("Copy 'a' -> 'b'", 36, "'b'"), ("Copy 'b' -> 'c'", 36, "'b'")]
    """
    memory = modelled_memory(report)
    needed = memory.including_gaps.array()
    number = int(needed.argmax()) if tile == WORST else tile_number(tile, len(needed))
    sizes = bytes_by_step(memory, number)
    shown: Iterable[int] = range(len(sizes))
    if top is not None:
        shown = sorted(np.argsort(-sizes, kind="stable")[:top].tolist())
    return LiveSteps(
        tile=number,
        is_worst=bool(needed[number] == needed.max()),
        always_live_bytes=memory.always_live[number],
        needed_bytes=int(needed[number]),
        limit_bytes=report.compilation.target.tile_memory_bytes,
        steps=_live_rows(memory, number, sizes, shown),
        num_steps=len(sizes),
        note=of_replicas(report.replicas),
    )


def _live_rows(
    memory: Memory, tile: int, sizes: Int64, shown: Iterable[int]
) -> tuple[LiveRow, ...]:
    kinds: list[dict[str, int]] = [{} for _ in sizes]
    largest = [("", 0)] * len(sizes)
    for held in memory.held:
        size = held.bytes[tile] if held.steps else 0
        if not size:
            continue
        kind, name = thing_kind(held.category), short_name(held)
        for first, last in held.steps or ():
            for step in range(first, last + 1):
                kinds[step][kind] = kinds[step].get(kind, 0) + size
                if size > largest[step][1]:
                    largest[step] = name, size
    peak, rows = int(sizes.argmax()) if sizes.any() else -1, []
    for number in shown:
        its_step, size = memory.steps[number], int(sizes[number])
        ordered = {kind: kinds[number][kind] for kind in KIND_NAMES if kind in kinds[number]}
        about = its_step.number, its_step.program, name_text(title_of(its_step)), its_step.at
        rows.append(LiveRow(*about, size, ordered, *largest[number], number == peak))
    return tuple(rows)
