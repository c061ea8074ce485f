"""The tile map: every tile of the target, shaded by a quantity, mostly bytes.

Of a report the quantity is what tiles hold, run, wait or send; of a graph it is what tiles need in
all, as `Engine` checks it, or the bytes of some variables.  Memory is that of each tile in its own
fullest step; vertices are of all compute sets or of those of some steps; a tile waits for other
tiles between two syncs.

Colours begin at the least where that is over half of the most: most maps are nearly even, and would
be of one colour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption, one_of
from poplite.frozen import frozen
from poplite.graph.tile_mapping import ranges
from poplite.report import Report
from poplite.text import amount
from poplite.viz.draw.html import numbers_table, page
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style
from poplite.viz.draw.units import name_text, size_text
from poplite.viz.graph_counts import TileLoad
from poplite.viz.marks import Gap, Histogram, Picture, Shades, ShadeScale, TileCells, heading
from poplite.viz.names import chosen_steps, modelled_memory, note_of
from poplite.viz.paint_svg import paint_svg
from poplite.viz.paint_text import paint_text
from poplite.viz.painters import Forms, forms_of, users_function

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.machine.target import Target
    from poplite.report.compilation import Compilation
    from poplite.report.execution import ExecutionStep

Scale = Literal["zero", "least"]


@frozen(eq=False)
class TileMap:
    """What a tile map shows.

    Attributes:
        heading: what the quantity is.
        notes: lines below it; those that begin with `!` warn.
        value: int64[tiles], the quantity.
        over: bool[tiles], whether it is more than a tile may have.
        tips: what to say about each tile, after its number.
        unit: how a value is written.
        limit: what a tile may have, as words; empty when there is no limit.
        ipus: IPUs that the tiles are on, each with as many.
        base: the quantity at which colours begin.
        first: number of the first tile.
        has_histogram: whether to draw how many tiles have how much.
    """

    heading: str
    notes: list[str]
    value: npt.NDArray[np.int64]
    over: npt.NDArray[np.bool_]
    tips: list[str]
    unit: Callable[[int], str]
    limit: str = ""
    ipus: int = 1
    base: int = 0
    first: int = 0
    has_histogram: bool = False

    @property
    def largest(self) -> int:
        """The largest quantity."""
        return int(self.value.max(initial=0))


def shaded(
    value: Int64,
    heading: str,
    unit: Callable[[int], str] = size_text,
    *,
    note: str = "",
    notes: Iterable[str] = (),
    says_extremes: bool = True,
    tips: Sequence[str] | None = None,
    over: npt.NDArray[np.bool_] | None = None,
    limit: str = "",
    ipus: int = 1,
    scale: Scale | None = None,
    tiles: range | None = None,
) -> TileMap:
    """Return the tile map of a quantity, of all tiles or of a range.

    Args:
        value: int64[tiles].
        heading: what the quantity is.
        unit: how a value is written.
        note: what the heading ends with.
        notes: lines below the heading.
        says_extremes: whether lines above these say the most and the least of what is drawn.
        tips: what to say about each tile; its quantity where that is left out.
        over: bool[tiles], whether it is more than a tile may have.
        limit: what a tile may have, as words; empty where there is no limit.
        ipus: IPUs that the tiles are on, each with as many.
        scale: where colours begin.
        tiles: those that are drawn.

    Raises InvalidOption for tiles that are not there.

    >>> shaded(np.array([4, 8]), "cycles", str).notes
    ['12 on 2 tiles, mean 6', 'most 8 (tile 1), least 4 (tile 0)']
    """
    shown = _shown_tiles(tiles, len(value))
    cut = slice(shown.start, shown.stop)
    part = "" if len(shown) == len(value) else f", of tiles {shown[0]:,} to {shown[-1]:,}"
    tips = [unit(each) for each in value.tolist()] if tips is None else tips
    is_over = (np.zeros(len(value), np.bool_) if over is None else over)[cut]
    said = [*(_extremes(value[cut], shown.start, unit) if says_extremes else ()), *notes]
    if is_over.any():
        their = "its" if is_over.sum() == 1 else "their"
        where = ranges(shown.start + np.flatnonzero(is_over))
        said.append(f"! {amount(int(is_over.sum()), 'tile')} over {their} {limit} ({where})")
    return TileMap(
        heading=f"{heading}{part}{note}",
        notes=said,
        value=value[cut],
        over=is_over,
        tips=list(tips[cut]),
        unit=unit,
        limit=limit,
        ipus=1 if part else ipus,
        base=_base(value[cut], scale),
        first=shown.start,
        has_histogram=True,
    )


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
    target = report.compilation.target
    if by in OF_MEMORY and step is not None:
        raise InvalidOption(
            f"--step is for what runs, and {by} is of each tile's own fullest step",
            at=None,
            fix="leave it out, or poplite-viz tile N --step ..., or poplite-viz liveness",
        )
    chosen = "" if step is None else f" in step {step}"
    replicas = f"; of one of {report.replicas:,} replicas" if report.replicas > 1 else ""
    is_memory = by in OF_MEMORY
    needed = modelled_memory(report).including_gaps.array() if is_memory else None
    return shaded(
        _of_steps(report, by, step) if needed is None else _of_memory(needed, by, target),
        f"{WORDS[by]} per tile{chosen}",
        _unit(by),
        note=replicas if is_memory else note_of(report),
        over=None if needed is None else needed > target.tile_memory_bytes,
        limit=size_text(target.tile_memory_bytes) if is_memory else "",
        ipus=target.ipus,
        scale=scale,
        tiles=tiles,
    )


def _of_memory(needed: Int64, by: Quantity, target: Target) -> Int64:
    """Return what tiles need, or what they have left."""
    free: Int64 = np.maximum(0, target.tile_memory_bytes - needed)
    return needed if by == "memory" else free


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
    chosen = None if steps is None else {step.compute_set for step in steps}
    total = np.zeros(compilation.target.tiles, np.int64)
    for number, compute_set in enumerate(compilation.compute_sets):
        if chosen is None or number in chosen:
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


def _unit(by: Quantity) -> Callable[[int], str]:
    if by == "vertices":
        return lambda number: amount(number, "vertex", "vertices")
    if by in ("cycles", "waited"):
        return lambda number: amount(number, "cycle")
    return size_text


# -- of a graph ------------------------------------------------------------------------------------


def map_of_load(
    load: TileLoad, *, scale: Scale | None = None, tiles: range | None = None
) -> TileMap:
    """Return the tile map, in bytes, of what tiles need; raises InvalidOption as `shaded` does.

    >>> import numpy as np
    >>> map_of_load(TileLoad("x", np.array([1]), np.array([4]), 0, 12)).tips
    ['4 B, 1 element']
    >>> load = TileLoad("x", np.array([1]), np.array([4]), 0, 9000, needed=np.array([3172]))
    >>> map_of_load(load).tips
    ['3,172 B, variables 4 B']
    """
    if load.needed is None:
        numbers = zip(load.size_bytes.tolist(), load.elements.tolist(), strict=True)
        drawn = load.size_bytes
        heading = f"bytes of variables per tile: {load.title}"
        tips = [f"{size_text(size)}, {amount(each, 'element')}" for size, each in numbers]
        notes = [load.summary(), *filter(None, [load.balance()])]
    else:
        both = zip(load.needed.tolist(), load.size_bytes.tolist(), strict=True)
        drawn = load.needed
        heading = f"bytes needed per tile: {load.title}"
        tips = [f"{size_text(all_)}, variables {size_text(one)}" for all_, one in both]
        notes = [f"of these variables: {load.summary()}"]
    return shaded(
        drawn,
        heading,
        notes=[*notes, *load.warnings()] if tiles is None else load.warnings(),
        says_extremes=load.needed is not None or tiles is not None,
        tips=tips,
        over=drawn > load.limit_bytes,
        limit=size_text(load.limit_bytes),
        ipus=load.ipus,
        scale=scale,
        tiles=tiles,
    )


def vertices_map(compute_set: ComputeSet) -> TileMap:
    """Return the tile map of a compute set, in vertices."""
    vertices, tiles = compute_set.vertices, compute_set.graph.target.tiles
    placed = [vertex.tile for vertex in vertices.singles() if vertex.tile is not None]
    count = np.bincount(np.array(placed, np.int64), minlength=tiles)
    for block in vertices.blocks():
        count += block.tiles.counts()
    used = np.flatnonzero(count)
    where = f" ({ranges(used)})" if 0 < len(used) < len(count) else ""
    on = f"on {len(used):,} of {amount(len(count), 'tile')}{where}"
    missing = len(vertices) - int(count.sum())
    have = "has" if missing == 1 else "have"
    return TileMap(
        f"vertices per tile: '{name_text(compute_set.name)}'",
        [f"{_vertex_count(int(count.sum()))} {on}"]
        + ([f"! {_vertex_count(missing)} {have} no tile"] if missing else []),
        count,
        count < 0,
        [_vertex_count(n) for n in count.tolist()],
        _vertex_count,
        ipus=compute_set.graph.target.ipus,
    )


def _vertex_count(count: int) -> str:
    return amount(count, "vertex", "vertices")


# -- picture ---------------------------------------------------------------------------------------


def tile_map_picture(tiles: TileMap) -> Picture:
    """Return a map of all tiles, what its shades mean, and how many tiles have how much."""
    shades = Shades(tiles.largest, tiles.base, tiles.unit, tiles.limit)
    cells = TileCells(tiles.value, tiles.over, tiles.tips, shades, tiles.first, tiles.ipus)
    histogram = (Histogram(tiles.value, shades),) if tiles.has_histogram else ()
    words = heading(tiles.heading, *tiles.notes)
    return Picture(tiles.heading, (*words, Gap(), cells, Gap(), ShadeScale(shades), *histogram))


def map_forms(tiles: TileMap) -> Forms:
    """Return the forms of a tile map whose data is part of a larger JSON text."""
    return forms_of(tile_map_picture(tiles))


def tiles_forms(load: TileLoad, *, scale: Scale | None = None, tiles: range | None = None) -> Forms:
    """Return the forms of what tiles need, or of what variables take on them."""
    drawn = map_of_load(load, scale=scale, tiles=tiles)
    page = partial(tiles_page, load, drawn)
    return forms_of(tile_map_picture(drawn), partial(tiles_json, load), page)


def quantity_forms(tiles: TileMap, by: Quantity) -> Forms:
    """Return the forms of a tile map of a report."""
    picture, page = tile_map_picture(tiles), partial(quantity_page, tiles, by)
    return forms_of(picture, partial(quantity_json, tiles, by), page)


def tiles_page(load: TileLoad, drawn: TileMap, command: str = "") -> str:
    """Return the tile map as HTML; `command` is what writes the page, if a command does."""
    said = [note for note in drawn.notes if not note.startswith("!")]
    warned = [note.removeprefix("! ") for note in drawn.notes if note.startswith("!")]
    facts = {"counted": load.title, "in all": "; ".join(said)}
    facts |= {"memory of a tile": size_text(load.limit_bytes)}
    facts |= {"warning": "; ".join(warned)} if warned else {}
    return page(
        "Tile map",
        load.title,
        facts,
        paint_svg(tile_map_picture(drawn)),
        [_table(load, drawn)] if drawn.value.any() else [],
        paint_text(tile_map_picture(drawn)),
        tiles_json(load),
        command=command,
    )


def _table(load: TileLoad, drawn: TileMap) -> str:
    used = drawn.first + np.flatnonzero(drawn.value)
    needed = load.size_bytes if load.needed is None else load.needed
    columns = [each[used].tolist() for each in (load.elements, load.size_bytes, needed)]
    rows = [
        [f"{tile:,}", f"{elements:,}", f"{size:,}", f"{total:,}", _share(total, load.limit_bytes)]
        for tile, elements, size, total in zip(used.tolist(), *columns, strict=True)
    ]
    named = ["tile", "elements", "bytes of variables", "bytes in all", "of its memory"]
    if load.needed is None:
        named.remove("bytes in all")
        rows = [[*row[:3], row[4]] for row in rows]
    return numbers_table("used tiles", named, rows)


def _share(size_bytes: int, limit_bytes: int) -> str:
    return f"{size_bytes / limit_bytes:.1%}{' !' if size_bytes > limit_bytes else ''}"


def quantity_page(tiles: TileMap, by: Quantity, command: str = "") -> str:
    """Return a tile map as HTML; `command` is what writes the page, if a command does."""
    rows = [
        [f"{tiles.first + number:,}", text + " !" * bool(over)]
        for number, (text, over) in enumerate(zip(tiles.tips, tiles.over.tolist(), strict=True))
    ]
    return page(
        "Tile map",
        tiles.heading,
        {"counted": WORDS[by], "in all": "; ".join(tiles.notes).replace("! ", "")},
        paint_svg(tile_map_picture(tiles)),
        [numbers_table("tiles", ["tile", WORDS[by]], rows)],
        paint_text(tile_map_picture(tiles)),
        quantity_json(tiles, by),
        command=command,
    )


# -- users' functions ------------------------------------------------------------------------------

_checked = users_function(Quantity=one_of(*QUANTITIES), Scale=one_of(*get_args(Scale)))


@_checked
def quantity_text(
    report: Report,
    by: Quantity = "memory",
    *,
    step: str | None = None,
    scale: Scale | None = None,
    tiles: range | None = None,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw the tile map of what a report knows of every tile, as text.

    Args:
        report: of an engine, or loaded.
        by: "memory" that tiles need or have "free", "vertices", "cycles" busy or "waited" for other
            tiles, bytes "sent", "received", or "copied" on their tile.
        step: number, range as in "3:7", or name of a step; left out, all of them.
        scale: where colours begin, "zero" or "least"; left out, the least, where that is over half
            of the most.
        tiles: which are drawn; left out, all.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.

    Returns:
        Lines, each ended by a newline.

    Raises:
        UnknownName: when there is no such step.
        InvalidOption: when there are no such tiles, a step is named for memory, or memory is not
            modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
    >>> print(quantity_text(pl.Engine(graph, pl.Sequence()).report()).splitlines()[2])
    most 3,568 B (tile 1), least 3,168 B (tile 0)
    """
    found = quantity_map(report, by, step=step, scale=scale, tiles=tiles)
    return quantity_forms(found, by).text(Style(color, ascii_only, width))


