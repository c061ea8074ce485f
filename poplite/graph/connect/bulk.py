"""Connecting many vertices in one atomic call.

The rules for single vertices (`poplite.graph.connect.rules`) are checked for all at once::

    names, missing fields  ->  number of vertices  ->  tiles  ->  element types
    ->  field by field  ->  written elements  ->  constants for numbers  ->  a VertexBlock

When a rule is broken, the check of a single vertex is applied to the first faulty vertex, and
raises the error for it.

Source: Poplar user guide, "Connecting vertices".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from poplite.arrays.series import Series, compact, constant, counting
from poplite.errors import GraphConnectionError
from poplite.graph.compute_sets.compute_set import ComputeSet, StateValues, Vectors, check_sizes
from poplite.graph.compute_sets.vertex_block import Edges, VertexBlock, VertexTiles
from poplite.graph.connect.bulk_inputs import (
    FieldValue,
    Probe,
    count_of,
    doubly_written,
    edges_of,
    has_constants,
    is_numbers,
    item_of,
    listed_tiles,
    metadata_of,
    numbers_of,
    state_of,
    tensor_of,
    tensors_of,
    tiles_of,
)
from poplite.graph.connect.connect import check_declared
from poplite.graph.connect.rules import as_state, check_open, check_overlaps, check_tensor, deduced
from poplite.graph.space import Variable, check_same_metadata
from poplite.graph.tensor.tensor import SliceLists, Slices, Tensor
from poplite.graph.tile_mapping import TileNumbers
from poplite.graph.variables import add_metadata, add_number, add_numbers
from poplite.source import SourceLocation
from poplite.text import amount
from poplite.types import QuarterMetadata, metadata_edge
from poplite.vertex.fields import PLAIN, Field
from poplite.vertex.vertex import RESERVED_NAMES, Vertex

Values = Mapping[str, Any]
"""The user's values, by field name."""


def block_of(
    tiles: TileNumbers,
    compute_set: ComputeSet,
    vertex_class: type[Vertex],
    tile: object,
    values: Values,
    at: SourceLocation,
) -> VertexBlock:
    """Return vertices with all their fields connected, not yet added to the compute set."""
    probe = Probe(compute_set, vertex_class, at)
    tile = listed_tiles(probe, tile)
    first = tile.flat[0] if isinstance(tile, np.ndarray) and tile.size else tile
    if isinstance(first, int | np.integer) and 0 <= first < tiles.num_tiles:
        # Before all tiles are checked, for messages about other faults.
        probe.vertex.tile = tiles.checked(first, probe.name)
    _check_complete(probe, values)
    probe.count = _common_count(probe, tile, values)
    placed = tiles_of(probe, tiles, tile)
    probe.tiles = placed
    probe.move_to(0)
    fields = _typed_fields(probe, values)
    edges: dict[str, Edges] = {}
    state: dict[str, StateValues] = dict(probe.vertex.state)
    numbers: dict[str, Any] = {}
    for name, value in values.items():
        field = fields[name]
        if not field.is_edge:
            state[name] = values_ = state_of(probe, field, value)
            if field.layout is not PLAIN and isinstance(values_, Vectors):
                _check_lengths(probe, field, values_.length, value)
        elif is_numbers(field, value):
            numbers[name] = numbers_of(probe, field, value)
        else:
            _check_items(probe, field, value)
            edges[name] = edges_of(value, field)
            if field.layout is not PLAIN:
                _check_lengths(probe, field, edges[name].length, value, edges[name].rows)
    _check_written(probe, values, edges)
    metadata = {
        name: _metadata(probe, name, values[name], each)
        for name, each in edges.items()
        if fields[name].element.requires_metadata
    }
    # Nothing is refused from here on, so that a failed call creates no constants.
    constants: list[Tensor] = []
    for name, number in numbers.items():
        variable = _constant(probe, fields[name], number, placed)
        constants.append(Tensor(probe.graph, variable.element_type, variable.view))
        of_each = isinstance(number, np.ndarray)
        edges[name] = _edges_to(variable, placed, of_each=of_each)
    for name, addresses in metadata.items():
        if addresses is None:  # no elements, so any metadata is suitable
            variable = add_metadata(
                probe.graph.space,
                f"{probe.vertex.vertex_class.__name__} {probe.vertex.index}/{name}",
                _ANY,
                0,
            )
            edges[metadata_edge(name)] = _edges_to(variable, placed, of_each=False)
        else:
            edges[metadata_edge(name)] = _one_each(addresses)
    in_order = {name: edges[name] for name in fields if name in edges}
    cls = probe.vertex.vertex_class
    return VertexBlock(compute_set, cls, placed, in_order, state, constants, at)


