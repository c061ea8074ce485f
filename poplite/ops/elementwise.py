"""Adding tensors element by element.

The sum gets the mapping of its first argument; every tile adds the elements it owns, in up to as
many vertices (`poplite.vertices.Add`) as it has workers; what the second argument holds elsewhere
is exchanged::

    tile 0   a[0] a[1]  +  b[0] b[1]  ->  sum[0] sum[1]
    tile 1   a[2] a[3]  +  b[2] b[3]  ->  sum[2] sum[3]      b may lie on any tiles
"""

from __future__ import annotations

from poplite.errors import ElementTypeError, TensorCreationError
from poplite.graph.connect.ownership import check_own
from poplite.graph.graph import Graph
from poplite.graph.partition import cut
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.program import Execute, Sequence
from poplite.program.sequence import check_graph
from poplite.source import here
from poplite.vertex.templates import refusal
from poplite.vertices.elementwise import Add


def add(graph: Graph, a: Tensor, b: Tensor, *, name: str = "add") -> tuple[Tensor, Sequence]:
    """Make a tensor for `a + b` and the program that fills it.

    Args:
        graph: the graph of both tensors.
        a: of an element type that `poplite.vertices.Add` takes, any shape; every element mapped
            to a tile.
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
        check_own(graph, tensor, "add", here(), usage)
    if a.shape != b.shape:
        raise TensorCreationError(
            f"add: shapes {a.shape} and {b.shape} differ",
            at=here(),
            fix="broadcast or reshape one of them first",
        )
    (numbers,) = Add.type_variables
    why = refusal(numbers, a.element_type)
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
        owned_parts = [concat([t[begin:end] for begin, end in owned]) for t in (left, right, out)]
        for share in range(shares):
            part = slice(cut(share, count, shares), cut(share + 1, count, shares))
            fields = dict(zip(("a", "b", "out"), (t[part] for t in owned_parts), strict=True))
            graph.add_vertex(compute_set, Add, tile=int(tile), **fields)
    return total, Sequence(Execute(compute_set))
