"""What a tile needs in each step, besides what is always live there.

>>> import poplite as pl
>>> graph = pl.Graph(pl.Target(tiles=2))
>>> a, b, c = (graph.add_variable(pl.INT, (9,), name, mapping=0) for name in "abc")
>>> program = pl.Sequence(pl.Copy(a, b), pl.Copy(b, c))
>>> live = live_steps(pl.Engine(graph, program).report(), "worst")
>>> [(row.title, row.bytes, row.largest) for row in live.rows]
[("Copy 'a' -> 'b'", 36, "'b'"), ("Copy 'b' -> 'c'", 36, "'b'")]
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from poplite.frozen import frozen
from poplite.report import Report
from poplite.report.memory import KIND_NAMES, bytes_by_step, thing_kind
from poplite.viz.colours import MEMORY
from poplite.viz.draw.csv_text import csv_text
from poplite.viz.draw.json_text import by_field, json_text
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import Style
from poplite.viz.draw.units import name_text, size_text
from poplite.viz.marks import (
    Gap,
    Legend,
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Picture,
    Words,
    heading,
)
from poplite.viz.names import modelled_memory, short_name, tile_number, title_of
from poplite.viz.painters import Forms, forms_of, users_function

if TYPE_CHECKING:
    from poplite.arrays.intervals import Int64
    from poplite.report.memory import Memory

WORST = "worst"
"""Stands for the fullest tile."""


@frozen
class LiveRow:
    """What a tile needs in a step.

    Attributes:
        number: of the step in its program; 0 where it is not known.
        program: the name of its program.
        title: what the step is.
        at: the user's line; empty where there is none.
        bytes: live in it, but not always.
        kinds: the same by kind of thing, in the order of stacks.
        largest: the largest thing among them; empty where there is none.
        largest_bytes: its bytes.
        is_peak: whether it is the first step that needs most.
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
class LiveSteps:
    """What a tile needs, step by step.

    Attributes:
        tile: its number.
        is_worst: whether no tile needs more.
        always: bytes that are always live there.
        needed: bytes that it needs in all, with gaps.
        limit_bytes: its memory.
        rows: the steps, in order, those that are shown.
        num_steps: how many there are in all.
        note: what the numbers are of, as it follows the heading.
    """

    tile: int
    is_worst: bool
    always: int
    needed: int
    limit_bytes: int
    rows: tuple[LiveRow, ...]
    num_steps: int
    note: str

    @property
    def heading(self) -> str:
        """Which tile, what is always live there, and what comes on top."""
        which = ", the fullest" if self.is_worst else ""
        always = f"{size_text(self.always)} always live"
        more = "" if not self.num_steps else ", and"
        return f"liveness of tile {self.tile:,}{which}: {always}{more}{self.note}"

    def total(self) -> str:
        """Return what the tile needs in all, on one line."""
        mark = "! " if self.needed > self.limit_bytes else ""
        size = f"{size_text(self.needed)} of {size_text(self.limit_bytes)}"
        return f"{mark}in all, with gaps: {size}"

    def hidden(self) -> str:
        """Say how many steps are not shown; empty where all are."""
        left = self.num_steps - len(self.rows)
        return f"... {left:,} more steps need less" if left else ""

    @property
    def has_programs(self) -> bool:
        """Whether the steps are of several programs."""
        return len({row.program for row in self.rows}) > 1

    def label(self, row: LiveRow) -> str:
        """Return what a step is, with its program where there are several."""
        return f"{name_text(row.program)}: {row.title}" if self.has_programs else row.title

    def kinds(self) -> list[str]:
        """Return the kinds of things that any step has, in the order of stacks."""
        return [kind for kind in KIND_NAMES if any(kind in row.kinds for row in self.rows)]


def live_steps(report: Report, tile: int | str = WORST, *, top: int | None = None) -> LiveSteps:
    """Return what a tile, or the fullest one, needs in each step, or in the `top` largest.

    Raises InvalidTileMapping where there is no such tile, and InvalidOption where memory is not
    modelled.
    """
    memory = modelled_memory(report)
    needed = memory.including_gaps.array()
    number = int(needed.argmax()) if tile == WORST else tile_number(tile, len(needed))
    sizes = bytes_by_step(memory, number)
    shown = range(len(sizes))
    if top is not None:
        shown = sorted(np.argsort(-sizes, kind="stable")[:top].tolist())  # type: ignore[assignment]
    return LiveSteps(
        tile=number,
        is_worst=bool(needed[number] == needed.max()),
        always=memory.always_live[number],
        needed=int(needed[number]),
        limit_bytes=report.compilation.target.tile_memory_bytes,
        rows=_rows(memory, number, sizes, shown),
        num_steps=len(sizes),
        note=f"; of one of {report.replicas:,} replicas" if report.replicas > 1 else "",
    )


def _rows(memory: Memory, tile: int, sizes: Int64, shown: range) -> tuple[LiveRow, ...]:
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
    most = int(sizes.max(initial=0))
    peak = int(sizes.argmax()) if most else -1
    return tuple(
        LiveRow(
            number=memory.steps[step].number,
            program=memory.steps[step].program,
            title=name_text(title_of(memory.steps[step])),
            at=memory.steps[step].at,
            bytes=int(sizes[step]),
            kinds={kind: kinds[step][kind] for kind in KIND_NAMES if kind in kinds[step]},
            largest=largest[step][0],
            largest_bytes=largest[step][1],
            is_peak=step == peak,
        )
        for step in shown
    )


