"""The regions picture as one page: a frame at a time, whose elements move to the next.

Without a script the frames stand under each other; where a reader wants no motion, one follows the
other at once.

>>> from poplite.graph import Graph
>>> from poplite.viz.regions.frames import frames_of, read_operation
>>> x = Graph().add_variable("float32", (4,), "x", mapping=0)
>>> "<td>[3, 4)</td>" in regions_page(frames_of(x, [read_operation("reverse 0")]))
True
"""

from __future__ import annotations

import numpy as np

from poplite.graph.tile_mapping import ranges
from poplite.viz.draw.html import asset, numbers_table, page
from poplite.viz.draw.units import name_text
from poplite.viz.regions.frames import Frame, RegionFrames, Strip, regions_json
from poplite.viz.regions.svg import draw_regions_svg
from poplite.viz.regions.text import draw_regions_text
from poplite.viz.regions.words import captions

MOST_ROWS = 500
"""Intervals of a frame in its table; the JSON has the rest."""


def regions_page(shown: RegionFrames, command: str = "") -> str:
    """Return the frames as HTML; `command` is what writes the page, if a command does."""
    facts = {f"{k + 1}": "; ".join(captions(shown, k)) for k in range(len(shown.frames))}
    text = page(
        "Regions of a tensor",
        shown.title,
        facts,
        draw_regions_svg(shown, moves=True),
        [_table(frame, shown.strip) for frame in shown.frames if frame.num_elements],
        draw_regions_text(shown),
        regions_json(shown),
        command=command,
    )
    parts = f"<style>\n{asset('regions.css')}</style>\n<script>\n{asset('regions.js')}</script>"
    return text.replace("</body>", f"{parts}\n</body>")


def _table(frame: Frame, strip: Strip) -> str:
    begin, length = frame.begin[:MOST_ROWS], frame.length[:MOST_ROWS]
    at = np.cumsum(length) - length
    variable = np.searchsorted(strip.first, begin, side="right") - 1
    rows = []
    columns = (column.tolist() for column in (at, begin, length, variable))
    for place, low, size, owner in zip(*columns, strict=True):
        tiles = strip.tiles_within(low, size)
        first = low - int(strip.first[owner])
        rows.append(
            [
                f"[{place:,}, {place + size:,})",
                f"[{first:,}, {first + size:,})",
                ranges(tiles[tiles >= 0]) if (tiles >= 0).any() else "none",
                name_text(strip.names[owner]),
            ]
        )
    heading = ["elements", "of", "tiles", "variable"]
    return numbers_table("intervals", heading, rows, "numbers last", f" of {frame.operation}")
