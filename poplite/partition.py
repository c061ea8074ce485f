"""How to cut tensors into pieces of nearly equal size, one for each tile.

Every cut is the same formula: part `i` of `parts` begins at `i * n // parts`.  Parts
differ by at most one, nothing is left over, and part `i` needs no knowledge of the others::

    10 elements in 4 parts      0 1 | 2 3 4 | 5 6 | 7 8 9
    cut(i, 10, 4)               0     2       5     7       10

`map_linearly` and `map_blocks` put a tensor on tiles; `grid_blocks` gives the slices to
connect vertices with::

    for tile, (rows, cols) in enumerate(map_blocks(graph, image, (32, 46))):
        graph.add_vertex(cs, Blur, tile=tile, out=image[rows, cols], ...)

Source: poplibs `mapTensorLinearly` for the meaning of grain and minimum.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from poplite.errors import TensorCreationError
from poplite.intervals import Int64
from poplite.source import here

if TYPE_CHECKING:
    from poplite.graph import Graph
    from poplite.tensor import Tensor

Block = tuple[slice, slice]


def cut(i: int, n: int, parts: int) -> int:
    """Return where part `i` begins when `n` elements are cut into `parts`.

    Args:
        i: part, 0 to `parts`.
        n: elements.
        parts: how many parts, at least 1.

    >>> [cut(i, 10, 4) for i in range(5)]
    [0, 2, 5, 7, 10]
    """
    return i * n // parts


def spread(
    num_elements: int, tiles: int, *, grain: int = 1, min_elements: int = 1
) -> tuple[Int64, Int64, Int64]:
    """Cut elements evenly and in order over tiles.

    Args:
        num_elements: how many elements.
        tiles: how many tiles there are.
        grain: elements that stay together; cuts fall on its multiples.
        min_elements: least elements of a tile, as far as there are enough; fewer elements
            use fewer tiles.

    Returns:
        `(begin, end, tile)`, int64[used tiles].

    >>> [a.tolist() for a in spread(10, 3, grain=2)]
    [[0, 2, 6], [2, 6, 10], [0, 1, 2]]
    """
    grains = -(-num_elements // grain)
    least = -(-min_elements // grain) * grain
    used = min(tiles, num_elements // least or min(1, num_elements))
    parts = max(used, 1)
    cuts = np.array([min(cut(i, grains, parts) * grain, num_elements) for i in range(used + 1)])
    return cuts[:-1], cuts[1:], np.arange(used)


def map_linearly(graph: Graph, tensor: Tensor, *, grain: int = 1, min_elements: int = 1) -> None:
    """Spread the flattened elements of a tensor evenly and in order over all tiles.

    Args:
        graph: the tensor's graph.
        tensor: whole or a view.
        grain: elements that stay together on a tile.
        min_elements: least elements of a tile; small tensors then use fewer tiles.

    Raises:
        TensorCreationError: when `grain` or `min_elements` is below 1.

    >>> from poplite.graph import Graph
    >>> from poplite.target import Target
    >>> graph = Graph(Target(tiles=4))
    >>> x = graph.add_variable("float32", (16,), "x")
    >>> map_linearly(graph, x, min_elements=8)
    >>> graph.tile_mapping(x)
    <TileMapping 16 elements, 2 tiles, max 8 min 8, 2 intervals>
    """
    if grain < 1 or min_elements < 1:
        raise TensorCreationError(
            f"'{tensor.name}': grain={grain} and min_elements={min_elements}; both are at least 1",
            at=here(),
            fix="grain=1, min_elements=1",
        )
    begin, end, _ = spread(
        tensor.num_elements, graph.target.tiles, grain=grain, min_elements=min_elements
    )
    graph.set_tile_mapping(tensor, [[(a, b)] for a, b in zip(begin, end, strict=True)])


def map_blocks(graph: Graph, tensor: Tensor, grid: tuple[int, int] | None = None) -> list[Block]:
    """Put each block of a grid over the first two dimensions on a tile of its own.

    Args:
        graph: the tensor's graph.
        tensor: rank 2 or more; further dimensions stay together.
        grid: blocks down and across; by default nearly square blocks over all tiles.

    Returns:
        The slices of block `t`, which is on tile `t`, row by row of the grid.

    Raises:
        TensorCreationError: for a tensor of rank below 2, or a grid that does not fit.
        InvalidTileMapping: when the grid has more blocks than the graph has tiles.

    >>> from poplite.graph import Graph
    >>> from poplite.target import Target
    >>> graph = Graph(Target(tiles=6))
    >>> image = graph.add_variable("float32", (4, 6), "image")
    >>> map_blocks(graph, image, (2, 3))[5]
    (slice(2, 4, None), slice(4, 6, None))
    """
    if tensor.rank < 2:
        raise TensorCreationError(
            f"'{tensor.name}': rank {tensor.rank}, but blocks need rank 2 or more",
            at=here(),
            fix=f"map_linearly(graph, {tensor.name})",
        )
    rows, cols = tensor.shape[:2]
    blocks = grid_blocks((rows, cols), grid or near_square_grid(rows, cols, graph.target.tiles))
    for tile, (down, across) in enumerate(blocks):
        graph.set_tile_mapping(tensor[down, across], tile)
    return blocks


def grid_blocks(shape: tuple[int, int], grid: tuple[int, int]) -> list[Block]:
    """Cut a plane into a grid of blocks.

    Args:
        shape: rows and columns of the plane.
        grid: blocks down and across.

    Returns:
        Slices of rows and columns, row by row of the grid.

    Raises:
        TensorCreationError: when a block would be empty, or the grid is not positive.

    >>> grid_blocks((3, 4), (1, 2))
    [(slice(0, 3, None), slice(0, 2, None)), (slice(0, 3, None), slice(2, 4, None))]
    """
    if not all(1 <= parts <= max(extent, 1) for parts, extent in zip(grid, shape, strict=True)):
        raise TensorCreationError(
            f"a grid of {grid[0]} x {grid[1]} blocks over {shape[0]} x {shape[1]} elements "
            "leaves blocks empty",
            at=here(),
            fix="near_square_grid(rows, cols, tiles)",
        )
    down, across = (
        [slice(cut(i, n, parts), cut(i + 1, n, parts)) for i in range(parts)]
        for n, parts in zip(shape, grid, strict=True)
    )
    return [(rows, cols) for rows in down for cols in across]


def near_square_grid(rows: int, cols: int, tiles: int) -> tuple[int, int]:
    """Return the grid that uses the most tiles with nearly square blocks.

    Nearly square is at most twice as long as wide; of the grids with equally many tiles the
    one with the smallest average half perimeter (the halo of a block) is taken.

    Args:
        rows: rows of the plane.
        cols: columns of the plane.
        tiles: tiles to use at most, at least 1.

    Returns:
        Blocks down and across; their product is at most `tiles`, and no block is empty.

    >>> near_square_grid(427, 640, 1472), near_square_grid(3, 3, 1472)
    ((32, 46), (3, 3))
    """

    def rank(grid: tuple[int, int]) -> tuple[bool, int, float]:
        height, width = rows / grid[0], cols / grid[1]
        long = max(height, width) > 2 * min(height, width)
        return long, -math.prod(grid), height + width

    rows, cols = max(rows, 1), max(cols, 1)
    candidates = [(r, min(cols, tiles // r)) for r in range(1, min(rows, tiles) + 1)]
    return min(candidates, key=rank)
