"""Saving a graph to files and streams, and tensors as text.

A file also contains programs, which are in a layer above graphs, so the module that writes and
reads it is looked up by name, like pictures in `poplite.display`::

    graph.save, graph.serialize     - - by name - -> poplite.executable.graph_file.save
    Graph.load, Graph.deserialize   - - by name - -> poplite.executable.graph_file.load

A stream contains the bytes of the file or, for Poplar's JSON, an object with the bytes as base64.

The text of tensors describes their elements, variables and shapes, but contains no values::

    serialize_tensors(stream, [x, y.T])                        {"tensors": [{"type": "FLOAT", ...
    deserialize_tensors(stream)                                the same tensors, in this graph

Tensors that were written from one graph can be read into another with the same variables.

Source: Poplar API reference, "Graph::serialize", "Graph::serializeTensors".
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias

import numpy as np

from poplite.codec.file_formats import Malformed, parsed_json
from poplite.errors import (
    ElementTypeError,
    Enumeration,
    FileLoadError,
    InvalidOption,
    PopliteError,
    UnknownName,
    checked_member,
)
from poplite.files import WRONG_CONTENT, check_stream, passing_file
from poplite.frozen import frozen
from poplite.graph.space import variable_named
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Slices, Tensor, check_own, of_variable
from poplite.text import clipped, items_or_none, of_type
from poplite.types import ElementType
from poplite.view import empty

if TYPE_CHECKING:
    from poplite.codec.codec import Json
    from poplite.graph.graph import Graph
    from poplite.program.base import Program
    from poplite.vertex.vertex import Vertex

    ProgramsLike: TypeAlias = Program | Iterable[Program] | Mapping[str, Program]
    VertexSource: TypeAlias = type[Vertex] | ModuleType
    Loaded: TypeAlias = tuple[Graph, dict[str, Program]]
    Stream: TypeAlias = TextIO | BinaryIO
    Format: TypeAlias = "SerializationFormat | str"


FORMAT = "poplite tensors 1"

ElementClass = type[ElementType[Any]]


@frozen(eq=False)
class SavedTensor:
    """The serialised form of a tensor.

    Attributes:
        regions: for each region, the position of its variable in `variables`, begin and end.
    """

    type: ElementClass
    shape: tuple[int, ...]
    variables: tuple[str, ...]
    variable_types: tuple[ElementClass, ...]
    regions: tuple[tuple[int, int, int], ...]


def _rows(tensors: Sequence[SavedTensor]) -> Json:
    # Tensors are seldom saved, and the module loads faster without the codec.
    from poplite.codec.codec import Writer, coder_of

    return coder_of(tuple[SavedTensor, ...]).encode(tensors, Writer())


def _saved(rows: Json) -> tuple[SavedTensor, ...]:
    from poplite.codec.archive import ArrayReader
    from poplite.codec.codec import Reader, coder_of, decoded

    of = Reader(ArrayReader({}), (), (), ())
    found: tuple[SavedTensor, ...] = decoded(coder_of(tuple[SavedTensor, ...]), rows, of)
    return found


class SerializationFormat(Enumeration):
    """Format of serialised tensors."""

    JSON = "json"
    """Text in JSON, for streams of text."""
    BINARY = "binary"
    """The same text as UTF-8, for streams of bytes."""
    Binary = BINARY
    """C++ spelling."""


def serialize_tensors(
    graph: Graph,
    stream: Stream,
    tensors: Sequence[Tensor],
    format: Format = SerializationFormat.JSON,
) -> None:
    """Write tensors without their values; `Graph.serialize_tensors` describes it."""
    graph = graph.top_level_graph
    format = checked_format(format)
    check_stream(stream, "graph.serialize_tensors", binary=format is SerializationFormat.BINARY)
    every: Any = tensors
    given = None if isinstance(every, Tensor) else items_or_none(every)
    if given is None:
        raise ElementTypeError(
            f"graph.serialize_tensors: {clipped(tensors, 60)} is not a list of tensors",
            found=of_type(tensors),
            fix="graph.serialize_tensors(file, [x])",
        )
    rows = []
    for tensor in given:
        check_own(graph, tensor, "serialize_tensors")
        regions = tensor.var_regions()
        numbers = regions.number, regions.begin, regions.end
        rows.append(
            SavedTensor(
                tensor.element_type,
                tensor.shape,
                tuple(variable.name for variable in regions.variables),
                tuple(variable.element_type for variable in regions.variables),
                tuple(zip(*(each.tolist() for each in numbers), strict=True)),
            )
        )
    text = json.dumps({"format": FORMAT, "tensors": _rows(rows)})
    written: Any = text if format is SerializationFormat.JSON else text.encode()
    stream.write(written)


def deserialize_tensors(
    graph: Graph,
    stream: Stream,
    format: Format = SerializationFormat.JSON,
) -> list[Tensor]:
    """Return the tensors of a stream; `Graph.deserialize_tensors` describes it."""
    graph = graph.top_level_graph
    format = checked_format(format)
    check_stream(stream, "graph.deserialize_tensors", reading=True)
    try:
        found = parsed_json(stream.read(), "the text")
        rows = found["tensors"] if found["format"] == FORMAT else None
        return [_tensor(graph, saved) for saved in _saved(rows)]
    except (FileLoadError, UnknownName):
        raise
    except (PopliteError, *WRONG_CONTENT) as error:
        is_explained = isinstance(error, Malformed | PopliteError)
        reason = str(error).partition("\n")[0]
        raise FileLoadError(
            f"deserialize_tensors: the file contains no tensors of {graph!r}",
            found=reason if is_explained else f"{type(error).__name__}: {reason}",
            fix="write the file with graph.serialize_tensors(stream, tensors)",
        ) from None


def _tensor(graph: Graph, saved: SavedTensor) -> Tensor:
    call = "graph.deserialize_tensors"
    if not saved.regions:
        return Tensor(graph, saved.type, empty((0,))).reshape(saved.shape)
    owners = [variable_named(graph.space, name, call=call) for name in saved.variables]
    for owner, kind in zip(owners, saved.variable_types, strict=True):
        if owner.element_type is not kind:
            raise FileLoadError(
                f"deserialize_tensors: variable {owner.name!r} is {owner.element_type.__name__} in "
                f"this graph, but {kind.__name__} in the file",
                found=f"a tensor of {saved.type.__name__} that refers to it",
                fix="read the file with the graph that it was written from, or an equal one",
            )
    wholes = [of_variable(graph, owner).flatten() for owner in owners]
    number, begin, end = np.array(saved.regions, np.int64).T
    size = np.array([whole.num_elements for whole in wholes], np.int64)
    if np.any((begin < 0) | (begin > end) | (end > size[number]) | (number < 0)):
        raise IndexError("ranges outside their variables")
    # All variables concatenated, so that many ranges are cut at once as arrays.
    first = (np.cumsum(size) - size)[number]
    joined = concat([_of_type(whole, saved.type) for whole in wholes])
    return concat(Slices(joined, 0, first + begin, first + end)).reshape(saved.shape)


def _of_type(tensor: Tensor, element_type: type[ElementType[object]]) -> Tensor:
    return tensor if tensor.element_type is element_type else tensor.reinterpret(element_type)


def checked_format(format: object) -> SerializationFormat:
    """Return a format, given as a member or by its name."""
    return checked_member(format, SerializationFormat, "format", error=InvalidOption)


_FILE = "poplite.executable.graph_file"

TEXT = "poplite graph as text 1"


def save(
    graph: Graph,
    path: str | os.PathLike[str],
    programs: ProgramsLike = (),
) -> None:
    """Write the graph and programs for it to a file; `Graph.save` describes it."""
    import_module(_FILE).save(graph.top_level_graph, programs, path)


def load(
    path: str | os.PathLike[str], vertices: Iterable[VertexSource] = (), *, codelets: bool = False
) -> Loaded:
    """Read a graph and its programs from a file; `Graph.load` describes it."""
    return _loaded(path, vertices, codelets=codelets)


def serialize(
    graph: Graph,
    stream: Stream,
    programs: ProgramsLike | Format = (),
    format: Format = SerializationFormat.BINARY,
) -> None:
    """Write a graph to a stream; `Graph.serialize` describes it."""
    if isinstance(programs, SerializationFormat | str):
        format = programs
        programs = ()
    is_text = checked_format(format) is SerializationFormat.JSON
    check_stream(stream, "graph.serialize", binary=not is_text)
    with passing_file("graph") as path:
        save(graph, path, programs)
        content: Any = path.read_bytes()
    if is_text:
        content = json.dumps({"format": TEXT, "graph": base64.b64encode(content).decode()})
    stream.write(content)


def deserialize(stream: Stream, vertices: Iterable[VertexSource] = ()) -> Loaded:
    """Read a graph from a stream; `Graph.deserialize` describes it."""
    check_stream(stream, "Graph.deserialize", reading=True)
    content: Any = stream.read()
    try:
        if isinstance(content, str):
            found = parsed_json(content, "the text")
            text: Any = found["graph"] if found["format"] == TEXT else None
            content = base64.b64decode(text, validate=True)
    except (ValueError, KeyError, TypeError) as error:
        is_explained = isinstance(error, Malformed)
        raise FileLoadError(
            "Graph.deserialize: the stream contains no graph",
            found=str(error) if is_explained else f"{type(error).__name__}: {error}",
            fix="write the stream with graph.serialize(stream, programs)",
        ) from None
    with passing_file("graph") as path:
        path.write_bytes(content)
        return _loaded(path, vertices, "the stream")


def _loaded(
    path: str | os.PathLike[str],
    vertices: Iterable[VertexSource],
    title: str = "",
    *,
    codelets: bool = False,
) -> Loaded:
    found: Loaded = import_module(_FILE).load(path, vertices, title, codelets=codelets)
    return found
