"""Adding tensors element by element.

`Add` is the vertex: one worker's share of a sum, a template for several element types.  `add`
is the operation over whole tensors: the sum gets the mapping of its first argument, every tile
adds the elements it owns, in up to as many vertices as it has workers; what the second
argument holds elsewhere is exchanged.

    tile 0   a[0] a[1]  +  b[0] b[1]  ->  sum[0] sum[1]
    tile 1   a[2] a[3]  +  b[2] b[3]  ->  sum[2] sum[3]      b may lie on any tiles
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.graph.compute_sets.perf_estimates import VertexPerfEstimate
from poplite.graph.graph import Graph
from poplite.graph.partition import cut
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.program import Execute, Sequence
from poplite.program.sequence import check_graph
from poplite.source import here
from poplite.types import FLOAT, HALF, INT, UNSIGNED_INT
from poplite.vertex.templates import refusal
from poplite.vertex.vertex import Input, Output, Vector, Vertex
from poplite.vertices.estimators.poplibs import binary

T = TypeVar("T", FLOAT, HALF, INT, UNSIGNED_INT)


class Add(Vertex, Generic[T]):
    """`out[i] = a[i] + b[i]`; all three of one length.  Ints wrap."""

    a: Input[Vector[T]]
    b: Input[Vector[T]]
    out: Output[Vector[T]]

    def compute(self) -> None:
        """Add element by element."""
        for i in range(len(self.out)):
            self.out[i] = self.a[i] + self.b[i]

    def cycles(self, target: Target) -> VertexPerfEstimate:
        """Return the slots of a worker of the maker's `BinaryOp1D`."""
        element, elements = self.fields["out"].element, len(self.out)
        flops = elements if element.is_floating_point else 0
        return VertexPerfEstimate(binary("add", element, elements, target), flops)


def add_reference(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what `Add` writes, in NumPy.

    Args:
        a: any shape, of the dtype of an element type.
        b: the same shape and dtype.

    Returns:
        The same shape and dtype, with equal bits.

    >>> add_reference(np.float32([1, 2]), np.float32([3, 4]))
    array([4., 6.], dtype=float32)
    """
    total: npt.NDArray[Any] = np.add(a, b, dtype=a.dtype)
    return total


def add(graph: Graph, a: Tensor, b: Tensor, *, name: str = "add") -> tuple[Tensor, Sequence]:
    """Make a tensor for `a + b` and the program that fills it.

    Args:
        graph: the graph of both tensors.
        a: of an element type that `Add` takes, any shape; every element mapped to a tile.
        b: the same element type and shape, mapped in any way.
        name: name of the sum's variable and of the compute set.

    Returns:
        The sum, mapped as `a`, and the program that computes it: one Execute, or nothing where
        there are no elements.

    Raises:
        TensorCreationError: when the shapes differ.
        ElementTypeError: when the element types differ, `Add` does not take them, or one of them
            is no tensor.
        GraphConnectionError: for a tensor of another graph.
        InvalidTileMapping: when an element of `a` has no tile.
        ControlProgramError: when the graph is none.

    >>> graph = Graph()
    >>> p = graph.add_variable("float32", (2,), mapping=0, initial_value=[1, 2])
    >>> total, program = add(graph, p, p, name="total")
    >>> total.shape, program
    ((2,), <Sequence 1 step>)
    """
    usage = "add(graph, a, b)"
    check_graph(usage, graph)
    for tensor in (a, b):
        graph._own(tensor, "add", here(), usage)
    if a.shape != b.shape:
        raise TensorCreationError(
            f"add: shapes {a.shape} and {b.shape} differ",
            at=here(),
            fix="broadcast or reshape one of them first",
        )
    why = refusal(T, a.element_type)
    if why or a.element_type is not b.element_type:
        raise ElementTypeError(
            f"add: '{a.name}' is {a.element_type!r} and '{b.name}' is {b.element_type!r}",
            at=here(),
            found=why,
            fix="two tensors of one element type, such as FLOAT",
        )
    mapping = graph.tile_mapping(a, require_complete=True)
    total = graph.add_variable(a.element_type, a.shape, name, mapping=mapping)
    if not total.num_elements:
        return total, Sequence()
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
    return total, Sequence(Execute(compute_set))
