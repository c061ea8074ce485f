"""How many elements of the innermost dimension lie side by side in memory.

Fast vertices take channels in groups that are contiguous, such as the 16 channels that a tile
convolves at once.  Which groups a tensor has follows from its view, and from its tiles::

    x of shape (4, 2, 16), x.dim_shuffle((0, 2, 1))            groups of 1: channels are strided
    x.dim_shuffle((1, 0, 2)).reshape((2, 64))                  groups of 16

Source: poplibs, `poputil::detectInnermostGrouping`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from poplite.errors import TensorCreationError
from poplite.graph.partition import _check_pair
from poplite.graph.tensor.indexing import described
from poplite.source import here
from poplite.view import Storage, View, runs

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor


def detect_innermost_grouping(graph: Graph, tensor: Tensor) -> int:
    """Return how many elements of the innermost dimension belong together.

    That is the greatest common divisor of the first contiguous range of the first row and its
    longest range on one tile, if it divides the row.

    Args:
        graph: the graph of the tensor.
        tensor: of rank 1 or more; its first row has tiles.

    Returns:
        Elements of a group; 1 where there is no grouping.

    Raises:
        ElementTypeError: for something that is no tensor.
        TensorCreationError: for a tensor of rank 0.
        InvalidTileMapping: when elements of the first row have no tile.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> x = graph.add_variable(pl.FLOAT, (4, 2, 16), "x", mapping=0)
    >>> detect_innermost_grouping(graph, x.dim_shuffle((1, 0, 2)).reshape((2, 64)))
    16
    >>> detect_innermost_grouping(graph, x.dim_shuffle((1, 0, 2)).reshape((8, 16)).T)
    1
    """
    _check_pair("detect_innermost_grouping", graph, tensor)
    if tensor.rank == 0:
        raise TensorCreationError(
            "detect_innermost_grouping: a tensor of rank 0 has no innermost dimension",
            at=here(),
            found=described(tensor),
            fix="t.reshape((1,)) has one",
        )
    if tensor.num_elements == 0:
        return 1
    row = tensor.index([0] * (tensor.rank - 1))
    mapping = graph.tile_mapping(row)
    group = math.gcd(_first_run(row.view), int(np.max(mapping.end - mapping.begin)))
    return group if row.num_elements % group == 0 else 1


def _first_run(row: View) -> int:
    """Return the elements of the first region of a view of one dimension."""
    if isinstance(row.space, Storage):
        digits = row.flat_digits()
        return digits[-1][0] if digits and digits[-1][1] == 1 else 1
    size = row.num_elements
    most = 1
    while True:
        most = min(2 * most, size)
        first = int(runs(row.slice(0, most, 0))[1][0])
        if first < most or most == size:
            return first
