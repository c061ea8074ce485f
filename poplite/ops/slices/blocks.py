"""Matrices in blocks of columns: how they lie in memory, and on which tiles.

[rows, width]                        0 1 | 2 3            in memory
4 5 | 6 7            0 1 4 5 8 9, 2 3 6 7 10 11
8 9 | 10 11
"""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.graph.graph import Graph
from poplite.graph.mapping.tile_mapping import TileMapping
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Copy
from poplite.program.recording import Recorder


def home_mapping(graph: Graph, rows: int, width: int, columns: int) -> TileMapping:
    """Return where the elements of blocks lie: the rows of each are spread over tiles of its own.

    It is the mapping of a variable [columns, rows, width / columns].
    """
    tiles = max(1, graph.target.tiles // columns)
    parts = max(1, min(rows, tiles))
    ends = np.arange(1, parts + 1) * rows // parts
    length = np.diff(ends, prepend=0) * (width // columns)
    tile = np.arange(parts) * tiles // parts + first_tiles(graph.target.tiles, columns)[:, None]
    lengths = np.broadcast_to(length, tile.shape)
    return TileMapping(graph.target.tiles, tile.ravel(), lengths.ravel())


def first_tiles(tiles: int, columns: int) -> Int64:
    """Return the first tile of each block: several have the same one where tiles are fewer.

    >>> first_tiles(9, 4).tolist(), first_tiles(2, 4).tolist()
    ([0, 2, 4, 6], [0, 0, 1, 1])
    """
    numbers: Int64 = np.arange(columns)
    return numbers * (tiles // columns) if columns <= tiles else numbers * tiles // columns


def of_blocks(variable: Tensor) -> Tensor:
    """Return a variable of [columns, rows, width of a block] as a matrix of [rows, width]."""
    columns, rows, width = variable.shape
    return variable.dim_shuffle((1, 0, 2)).reshape((rows, columns * width))


def in_blocks(matrix: Tensor, columns: int) -> Tensor:
    """Return a matrix as one vector, block of columns by block of columns."""
    rows, width = matrix.shape
    return matrix.reshape((rows, columns, width // columns)).dim_shuffle((1, 0, 2)).flatten()


def lies_in_blocks(matrix: Tensor, columns: int) -> bool:
    """Tell whether each block of columns lies together in memory."""
    view, size = in_blocks(matrix, columns), matrix.num_elements // columns
    if view.num_regions() > columns:
        return False
    return bool((view.contiguous_regions().end % size == 0).all())


def moved_to_blocks(recorder: Recorder, matrix: Tensor, columns: int, name: str) -> Tensor:
    """Return a matrix that lies in blocks: this one, or a new variable that it is copied to."""
    if lies_in_blocks(matrix, columns):
        return matrix
    made = like_blocks(recorder.graph, matrix, columns, name)
    recorder.add(Copy(matrix, made))
    return made


def unshared(recorder: Recorder, x: Tensor, changed: Tensor, name: str) -> Tensor:
    """Return a tensor without elements of another one: this one, or a copy."""
    if not x.intersects_with(changed):
        return x
    made = recorder.graph.clone(x, name)
    recorder.add(Copy(x, made))
    return made


def like_blocks(graph: Graph, matrix: Tensor, columns: int, name: str) -> Tensor:
    """Return a new variable for a matrix, in blocks."""
    rows, width = matrix.shape
    mapping = home_mapping(graph, rows, width, columns)
    shape = (columns, rows, width // columns)
    return of_blocks(graph.add_variable(matrix.element_type, shape, name, mapping=mapping))
