"""Graphs to and from files: what the methods of Graph ask of the room that writes them.

A file holds programs too, which stand above graphs, so the module that writes and reads it is
looked up by its name, as `poplite.display` looks up pictures::

    Graph.save, Graph.serialize       - - by name - -> poplite.executable.graph_file.save
    Graph.load, Graph.deserialize     - - by name - -> poplite.executable.graph_file.load

A stream holds the bytes of the file, or the same as text for Poplar's JSON: base64 in an object.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poplite.errors import FileLoadError
from poplite.files import check_stream
from poplite.graph.serial import SerializationFormat, check_format

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.source import SourceLocation

_FILE = "poplite.executable.graph_file"

TEXT = "poplite graph as text 1"


def save_graph(graph: Graph, path: str | os.PathLike[str], programs: object) -> None:
    """Write a graph and programs to a file."""
    import_module(_FILE).save(graph, programs, path)


def load_graph(path: str | os.PathLike[str], vertices: Iterable[Any]) -> Any:
    """Return the graph and the programs that a file holds."""
    return import_module(_FILE).load(path, vertices)


def serialize_graph(
    graph: Graph, stream: Any, programs: object, format: SerializationFormat, at: SourceLocation
) -> None:
    """Write to a stream of text, or of bytes, what `save_graph` writes to a file."""
    check_format(format, at)
    is_text = format is SerializationFormat.JSON
    check_stream(stream, "graph.serialize", binary=not is_text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph")
        save_graph(graph, path, programs)
        content = path.read_bytes()
    if is_text:
        text = base64.b64encode(content).decode()
        stream.write(json.dumps({"format": TEXT, "graph": text}))
    else:
        stream.write(content)


def deserialize_graph(stream: Any, vertices: Iterable[Any], at: SourceLocation) -> Any:
    """Return the graph and the programs that `serialize_graph` wrote."""
    check_stream(stream, "Graph.deserialize", reading=True)
    content = stream.read()
    try:
        if isinstance(content, str):
            found = json.loads(content)
            text = found["graph"] if found["format"] == TEXT else None
            content = base64.b64decode(text, validate=True)
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise FileLoadError(
            "Graph.deserialize: the stream holds no graph",
            at=at,
            found=f"{type(error).__name__}: {error}",
            fix="graph.serialize(stream, programs) writes one",
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph")
        path.write_bytes(content)
        return load_graph(path, vertices)
