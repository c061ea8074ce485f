"""Graphs to and from files: the methods of Graph that ask the room which writes them.

A file holds programs too, which stand above graphs, so the module that writes and reads it is
looked up by its name, as `poplite.display` looks up pictures::

    graph.save, graph.serialize     - - by name - -> poplite.executable.graph_file.save
    Graph.load, Graph.deserialize   - - by name - -> poplite.executable.graph_file.load

A stream holds the bytes of the file, or the same as text for Poplar's JSON: base64 in an object.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias

from poplite.codec.loading import Malformed, parsed_json
from poplite.errors import FileLoadError
from poplite.files import check_stream, passing_file
from poplite.graph.serial import SerializationFormat, checked_format

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program.base import Program
    from poplite.vertex.vertex import Vertex

    ProgramsLike: TypeAlias = Program | Iterable[Program] | Mapping[str, Program]
    VertexSource: TypeAlias = type[Vertex] | ModuleType

_FILE = "poplite.executable.graph_file"

TEXT = "poplite graph as text 1"


def save(
    graph: Graph,
    path: str | os.PathLike[str],
    programs: ProgramsLike = (),
) -> None:
    """Write the graph and programs of it to a file, completely or not at all.

    The file holds all that was built: variables with their tiles and first values, vertices
    with what they are connected to, streams, and programs. It holds no code: vertex classes
    are named by module and name. Equal graphs are equal bytes. `poplite-viz` takes such a file
    for every picture.

    Estimators of `register_perf_estimator` are functions, and are not saved.

    Args:
        graph: what is saved; of a virtual graph, all of the graph that it is a part of.
        path: the file; one that exists is replaced.
        programs: programs of this graph, as `Engine` takes them; none by default.

    Raises:
        FileLoadError: when the file cannot be written, or element types of a template are open.
        ControlProgramError: for what is no program, or is one of another graph.

    >>> import tempfile
    >>> from poplite.graph import Graph
    >>> from poplite.machine.target import Target
    >>> from poplite.program import Copy
    >>> graph = Graph(Target(tiles=4))
    >>> x, y = (graph.add_variable("int32", (8,), name, mapping="linear") for name in "xy")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     graph.save(f"{folder}/copy.graph", Copy(x, y))
    ...     Graph.load(f"{folder}/copy.graph")
    (<Graph 4 tiles, 2 variables, 0 compute sets, 0 vertices>, {'0': <Copy 'x' -> 'y' 8 ...>})
    """
    import_module(_FILE).save(graph.top_level_graph, programs, path)


def load(
    path: str | os.PathLike[str], vertices: Iterable[VertexSource] = ()
) -> tuple[Graph, dict[str, Program]]:
    """Read a graph and its programs from a file that `save` wrote.

    Nothing in the file is executed, and no name in it is imported. A vertex class is looked
    for in `vertices`, in its module if that is imported already, and in `poplite.vertices`.
    Where none has the same fields and the same code, the graph can be drawn and asked, but not
    compiled.

    Args:
        path: the file.
        vertices: vertex classes, and modules that hold some.

    Returns:
        The graph, and its programs by name; "0", "1", ... where they had none.

    Raises:
        FileLoadError: when there is no such file, or it is damaged or of another format.
        ElementTypeError: when something in `vertices` is neither class nor module.
    """
    return _loaded(path, vertices)


def serialize(
    graph: Graph,
    stream: TextIO | BinaryIO,
    programs: ProgramsLike | SerializationFormat | str = (),
    format: SerializationFormat | str = SerializationFormat.BINARY,
) -> None:
    """Write to a stream what `save` writes to a file; Poplar's way to save.

    Args:
        graph: as for `save`.
        stream: open for writing bytes, or text for JSON.
        programs: as for `save`; as in Poplar, the format may stand in their place.
        format: the bytes of the file, or JSON that holds them as text.

    Raises:
        PopliteError: as `save`, and for anything but a file of such a kind.
    """
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


def deserialize(
    stream: TextIO | BinaryIO, vertices: Iterable[VertexSource] = ()
) -> tuple[Graph, dict[str, Program]]:
    """Read a graph and its programs from a stream that `serialize` wrote.

    Args:
        stream: open for reading, in either format; all that is left of it is read.
        vertices: as for `load`.

    Raises:
        FileLoadError: as `load`.
        ElementTypeError: for anything but a file.

    >>> import io
    >>> from poplite.graph import Graph
    >>> Graph().serialize(file := io.BytesIO())
    >>> Graph.deserialize(io.BytesIO(file.getvalue()))[0].num_vertices
    0
    """
    check_stream(stream, "Graph.deserialize", reading=True)
    content: Any = stream.read()
    try:
        if isinstance(content, str):
            found = parsed_json(content, "the text")
            text: Any = found["graph"] if found["format"] == TEXT else None
            content = base64.b64decode(text, validate=True)
    except (ValueError, KeyError, TypeError) as error:
        is_told = isinstance(error, Malformed)
        raise FileLoadError(
            "Graph.deserialize: the stream holds no graph",
            found=str(error) if is_told else f"{type(error).__name__}: {error}",
            fix="graph.serialize(stream, programs) writes one",
        ) from None
    with passing_file("graph") as path:
        path.write_bytes(content)
        return _loaded(path, vertices, "the stream")


def _loaded(
    path: str | os.PathLike[str], vertices: Iterable[VertexSource], title: str = ""
) -> tuple[Graph, dict[str, Program]]:
    found: tuple[Graph, dict[str, Program]] = import_module(_FILE).load(path, vertices, title)
    return found
