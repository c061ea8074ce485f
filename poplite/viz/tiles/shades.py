"""From a quantity of every tile to the tile map: which tiles, where colours begin, what to say.

Colours begin at the least where that is over half of the most: most maps are nearly even, and would
be of one colour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption
from poplite.graph.tile_mapping import ranges
from poplite.text import amount
from poplite.viz.draw.units import size_text
from poplite.viz.tiles.tile_map import TileMap

Scale = Literal["zero", "least"]


def shaded(
    value: Int64,
    heading: str,
    unit: Callable[[int], str] = size_text,
    *,
    note: str = "",
    notes: Iterable[str] = (),
    says_extremes: bool = True,
    tips: Sequence[str] | None = None,
    over: npt.NDArray[np.bool_] | None = None,
    limit: str = "",
    ipus: int = 1,
    scale: Scale | None = None,
    tiles: range | None = None,
) -> TileMap:
    """Return the tile map of a quantity, of all tiles or of a range.

    Args:
        value: int64[tiles].
        heading: what the quantity is.
        unit: how a value is written.
        note: what the heading ends with.
        notes: lines below the heading.
        says_extremes: whether lines above these say the most and the least of what is drawn.
        tips: what to say about each tile; its quantity where that is left out.
        over: bool[tiles], whether it is more than a tile may have.
        limit: what a tile may have, as words; empty where there is no limit.
        ipus: IPUs that the tiles are on, each with as many.
        scale: where colours begin.
        tiles: those that are drawn.

    Raises InvalidOption for tiles that are not there.

    >>> shaded(np.array([4, 8]), "cycles", str).notes
    ['12 on 2 tiles, mean 6', 'most 8 (tile 1), least 4 (tile 0)']
    """
    shown = _checked(tiles, len(value))
    cut = slice(shown.start, shown.stop)
    part = "" if len(shown) == len(value) else f", of tiles {shown[0]:,} to {shown[-1]:,}"
    tips = [unit(each) for each in value.tolist()] if tips is None else tips
    is_over = (np.zeros(len(value), np.bool_) if over is None else over)[cut]
    said = [*(_extremes(value[cut], shown.start, unit) if says_extremes else ()), *notes]
    if is_over.any():
        their = "its" if is_over.sum() == 1 else "their"
        where = ranges(shown.start + np.flatnonzero(is_over))
        said.append(f"! {amount(int(is_over.sum()), 'tile')} over {their} {limit} ({where})")
    return TileMap(
        heading=f"{heading}{part}{note}",
        notes=said,
        value=value[cut],
        over=is_over,
        tips=list(tips[cut]),
        unit=unit,
        limit=limit,
        ipus=1 if part else ipus,
        base=_base(value[cut], scale),
        first=shown.start,
        has_histogram=True,
    )


def _checked(tiles: range | None, count: int) -> range:
    if tiles is None:
        return range(count)
    if not 0 <= tiles.start < tiles.stop <= count:
        raise InvalidOption(
            f"there are no tiles {tiles.start:,} to {tiles.stop - 1:,}",
            at=None,
            found=f"tiles are 0 to {count - 1:,}",
            fix=f"--tiles 0:{count - 1}",
        )
    return tiles


def _base(value: Int64, scale: Scale | None) -> int:
    """Return the quantity at which colours begin: by default the least, if that is over half."""
    least, most = int(value.min()), int(value.max())
    wanted = 2 * least > most if scale is None else scale == "least"
    return least if wanted and least < most else 0


def _extremes(value: Int64, first: int, unit: Callable[[int], str]) -> list[str]:
    most, least = int(value.argmax()), int(value.argmin())
    count = amount(len(value), "tile")
    lines = [f"{unit(int(value.sum()))} on {count}, mean {unit(round(float(value.mean())))}"]
    if value[most] != value[least]:
        at_most = f"most {unit(int(value[most]))} (tile {first + most:,})"
        lines.append(f"{at_most}, least {unit(int(value[least]))} (tile {first + least:,})")
    return lines
