"""Tile maps of a report, by quantity: what tiles hold, run, wait, send.

Memory is that of each tile in its own fullest step; vertices are of all compute sets or of those of
some steps; a tile waits for other tiles between two syncs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption
from poplite.text import amount
from poplite.viz.draw.html import numbers_table, page
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import size_text
from poplite.viz.memory.names import modelled_memory
from poplite.viz.steps.step_list import chosen_steps, note_of
from poplite.viz.tiles.shades import Scale, shaded
from poplite.viz.tiles.tile_map import TileMap, draw_map_svg, draw_map_text

if TYPE_CHECKING:
    from poplite.machine.target import Target
    from poplite.report import Report
    from poplite.report.compilation import Compilation
    from poplite.report.execution import ExecutionStep

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
        draw_map_svg(tiles),
        [numbers_table("tiles", ["tile", WORDS[by]], rows)],
        draw_map_text(tiles),
        quantity_json(tiles, by),
        command=command,
    )


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
