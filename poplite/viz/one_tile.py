"""The contents of a tile by address, its vertices, and how it spends its cycles.

>>> import poplite as pl
>>> graph = pl.Graph(pl.Target(tiles=2))
>>> a, b = (graph.add_variable(pl.INT, (9,), name, mapping=0) for name in "ab")
>>> tile = tile_contents(pl.Engine(graph, pl.Copy(a, b)).report(), 0)
>>> [(each.name, each.address, each.bytes) for each in tile.things if "'" in each.name]
[("'a'", 3200, 36), ("'b'", 3240, 36)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from poplite.frozen import frozen
from poplite.report import Report
from poplite.report.compilation import Compilation
from poplite.report.execution import TIME_PARTS, ExecutionStep, TimePart
from poplite.report.memory import NO_STEP, Memory, Steps, bytes_by_step, peaks_of, thing_kind
from poplite.report.per_tile import PerTile
from poplite.viz.colours import MEMORY, SPENT, Role
from poplite.viz.draw.words import name_text, share_text, size_text
from poplite.viz.marks import (
    Legend,
    LengthStrip,
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Picture,
    StripPart,
    Tone,
    Words,
    composed,
)
from poplite.viz.names import (
    compute_sets_of,
    form_of,
    full_title,
    in_brackets,
    modelled_memory,
    name_of,
    note_of,
    noted,
    number_of,
    places_of,
    tile_number,
)
from poplite.viz.painters import PictureData

MOST_STRETCHES = 4
"""Stretches of steps that are named."""

MOST_THINGS, MOST_VERTICES = 16, 12
"""Rows that are written to a terminal."""

LONGEST_NAME = 70
LINES = 4
"""Lines of text of the memory."""

FREE = Role("free", ".", "none")
ALWAYS = "always"


@frozen
class Thing:
    """A thing in the memory of a tile.

    Attributes:
        name: its name.
        form: its type and shape; empty if it has none.
        kind: its kind.
        bytes: its bytes.
        address: its first address; None if unknown.
        when: the steps in which it is live, in words.
        is_live: whether it is live in the step that is drawn.
        at: the user's line; empty if there is none.
    """

    name: str
    form: str
    kind: str
    bytes: int
    address: int | None
    when: str
    is_live: bool
    at: str

    @property
    def always(self) -> bool:
        """Whether it is always live."""
        return self.when == ALWAYS

    @property
    def what(self) -> str:
        """Name, type and shape."""
        return f"{self.name} {self.form}".rstrip()

    def tip(self) -> str:
        """Return all known facts about it, on one line."""
        address = "" if self.address is None else f"{self.address:,}: "
        at = f" ({self.at})" if self.at else ""
        return f"{address}{self.what}{at}, {size_text(self.bytes)}, {self.when}"


@frozen
class RunsHere:
    """Vertices of a class in a compute set that were added at one line.

    Attributes:
        compute_set: its name.
        type: the name of the class.
        count: how many run on the tile.
        at: the user's line.
    """

    compute_set: str
    type: str
    count: int
    at: str = ""


@frozen
class TileContents(PictureData):
    """One tile.

    Attributes:
        tile: its number.
        needed_bytes: bytes that it needs, with gaps.
        limit_bytes: its memory.
        step: the step that is drawn; empty if everything is always live.
        is_peak: whether the tile needs most memory in this step.
        live_bytes: bytes that are live in the step.
        things: its contents, by address if known, otherwise by descending size.
        vertices: the vertices that run on it.
        cycles: its cycles by activity; they add up to `elapsed_cycles`.
        cycles_of: the steps to which these cycles belong, in words.
        elapsed_cycles: all cycles of these steps.
        note: the origin of the numbers, such as the number of runs.
    """

    tile: int
    needed_bytes: int
    limit_bytes: int
    step: str
    is_peak: bool
    live_bytes: int
    things: tuple[Thing, ...]
    vertices: tuple[RunsHere, ...]
    cycles: Mapping[TimePart, int]
    cycles_of: str
    elapsed_cycles: int
    note: str

    KIND: ClassVar[str] = "tile"

    @property
    def heading(self) -> str:
        """How much the tile needs, of how much it has."""
        mark = "" if self.needed_bytes <= self.limit_bytes else "! "
        share = share_text(self.needed_bytes / self.limit_bytes)
        size = f"{size_text(self.needed_bytes)} of {size_text(self.limit_bytes)}, {share}"
        return f"{mark}tile {self.tile:,}: {size}"

    def moment(self) -> str:
        """Say which step is drawn, and how much is live in it."""
        if not self.step:
            return f"everything is always live: {size_text(self.live_bytes)}"
        most = ", when it needs most" if self.is_peak else ""
        return f"in {self.step}{most}: {size_text(self.live_bytes)} live"

    @property
    def is_addressed(self) -> bool:
        """Whether addresses are known."""
        return all(thing.address is not None for thing in self.things)

    @property
    def extent(self) -> int:
        """The end address of the last thing in any step."""
        return max(((each.address or 0) + each.bytes for each in self.things), default=0)

    def picture(self) -> Picture:
        """Return a strip of the memory, the things and vertices, and a strip of the cycles."""
        by_size = sorted(self.things, key=lambda each: -each.bytes)
        return composed(
            self.heading,
            self._memory() if self.things and self.is_addressed else (),
            things_listing(by_size, MOST_THINGS, "more things"),
            self._vertices_listing(),
            self._cycles_listing(),
            notes=[noted(self.moment(), self.note)],
        )

    def strip(self) -> LengthStrip:
        """Return the live things, each at its address."""
        parts = tuple(
            StripPart(thing.address or 0, thing.bytes, MEMORY[thing.kind], thing.name, thing.tip())
            for thing in self.things
            if thing.is_live
        )
        return LengthStrip(parts, self.extent, self.limit_bytes, LINES)

    def _memory(self) -> list[Mark]:
        """Return the memory with a legend, which lists free memory only if it is visible."""
        strip = self.strip()
        kinds = {part.role.words for part in strip.parts}
        free = [FREE] if None in strip.cells(256) else []
        legend = Legend((*(role for kind, role in MEMORY.items() if kind in kinds), *free))
        over = [Words(f"! over the limit of {size_text(self.limit_bytes)}")]
        return [strip, legend, *(over if self.extent > self.limit_bytes else [])]

    def _vertices_listing(self) -> Listing | Words:
        if not self.vertices:
            return Words("no vertices")
        name = ListColumn("class and compute set", "name", most=LONGEST_NAME)
        rows = []
        for each in self.vertices:
            cells = (f"{each.count:,}", f"{each.type} in '{each.compute_set}'")
            rows.append(ListRow(cells, aside=in_brackets(each.at), tip=each.at))
        columns = ListColumn("vertices"), name
        return Listing(columns, rows, MOST_VERTICES, rest="more kinds of vertices")

    def _cycles_listing(self) -> Listing | Words:
        if not self.elapsed_cycles:
            return Words("no cycles")
        columns = (
            ListColumn("cycles"),
            ListColumn("share"),
            ListColumn(f"of {self.cycles_of}", "name", least=23, most=44),
            ListColumn("", "bar", most=40, whole=self.elapsed_cycles),
        )
        rows = []
        for part, cycles in self.cycles.items():
            share, role = share_text(cycles / self.elapsed_cycles), SPENT[part]
            rows.append(ListRow((f"{cycles:,}", share, role.words, ((role, cycles),))))
        return Listing(columns, tuple(rows))


def things_listing(things: Sequence[Thing], most: int | None = None, rest: str = "more") -> Listing:
    """Return a row for each thing, with its address if known."""
    columns = (
        ListColumn("address"),
        ListColumn("bytes"),
        ListColumn("live", spare=1),
        ListColumn("what lies there", "name", least=20, most=LONGEST_NAME),
    )
    first = 1 if any(each.address is None for each in things) else 0
    rows = []
    for each in things:
        cells = (f"{each.address or 0:,}", f"{each.bytes:,}", each.when, each.what)[first:]
        tone: Tone = "plain" if each.is_live else "soft"
        rows.append(ListRow(cells, MEMORY[each.kind], in_brackets(each.at), 0, tone, each.tip()))
    return Listing(columns[first:], rows, most, rest=rest)


def tile_contents(report: Report, tile: int | str, *, step: str | None = None) -> TileContents:
    """Return what lies on a tile in a step, by default in the one in which it needs most.

    Raises InvalidTileMapping if there is no such tile, UnknownName where there is no such step,
    and InvalidOption if memory is not modelled.
    """
    memory = modelled_memory(report)
    number = tile_number(tile, len(memory.including_gaps))
    sizes = bytes_by_step(memory, number)
    peak = int(peaks_of(memory).step[number])
    places = [peak] if step is None else places_of(memory.steps, step)
    place = max(places, key=lambda each: sizes[each] if each != NO_STEP else 0)
    rows = None
    if step is not None:
        chosen = [memory.steps[k] for k in places]
        rows = {(each.program, row) for each in chosen for row in each.rows}
    ran = [p for p in report.places if rows is None or (p.program_name, p.row) in rows]
    title = "" if place == NO_STEP else full_title(memory.steps[place], memory.steps)
    return TileContents(
        tile=number,
        needed_bytes=memory.including_gaps[number],
        limit_bytes=report.compilation.target.tile_memory_bytes,
        step=title,
        is_peak=place == peak,
        live_bytes=memory.always_live[number] + (int(sizes[place]) if place != NO_STEP else 0),
        things=tuple(things_on(memory, number, place)),
        vertices=tuple(_running(report.compilation, None if rows is None else ran, number)),
        cycles=_cycles(ran, number),
        cycles_of="all steps" if step is None else title,
        elapsed_cycles=sum(each.cycles for each in ran),
        note=note_of(report),
    )


def things_on(memory: Memory, tile: int, step: int) -> list[Thing]:
    """Return the things on a tile, by address or descending size; for a step, the live ones."""
    addresses: Sequence[PerTile | None] = memory.addresses or [None] * len(memory.held)
    numbers = [number_of(step) or f"{k:,}" for k, step in enumerate(memory.steps, 1)]
    found = []
    for held, where in zip(memory.held, addresses, strict=True):
        if size := held.bytes[tile]:
            what = name_of(held), form_of(held), thing_kind(held.category)
            address, when = None if where is None else where[tile], _when(held.steps, numbers)
            is_live = held.steps is None or held.is_in(step)
            found.append(Thing(*what, size, address, when, is_live, held.at))
    if memory.addresses:
        return sorted(found, key=lambda each: (each.address or 0, not each.is_live))
    return sorted(found, key=lambda each: -each.bytes)


def _when(steps: Steps | None, numbers: Sequence[str]) -> str:
    """Return the steps in which something is live, in words."""
    if steps is None:
        return ALWAYS
    ends = [(numbers[first], numbers[last]) for first, last in steps]
    ranges = [first if first == last else f"{first}-{last}" for first, last in ends]
    shown = ", ".join(ranges[:MOST_STRETCHES]) + (", ..." if len(ranges) > MOST_STRETCHES else "")
    return f"step{'s' if len(ranges) > 1 or '-' in shown else ''} {shown}"


def _running(
    compilation: Compilation, ran: Sequence[ExecutionStep] | None, tile: int
) -> list[RunsHere]:
    """Return the vertices of a tile in some steps, or in all compute sets."""
    return [
        RunsHere(name_text(compute_set.name), name_text(each.type), count, name_text(each.at))
        for compute_set in compute_sets_of(compilation, ran)
        for each in compute_set.vertices
        if (count := each.count_by_tile[tile])
    ]


def _cycles(ran: Sequence[ExecutionStep], tile: int) -> dict[TimePart, int]:
    """Return the cycles of a tile by activity; they add up to those of the steps."""
    found: dict[TimePart, int] = dict.fromkeys(TIME_PARTS, 0)
    for step in ran:
        for phase in step.phases:
            busy, idle = phase.tile_cycles[tile], phase.idle[tile] if phase.idle else 0
            found["idle workers"] += idle
            found["work" if phase.kind == "compute" else phase.kind] += busy - idle
            found["sync"] += phase.sync
    found["waiting"] = sum(step.cycles for step in ran) - sum(found.values())
    return {part: cycles for part, cycles in found.items() if cycles > 0}
