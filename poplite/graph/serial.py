"""Tensors as text: which elements of which variables, in which shape; no values.

    serialize_tensors(stream, [x, y.T])                        {"tensors": [{"type": "FLOAT", ...
    deserialize_tensors(stream)                                the same tensors, in this graph

A file made with one graph is read with another that has the same variables.
Source: Poplar API reference, "Graph::serializeTensors".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.errors import FileLoadError, GraphConnectionError
from poplite.graph.connect.ownership import check_own
from poplite.graph.storage.lookup import variable_named
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor, of_variable
from poplite.source import SourceLocation
from poplite.text import clipped
from poplite.types import ELEMENT_TYPES

if TYPE_CHECKING:
    from poplite.graph.graph import Graph

FORMAT = "poplite tensors 1"


class SerializationFormat(Enum):
    """How tensors are written."""

    JSON = "json"
    BINARY = "binary"
    """The same text as UTF-8, for streams of bytes."""


def write_tensors(
    graph: Graph,
    stream: Any,  # of text, or of bytes where the format is BINARY
    tensors: Sequence[Tensor],
    format: SerializationFormat,
    at: SourceLocation,
) -> None:
    """Write tensors as one JSON object."""
    rows = []
    for tensor in tensors:
        check_own(graph, tensor, "serialize_tensors", at)
        regions = tensor.var_regions()
        names = [variable.name for variable in regions.variables]
        rows.append(
            {
                "type": tensor.element_type.__name__,
                "shape": list(tensor.shape),
                "variables": names,
                "regions": np.stack([regions.number, regions.begin, regions.end], 1).tolist(),
            }
        )
    text = json.dumps({"format": FORMAT, "tensors": rows})
    stream.write(text if format is SerializationFormat.JSON else text.encode())


def read_tensors(graph: Graph, stream: Any, at: SourceLocation) -> list[Tensor]:
    """Return the tensors of what `write_tensors` wrote."""
    try:
        found: Any = json.load(stream)
        rows = found["tensors"] if found["format"] == FORMAT else None
        tensors = [_tensor(graph, row, at) for row in rows]  # type: ignore[union-attr]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, GraphConnectionError):
            raise
        raise FileLoadError(
            f"deserialize_tensors: the file holds no tensors of {graph!r}",
            at=at,
            found=f"{type(error).__name__}: {error}",
            fix="graph.serialize_tensors(stream, tensors) writes such a file",
        ) from None
    return tensors


_TYPES = {each.__name__: each for each in ELEMENT_TYPES}


def _tensor(graph: Graph, row: dict[str, Any], at: SourceLocation) -> Tensor:
    call = "graph.deserialize_tensors"
    wholes = [
        of_variable(graph, variable_named(graph.space, name, call=call, at=at)).flatten()
        for name in row["variables"]
    ]
    pieces = [wholes[number][begin:end] for number, begin, end in row["regions"]]
    element_type = _TYPES[row["type"]]
    if not pieces:
        raise GraphConnectionError(
            f"{call}: a tensor of shape {clipped(row['shape'])} has no element, so no variable",
            at=at,
            fix="serialize tensors that have elements",
        )
    flat = concat(pieces)
    same = flat.element_type is element_type
    return (flat if same else flat.reinterpret(element_type)).reshape(row["shape"])
