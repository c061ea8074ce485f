"""Sizes of fields: those that are set, those that follow from connections, and layouts' limits.

    graph.set_field_size(vertex["rows"], 3)      then rows 0, 1 and 2 are connected one by one
    graph.set_field_size(vertex["table"], 8)     a vector of state: zeros until it has values

A list of edges whose size was not set is as long as the rows connected to it.

Source: Poplar API reference, "Graph::setFieldSize", "Graph::getMaxFieldDim".
"""

from __future__ import annotations

from collections.abc import Sized

import numpy as np

from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    NoSizeSpecified,
    TensorIndexError,
)
from poplite.graph.compute_sets.compute_set import FieldRef, VertexInstance
from poplite.graph.tensor.tensor import Tensor
from poplite.text import amount, clipped, integer_or_none
from poplite.vertex.fields import Field
from poplite.vertex.layouts import LARGEST_COUNT, PLAIN
from poplite.vertex.vertex import Vertex


def set_size(ref: FieldRef, size: object) -> None:
    """Set the number of rows of a list of edges, or of values of a state vector."""
    vertex, field = ref.vertex, ref.field
    if ref.index is not None or field.depth != (2 if field.is_edge else 1):
        which = "" if ref.index is None else f"row {ref.index} of "
        raise GraphConnectionError(
            f"{vertex}: {which}field '{field.name}' has no size to set",
            found=f"declared {field}; lists of edges and vectors of state have one",
            fix=f"graph.connect(vertex['{field.name}'], tensor), which tells its size"
            if field.is_edge
            else f"graph.set_initial_value(vertex['{field.name}'], value)",
        )
    count = _checked_size(vertex, field, size)
    before, held = vertex.sizes.get(field.name), _held(vertex, field)
    rows = vertex.rows.get(field.name, {})
    if before is not None and before != count:
        raise _differs(vertex, field, f"is given size {count:,}", f"has size {before:,}")
    if rows and max(rows) >= count:
        has = f"has row {max(rows):,} connected"
        raise _differs(vertex, field, f"is given size {count:,}", has)
    if held is not None and not rows and held != count:
        raise _differs(vertex, field, f"is given size {count:,}", f"holds {held:,}")
    if not field.is_edge:
        check_limit(vertex, field, count, "its size")
    vertex.sizes = {**vertex.sizes, field.name: count}
    if len(rows) < count and rows:
        vertex.connections.pop(field.name, None)
    if held is None and not field.is_edge:
        if field.variable is None:
            zeros = np.zeros(count, field.element.dtype)
            zeros.flags.writeable = False
            vertex.state[field.name] = zeros
        else:
            vertex.waiting = {**vertex.waiting, field.name: [0] * count}


def _checked_size(vertex: VertexInstance, field: Field, size: object) -> int:
    count = integer_or_none(size)
    if count is None or not 0 <= count <= LARGEST_COUNT:
        raise TensorIndexError(
            f"{vertex}: field '{field.name}' is given size {clipped(size)}",
            found=f"declared {field}; sizes are whole numbers from 0 to {LARGEST_COUNT:,}",
            fix=f"graph.set_field_size(vertex['{field.name}'], 4)",
        )
    return count


def _held(vertex: VertexInstance, field: Field) -> int | None:
    """Return the number of rows or values that a field has now; None where it has nothing."""
    for held in (vertex.connections, vertex.state, vertex.waiting):
        value = held.get(field.name)
        if isinstance(value, Tensor):
            return value.shape[0] if field.depth else 1
        if value is not None:
            return len(value) if isinstance(value, Sized) else 1
    return None


def size_of(ref: FieldRef) -> int:
    """Return the size of a field or row; see `Graph.field_size`."""
    vertex, field = ref.vertex, ref.field
    name = f"vertex['{field.name}']"
    if ref.index is not None:
        return _size_of_row(ref)
    if field.depth == 0:
        return 1
    size = vertex.sizes.get(field.name, _held(vertex, field))
    if size is not None:
        return size
    has_none = (
        "neither values nor a size" if not field.is_edge else "nothing connected, and no size"
    )
    can_set = field.depth == 2 or not field.is_edge
    raise NoSizeSpecified(
        f"{vertex}: field '{field.name}' has {has_none}",
        found=f"declared {field}; vertex added at {vertex.location}",
        fix=f"graph.set_field_size({name}, 4)" if can_set else f"graph.connect({name}, tensor)",
    )


