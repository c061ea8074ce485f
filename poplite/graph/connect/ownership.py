"""Checks that tensors, compute sets and vertices belong to the graph whose method is called.

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
from poplite.text import clipped


class AnyGraph(Protocol):
    """A graph, or a virtual graph."""

    @property
    def top_level_graph(self) -> object:
        """The graph over all tiles, to which everything in it belongs."""


def check_own(graph: AnyGraph, tensor: object, what: str, call: str = "") -> None:
    """Refuse anything but a tensor of a graph; `what` is the method, `call` how it is written."""
    if not isinstance(tensor, Tensor):
        raise no_tensor(what, tensor, call)
    if tensor.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"'{tensor.name}' belongs to another graph",
            found=f"this is {graph!r}, the tensor's is {tensor.graph!r}",
            fix="use the graph that made the tensor: tensor.graph",
        )


def check_mapped(graph: AnyGraph, target: object) -> None:
    """Refuse anything but a tensor or a vertex of a graph, as the target of a mapping."""
    if not isinstance(target, VertexInstance):
        call = _MAP_FIRST.get(type(target), _MAP_TENSOR)
        check_own(graph, target, "set_tile_mapping", call)
    elif target.graph is not graph.top_level_graph:
        raise GraphConnectionError(
            f"{target} belongs to another graph",
            fix="use the graph that made the vertex: vertex.graph",
        )


_MAP_TENSOR = "the tensor comes first: set_tile_mapping(tensor, tile)"
_MAP_FIRST: dict[type, str] = {
    ComputeSet: "put its vertices on tiles: for vertex in cs.vertices: "
    "graph.set_tile_mapping(vertex, tile)",
    VertexBlock: "tiles of many vertices are given with them: add_vertices(cs, V, tile=...)",
}


def check_compute_set(graph: AnyGraph, value: object, call: str) -> None:
    """Refuse anything but a compute set of a graph."""
    if type(value) is ComputeSet and value.graph is graph.top_level_graph:
        return
    raise GraphConnectionError(
        f"{clipped(value, 100)} is no compute set of {graph!r}",
        found="it is of another graph"
        if isinstance(value, ComputeSet)
        else f"its type is {type(value).__name__}",
        fix=f"{call}(graph.add_compute_set(name), vertex_class, tile=0, ...)",
    )


def check_vertex(graph: AnyGraph, vertex: object, kind: type | UnionType, call: str) -> None:
    """Refuse anything but a vertex of a graph, a block of vertices, or either, as `kind` says."""
    its = vertex.graph if isinstance(vertex, VertexInstance | VertexBlock) else None
    if isinstance(vertex, kind) and its is graph.top_level_graph:
        return
    other = its is not None and its is not graph.top_level_graph
    raise GraphConnectionError(
        f"{call}: {clipped(vertex, 100)} is no vertex of {graph!r}",
        found="it is of another graph" if other else f"its type is {type(vertex).__name__}",
        fix="a vertex of this graph: what add_vertex returned, or a block's block[0]",
    )
