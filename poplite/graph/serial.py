"""Tensors as text: which elements of which variables, in which shape; no values.

    serialize_tensors(stream, [x, y.T])                        {"tensors": [{"type": "FLOAT", ...
    deserialize_tensors(stream)                                the same tensors, in this graph

A file made with one graph is read with another that has the same variables.
Source: Poplar API reference, "Graph::serializeTensors".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import numpy as np

from poplite.errors import (
    ElementTypeError,
    Enumeration,
    FileLoadError,
    InvalidOption,
    checked_member,
)
from poplite.files import check_stream
from poplite.graph.connect.rules import check_own
from poplite.graph.storage.space import variable_named
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.slices import Slices
from poplite.graph.tensor.tensor import Tensor, of_variable
from poplite.text import clipped, items_or_none, of_type
from poplite.types import ELEMENT_TYPES, ElementType
from poplite.view import empty

if TYPE_CHECKING:
    from poplite.graph.graph import Graph

FORMAT = "poplite tensors 1"


class SerializationFormat(Enumeration):
    """How tensors are written."""

    JSON = "json"
    BINARY = "binary"
    """The same text as UTF-8, for streams of bytes."""
    Binary = BINARY
    """C++ spelling."""


def serialize_tensors(
    graph: Graph,
    stream: TextIO | BinaryIO,
    tensors: Sequence[Tensor],
    format: SerializationFormat | str = SerializationFormat.JSON,
) -> None:
    """Write which elements of which variables tensors hold, and in which shape; no values.

    Args:
        graph: that of the tensors.
        stream: a file, open for writing text; bytes for BINARY.
        tensors: views of this graph's variables.
        format: JSON, or the same text as bytes.

    Raises:
        GraphConnectionError: for a tensor of another graph.
        ElementTypeError: for anything but a file of such a kind, and a list of tensors.
        InvalidOption: for another format.

    >>> import io
    >>> from poplite.graph import Graph
    >>> graph, file = Graph(), io.StringIO()
    >>> x = graph.add_variable("float32", (2, 3), "x")
    >>> graph.serialize_tensors(file, [x.T])
    >>> graph.deserialize_tensors(io.StringIO(file.getvalue()))[0] == x.T
    <same elements: True (not ops.equal)>
    """
    graph = graph.top_level_graph
    format = checked_format(format)
    check_stream(stream, "graph.serialize_tensors", binary=format is SerializationFormat.BINARY)
    every: Any = tensors
    given = None if isinstance(every, Tensor) else items_or_none(every)
    if given is None:
        raise ElementTypeError(
            f"graph.serialize_tensors: {clipped(tensors, 60)} is no list of tensors",
            found=of_type(tensors),
            fix="graph.serialize_tensors(file, [x])",
        )
    rows = []
    for tensor in given:
        check_own(graph, tensor, "serialize_tensors")
        regions = tensor.var_regions()
        names = [variable.name for variable in regions.variables]
        kinds = [variable.element_type.__name__ for variable in regions.variables]
        rows.append(
            {
                "type": tensor.element_type.__name__,
                "shape": list(tensor.shape),
                "variables": names,
                "variable_types": kinds,
                "regions": np.stack([regions.number, regions.begin, regions.end], 1).tolist(),
            }
        )
    text = json.dumps({"format": FORMAT, "tensors": rows})
    written: Any = text if format is SerializationFormat.JSON else text.encode()
    stream.write(written)


def deserialize_tensors(
    graph: Graph,
    stream: TextIO | BinaryIO,
    format: SerializationFormat | str = SerializationFormat.JSON,
) -> list[Tensor]:
    """Return the tensors that `serialize_tensors` wrote, of this graph's variables.

    Args:
        graph: whose variables they are of.
        stream: a file, open for reading.
        format: as it was written; both are told apart by themselves.

    Raises:
        FileLoadError: when the file holds no tensors, or the graph has no such elements.
        UnknownName: when the graph has no variable of that name.
    """
    graph = graph.top_level_graph
    format = checked_format(format)
    check_stream(stream, "graph.deserialize_tensors", reading=True)
    try:
        found: Any = json.load(stream)
        rows = found["tensors"] if found["format"] == FORMAT else None
        tensors = [_tensor(graph, row) for row in rows]  # type: ignore[union-attr]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise FileLoadError(
            f"deserialize_tensors: the file holds no tensors of {graph!r}",
            found=f"{type(error).__name__}: {error}",
            fix="graph.serialize_tensors(stream, tensors) writes such a file",
        ) from None
    return tensors


_TYPES = {each.__name__: each for each in ELEMENT_TYPES}


def _tensor(graph: Graph, row: dict[str, Any]) -> Tensor:
    call, element_type = "graph.deserialize_tensors", _TYPES[row["type"]]
    if not row["regions"]:
        return Tensor(graph, element_type, empty((0,))).reshape(row["shape"])
    owners = [variable_named(graph.space, name, call=call) for name in row["variables"]]
    for owner, kind in zip(owners, row["variable_types"], strict=True):
        if owner.element_type is not _TYPES[kind]:
            raise FileLoadError(
                f"deserialize_tensors: variable {owner.name!r} is {owner.element_type.__name__} in "
                f"this graph, but {kind} in the file",
                found=f"a view of it as {element_type.__name__}",
                fix="read the file with the graph that it was made of, or one alike",
            )
    wholes = [of_variable(graph, owner).flatten() for owner in owners]
    number, begin, end = np.array(row["regions"], np.int64).T
    size = np.array([whole.num_elements for whole in wholes], np.int64)
    if np.any((begin < 0) | (begin > end) | (end > size[number]) | (number < 0)):
        raise IndexError("ranges outside their variables")
    # All variables one behind the other, so that many ranges are cut at once by their arrays.
    first = (np.cumsum(size) - size)[number]
    joined = concat([_of_type(whole, element_type) for whole in wholes])
    return concat(Slices(joined, 0, first + begin, first + end)).reshape(row["shape"])


def _of_type(tensor: Tensor, element_type: type[ElementType[object]]) -> Tensor:
    return tensor if tensor.element_type is element_type else tensor.reinterpret(element_type)


def checked_format(format: object) -> SerializationFormat:
    """Return a format, given itself or by its name."""
    return checked_member(format, SerializationFormat, "format", error=InvalidOption)
