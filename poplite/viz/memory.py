"""Memory: what every tile needs in its own fullest step, and what lies on the fullest tile.

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

from functools import partial
from typing import Literal

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import one_of
from poplite.frozen import frozen
from poplite.report import Report
from poplite.report.memory import GAPS, NO_STEP, OTHER, Memory, Peaks, peaks_of, thing_kind
from poplite.text import amount
from poplite.viz.colours import MEMORY, Role, category_role
from poplite.viz.draw.csv_text import csv_text
from poplite.viz.draw.json_text import by_field, json_text
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style
from poplite.viz.draw.units import share_text, size_text
from poplite.viz.marks import (
    BarPart,
    Gap,
    ListColumn,
    Listing,
    ListRow,
    Picture,
    StackedBars,
    Words,
    heading,
)
from poplite.viz.names import form_of, full_title, modelled_memory, name_of, place_of
from poplite.viz.painters import Forms, forms_of, users_function

Stack = Literal["kind", "variable", "live"]
Sort = Literal["tile", "size"]

STACKS: tuple[Stack, ...] = ("kind", "variable", "live")
SORTS: tuple[Sort, ...] = ("tile", "size")

COLORED = 5
"""Things that have a colour of their own where each is a part; the others are one part together."""

ALWAYS, IN_STEP = "always live", "live in the fullest step"


@frozen
class Thing:
    """Something that lies on the fullest tile when that is fullest.

    Attributes:
        name: its name.
        form: its type and shape; empty where it has none.
        kind: what kind of thing it is.
        bytes: its bytes there.
        always: whether it is always live.
        at: the user's line; empty where there is none.
    """

    name: str
    form: str
    kind: str
    bytes: int
    always: bool
    at: str

    @property
    def place(self) -> str:
        """File and line, without folders, functions and callers."""
        return place_of(self.at)


@frozen(eq=False)
class MemoryBars:
    """What every tile needs.

    Attributes:
        note: what the numbers are of, as it follows the heading.
        limit_bytes: memory of a tile.
        needed: int64[tiles], the bytes that each needs.
        step: int64[tiles], number of the fullest step of each; 0 where everything is always live.
        parts: what the bars are made of, from below.
        stack: what the parts are.
        order: int64[tiles], the tiles from left to right.
        sort: how they are ordered.
        when: the fullest step of the fullest tile; empty where everything is always live.
        things: what lies on the fullest tile then, the largest first.
        fit_words: what fits, where everything does.
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
            return f"memory: {self.fit_words}; fullest tile {self.tile:,}: {size}{self.note}"
        others = int((self.needed > limit).sum()) - 1
        more = f", and {amount(others, 'more tile')}" if others else ""
        over = size_text(most - limit)
        return f"! memory: does not fit; tile {self.tile:,}: {size}, {over} over{more}{self.note}"

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

    def axis(self) -> tuple[str, str, str]:
        """Return what stands below the bars: left, in the middle, right."""
        if self.sort == "size":
            return "fullest", "tiles", "emptiest"
        return "0", "tile", f"{len(self.order) - 1:,}"


def memory_bars(report: Report, *, stack: Stack = "kind", sort: Sort = "tile") -> MemoryBars:
    """Return what every tile needs.

    Raises InvalidOption where memory is not modelled.
    """
    memory, target = modelled_memory(report), report.compilation.target
    peaks, needed = peaks_of(memory), memory.including_gaps.array()
    tile = int(needed.argmax())
    by_size = np.argsort(-needed, kind="stable")
    numbers = np.array([step.number for step in memory.steps] + [0])  # NO_STEP is the last
    fullest = int(peaks.step[tile])
    return MemoryBars(
        note=f"; of one of {report.replicas:,} replicas" if report.replicas > 1 else "",
        limit_bytes=target.tile_memory_bytes,
        needed=needed,
        step=numbers[peaks.step],
        parts=tuple(_parts(peaks, stack, tile)),
        stack=stack,
        order=by_size if sort == "size" else np.arange(len(needed)),
        sort=sort,
        when="" if fullest == NO_STEP else full_title(memory.steps[fullest], memory.steps),
        things=tuple(_things(memory, tile, fullest)),
        fit_words=report.fit_words,
    )


def _parts(peaks: Peaks, stack: Stack, tile: int) -> list[BarPart]:
    if stack == "kind":
        return [BarPart(MEMORY[name], sizes) for name, sizes in peaks.kinds().items()]
    if stack == "live":
        return _parts_by_time(peaks)
    return _parts_by_thing(peaks, tile)


def _parts_by_time(peaks: Peaks) -> list[BarPart]:
    memory = peaks.memory
    always, beside = memory.always_live.array(), memory.not_always_live.array()
    gaps = memory.including_gaps.array() - always - beside
    parts = [
        BarPart(category_role(ALWAYS, 0), always),
        BarPart(category_role(IN_STEP, 1), beside),
        BarPart(MEMORY[GAPS], gaps),
    ]
    return [part for part in parts if part.sizes.any()]


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
    others = BarPart(Role("all others", "o", MEMORY[OTHER].kind), left)
    return [*parts, others] if left.any() else parts


def _things(memory: Memory, tile: int, step: int) -> list[Thing]:
    found = [
        Thing(
            name_of(held),
            form_of(held),
            thing_kind(held.category),
            size,
            held.steps is None,
            held.at,
        )
        for held in memory.held
        if (size := held.bytes[tile]) and (held.steps is None or held.is_in(step))
    ]
    return sorted(found, key=lambda each: -each.bytes)


