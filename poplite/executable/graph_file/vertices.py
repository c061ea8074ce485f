"""Compute sets and their vertices as data; reading connects them by the rules of `add_vertex`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from poplite.codec.loading import Malformed, take_room
from poplite.executable.graph_file.blocks import (
    BYTES_AN_EDGE,
    SavedBlock,
    add_block,
    saved_block,
)
from poplite.executable.graph_file.references import tensor_of
from poplite.graph.compute_sets.compute_set import (
    ComputeSet,
    FieldRef,
    VertexInstance,
    new_vertex,
    set_size,
)
from poplite.graph.compute_sets.perf_estimates import checked_estimate
from poplite.graph.connect.connect import bind, bind_row, check_declared
from poplite.graph.graph import Graph
from poplite.graph.storage.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.source import SourceLocation
from poplite.types import QUARTER_METADATA
from poplite.vertex.fields import Field
from poplite.vertex.vertex import Vertex
from poplite.view import View

StateValue = bool | int | float | npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class SavedVertex:
    """A vertex that was added by itself.

    Attributes:
        edges: what each field is connected to: a tensor, or one for each row.
        state: the value of each state field that has one.
        rows: of lists of edges that have gaps, the rows that are connected.
        numbers: fields that were connected to plain numbers.
        sizes: the sizes of fields that were set.
        estimate: cycles and flops, where they were set.
    """

    vertex_class: type[Vertex]
    location: SourceLocation
    tile: int | None = None
    edges: Mapping[str, View | tuple[View, ...]] | None = None
    state: Mapping[str, StateValue] | None = None
    rows: Mapping[str, Mapping[int, View]] | None = None
    numbers: tuple[str, ...] = ()
    sizes: Mapping[str, int] | None = None
    estimate: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SavedComputeSet:
    """A compute set: vertices that were added one by one, and blocks of many, in order."""

    name: str
    location: SourceLocation
    parts: tuple[tuple[SavedVertex, ...] | SavedBlock, ...]


def saved_compute_set(compute_set: ComputeSet) -> SavedComputeSet:
    """Return a compute set as data."""
    parts = tuple(
        tuple(map(_saved_vertex, part)) if isinstance(part, list) else saved_block(part)
        for part in compute_set.vertices.parts
    )
    return SavedComputeSet(compute_set.name, compute_set.location, parts)


def _saved_vertex(vertex: VertexInstance) -> SavedVertex:
    edges = {
        name: tuple(row.view for row in value) if isinstance(value, tuple) else value.view
        for name, value in vertex.connections.items()
        if name not in vertex.rows
    }
    rows = {
        name: {number: row.view for number, row in held.items()}
        for name, held in vertex.rows.items()
    }
    estimate = vertex.estimate
    state = {name: value for name, value in vertex.state.items() if name != _WORKERS}
    return SavedVertex(
        vertex.vertex_class,
        vertex.location,
        vertex.tile,
        edges or None,
        state or None,
        rows or None,
        vertex.numbers,
        dict(vertex.sizes) or None,
        None if estimate is None else (estimate.cycles, estimate.flops),
    )


_WORKERS = "num_workers"


def add_vertices(graph: Graph, compute_set: ComputeSet, saved: SavedComputeSet) -> None:
    """Add the vertices of data that may be anything to a compute set, which has none yet."""
    for part in saved.parts:
        if isinstance(part, SavedBlock):
            compute_set.vertices.append_block(add_block(graph, compute_set, part))
            continue
        for each in part:
            compute_set.vertices.append(_vertex(graph, compute_set, each))


def _vertex(graph: Graph, compute_set: ComputeSet, saved: SavedVertex) -> VertexInstance:
    at = saved.location
    vertex = new_vertex(compute_set, saved.vertex_class, at)
    if saved.tile is not None:
        if not 0 <= saved.tile < graph.target.tiles:
            raise Malformed(f"{vertex} is on tile {saved.tile:,} of {graph.target.tiles:,}")
        vertex.tile = saved.tile
    edges, rows, sizes = saved.edges or {}, saved.rows or {}, saved.sizes or {}
    for name, size in sizes.items():
        set_size(_ref(vertex, name), size)
    values: dict[str, Any] = dict(saved.state or {})
    beside = {}
    for name, held in edges.items():
        field = _edge(vertex, name)
        if isinstance(held, View) and field.depth == 2 and len(held.shape) == 2:
            rows_bytes = BYTES_AN_EDGE * held.shape[0]
            take_room(rows_bytes, f"{held.shape[0]:,} rows of '{name}' of {vertex}")
        tensors = (
            tuple(tensor_of(graph, field.element, row) for row in held)
            if isinstance(held, tuple)
            else tensor_of(graph, field.element, held)
        )
        if field.is_implicit:
            beside[name] = _metadata(tensors)
        else:
            values[name] = tensors
    bind(vertex, values, at)
    for name, some in rows.items():
        for number, view in some.items():
            ref = FieldRef(vertex, _edge(vertex, name), number)
            if number < 0 or ref.field.depth != 2:
                raise Malformed(f"{vertex}: field '{name}' has no row {number:,}")
            bind_row(ref, tensor_of(graph, ref.field.element, view), at)
    # A field without elements was given metadata of its own, which stands among the variables.
    vertex.connections.update(beside)
    for name in saved.numbers:
        if not _is_number(graph, vertex.connections.get(name)):
            raise Malformed(f"{vertex}: field '{name}' is connected to no number")
    vertex.numbers = saved.numbers
    if saved.estimate is not None:
        vertex.estimate = checked_estimate(f"{vertex}", *saved.estimate)
    return vertex


def _ref(vertex: VertexInstance, name: str) -> FieldRef:
    return FieldRef(vertex, check_declared(vertex, name))


def _edge(vertex: VertexInstance, name: str) -> Field:
    field = vertex.vertex_class.fields.get(name)
    if field is None or not field.is_edge:
        raise Malformed(f"{vertex} has no edge '{name}'")
    return field


def _metadata(tensor: object) -> Tensor:
    if not isinstance(tensor, Tensor) or tensor.num_elements != 1 or tensor.rank:
        raise Malformed("metadata is one element")
    assert tensor.element_type is QUARTER_METADATA
    return tensor


def _is_number(graph: Graph, tensor: object) -> bool:
    """Tell whether a tensor is all of a constant of one element, as made for a number."""
    if not isinstance(tensor, Tensor) or tensor.num_elements != 1:
        return False
    return isinstance(tensor.view.space, Variable) and tensor.view.space.constant
