"""Tile maps of a report, by quantity: what tiles hold, run, wait, send.

    memory, free                 of each tile in its own fullest step
    vertices                     of all compute sets, or of those of some steps
    cycles, waited               busy, and waiting for other tiles between two syncs
    sent, received, copied       bytes

Colours begin at the least where that is over half of the most: most maps are nearly even, and would
be of one colour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption
from poplite.text import amount
from poplite.viz.draw.html import numbers_table, page
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import size_text
from poplite.viz.memory.names import modelled_memory
from poplite.viz.steps.step_list import chosen_steps, note_of
from poplite.viz.tiles.tile_map import TileMap, draw_map_svg, draw_map_text

if TYPE_CHECKING:
    from poplite.report import Report
    from poplite.report.compilation import Compilation
    from poplite.report.execution import ExecutionStep

Quantity = Literal["memory", "free", "vertices", "cycles", "waited", "sent", "received", "copied"]
Scale = Literal["zero", "least"]

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
    target, ipus = report.compilation.target, report.compilation.target.ipus
    shown = _checked(tiles, target.tiles)
    if by in OF_MEMORY and step is not None:
        raise InvalidOption(
            f"--step is for what runs, and {by} is of each tile's own fullest step",
            fix="leave it out, or poplite-viz tile N --step ..., or poplite-viz liveness",
        )
    unit = _unit(by)
    over = np.zeros(target.tiles, np.bool_)
    limit = ""
    if by in OF_MEMORY:
        needed = modelled_memory(report).including_gaps.array()
        over, limit = needed > target.tile_memory_bytes, size_text(target.tile_memory_bytes)
        value = needed if by == "memory" else np.maximum(0, target.tile_memory_bytes - needed)
    else:
        value = _of_steps(report, by, step)
    value, over = value[shown.start : shown.stop], over[shown.start : shown.stop]
    chosen = "" if step is None else f" in step {step}"
    part = "" if len(shown) == target.tiles else f", of tiles {shown[0]:,} to {shown[-1]:,}"
    note = f"; of one of {report.replicas:,} replicas" if report.replicas > 1 else ""
    return TileMap(
        heading=f"{WORDS[by]} per tile{chosen}{part}{note if by in OF_MEMORY else note_of(report)}",
        notes=_notes(value, over, shown.start, unit, limit),
        value=value,
        over=over,
        tips=[unit(each) for each in value.tolist()],
        unit=unit,
        limit=limit if by == "memory" else "",
        ipus=ipus if len(shown) == target.tiles else 1,
        base=_base(value, scale),
        first=shown.start,
        has_histogram=True,
    )


def _checked(tiles: range | None, count: int) -> range:
    if tiles is None:
        return range(count)
    if not 0 <= tiles.start < tiles.stop <= count:
        raise InvalidOption(
            f"there are no tiles {tiles.start:,} to {tiles.stop - 1:,}",
            found=f"tiles are 0 to {count - 1:,}",
            fix=f"--tiles 0:{count - 1}",
        )
    return tiles


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


def _base(value: Int64, scale: Scale | None) -> int:
    """Return the quantity at which colours begin: by default the least, if that is over half."""
    least, most = int(value.min()), int(value.max())
    wanted = 2 * least > most if scale is None else scale == "least"
    return least if wanted and least < most else 0


def _notes(
    value: Int64,
    over: npt.NDArray[np.bool_],
    first: int,
    unit: Callable[[int], str],
    limit: str,
) -> list[str]:
    most, least = int(value.argmax()), int(value.argmin())
    count = amount(len(value), "tile")
    notes = [f"{unit(int(value.sum()))} on {count}, mean {unit(round(float(value.mean())))}"]
    if value[most] != value[least]:
        at_most = f"most {unit(int(value[most]))} (tile {first + most:,})"
        notes.append(f"{at_most}, least {unit(int(value[least]))} (tile {first + least:,})")
    if count_over := int(over.sum()):
        their = "its" if count_over == 1 else "their"
        notes.append(f"! {amount(count_over, 'tile')} over {their} {limit}")
    return notes


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
