"""One tile as text: its memory by address, what lies there, its vertices and its cycles.

    0 │kkkkkkkkkkkkkkkkkkkkkkkkcccccccccccccccccccccc│
2,952 │ccccccccccccccccccvvvvvvrrrrmm................│
"""

from __future__ import annotations

from itertools import groupby

from poplite.report.findings import where
from poplite.viz.colours import SPENT
from poplite.viz.draw.columns import cells, table_lines, widest, wrapped
from poplite.viz.draw.kinds import legend_lines, marked
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import share_text, size_text
from poplite.viz.one_tile.tile_contents import FREE, TileContents

COLUMNS = (64, 32, 24)
"""Cells of a line of the strip; the most that fit."""

LINES = 4
"""Lines of the strip."""

TOP = 16
"""Things that are listed in a terminal, the largest ones."""

NARROW = 60
"""Columns below which there is no room to say when things are live."""

OVER = "!"
"""Stands for the kind of what lies past the limit."""

MOST_VERTICES = 12
BAR = 24


def draw_tile_text(tile: TileContents, style: Style = DEFAULT_STYLE) -> str:
    """Draw a tile as text."""
    width = style.columns
    emphasis = style.bold if tile.fits else style.warning
    lines = [emphasis(line) for line in wrapped(tile.heading, width)]
    lines += wrapped(tile.moment() + tile.note, width)
    if tile.things and tile.is_addressed:
        lines += ["", *_strip(tile, style)]
    lines += ["", *_things(tile, style), "", *_vertices(tile, style), "", *_cycles(tile, style)]
    return "\n".join(lines) + "\n"


def _strip(tile: TileContents, style: Style) -> list[str]:
    labels = len(f"{tile.extent:,}") + 2
    room = widest(COLUMNS, style.columns - labels - 3)
    count = min(LINES, -(-tile.extent // room))
    kinds = tile.strip(room * count)
    if tile.extent > tile.limit_bytes:
        fits = tile.limit_bytes * len(kinds) // tile.extent
        kinds[fits:] = [OVER] * (len(kinds) - fits)
    wall = style.faint("|" if style.ascii_only else "│")
    lines = []
    for line in range(count):
        label = style.faint(f"{tile.extent * line // count:>{labels},}")
        runs = groupby(kinds[line * room : line * room + room])
        drawn = "".join(_run(kind, len(list(run)), style) for kind, run in runs)
        lines.append(f"{label} {wall}{drawn}{wall}")
    lines += legend_lines([k for k in kinds if k not in (FREE, OVER)], style, free=FREE in kinds)
    if OVER in kinds:
        lines.append(style.warning(f"! over the limit of {size_text(tile.limit_bytes)}"))
    return lines


def _run(kind: str, count: int, style: Style) -> str:
    if kind == OVER:
        return style.warning("!" * count)
    return style.faint("." * count) if kind == FREE else marked(kind, count, style)


def _things(tile: TileContents, style: Style) -> list[str]:
    shown = tile.largest(len(tile.things) if style.full else TOP)
    rows = [("address", "bytes", "live", "what lies there")]
    rows += [
        (
            "?" if each.address is None else f"{each.address:,}",
            f"{each.bytes:,}",
            each.when,
            each.what,
        )
        for each in shown
    ]
    if style.columns < NARROW:
        rows = [(*row[:2], row[3]) for row in rows]  # type: ignore[misc]
    if not tile.is_addressed:  # a report of version 1
        rows = [row[1:] for row in rows]  # type: ignore[misc]
    heading, *lines = table_lines(rows, style.columns)
    lines = [
        line if each.is_live else style.faint(line) for line, each in zip(lines, shown, strict=True)
    ]
    if left := len(tile.things) - len(shown):
        size = sum(each.bytes for each in tile.things) - sum(each.bytes for each in shown)
        lines.append(f"  ... {left:,} more, {size_text(size)} in all")
    return [style.faint(heading), *lines]


def _vertices(tile: TileContents, style: Style) -> list[str]:
    if not tile.vertices:
        return ["no vertices"]
    shown = tile.vertices if style.full else tile.vertices[:MOST_VERTICES]
    rows = [("vertices", "class and compute set")]
    rows += [
        (f"{each.count:,}", f"{each.type} in '{each.compute_set}'{where(each.at)}")
        for each in shown
    ]
    heading, *lines = table_lines(rows, style.columns)
    if hidden := tile.vertices[len(shown) :]:
        lines.append(f"  ... {sum(each.count for each in hidden):,} more vertices")
    return [style.faint(heading), *lines]


def _cycles(tile: TileContents, style: Style) -> list[str]:
    if not tile.elapsed:
        return ["no cycles"]
    rows = [("cycles", "share", f"of {tile.scope}")]
    rows += [
        (f"{cycles:,}", share_text(cycles / tile.elapsed), SPENT[part].words)
        for part, cycles in tile.cycles.items()
    ]
    heading, *lines = table_lines(rows, style.columns)
    wide = max(map(cells, lines)) + 2
    room = max(0, min(BAR, style.columns - wide))
    most = max(tile.cycles.values())
    for k, (part, cycles) in enumerate(tile.cycles.items()):
        role, count = SPENT[part], -(-cycles * room // most)
        marks = role.character(ascii_only=style.ascii_only) * count
        bar = style.faint(marks) if role.category is None else style.category(marks, role.category)
        lines[k] = f"{lines[k]}{' ' * (wide - cells(lines[k]))}{bar}".rstrip()
    return [style.faint(heading), *lines]