# -- picture ---------------------------------------------------------------------------------------

MOST_ROWS = 40
"""Steps that are written to a terminal."""

COLUMNS = (
    ListColumn("#"),
    ListColumn("step", "name", least=17, most=44),
    ListColumn("live"),
    ListColumn("", spare=2),
    ListColumn("", "bar", least=8, most=44),
    ListColumn("largest", "name", spare=1, least=12, most=40),
)


def liveness_forms(live: LiveSteps) -> Forms:
    """Return the forms of what a tile needs, step by step."""
    data = partial(liveness_json, live), partial(liveness_csv, live)
    return forms_of(liveness_picture(live), data[0], csv=data[1])


def liveness_picture(live: LiveSteps) -> Picture:
    """Return a row for each step, with a bar by kind of thing."""
    marks: list[Mark] = [*heading(live.heading)]
    if live.rows:
        rest = f"more steps; --top {MOST_ROWS} shows the largest"
        rows = tuple(_row(live, row) for row in live.rows)
        marks += [Gap(), Listing(COLUMNS, rows, MOST_ROWS, rest=rest)]
    marks += [Words(live.hidden(), "soft")] if live.hidden() else []
    marks.append(Words(live.total()))
    if kinds := live.kinds():
        marks += [Gap(), Legend(tuple(MEMORY[kind] for kind in kinds))]
    return Picture(live.heading, tuple(marks))


def _row(live: LiveSteps, row: LiveRow) -> ListRow:
    kinds = ", ".join(f"{kind} {size_text(size)}" for kind, size in row.kinds.items())
    cells = (
        f"{row.number:,}" if row.number else "",
        live.label(row),
        size_text(row.bytes),
        "peak" if row.is_peak else "",
        tuple((MEMORY[kind], size) for kind, size in row.kinds.items()),
        f"{row.largest} {size_text(row.largest_bytes)}" if row.largest else "",
    )
    name = f"{live.label(row)} ({row.at})" if row.at else live.label(row)
    tip = f"{name}: {kinds or size_text(0)}"
    return ListRow(cells, tone="strong" if row.is_peak else "plain", tip=tip)


# -- users' functions ------------------------------------------------------------------------------

_checked = users_function()


@_checked
def liveness_text(
    report: Report,
    tile: int | str = WORST,
    *,
    top: int | None = None,
    width: int = 80,
    color: bool = False,
    ascii_only: bool = False,
) -> str:
    """Draw what a tile needs in each step, as text.

    Args:
        report: of an engine, or loaded; nothing needs to have run.
        tile: its number, or "worst" for the fullest one.
        top: how many steps, those that need most; left out, all.
        width: columns to fit.
        color: whether to write escape codes for a terminal.
        ascii_only: whether to keep to ASCII.

    Returns:
        Lines, each ended by a newline.

    Raises:
        InvalidTileMapping: when there is no such tile.
        InvalidOption: when memory is not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b, c = (graph.add_variable(pl.INT, (9,), name, mapping=0) for name in "abc")
    >>> engine = pl.Engine(graph, pl.Sequence(pl.Copy(a, b), pl.Copy(b, c)))
    >>> print(liveness_text(engine.report(), top=1, width=60).splitlines()[3])
    1  Copy 'a' -> 'b'  36 B  peak  vvvvvvvvvvvvvvvvvv  'b' 36 B
    """
    live = live_steps(report, tile, top=top)
    return liveness_forms(live).text(Style(color, ascii_only, width))


@_checked
def liveness_svg(report: Report, tile: int | str = WORST, *, top: int | None = None) -> SvgText:
    """Draw what a tile needs in each step, as SVG.

    It takes and raises what `liveness_text` does, but for what is of text alone.

    Returns:
        The picture.

    >>> import poplite as pl
    >>> liveness_svg(pl.Engine(pl.Graph(), pl.Sequence()).report())[:4]
    '<svg'
    """
    return liveness_forms(live_steps(report, tile, top=top)).svg()


# -- data ------------------------------------------------------------------------------------------


def liveness_json(live: LiveSteps) -> str:
    """Return what a tile needs in each step as JSON."""
    data = {
        "tile": live.tile,
        "always_live_bytes": live.always,
        "needed_bytes": live.needed,
        "limit_bytes": live.limit_bytes,
        "num_steps": live.num_steps,
        "steps": [by_field(row) for row in live.rows],
    }
    return json_text("liveness", data)


def liveness_csv(live: LiveSteps) -> str:
    """Return a row for each step, with its bytes by kind of thing."""
    kinds = live.kinds()
    titles = ["program", "step", "name", "bytes", *kinds, "largest", "largest bytes", "line"]
    rows = [
        [
            *(row.program, row.number, row.title, row.bytes),
            *(row.kinds.get(kind, 0) for kind in kinds),
            *(row.largest, row.largest_bytes, row.at),
        ]
        for row in live.rows
    ]
    return csv_text(titles, rows)
