"""The tile map: every tile of the target, shaded by a quantity, mostly bytes.

Of a report the quantity is what tiles hold, run, wait or send; of a graph it is what tiles need in
all, as `Engine` checks it, or the bytes of some variables.  Memory is that of each tile in its own
fullest step; vertices are of all compute sets or of those of some steps; a tile waits for other
tiles between two syncs.

Colours begin at the least where that is over half of the most: most maps are nearly even, and would
be of one colour.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption, PopliteError
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet
from poplite.graph.graph import Graph
from poplite.graph.space import Variable, variable_named
from poplite.graph.tile_mapping import NO_TILE, ranges
from poplite.program import Program
from poplite.report import Report
from poplite.report.compilation import Compilation
from poplite.report.execution import ExecutionStep
from poplite.report.memory import Memory
from poplite.text import amount
from poplite.viz.draw.words import name_text, size_text
from poplite.viz.marks import (
    Histogram,
    ListColumn,
    Listing,
    ListRow,
    Picture,
    Shades,
    ShadeScale,
    TileCells,
    composed,
)
from poplite.viz.names import (
    chosen_steps,
    compute_sets_of,
    have_no_tile,
    modelled_memory,
    note_of,
    noted,
    of_replicas,
)
from poplite.viz.painters import PictureData, by_field, by_name

Scale = Literal["zero", "least"]


@frozen(eq=False)
class TileMap(PictureData):
    """The data of a tile map.

    Attributes:
        heading: the name of the quantity.
        notes: lines below it; those that begin with `!` warn.
        value: int64[tiles], the quantity.
        over: bool[tiles], whether it is more than a tile may have.
        tips: text about each tile, shown after its number.
        unit: how a value is written.
        limit: maximum for a tile, in words; empty if there is none.
        ipus: number of IPUs; each has the same number of tiles.
        base: the quantity at which colours begin.
        first: number of the first tile.
        quantity: the quantity of a report; empty for others.
        measure: the name of the quantity on a page.
    """

    heading: str
    notes: list[str]
    value: Int64
    over: npt.NDArray[np.bool_]
    tips: list[str]
    unit: Callable[[int], str]
    limit: str = ""
    ipus: int = 1
    base: int = 0
    first: int = 0
    quantity: str = ""
    measure: str = ""

    KIND: ClassVar[str] = "tile map"
    PAGE: ClassVar[str] = "Tile map"

    def shown(
        self,
        scale: Scale | None = None,
        tiles: range | None = None,
        *,
        note: str = "",
        says_extremes: bool = True,
    ) -> TileMap:
        """Return the map of all tiles or of a range, with its texts.

        `scale` is where colours begin, `note` what the numbers are of; `says_extremes` adds a line
        for all and one for the most and the least.  Raises InvalidOption for tiles that are not
        there.

        >>> value = np.array([4, 8])
        >>> TileMap("cycles", [], value, value > 9, ["", ""], str).shown().notes
        ['12 on 2 tiles, mean 6', 'most 8 (tile 1), least 4 (tile 0)']
        """
        shown = _shown_tiles(tiles, len(self.value))
        cut = slice(shown.start, shown.stop)
        part = ""
        if len(shown) < len(self.value):
            part = f", of tiles {shown[0]:,} to {shown[-1]:,}"
        value, over = self.value[cut], self.over[cut]
        said = _extremes(value, shown.start, self.unit) if says_extremes else []
        said += self.notes
        if over.any():
            their = "its" if over.sum() == 1 else "their"
            where = ranges(shown.start + np.flatnonzero(over))
            said.append(f"! {amount(int(over.sum()), 'tile')} over {their} {self.limit} ({where})")
        return replace(
            self,
            heading=noted(f"{self.heading}{part}", note),
            notes=said,
            value=value,
            over=over,
            tips=self.tips[cut],
            ipus=1 if part else self.ipus,
            base=_base(value, scale),
            first=shown.start,
        )

    def picture(self) -> Picture:
        """Return a map of all tiles, its scale, and a histogram."""
        shades = Shades(int(self.value.max(initial=0)), self.base, self.unit, self.limit)
        cells = TileCells(self.value, self.over, self.tips, shades, self.first, self.ipus)
        scale = ShadeScale(shades), Histogram(self.value, shades)
        return composed(self.heading, cells, scale, notes=self.notes)

    def data(self) -> dict[str, object]:
        """Return the quantity of each tile."""
        tiles = {"first_tile": self.first, "values": self.value, "over": np.flatnonzero(self.over)}
        return by_name(self, "quantity", "heading", "ipus") | tiles

    def tables(self) -> list[Listing]:
        """Return a row for each tile."""
        rows = [
            (f"{self.first + number:,}", text + " !" * bool(over))
            for number, (text, over) in enumerate(zip(self.tips, self.over.tolist(), strict=True))
        ]
        return [_numbers("tile", ["tile", self.measure], rows)]

    def page_facts(self) -> dict[str, str]:
        """Return the quantity, and all texts about it."""
        said = [note for note in self.notes if not note.startswith("!")]
        warned = [note.removeprefix("! ") for note in self.notes if note.startswith("!")]
        facts = {"counted": self.measure, "in all": "; ".join(said)}
        facts |= {"memory of a tile": self.limit, "warning": "; ".join(warned)}
        return {name: text for name, text in facts.items() if text}


def _numbers(noun: str, titles: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Listing:
    """Return the numbers of tiles as a table of a page."""
    aside = f"Numbers of {amount(len(rows), noun)}"
    return Listing(tuple(map(ListColumn, titles)), tuple(map(ListRow, rows)), aside=aside)


def _shown_tiles(tiles: range | None, count: int) -> range:
    if tiles is None:
        return range(count)
    if not 0 <= tiles.start < tiles.stop <= count:
        raise InvalidOption(
            f"there are no tiles {tiles.start:,} to {tiles.stop - 1:,}",
            at=None,
            found=f"tiles are 0 to {count - 1:,}",
            fix=f"--tiles 0:{count - 1}",
        )
    return tiles


def _base(value: Int64, scale: Scale | None) -> int:
    """Return the quantity at which colours begin: by default the least, if that is over half."""
    least, most = int(value.min()), int(value.max())
    wanted = 2 * least > most if scale is None else scale == "least"
    return least if wanted and least < most else 0


def _extremes(value: Int64, first: int, unit: Callable[[int], str]) -> list[str]:
    most, least = int(value.argmax()), int(value.argmin())
    count = amount(len(value), "tile")
    lines = [f"{unit(int(value.sum()))} on {count}, mean {unit(round(float(value.mean())))}"]
    if value[most] != value[least]:
        at_most = f"most {unit(int(value[most]))} (tile {first + most:,})"
        lines.append(f"{at_most}, least {unit(int(value[least]))} (tile {first + least:,})")
    return lines


# -- of a report -----------------------------------------------------------------------------------

Quantity = Literal["memory", "free", "vertices", "cycles", "waited", "sent", "received", "copied"]

WORDS: dict[Quantity, str] = {
    "memory": "bytes needed",
    "free": "bytes free",
    "vertices": "vertices",
    "cycles": "busy cycles",
    "waited": "cycles of waiting for other tiles",
    "sent": "bytes sent",
    "received": "bytes received",
    "copied": "bytes copied on their tile",
}

QUANTITIES: tuple[Quantity, ...] = tuple(WORDS)

OF_MEMORY: tuple[Quantity, ...] = ("memory", "free")

_NOUNS: dict[Quantity, tuple[str, str]] = {
    "vertices": ("vertex", "vertices"),
    **dict.fromkeys(("cycles", "waited"), ("cycle", "cycles")),
}
"""What is counted, where it is not bytes."""


def quantity_map(
    report: Report,
    by: Quantity = "memory",
    *,
    step: str | None = None,
    scale: Scale | None = None,
    tiles: range | None = None,
) -> TileMap:
    """Return the tile map of a quantity, in all steps or in some, of all tiles or of a range.

    Raises UnknownName for a step, and InvalidOption for tiles, that are not there, and where a step
    is asked for of memory.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2, tile_memory_bytes=10_000))
    >>> x = graph.add_variable(pl.INT, (500,), "x", mapping=1)
    >>> report = pl.Engine(graph, pl.Copy(x[:250], x[250:])).report()
    >>> quantity_map(report).notes
    ['8,372 B on 2 tiles, mean 4,186 B', 'most 5,200 B (tile 1), least 3,172 B (tile 0)']
    """
    target, limit, note = report.compilation.target, "", note_of(report)
    if by in OF_MEMORY:
        if step is not None:
            raise InvalidOption(
                f"--step is for what runs, and {by} is of each tile's own fullest step",
                at=None,
                fix="leave it out, or poplite-viz tile N --step ..., or poplite-viz liveness",
            )
        value = modelled_memory(report).including_gaps.array()
        over = value > target.tile_memory_bytes
        value = value if by == "memory" else np.maximum(0, target.tile_memory_bytes - value)
        limit, note = size_text(target.tile_memory_bytes), of_replicas(report.replicas)
    else:
        value = _of_steps(report, by, step)
        over = np.zeros(len(value), np.bool_)

    noun, plural = _NOUNS.get(by, ("", ""))
    unit = partial(amount, noun=noun, plural=plural) if noun else size_text
    heading = f"{WORDS[by]} per tile{'' if step is None else f' in step {step}'}"
    tips = [unit(each) for each in value.tolist()]
    made = TileMap(
        heading, [], value, over, tips, unit, limit, target.ipus, quantity=by, measure=WORDS[by]
    )
    return made.shown(scale, tiles, note=note)


def _of_steps(report: Report, by: Quantity, step: str | None) -> Int64:
    """Return the numbers of tiles in some steps, or in all."""
    steps = report.places if step is None else chosen_steps(report.places, step)
    if by == "vertices":
        return _vertices(report.compilation, None if step is None else steps)
    total = np.zeros(report.compilation.target.tiles, np.int64)
    for each in steps:
        total += _OF_STEP[by](each)
    return total


def _vertices(compilation: Compilation, steps: Sequence[ExecutionStep] | None) -> Int64:
    """Return the vertices of each tile, each counted once."""
    total = np.zeros(compilation.target.tiles, np.int64)
    for compute_set in compute_sets_of(compilation, steps):
        for each in compute_set.vertices:
            total += each.count_by_tile.array()
    return total


def _waited(step: ExecutionStep) -> Int64:
    sync = sum(phase.sync for phase in step.phases)
    waited: Int64 = np.maximum(0, step.cycles - sync - step.tile_cycles)
    return waited


def _copied(step: ExecutionStep) -> Int64:
    total = np.zeros(step.target.tiles, np.int64)
    for phase in step.phases:
        total += phase.copied.array()
    return total


_OF_STEP: dict[Quantity, Callable[[ExecutionStep], Int64]] = {
    "cycles": lambda step: step.tile_cycles,
    "waited": _waited,
    "sent": lambda step: step.bytes_sent,
    "received": lambda step: step.bytes_received,
    "copied": _copied,
}


# -- of a graph ------------------------------------------------------------------------------------


@frozen(eq=False)
class TileLoad(PictureData):
    """Elements and bytes of some variables on every tile.

    Attributes:
        title: what was counted.
        elements: int64[tiles].
        size_bytes: int64[tiles].
        unmapped_elements: elements that have no tile.
        limit_bytes: memory of one tile.
        ipus: number of IPUs; each has the same number of tiles.
        needed_bytes: int64[tiles], bytes needed with code, messages, stacks and copies; None
            where only variables are counted.
        unmodelled: why the graph cannot be compiled so that these could be counted; "" otherwise.
        scale: where colours begin.
        tiles: the tiles that are drawn; None for all.

    >>> load = TileLoad("two tiles", np.array([4, 0]), np.array([16, 0]), 0, 638_976)
    >>> load.summary()
    '16 B on 1 of 2 tiles (0)'
    """

    title: str
    elements: Int64
    size_bytes: Int64
    unmapped_elements: int
    limit_bytes: int
    ipus: int = 1
    needed_bytes: Int64 | None = None
    unmodelled: str = ""
    scale: Scale | None = None
    tiles: range | None = None

    KIND: ClassVar[str] = "tiles"
    PAGE: ClassVar[str] = "Tile map"

    @property
    def drawn(self) -> TileMap:
        """The map, in bytes, of what tiles need; raises InvalidOption as `TileMap.shown` does.

        >>> TileLoad("x", np.array([1]), np.array([4]), 0, 12).drawn.tips
        ['4 B, 1 element']
        >>> needed = np.array([3172])
        >>> TileLoad("x", np.array([1]), np.array([4]), 0, 9000, needed_bytes=needed).drawn.tips
        ['3,172 B, variables 4 B']
        """
        if self.needed_bytes is None:
            value, heading = self.size_bytes, f"bytes of variables per tile: {self.title}"
            tips = [f", {amount(each, 'element')}" for each in self.elements.tolist()]
            notes = [self.summary(), *filter(None, [self.balance()])]
        else:
            value, heading = self.needed_bytes, f"bytes needed per tile: {self.title}"
            tips = [f", variables {size_text(each)}" for each in self.size_bytes.tolist()]
            notes = [f"of these variables: {self.summary()}"]
        tips = [f"{size_text(size)}{more}" for size, more in zip(value.tolist(), tips, strict=True)]
        notes = [*notes, *self.warnings()] if self.tiles is None else self.warnings()
        about = value, value > self.limit_bytes, tips, size_text, size_text(self.limit_bytes)
        drawn = TileMap(heading, notes, *about, self.ipus, measure=self.title)
        says_extremes = self.needed_bytes is not None or self.tiles is not None
        return drawn.shown(self.scale, self.tiles, says_extremes=says_extremes)

    def picture(self) -> Picture:
        """Return the marks of the map."""
        return self.drawn.picture()

    def data(self) -> dict[str, object]:
        """Return the numbers of each tile."""
        return by_field(self, "scale", "tiles")

    @property
    def subject(self) -> str:
        """What was counted."""
        return self.title

    def page_facts(self) -> dict[str, str]:
        """Return all texts about it."""
        return self.drawn.page_facts()

    def tables(self) -> list[Listing]:
        """Return a row for each tile that holds anything."""
        drawn, columns = self.drawn, {"elements": self.elements}
        columns |= {"bytes of variables": self.size_bytes}
        columns |= {} if self.needed_bytes is None else {"bytes in all": self.needed_bytes}
        rows = []
        for tile in (drawn.first + np.flatnonzero(drawn.value)).tolist():
            numbers = [int(column[tile]) for column in columns.values()]
            share = f"{numbers[-1] / self.limit_bytes:.1%}{' !' * (numbers[-1] > self.limit_bytes)}"
            rows.append((*(f"{each:,}" for each in (tile, *numbers)), share))
        titles = ["tile", *columns, "of its memory"]
        return [_numbers("used tile", titles, rows)] if rows else []

    def summary(self) -> str:
        """Return the distribution, on one line."""
        return f"{size_text(int(self.size_bytes.sum()))} {_on_tiles(self.size_bytes)}"

    def balance(self) -> str:
        """Return the extremes among the tiles that hold anything; empty when none does.

        >>> TileLoad("", np.array([4, 2]), np.array([16, 8]), 0, 99).balance()
        'most 16 B (tile 0), least 8 B (tile 1), mean 12 B a used tile'
        """
        used = np.flatnonzero(self.size_bytes)
        if not len(used):
            return ""
        size = self.size_bytes[used]
        most, least = int(size.argmax()), int(size.argmin())
        if size[most] == size[least]:
            return f"{size_text(int(size[most]))} on each used tile"
        return (
            f"most {size_text(int(size[most]))} (tile {used[most]}), "
            f"least {size_text(int(size[least]))} (tile {used[least]}), "
            f"mean {size_text(round(float(size.mean())))} a used tile"
        )

    def warnings(self) -> list[str]:
        """Return a line about elements without a tile, and a line about uncounted memory.

        >>> TileLoad("", np.array([4, 2]), np.array([16, 8]), 3, 10).warnings()
        ['! 3 elements have no tile']
        """
        lines = []
        if self.unmapped_elements:
            lines.append(f"! {have_no_tile(self.unmapped_elements, 'element')}")
        if self.unmodelled:
            lines.append(f"! code, messages and stacks are not counted: {self.unmodelled}")
        return lines


def tile_load(graph: Graph, names: Sequence[str] = ()) -> TileLoad:
    """Count the elements on every tile: of the named variables and constants, or of all.

    Raises UnknownName if the graph has no variable with a given name.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> _ = graph.add_variable("float32", (8,), "x", mapping=3)
    >>> tile_load(graph).summary()
    '32 B on 1 of 1,472 tiles (3)'
    """
    graph = graph.top_level_graph
    named = [variable_named(graph.space, name, at=None) for name in dict.fromkeys(names)]
    chosen = named or graph.variables
    tiles = graph.target.tiles
    # One array for all variables: a loop over 10^5 small ones would be slow.
    pieces = [variable.mapping.pieces() for variable in chosen]
    none = np.empty(0, np.int64)
    begin = np.concatenate([none, *(breaks[:-1] for breaks, _ in pieces)])
    length = np.concatenate([none, *(breaks[1:] for breaks, _ in pieces)]) - begin
    tile = np.concatenate([none, *(tile for _, tile in pieces)])
    each = np.array([variable.element_type.size_bytes for variable in chosen], np.int64)
    size = length * np.repeat(each, np.array([len(tile) for _, tile in pieces], np.int64))
    known = tile != NO_TILE
    elements, size_bytes = (
        np.bincount(tile[known], count[known], tiles).astype(np.int64) for count in (length, size)
    )
    unmapped = int(length[~known].sum())
    limit = graph.target.tile_memory_bytes
    title = _title(chosen, bool(names))
    return TileLoad(title, elements, size_bytes, unmapped, limit, graph.target.ipus)


def _title(chosen: Sequence[Variable], named: bool) -> str:
    if named:
        return ", ".join(f"'{name_text(variable.name)}'" for variable in chosen)
    constants = sum(variable.constant for variable in chosen)
    parts = [amount(len(chosen) - constants, "variable")]
    parts += [amount(constants, "constant")] if constants else []
    return " and ".join(parts)


def modelled(
    graph: Graph, programs: Program | Mapping[str, Program] | None = None
) -> tuple[Memory | None, str]:
    """Return the memory of tiles when programs run, or at any time; or why it is unknown.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> _ = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
    >>> list(modelled(graph)[0].including_gaps)
    [3168, 3568]
    """
    from poplite.compile.compiler import plan_memory  # and with it all that prices steps
    from poplite.program import Sequence

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plan_memory(graph, programs or Sequence()), ""
        except PopliteError as error:
            return None, error.what


def judged_load(graph: Graph, programs: Program | Mapping[str, Program] | None = None) -> TileLoad:
    """Count the total memory of tiles, and the part of variables.

    For a graph that cannot be compiled yet, only variables are counted, with the reason.
    """
    load, (memory, missing) = tile_load(graph), modelled(graph, programs)
    if memory is None:
        return replace(load, unmodelled=missing)
    title = load.title if programs else f"{load.title}, no program"
    title = noted(title, of_replicas(graph.replication_factor))
    return replace(load, title=title, needed_bytes=memory.including_gaps.array())


def vertices_map(compute_set: ComputeSet) -> TileMap:
    """Return the tile map of a compute set, in vertices."""
    vertices, tiles = compute_set.vertices, compute_set.graph.target.tiles
    placed = [vertex.tile for vertex in vertices.singles() if vertex.tile is not None]
    count = np.bincount(np.array(placed, np.int64), minlength=tiles)
    for block in vertices.blocks():
        count += block.tiles.counts()
    missing = len(vertices) - int(count.sum())
    unit = partial(amount, noun="vertex", plural="vertices")
    notes = [f"{unit(int(count.sum()))} {_on_tiles(count)}"]
    notes += [f"! {have_no_tile(missing, 'vertex', 'vertices')}"] if missing else []
    heading, tips = f"vertices per tile: '{name_text(compute_set.name)}'", map(unit, count.tolist())
    ipus = compute_set.graph.target.ipus
    drawn = TileMap(heading, notes, count, count < 0, list(tips), unit, ipus=ipus)
    return drawn.shown(says_extremes=False)


def _on_tiles(value: Int64) -> str:
    """Return the number of tiles with a nonzero quantity, and which they are."""
    used = np.flatnonzero(value)
    where = f" ({ranges(used)})" if 0 < len(used) < len(value) else ""
    return f"on {len(used):,} of {amount(len(value), 'tile')}{where}"
