"""The tensor picture as one page.

>>> from poplite.graph import Graph
>>> from poplite.viz.tensor.ownership import ownership_of
>>> x = Graph().add_variable("float32", (4,), "x", mapping=5)
>>> "<td>[0, 4)</td>" in tensor_page(ownership_of(x))
True
"""

from __future__ import annotations

from poplite.graph.tile_mapping import NO_TILE
from poplite.viz.draw.html import numbers_table, page
from poplite.viz.draw.units import size_text
from poplite.viz.tensor.interval_table import TileRow, tile_rows
from poplite.viz.tensor.ownership import Ownership, tensor_json
from poplite.viz.tensor.svg import draw_tensor_svg
from poplite.viz.tensor.text import draw_tensor_text

SHOWN_INTERVALS = 6
"""Intervals of one tile in the table; more are counted."""


def tensor_page(owned: Ownership, command: str = "") -> str:
    """Return the tensor picture as HTML; `command` is what writes the page, if a command does."""
    facts = {
        "elements": f"{owned.num_elements:,} of {size_text(owned.element_bytes)} each",
        "placement": owned.placement(),
    }
    facts |= {"view": owned.view_summary().removeprefix("view ")} if owned.view else {}
    return page(
        "Tiles of a tensor",
        owned.title,
        facts,
        draw_tensor_svg(owned),
        [_table(owned)] if owned.num_elements else [],
        draw_tensor_text(owned),
        tensor_json(owned),
        command=command,
    )


def _table(owned: Ownership) -> str:
    heading = ["tile", "elements", "bytes", *(["in view"] if owned.view else []), "intervals"]
    rows = [
        [
            "none" if row.tile == NO_TILE else f"{row.tile:,}",
            f"{row.elements:,}",
            f"{row.elements * owned.element_bytes:,}",
            *([f"{row.in_view:,}"] if owned.view else []),
            _intervals(row),
        ]
        for row in tile_rows(owned)
    ]
    return numbers_table("tiles", heading, rows, "numbers last")


def _intervals(row: TileRow) -> str:
    shown = zip(
        row.begin[:SHOWN_INTERVALS].tolist(), row.length[:SHOWN_INTERVALS].tolist(), strict=True
    )
    text = " ".join(f"[{begin:,}, {begin + length:,})" for begin, length in shown)
    more = len(row.begin) - SHOWN_INTERVALS
    return f"{text} and {more:,} more" if more > 0 else text