def _size_of_row(ref: FieldRef) -> int:
    vertex, field, index = ref.vertex, ref.field, ref.index
    assert index is not None, "a row"
    rows, whole = vertex.rows.get(field.name, {}), vertex.connections.get(field.name)
    if index in rows:
        return rows[index].num_elements
    if isinstance(whole, Tensor) and index < whole.shape[0]:
        return whole.shape[1]
    if isinstance(whole, tuple) and index < len(whole):
        return whole[index].num_elements
    if whole is not None or index >= vertex.sizes.get(field.name, LARGEST_COUNT):
        size = vertex.sizes.get(field.name, _held(vertex, field))
        raise TensorIndexError(
            f"{vertex}: field '{field.name}' has {size:,} rows, and no row {index:,}",
            found=f"declared {field}",
            fix=f"a row from 0 to {(size or 1) - 1}",
        )
    raise NoSizeSpecified(
        f"{vertex}: row {index:,} of field '{field.name}' has nothing connected",
        found=f"declared {field}; vertex added at {vertex.location}",
        fix=f"graph.connect(vertex['{field.name}'][{index}], tensor)",
    )


def check_sizes(vertex: VertexInstance, field: Field, value: object) -> None:
    """Refuse a value that exceeds the field's layout, or differs from the size that was set."""
    if field.depth == 0:
        return
    size = vertex.sizes.get(field.name)
    count = value.shape[0] if isinstance(value, Tensor) else len(value)  # type: ignore[arg-type]
    if size is not None and size != count:
        what = "row" if field.is_edge else "value"
        raise _differs(vertex, field, f"is given {amount(count, what)}", f"has size {size:,}")
    if field.layout is PLAIN:
        return
    if field.depth == 1:
        what = f"'{value.name}'" if isinstance(value, Tensor) else "what it is given"
        check_limit(vertex, field, count, what)
    elif isinstance(value, Tensor):
        check_limit(vertex, field, value.shape[1], f"each row of '{value.name}'")
    else:
        for number, row in enumerate(value):  # type: ignore[arg-type, var-annotated]
            check_limit(vertex, field, row.num_elements, f"row {number} ('{row.name}')")


def check_row(ref: FieldRef, row: Tensor) -> None:
    """Refuse a row beyond the size that was set, or longer than the layout allows."""
    size = ref.vertex.sizes.get(ref.field.name)
    if size is not None and ref.index is not None and ref.index >= size:
        raise TensorIndexError(
            f"{ref.vertex}: field '{ref.field.name}' is given row {ref.index:,}, but has size "
            f"{size:,}",
            found=f"declared {ref.field}; vertex added at {ref.vertex.location}",
            fix=f"a row from 0 to {size - 1:,}, or a larger size in graph.set_field_size"
            if size
            else "a larger size in graph.set_field_size",
        )
    check_limit(ref.vertex, ref.field, row.num_elements, f"row {ref.index} ('{row.name}')")


def check_limit(vertex: VertexInstance, field: Field, count: int, what: str) -> None:
    """Refuse a vector longer than its layout allows; `what` names it in the message."""
    if count > field.layout.limit:
        raise GraphConnectionError(
            f"{vertex}: field '{field.name}' takes {field.layout.limit:,} elements, "
            f"but {what} has {count:,}",
            found=f"declared {field}; {field.layout.vector.name} stores a "
            f"{field.layout.vector.value}",
            fix="split it over several vertices, or declare Layout(VectorLayout.SPAN); "
            f"graph.max_field_dim({vertex.vertex_class.__name__}, '{field.name}', "
            f"{field.depth - 1}) tells the limit",
        )


def _differs(vertex: VertexInstance, field: Field, new: str, has: str) -> GraphConnectionError:
    return GraphConnectionError(
        f"{vertex}: field '{field.name}' {new}, but {has}",
        found=f"declared {field}; vertex added at {vertex.location}",
        fix="connect as many rows, or give as many values, as graph.set_field_size says",
    )


def max_dim(vertex_class: type[Vertex], field: Field, dim: object) -> int:
    """Return the largest size of a dimension of a field; see `Graph.max_field_dim`."""
    number = integer_or_none(dim)
    if number is None or not 0 <= number < field.depth:
        raise TensorIndexError(
            f"{vertex_class.__name__}: field '{field.name}' has "
            f"{amount(field.depth, 'dimension')}, and no dimension {clipped(dim)}",
            found=f"declared {field}",
            fix=f"a dimension from 0 to {field.depth - 1}" if field.depth else "a vector field",
        )
    return field.layout.limit if number == field.depth - 1 else LARGEST_COUNT


def largest_number(vertex_class: type[Vertex], field: Field) -> int | float:
    """Return the largest number that an element of a field can hold."""
    element = field.element
    if field.variable is not None or element.requires_metadata:
        raise ElementTypeError(
            f"{vertex_class.__name__}: field '{field.name}' has no largest number",
            found=f"declared {field}",
            fix=f"{vertex_class.__name__}[pl.FLOAT]"
            if field.variable is not None
            else "QuarterMetadata tells format and scale",
        )
    match element.dtype.kind:
        case "f":
            return float(np.finfo(element.dtype.char).max)
        case "b":
            return 1
    return int(np.iinfo(element.dtype.char).max)
