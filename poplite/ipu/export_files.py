"""Export a graph with its programs as files, for an SDK on another machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from poplite.compile.checks import check_program
from poplite.compile.compiler import Programs, named_programs
from poplite.errors import ControlProgramError, FileLoadError
from poplite.files import checked_path, replacing
from poplite.graph.compute_sets.edge_table import EdgeTables
from poplite.graph.graph import Graph
from poplite.ipu.building import host_text
from poplite.ipu.linting import check_graph
from poplite.ipu.table_columns import Place
from poplite.ipu.tables import Tables, tables_of
from poplite.jit.build import no_collection
from poplite.text import clipped

Checks = Literal["fast", "none"]


def export(
    graph: Graph,
    programs: Programs,
    folder: str | os.PathLike[str],
    *,
    checks: Checks = "none",
) -> Path:
    """Write a graph and its programs as C++ and tables, for a build on a machine with an SDK.

    Nothing is compiled. Equal graphs give identical files. Unchanged files are not rewritten, so
    they need not be built again. The README in the folder describes the next steps.

    Args:
        graph: the graph.
        programs: one program, a list of programs, or a dictionary of programs by name.
        folder: the output folder; created if it does not exist.
        checks: with "fast", an out-of-range index of a field stops the vertex and the program.

    Returns:
        The folder.

    Raises:
        ControlProgramError: for invalid `checks`, or an invalid graph or program.
        ExportError: for features not yet supported on real IPUs; the error has the lines.
        VertexCompileError: for vertex classes that cannot become codelets.
        FileLoadError: if a file cannot be written.
        PopliteError: for any error in the program that can be found before a run.

    >>> import tempfile
    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = pl.ipu.export(graph, pl.Copy(a, b), folder)
    ...     print(*sorted(file.name for file in made.iterdir()))
    CMakeLists.txt README.md client.py codelets.cpp host.cpp places.json tables.bin
    """
    if not isinstance(checks, str) or checks not in get_args(Checks):
        raise ControlProgramError(
            f"export: checks must be 'fast' or 'none'; found {clipped(checks)}",
            found="a tile can only check indices, and does not track which elements are written",
            fix="leave out checks, and run the program with strict checks on the simulator",
        )
    target = checked_path(folder, "export", "exported")
    check_graph(graph, "export(graph, program, folder)")
    edges_of, named = EdgeTables(graph.space), named_programs(programs, "export(graph, {}, folder)")
    with no_collection():
        check_program(graph.top_level_graph, named, edges_of)
        tables = tables_of(graph, named, edges_of, stops_outside=checks == "fast")
    _make(target)
    contents = {
        "codelets.cpp": tables.codelets.text,
        "host.cpp": host_text("host.cpp"),
        "CMakeLists.txt": host_text("CMakeLists.txt"),
        "client.py": host_text("client.py.in"),
        "places.json": json.dumps(_places(tables), indent=1) + "\n",
        "README.md": _readme(tables),
    }
    for name, text in contents.items():
        _put(target / name, text.encode())
    _put(target / "tables.bin", tables.data)
    return target


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: an invalid folder name
        raise FileLoadError(
            f"cannot make the folder {str(folder)!r}: {getattr(error, 'strerror', None) or error}",
            fix="export to a folder that you can create",
        ) from error


def _put(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    with replacing(path) as file:
        file.write(content)


def _places(tables: Tables) -> dict[str, Any]:
    return {
        "mapping_bytes": tables.mapping_bytes,
        "programs": list(tables.programs),
        "streams": _by_name(tables.streams),
        "functions": {name: [*map(_place, each)] for name, each in tables.functions.items()},
        "reads": _by_name(tables.reads),
        "writes": _by_name(tables.writes),
    }


def _by_name(places: Mapping[str, Place]) -> dict[str, Any]:
    return {name: _place(each) for name, each in places.items()}


def _place(place: Place) -> dict[str, Any]:
    return {
        "offset": place.offset,
        "type": str(place.element_type.dtype),
        "shape": list(place.shape),
        "input": place.is_input,
    }


def _readme(tables: Tables) -> str:
    rows = ["| kind | name | elements |", "| --- | --- | --- |"]
    rows += [f"| program | `{name}` | |" for name in tables.programs]
    kinds = {"stream": tables.streams, "read": tables.reads, "write": tables.writes}
    for kind, places in kinds.items():
        for name, each in places.items():
            shape = " x ".join(map(str, each.shape)) or "1"
            rows.append(f"| {kind} | `{name}` | {each.element_type.dtype}, {shape} |")
    for name, arrays in tables.functions.items():
        listed = "; ".join(f"{array.element_type.dtype}, {array.num_elements}" for array in arrays)
        rows.append(f"| host function | `{name}` | {listed} |")
    text = host_text("README.md.in")
    text = text.replace("@RUN@", "".join(f" '{name}'" for name in tables.programs[:1]))
    text = text.replace("@WRITES@", next(iter(tables.writes), "NAME"))
    return text.replace("@TABLE@", "\n".join(rows))
