"""Tile maps of a report: what tiles hold, and how long they were busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poplite.text import amount
from poplite.viz.draw.units import size_text
from poplite.viz.tiles.tile_map import TileMap

if TYPE_CHECKING:
    from poplite.arrays.intervals import Int64
    from poplite.report import Report


def report_maps(report: Report) -> list[TileMap]:
    """Return the tile maps of a report; none where costs are not modelled.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2, tile_memory_bytes=10_000))
    >>> x = graph.add_variable(pl.INT, (500,), "x", mapping=1)
    >>> bytes_held, cycles = report_maps(pl.Engine(graph, pl.Copy(x[:250], x[250:])).report())
    >>> bytes_held.heading, bytes_held.limit, bytes_held.over.tolist()
    ('bytes per tile', '10,000 B', [False, False])
    """
    memory, target = report.compilation.modelled, report.compilation.target
    if memory is None:
        return []
    held, busy = memory.including_gaps.array(), report.execution.tile_cycles
    return [
        TileMap(
            "bytes per tile",
            [f"{size_text(int(held.sum()))} on {amount(len(held), 'tile')}"],
            held,
            held > target.tile_memory_bytes,
            [size_text(each) for each in held.tolist()],
            size_text,
            limit=size_text(target.tile_memory_bytes),
            ipus=target.ipus,
        ),
        TileMap(
            "busy cycles per tile",
            [_balance(busy)],
            busy,
            busy < 0,
            [amount(each, "cycle") for each in busy.tolist()],
            lambda cycles: amount(cycles, "cycle"),
            ipus=target.ipus,
        ),
    ]


def _balance(busy: Int64) -> str:
    most = int(busy.max())
    share = busy.mean() / most if most else 1
    return f"the busiest {amount(most, 'cycle')}, the mean is {100 * share:.1f}% of that"
