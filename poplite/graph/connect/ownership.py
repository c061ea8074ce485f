"""Whether what a call of a graph is given is of that graph: its tensors, compute sets, vertices.

graph.tile_mapping(other.add_variable(...))     'x' belongs to another graph
"""

from __future__ import annotations

from types import UnionType
from typing import Protocol

from poplite.errors import GraphConnectionError
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.tensor.refused import no_tensor
from poplite.graph.tensor.tensor import Tensor
from poplite.source import SourceLocation
from poplite.text import clipped


class AnyGraph(Protocol):
    """A graph, perhaps a virtual one."""

    @property
    def top_level_graph(self) -> object:
        """The graph over all tiles, which everything in it belongs to."""


def check_own(
    graph: AnyGraph, tensor: object, what: str, at: SourceLocation, call: str = ""
) -> None:
    """Refuse anything but a tensor of a graph.

    Args:
        graph: the graph.
        tensor: what the user gave.
        what: the method, for the message.
        at: the user's line.
        call: how the call is written; empty where that needs no words.

    Raises:
        ElementTypeError: when it is no tensor.
        GraphConnectionError: when it is of another graph.
    """
    if not isinstance(tensor, Tensor):
        raise no_tensor(what, tensor, call)
    if tensor.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"'{tensor.name}' belongs to another graph",
            at=at,
            found=f"this is {graph!r}, the tensor's is {tensor.graph!r}",
            fix="use the graph that made the tensor: tensor.graph",
        )


def check_mapped(graph: AnyGraph, target: object, at: SourceLocation) -> None:
    """Refuse anything but a tensor or a vertex of a graph, which is put on tiles.

    Args:
        graph: the graph.
        target: what the user gave.
        at: the user's line.

    Raises:
        ElementTypeError: when it is neither.
        GraphConnectionError: when it is of another graph.
    """
    if not isinstance(target, VertexInstance):
        call = _MAP_FIRST.get(type(target), _MAP_TENSOR)
        check_own(graph, target, "set_tile_mapping", at, call)
    elif target.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"{target} belongs to another graph",
            at=at,
            fix="use the graph that made the vertex: vertex.graph",
        )


_MAP_TENSOR = "the tensor comes first: set_tile_mapping(tensor, tile)"
_MAP_FIRST: dict[type, str] = {
    ComputeSet: "put its vertices on tiles: for vertex in cs.vertices: "
    "graph.set_tile_mapping(vertex, tile)",
    VertexBlock: "tiles of many vertices are given with them: add_vertices(cs, V, tile=...)",
}


def check_compute_set(graph: AnyGraph, value: object, call: str, at: SourceLocation) -> None:
    """Refuse anything but a compute set of a graph.

    Args:
        graph: the graph.
        value: what the user gave.
        call: the method, for the message.
        at: the user's line.

    Raises:
        GraphConnectionError: for something else.
    """
    if type(value) is ComputeSet and value.graph is graph.top_level_graph:
        return
    raise GraphConnectionError(
        f"{clipped(value, 100)} is no compute set of {graph!r}",
        at=at,
        found="it is of another graph"
        if isinstance(value, ComputeSet)
        else f"its type is {type(value).__name__}",
        fix=f"{call}(graph.add_compute_set(name), vertex_class, tile=0, ...)",
    )


def check_vertex(
    graph: AnyGraph, vertex: object, kind: type | UnionType, call: str, at: SourceLocation
) -> None:
    """Refuse anything but a vertex of a graph, or a block of them.

    Args:
        graph: the graph.
        vertex: what the user gave.
        kind: `VertexInstance`, `VertexBlock`, or either.
        call: the method, for the message.
        at: the user's line.

    Raises:
        GraphConnectionError: for something else.
    """
    its = vertex.graph if isinstance(vertex, VertexInstance | VertexBlock) else None
    if isinstance(vertex, kind) and its is graph.top_level_graph:
        return
    other = its is not None and its is not graph.top_level_graph
    raise GraphConnectionError(
        f"{call}: {clipped(vertex, 100)} is no vertex of {graph!r}",
        at=at,
        found="it is of another graph" if other else f"its type is {type(vertex).__name__}",
        fix="a vertex of this graph: what add_vertex returned, or a block's block[0]",
    )
