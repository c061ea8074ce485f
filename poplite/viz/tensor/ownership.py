"""Which tile owns which elements of a tensor: the data behind the tensor picture.

Elements are numbered in row-major order of the tensor that is drawn.  Runs of elements of
one tile cover them all; the view that is pointed out is runs as well.

    >>> owned = Ownership(
    ...     "v", "float32", 4, (4,), np.array([0, 3]), np.array([3, 1]), np.array([0, -1]), None
    ... )
    >>> owned.title, owned.placement()
    ("'v' float32[4]", 'on 1 tile (0), 16 B, 1 element unmapped')
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.tile_mapping import NO_TILE, ranges
from poplite.text import amount
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import name_text, shape_text, size_text
from poplite.viz.tensor.selection import Index, Selection, select

if TYPE_CHECKING:
    from poplite.graph.space import Variable
    from poplite.graph.tensor.tensor import Tensor


@frozen(eq=False)
class Ownership:
    """The tiles of a tensor's elements.

    Attributes:
        type_name: the element type, as NumPy names it.
        begin: int64[runs], first elements, rising; runs cover all elements.
        length: int64[runs], elements of each run, above 0.
        tile: int64[runs], owner of each run, -1 for none.
        view: what is pointed out, or None.
    """

    name: str
    type_name: str
    element_bytes: int
    shape: tuple[int, ...]
    begin: Int64
    length: Int64
    tile: Int64
    view: Selection | None

    @property
    def num_elements(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.shape)

    @property
    def title(self) -> str:
        """Name, type and shape."""
        return f"'{name_text(self.name)}' {self.type_name}{shape_text(self.shape)}"

    def placement(self) -> str:
        """Return the tiles and the size, on one line."""
        tiles = np.unique(self.tile[self.tile >= 0])
        where = f"on {amount(len(tiles), 'tile')} ({ranges(tiles)})" if len(tiles) else "on no tile"
        missing = int(self.length[self.tile < 0].sum())
        unmapped = f", {amount(missing, 'element')} unmapped" if missing and len(tiles) else ""
        return f"{where}, {size_text(self.num_elements * self.element_bytes)}{unmapped}"

    def view_summary(self) -> str:
        """Return what is pointed out and which tiles it touches; empty without a view."""
        if self.view is None:
            return ""
        tile, length = self.pieces_in_view()
        tiles = np.unique(tile[tile >= 0])
        on = f"on {amount(len(tiles), 'tile')} ({ranges(tiles)})" if len(tiles) else ""
        head = f"view [{self.view.text}]: shape {shape_text(self.view.shape)}"
        return f"{head}, {amount(int(length.sum()), 'element')} {on}".rstrip()

    def pieces_in_view(self) -> tuple[Int64, Int64]:
        """Cut the view where tiles change: `(tile, length)` of the pieces."""
        if self.view is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        end = self.view.begin + self.view.length
        first = np.searchsorted(self.begin, self.view.begin, side="right") - 1
        count = np.searchsorted(self.begin, end, side="left") - first
        source = np.repeat(np.arange(len(end)), count)
        run = first[source] + np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
        low = np.maximum(self.view.begin[source], self.begin[run])
        high = np.minimum(end[source], self.begin[run] + self.length[run])
        return self.tile[run], high - low


def ownership_of(tensor: Tensor, view: str | Index | tuple[Index, ...] | None = None) -> Ownership:
    """Find the tiles of a tensor's elements, and of a view to point out.

    The view is what `t[...]` takes, or the same as text.  Raises TensorIndexError when it does
    not fit the tensor.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (8,), "x", mapping=[[(0, 4)], [(4, 8)]])
    >>> ownership_of(x[2:], "1:3").view_summary()
    'view [1:3]: shape [2], 2 elements on 2 tiles (0-1)'
    """
    mapping = tensor.graph.tile_mapping(tensor, require_complete=False)
    tile = np.repeat(np.arange(len(mapping)), np.diff(mapping.ptr))
    holes = np.array(mapping.unmapped, np.int64).reshape(-1, 2)
    begin = np.concatenate([mapping.begin, holes[:, 0]])
    end = np.concatenate([mapping.end, holes[:, 1]])
    tile = np.concatenate([tile, np.full(len(holes), NO_TILE)])
    order = np.argsort(begin)
    return Ownership(
        tensor.name,
        str(tensor.element_type.dtype),
        tensor.element_type.size_bytes,
        tensor.shape,
        begin[order],
        (end - begin)[order],
        tile[order],
        None if view is None else select(tensor.shape, view),
    )


def ownership_of_variable(variable: Variable, view: str | None = None) -> Ownership:
    """Find the tiles of a variable's elements, as `ownership_of` does for a tensor.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> _ = graph.add_variable("float32", (8,), "x", mapping=5)
    >>> ownership_of_variable(graph.variables[0]).placement()
    'on 1 tile (5), 32 B'
    """
    breaks, tile = variable.mapping.pieces()
    return Ownership(
        variable.name,
        str(variable.element_type.dtype),
        variable.element_type.size_bytes,
        variable.shape,
        breaks[:-1],
        np.diff(breaks),
        tile.astype(np.int64),
        None if view is None else select(variable.shape, view),
    )


def tensor_json(owned: Ownership) -> str:
    """Return the tiles of a tensor's elements as JSON.

    `begin`, `length` and `tile` have an entry for each run of elements; the tile of elements
    without one is null.

    >>> import json
    >>> owned = Ownership(
    ...     "v", "float32", 4, (4,), np.array([0, 3]), np.array([3, 1]), np.array([0, -1]), None
    ... )
    >>> json.loads(tensor_json(owned))["tile"]
    [0, None]
    """
    view = owned.view and {
        "index": owned.view.text,
        "shape": owned.view.shape,
        "begin": owned.view.begin.tolist(),
        "length": owned.view.length.tolist(),
    }
    data = {
        "name": owned.name,
        "element_type": owned.type_name,
        "element_bytes": owned.element_bytes,
        "shape": owned.shape,
        "begin": owned.begin.tolist(),
        "length": owned.length.tolist(),
        "tile": [None if tile == NO_TILE else tile for tile in owned.tile.tolist()],
        "view": view,
    }
    return json_text("tensor", data)