_ANY = QuarterMetadata("F143")


# -- fields, number of vertices, class -------------------------------------------------------------


def _check_complete(probe: Probe, values: Values) -> None:
    """Refuse names that are not fields, and missing fields."""
    for name, value in values.items():
        field = check_declared(probe.vertex, name)
        if name in RESERVED_NAMES:
            as_state(probe.vertex, field, value)  # this refuses it
    for name, field in probe.vertex.vertex_class.fields.items():
        if name in values or name in RESERVED_NAMES or field.is_implicit:
            continue
        raise GraphConnectionError(
            f"{probe.name}: field '{name}' is missing, but add_vertices needs all fields",
            found=f"declared {field}; given: {', '.join(values) or 'none'}",
            fix=f"add_vertices(cs, {probe.name}, tile=..., {name}=...)",
        )


def _common_count(probe: Probe, tile: object, values: Values) -> int:
    """Return the number of vertices that all values are for."""
    counts: dict[str, int] = {}
    if tile is not None and np.ndim(tile) == 1:  # type: ignore[arg-type]
        counts["tile"] = len(tile)  # type: ignore[arg-type]
    for name, field in probe.vertex.vertex_class.fields.items():
        count = count_of(probe, field, values[name]) if name in values else None
        if count is not None:
            counts[name] = count
    if not counts:
        raise GraphConnectionError(
            f"{probe.name}: the number of vertices to add is not known",
            found="tile and the values of all fields are single numbers",
            fix="pass tile=np.full(n, tile) for n vertices",
        )
    (one, first), *others = counts.items()
    for other, count in others:
        if count != first:
            raise GraphConnectionError(
                f"{probe.name}: '{one}' is for {amount(first, 'vertex', 'vertices')}, "
                f"but '{other}' for {count:,}",
                found="vertices: " + ", ".join(f"{k} {n:,}" for k, n in counts.items()),
                fix="pass as many tensors, rows or numbers for every field as there are vertices",
            )
    return first


def _typed_fields(probe: Probe, values: Values) -> Mapping[str, Field]:
    """Deduce the element types of a template, and return its fields."""
    vertex = probe.vertex
    if vertex.template is not None:
        shown = {
            name: list(tensors_of(value))
            for name, value in values.items()
            if isinstance(value, Tensor | Slices | SliceLists | list | tuple)
        }
        vertex.vertex_class = deduced(vertex, shown)
        if vertex.vertex_class.type_variables:
            check_open(vertex, values)
    return vertex.vertex_class.fields


# -- rules -----------------------------------------------------------------------------------------


def _check_items(probe: Probe, field: Field, value: FieldValue) -> None:
    """Refuse tensors with the wrong graph, element type or rank."""

    def check(k: int) -> None:
        _check_item(probe, field, value, k)

    if not isinstance(value, Tensor | Slices | SliceLists):
        probe.check_each(check)
        return
    tensor = tensor_of(value)
    if tensor.graph is not probe.graph or tensor.element_type is not field.element:
        probe.refuse(range(probe.count), check)
    elif isinstance(value, Slices) and field.depth == 0:
        others = tensor.num_elements // max(tensor.shape[value.dim], 1)
        probe.refuse(np.flatnonzero(value.sizes() * others != 1), check)
    elif isinstance(value, Slices | SliceLists):
        is_listed = isinstance(value, SliceLists)
        if (tensor.rank, field.depth) != ((1, 2) if is_listed else (field.depth, field.depth)):
            probe.refuse(range(probe.count), check)


