"""The tile map of a graph: shaded by what tiles need in all, or by variables alone.

Of a graph and its program the map says what tiles need in all, as `Engine` checks it; of variables
that are named, their bytes; of what cannot be compiled yet, the bytes of all variables, and why.
"""

from __future__ import annotations

from poplite.text import amount
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import size_text
from poplite.viz.tiles.shades import Scale, shaded
from poplite.viz.tiles.tile_load import TileLoad
from poplite.viz.tiles.tile_map import TileMap


def map_of_load(
    load: TileLoad, *, scale: Scale | None = None, tiles: range | None = None
) -> TileMap:
    """Return the tile map, in bytes, of what tiles need; raises InvalidOption as `shaded` does.

    >>> import numpy as np
    >>> map_of_load(TileLoad("x", np.array([1]), np.array([4]), 0, 12)).tips
    ['4 B, 1 element']
    >>> load = TileLoad("x", np.array([1]), np.array([4]), 0, 9000, needed=np.array([3172]))
    >>> map_of_load(load).tips
    ['3,172 B, variables 4 B']
    """
    if load.needed is None:
        numbers = zip(load.size_bytes.tolist(), load.elements.tolist(), strict=True)
        drawn = load.size_bytes
        heading = f"bytes of variables per tile: {load.title}"
        tips = [f"{size_text(size)}, {amount(each, 'element')}" for size, each in numbers]
        notes = [load.summary(), *filter(None, [load.balance()])]
    else:
        both = zip(load.needed.tolist(), load.size_bytes.tolist(), strict=True)
        drawn = load.needed
        heading = f"bytes needed per tile: {load.title}"
        tips = [f"{size_text(all_)}, variables {size_text(one)}" for all_, one in both]
        notes = [f"of these variables: {load.summary()}"]
    return shaded(
        drawn,
        heading,
        notes=[*notes, *load.warnings()] if tiles is None else load.warnings(),
        says_extremes=load.needed is not None or tiles is not None,
        tips=tips,
        over=drawn > load.limit_bytes,
        limit=size_text(load.limit_bytes),
        ipus=load.ipus,
        scale=scale,
        tiles=tiles,
    )


def tiles_json(load: TileLoad) -> str:
    """Return what lies on the tiles as JSON, with an entry for each tile.

    >>> import json
    >>> import numpy as np
    >>> load = TileLoad("x", np.array([1, 0]), np.array([4, 0]), 0, 12)
    >>> json.loads(tiles_json(load))["size_bytes"]
    [4, 0]
    """
    data = {
        "title": load.title,
        "ipus": load.ipus,
        "limit_bytes": load.limit_bytes,
        "unmapped_elements": load.unmapped,
        "unmodelled": load.unmodelled,
        "elements": load.elements.tolist(),
        "size_bytes": load.size_bytes.tolist(),
        "needed_bytes": None if load.needed is None else load.needed.tolist(),
    }
    return json_text("tiles", data)