# -- picture ---------------------------------------------------------------------------------------

LONGEST_NAME = 70
LONGEST_PART = 22
"""Units that the name of a part has before columns are left out for it."""


def memory_forms(bars: MemoryBars, top: int) -> Forms:
    """Return the forms of what every tile needs, with the `top` largest things of the fullest."""
    picture = memory_picture(bars, top)
    return forms_of(picture, partial(memory_json, bars), csv=partial(memory_csv, bars))


def memory_picture(bars: MemoryBars, top: int) -> Picture:
    """Return a bar for each tile, then what lies on the fullest: parts, and the largest things."""
    return Picture(
        bars.heading,
        (
            *heading(bars.heading, bars.summary()),
            Gap(),
            StackedBars(bars.parts, bars.order, bars.axis(), bars.limit_bytes),
            Gap(),
            Words(bars.place(), "strong"),
            _parts_listing(bars),
            Gap(),
            *_things_listing(bars, top),
        ),
    )


def _parts_listing(bars: MemoryBars) -> Listing:
    """Return a row for each part, as they lie upon each other in the bars."""
    columns = (
        ListColumn("bytes"),
        ListColumn("share"),
        ListColumn("mean of all", spare=1),
        ListColumn("most on a tile", spare=2),
        ListColumn("", "name", least=LONGEST_PART, most=LONGEST_NAME),
        ListColumn("", "bar", most=20),
    )
    rows = []
    for part in reversed(bars.parts):
        size, most = int(part.sizes[bars.tile]), int(part.sizes.argmax())
        share = share_text(size / int(bars.needed[bars.tile]))
        mean = f"{round(float(part.sizes.mean())):,}"
        numbers = (f"{size:,}", share, mean, f"{part.sizes[most]:,} ({most:,})")
        bar = ((part.role.solid(), size),)
        rows.append(ListRow((*numbers, part.role.words, bar), part.role))
    return Listing(columns, tuple(rows))


def _things_listing(bars: MemoryBars, top: int) -> tuple[Listing | Words, ...]:
    columns = (
        ListColumn("bytes"),
        ListColumn("live"),
        ListColumn("what lies there", "name", most=LONGEST_NAME),
    )
    rows = tuple(
        ListRow(
            (
                f"{thing.bytes:,}",
                "always" if thing.always else "then",
                " ".join(filter(None, (thing.name, thing.form))),
            ),
            aside=f"({thing.place})" if thing.place else "",
            tip=thing.at,
        )
        for thing in bars.things[:top]
    )
    size = size_text(sum(thing.bytes for thing in bars.things[top:]))
    more = f"... {len(bars.things) - len(rows):,} more, {size} in all"
    return Listing(columns, rows), *([Words(more, "soft")] if bars.things[top:] else [])


# -- users' functions ------------------------------------------------------------------------------

TOP = 10
"""Things of the fullest tile that are listed, unless more are asked for."""

_checked = users_function(Stack=one_of(*STACKS), Sort=one_of(*SORTS))


@_checked
def memory_text(
    report: Report,
    *,
    stack: Stack = "kind",
    sort: Sort = "tile",
    top: int = TOP,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw what every tile needs, and list what lies on the fullest one, as text.

    Args:
        report: of an engine, or loaded; nothing needs to have run.
        stack: what is told of the fullest tile: kinds of things, the largest things, or what is
            always live.
        sort: "tile" by number, or "size" for the fullest first.
        top: how many things of the fullest tile are listed.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.

    Returns:
        Lines, each ended by a newline.

    Raises:
        InvalidOption: when memory is not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
    >>> memory_text(pl.Engine(graph, pl.Sequence()).report()).splitlines()[0]
    'memory: fits; fullest tile 1: 3,568 B of 638,976 B, 0.6%'
    """
    bars = memory_bars(report, stack=stack, sort=sort)
    return memory_forms(bars, top).text(Style(color, ascii_only, width))


@_checked
def memory_svg(
    report: Report, *, stack: Stack = "kind", sort: Sort = "tile", top: int = TOP
) -> SvgText:
    """Draw what every tile needs, and list what lies on the fullest one, as SVG.

    It takes and raises what `memory_text` does, but for what is of text alone.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> memory_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    return memory_forms(memory_bars(report, stack=stack, sort=sort), top).svg()


# -- data ------------------------------------------------------------------------------------------


def memory_json(bars: MemoryBars) -> str:
    """Return what every tile needs as JSON."""
    data = {
        "heading": bars.heading,
        "fits": bars.fits,
        "limit_bytes": bars.limit_bytes,
        "needed_bytes": bars.needed.tolist(),
        "fullest_step": bars.step.tolist(),
        "stack": bars.stack,
        "parts": [{"name": part.role.words, "bytes": part.sizes.tolist()} for part in bars.parts],
        "fullest_tile": bars.tile,
        "on_fullest_tile": [by_field(thing) for thing in bars.things],
    }
    return json_text("memory", data)


def memory_csv(bars: MemoryBars) -> str:
    """Return a row for each tile, in the order of the bars."""
    heading = ["tile", "needed bytes", "fullest step", *(part.role.words for part in bars.parts)]
    columns = [bars.needed, bars.step, *(part.sizes for part in bars.parts)]
    rows = np.stack([bars.order, *(column[bars.order] for column in columns)], axis=1)
    return csv_text(heading, rows.tolist())