def _check_item(probe: Probe, field: Field, value: FieldValue, k: int) -> None:
    item = item_of(value, k)
    if field.depth == 2 and isinstance(item, tuple):
        for row in item:
            check_tensor(probe.vertex, field, row, 1)
    else:
        check_tensor(probe.vertex, field, item, field.depth)


def _check_lengths(
    probe: Probe, field: Field, length: Series, value: Any, rows: Series | None = None
) -> None:
    """Refuse vectors longer than the layout of a field can count."""
    if not length.count or length.high <= field.layout.limit:
        return
    owner = np.arange(probe.count)
    if rows is not None:
        owner = np.repeat(owner, rows.array())

    def check(k: int) -> None:
        check_sizes(probe.vertex, field, item_of(value, k))

    probe.refuse(np.unique(owner[length.array() > field.layout.limit]), check)


def _check_written(probe: Probe, values: Values, edges: Mapping[str, Edges]) -> None:
    """Refuse constants, and elements that one vertex writes twice."""
    fields = probe.vertex.vertex_class.fields
    written = {name: each for name, each in edges.items() if fields[name].writes}
    constants = [
        name
        for name in written
        if isinstance(values[name], Tensor | Slices | SliceLists) and has_constants(values[name])
    ]

    def check(k: int) -> None:
        for name in written:
            _check_item(probe, fields[name], values[name], k)
        connections: dict[str, Any] = {name: item_of(values[name], k) for name in written}
        check_overlaps(probe.vertex, connections)

    probe.refuse(doubly_written(probe.graph.space, written, constants), check)


def _metadata(probe: Probe, name: str, value: FieldValue, edges: Edges) -> Series | None:
    """Return the addresses of the metadata of a QUARTER field; None if any is suitable."""
    addresses, faulty = metadata_of(probe.graph.space, edges)

    def check(k: int) -> None:
        item = item_of(value, k)
        rows = item if isinstance(item, tuple) else (item,)
        views = [row.view for row in rows if isinstance(row, Tensor)]
        check_same_metadata(f"{probe.vertex}: field '{name}'", probe.graph.space, *views)

    probe.refuse(faulty, check)
    return addresses


# -- constants for numbers -------------------------------------------------------------------------


def _constant(probe: Probe, field: Field, number: Any, tiles: VertexTiles) -> Variable:
    """Create the constant for a number: an element per vertex, or per tile for equal numbers."""
    space, at = probe.graph.space, probe.vertex.location
    if isinstance(number, np.ndarray):
        return add_numbers(space, field.element, number, *tiles.runs(), at)
    used = tiles.used()
    if len(used) == 1:
        return add_number(space, field.element, number, int(used[0]), at)
    values = np.full(len(used), number, field.element.dtype)
    begin = np.arange(len(used))
    return add_numbers(space, field.element, values, begin, begin + 1, used, at)


def _edges_to(numbers: Variable, tiles: VertexTiles, *, of_each: bool) -> Edges:
    """Return the edges of each vertex to its own number, or to the number of its tile."""
    first = numbers.storage.base
    if of_each:
        return _one_each(counting(first, tiles.count))
    if numbers.num_elements == 1:
        return _one_each(constant(first, tiles.count))
    place = np.zeros(tiles.num_tiles, np.int64)
    used = tiles.used()
    place[used] = np.arange(first, first + len(used))
    return _one_each(compact(place[tiles.array()]))


def _one_each(addresses: Series) -> Edges:
    one = constant(1, addresses.count)
    return Edges(one, one, addresses)
