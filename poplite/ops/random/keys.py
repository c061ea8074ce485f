"""Keys: what random numbers are drawn from."""

from __future__ import annotations

import numpy as np

from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ops.operands import count_of
from poplite.ops.random.checks import TWO_32
from poplite.ops.random.drawing import WORDS
from poplite.program.sequence import check_graph
from poplite.types import UNSIGNED_INT


def key(graph: Graph, seed: int, name: str = "key", *, tile: int = 0) -> Tensor:
    """Make a key: a variable that random numbers are drawn from.

    Args:
        graph: where it goes.
        seed: from 0 to before 2^64. Keys of other seeds give other numbers.
        name: of the variable.
        tile: where it lies; every draw sends it to all tiles of the result.

    Returns:
        UNSIGNED_INT[4]: the words of the seed, lower one first, and of the number of the next
        draw, which is 0. Replicas draw the same numbers, unless `engine.write` gives each its seed.

    Raises:
        InvalidOption: for a seed that is no such number.
        InvalidTileMapping: for a tile that the graph does not have.

    >>> import poplite as pl
    >>> key(pl.Graph(pl.Target(tiles=1)), seed=7)
    <Tensor 'key' uint32[4] on tile 0, 16 B>
    """
    check_graph("ops.random.key(graph, seed)", graph)
    number = count_of("key", "seed", seed, 0, 1 << 64)
    words = np.array([number % TWO_32, number // TWO_32, 0, 0], np.uint32)
    return graph.add_variable(UNSIGNED_INT, (WORDS,), name, mapping=tile, initial_value=words)
