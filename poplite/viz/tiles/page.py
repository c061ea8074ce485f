"""The tile map as one page.

>>> load = TileLoad("x", np.array([1, 0]), np.array([4, 0]), 0, 12)
>>> "<title>Tile map: x</title>" in tiles_page(load)
True
"""

from __future__ import annotations

import numpy as np

from poplite.viz.draw.html import numbers_table, page
from poplite.viz.draw.units import size_text
from poplite.viz.tiles.tile_load import TileLoad
from poplite.viz.tiles.tile_map import draw_tiles_svg, draw_tiles_text, tiles_json


def tiles_page(load: TileLoad, command: str = "") -> str:
    """Return the tile map as HTML; `command` is what writes the page, if a command does."""
    facts = {"counted": load.title, "in all": load.summary()}
    facts |= {"balance": load.balance()} if load.balance() else {}
    facts |= {"fullest tile": load.fullest()} if load.fullest() else {}
    facts |= {"memory of a tile": size_text(load.limit_bytes)}
    facts |= {"warning": "; ".join(load.warnings()).replace("! ", "")} if load.warnings() else {}
    return page(
        "Tile map",
        load.title,
        facts,
        draw_tiles_svg(load),
        [_table(load)] if load.size_bytes.any() else [],
        draw_tiles_text(load),
        tiles_json(load),
        command=command,
    )


def _table(load: TileLoad) -> str:
    used = np.flatnonzero(load.size_bytes)
    needed = load.size_bytes if load.needed is None else load.needed
    columns = [each[used].tolist() for each in (load.elements, load.size_bytes, needed)]
    rows = [
        [f"{tile:,}", f"{elements:,}", f"{size:,}", _share(total, load.limit_bytes)]
        for tile, elements, size, total in zip(used.tolist(), *columns, strict=True)
    ]
    return numbers_table("used tiles", ["tile", "elements", "bytes", "of its memory"], rows)


def _share(size_bytes: int, limit_bytes: int) -> str:
    return f"{size_bytes / limit_bytes:.1%}{' !' if size_bytes > limit_bytes else ''}"
