"""The tile map as one page.

>>> from poplite.viz.tiles.load_map import map_of_load
>>> load = TileLoad("x", np.array([1, 0]), np.array([4, 0]), 0, 12)
>>> "<title>Tile map: x</title>" in tiles_page(load, map_of_load(load))
True
"""

from __future__ import annotations

import numpy as np

from poplite.viz.draw.html import numbers_table, page
from poplite.viz.draw.units import size_text
from poplite.viz.tiles.load_map import tiles_json
from poplite.viz.tiles.tile_load import TileLoad
from poplite.viz.tiles.tile_map import TileMap, draw_map_svg, draw_map_text


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
        draw_map_svg(drawn),
        [_table(load, drawn)] if drawn.value.any() else [],
        draw_map_text(drawn),
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
