"""Adding tensors element by element.

`Add` is the vertex: one worker's share of a sum.  `add` is the operation over whole tensors:
the sum gets the mapping of its first argument, every tile adds the elements it owns, in up
to as many vertices as it has workers; what the second argument holds elsewhere is exchanged.

    tile 0   a[0] a[1]  +  b[0] b[1]  ->  sum[0] sum[1]
    tile 1   a[2] a[3]  +  b[2] b[3]  ->  sum[2] sum[3]      b may lie on any tiles
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.graph import Graph
from poplite.partition import cut
from poplite.program import Execute
from poplite.source import here
from poplite.tensor import Tensor, concat
from poplite.types import FLOAT
from poplite.vertex import Input, Output, Vector, Vertex


class Add(Vertex):
    """`out[i] = a[i] + b[i]`; all three of one length."""

    a: Input[Vector[FLOAT]]
    b: Input[Vector[FLOAT]]
    out: Output[Vector[FLOAT]]

    def compute(self) -> None:
        """Add element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.a[i] + self.b[i]


def add_reference(
    a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return what `Add` writes, in NumPy.

    Args:
        a: float32, any shape.
        b: float32, the same shape.

    Returns:
        float32 of that shape, with equal bits.

    >>> add_reference(np.float32([1, 2]), np.float32([3, 4]))
    array([4., 6.], dtype=float32)
    """
    return np.add(a, b, dtype=np.float32)


def add(graph: Graph, a: Tensor, b: Tensor, *, name: str = "add") -> tuple[Tensor, Execute]:
    """Make a tensor for `a + b` and the program step that fills it.

    Args:
        graph: the graph of both tensors.
        a: FLOAT, any shape; every element mapped to a tile.
        b: FLOAT, the same shape, mapped in any way.
        name: name of the sum's variable and of the compute set.

    Returns:
        The sum, mapped as `a`, and the Execute that computes it.

    Raises:
        TensorCreationError: when the shapes differ.
        ElementTypeError: when one of them is not FLOAT.
        InvalidTileMapping: when an element of `a` has no tile.

    >>> graph = Graph()
    >>> p = graph.add_variable(FLOAT, (2,), mapping=0, initial_value=[1, 2])
    >>> total, step = add(graph, p, p, name="total")
    >>> total.shape, step.compute_set.name
    ((2,), 'total')
    """
    if a.shape != b.shape:
        raise TensorCreationError(
            f"add: shapes {a.shape} and {b.shape} differ",
            at=here(),
            fix="broadcast or reshape one of them first",
        )
    for tensor in (a, b):
        if tensor.element_type is not FLOAT:
            raise ElementTypeError(
                f"add: {tensor.name!r} is {tensor.element_type!r}, but FLOAT is needed",
                at=here(),
                fix="make the variable FLOAT",
            )
    mapping = graph.tile_mapping(a, require_complete=True)
    total = graph.add_variable(FLOAT, a.shape, name, mapping=mapping)
    compute_set = graph.add_compute_set(name)
    left, right, out = a.flatten(), b.flatten(), total.flatten()
    for tile in mapping.tiles:
        owned = [(interval.begin, interval.end) for interval in mapping[tile]]
        count = sum(end - begin for begin, end in owned)
        shares = min(count, graph.target.workers)
        mine = [concat([t[begin:end] for begin, end in owned]) for t in (left, right, out)]
        for share in range(shares):
            part = slice(cut(share, count, shares), cut(share + 1, count, shares))
            fields = dict(zip(("a", "b", "out"), (t[part] for t in mine), strict=True))
            graph.add_vertex(compute_set, Add, tile=int(tile), **fields)
    return total, Execute(compute_set)