@_checked
def quantity_svg(
    report: Report,
    by: Quantity = "memory",
    *,
    step: str | None = None,
    scale: Scale | None = None,
    tiles: range | None = None,
) -> SvgText:
    """Draw the tile map of what a report knows of every tile, as SVG.

    It takes and raises what `quantity_text` does, but for what is of text alone.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> quantity_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    found = quantity_map(report, by, step=step, scale=scale, tiles=tiles)
    return quantity_forms(found, by).svg()


# -- data ------------------------------------------------------------------------------------------


def tiles_json(load: TileLoad) -> str:
    """Return what lies on the tiles as JSON, with an entry for each tile.

    >>> import json
    >>> import numpy as np
    >>> load = TileLoad("x", np.array([1, 0]), np.array([4, 0]), 0, 12)
    >>> json.loads(tiles_json(load))["size_bytes"]
    [4, 0]
    """
    data = {
        "title": load.title,
        "ipus": load.ipus,
        "limit_bytes": load.limit_bytes,
        "unmapped_elements": load.unmapped,
        "unmodelled": load.unmodelled,
        "elements": load.elements.tolist(),
        "size_bytes": load.size_bytes.tolist(),
        "needed_bytes": None if load.needed is None else load.needed.tolist(),
    }
    return json_text("tiles", data)


def quantity_json(tiles: TileMap, by: Quantity) -> str:
    """Return a tile map as JSON."""
    data = {
        "quantity": by,
        "heading": tiles.heading,
        "first_tile": tiles.first,
        "ipus": tiles.ipus,
        "values": tiles.value.tolist(),
        "over": np.flatnonzero(tiles.over).tolist(),
    }
    return json_text("tile map", data)
