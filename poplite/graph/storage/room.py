"""Whether the tiles have room for values that the host would have to hold first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from poplite.errors import GraphMemoryAllocationError
from poplite.graph.storage.host_values import ElementClass
from poplite.text import amount, shape_text

if TYPE_CHECKING:
    from poplite.graph.storage.space import Space

ALWAYS_HELD = 1 << 28
"""Bytes of values that the host holds however little memory the tiles have."""


def check_room(space: Space, kind: ElementClass, shape: tuple[int, ...], what: str) -> None:
    """Refuse values that all tiles together have no memory for, before any of them is made.

    >>> from poplite.graph.graph import Graph
    >>> from poplite.types import INT
    >>> check_room(Graph().space, INT, (2**40,), "'table'")
    Traceback (most recent call last):
    poplite.errors.GraphMemoryAllocationError: 'table': 1,099,511,627,776 values of INT take ...
      shape (1099511627776,); a tile has 638,976 B
      try: fewer values, or a graph of more tiles
    """
    size = math.prod(shape) * kind.size_bytes
    if size <= max(space.memory_bytes, ALWAYS_HELD):
        return
    raise GraphMemoryAllocationError(
        f"{what}: {amount(math.prod(shape), 'value')} of {kind!r} take {size:,} B, but "
        f"{_tiles(space.num_tiles)} {space.memory_bytes:,} B",
        found=f"shape {shape_text(shape)}; a tile has {space.memory_bytes // space.num_tiles:,} B",
        fix="fewer values, or a graph of more tiles",
    )


def _tiles(number: int) -> str:
    return "1 tile has" if number == 1 else f"{number:,} tiles together have"
