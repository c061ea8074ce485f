"""Graphs as files, with programs: all that a user built, before anything is compiled.

    manifest.json    {"kind": "poplite graph", "format": 2, "classes": [...], "locations": [...],
                      "spaces": [...], "nodes": [...], "graph": {...}}
    arrays/...       values, tiles, edges by the million

The container is that of executables (`poplite.codec.archive`), for the same reasons: no
code, no pickle, equal graphs are equal bytes.  The content is another one.  An executable has steps
lowered to addresses, and neither the views that a user made nor the vertices one by one; a graph
has these, and no cost, no code and no layout, so that it can be compiled for anything.

Reading trusts nothing: numbers are checked by the coders and by the modules beside this one, and
objects are made by the same functions as a user's calls.  Estimators (`register_perf_estimator`)
are Python functions and are not saved.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.codec.archive import MANIFEST, ArrayWriter, read_archive, write_archive
from poplite.codec.codec import coder_of, decoded_locations, written_locations
from poplite.codec.coders import Coder, Json, Reader, decoded
from poplite.codec.loading import Format, Malformed, add_room, at
from poplite.errors import ControlProgramError, PopliteError
from poplite.executable.file.vertex_classes import VertexSource
from poplite.executable.graph_file.programs import ProgramReader, ProgramWriter, SavedFunction
from poplite.executable.graph_file.references import GraphReader, GraphWriter, ViewReader
from poplite.executable.graph_file.variables import (
    HANDLES,
    PARTS as HOST,
    SavedVariable,
    add_host,
    add_host_tensors,
    add_metadata,
    add_variable,
    home_of,
    saved_homes,
    saved_variable,
)
from poplite.executable.graph_file.vertices import (
    DeclaredClass,
    SavedComputeSet,
    add_vertices,
    declared_class,
    known_classes,
    saved_compute_set,
)
from poplite.files import check_folder, checked_path, replacing
from poplite.graph.compute_sets.compute_set import RecordedOperation
from poplite.graph.graph import Graph
from poplite.machine.target import MOST_REPLICAS, Target
from poplite.program import Program
from poplite.text import clipped, items_or_none, of_type

GRAPHS = Format("poplite graph", (2,), "a graph", "graph.save(path, programs)")

PARTS: dict[str, Any] = {
    "target": Target,
    "replication_factor": int,
    "virtual_graphs": tuple[npt.NDArray[np.int64], ...],
    "variables": tuple[SavedVariable, ...],
    "compute_sets": tuple[SavedComputeSet, ...],
    "operations": tuple[RecordedOperation, ...],
    "functions": tuple[SavedFunction, ...],
    "programs": Mapping[str, Program],
    "reads": HANDLES,
    "writes": HANDLES,
}
"""What the manifest says of a graph, beside its views and the nodes of programs."""


def _coder(part: str) -> Coder:
    return HOST[part] if part in HOST else coder_of(PARTS[part])


def save(graph: Graph, programs: object, path: str | os.PathLike[str]) -> None:
    """Write a graph and programs to a file; see `Graph.save`."""
    place = check_folder(path, "heat.graph")
    manifest, arrays = _written(graph, _named(programs))
    text = GRAPHS.text(manifest, str(place))
    with replacing(place, "heat.graph") as file:
        write_archive(file, text, arrays)


def _named(programs: object) -> dict[str, Program]:
    """Return programs by name; those without a name are "0", "1", ... as in an engine."""
    found: Any = (programs,) if isinstance(programs, Program) else programs
    if not isinstance(found, Mapping) and (listed := items_or_none(found)) is not None:
        found = {str(number): program for number, program in enumerate(listed)}
    if not isinstance(found, Mapping):
        found = {"0": found}
    for name, program in found.items():
        if not isinstance(name, str) or not isinstance(program, Program):
            raise ControlProgramError(
                f"graph.save: {clipped(program, 60)} is not a program",
                found=f"{of_type(program)}, by the name {clipped(name, 60)}",
                fix="graph.save(path, program), a list of programs, or {'name': program}",
            )
    return dict(found)


def _written(graph: Graph, programs: Mapping[str, Program]) -> tuple[dict[str, Json], ArrayWriter]:
    to = GraphWriter(graph)
    nodes = ProgramWriter(graph, to)
    for program in programs.values():
        nodes.number(program)
    for buffer in graph.function_buffers.values():
        nodes.number(buffer.function)
    homes, made_with = saved_homes(graph)
    handles = graph._parts.handles
    parts = {
        "target": graph.target,
        "replication_factor": graph.replication_factor,
        "virtual_graphs": homes,
        "variables": tuple(
            saved_variable(variable, made_with.get(number))
            for number, variable in enumerate(graph.variables)
        ),
        "compute_sets": tuple(map(saved_compute_set, graph.compute_sets)),
        "operations": graph.operations,
        **{name: tuple(getattr(handles, name).values()) for name in HOST},
        "functions": tuple(nodes.functions),
        "programs": programs,
        "reads": handles.reads,
        "writes": handles.writes,
    }
    encoded = {name: _coder(name).encode(part, to) for name, part in parts.items()}
    classes = tuple(map(declared_class, to.classes))
    manifest = {
        "classes": coder_of(tuple[DeclaredClass, ...]).encode(classes, to),
        "locations": written_locations(to.locations),
        "spaces": to.views.spaces,
        "nodes": nodes.nodes,
        "graph": encoded,
    }
    return manifest, to.arrays


def is_saved_graph(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a zip file whose manifest says that it is a graph."""
    if not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return f'"kind":"{GRAPHS.kind}"'.encode() in archive.read(MANIFEST)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError):
        return False  # reading it as another kind reports the fault


def load(
    path: str | os.PathLike[str], vertices: Iterable[VertexSource], title: str = ""
) -> tuple[Graph, dict[str, Program]]:
    """Read a graph and its programs from a file, which messages call `title`; see `Graph.load`."""
    name = str(checked_path(path, "Graph.load", "heat.graph"))
    with GRAPHS.loading(title or repr(name)):
        return _loaded(name, vertices)


def _loaded(name: str, sources: Iterable[VertexSource]) -> tuple[Graph, dict[str, Program]]:
    manifest, arrays = read_archive(name, GRAPHS)
    with at("classes"):
        coder = coder_of(tuple[DeclaredClass, ...])
        declared = decoded(coder, manifest.get("classes"), Reader(arrays, (), (), ()))
    locations = decoded_locations(manifest.get("locations"))
    reader = Reader(arrays, known_classes(declared, sources), locations, ())
    try:
        return _built(manifest, reader)
    except PopliteError as error:  # of what a user's call refuses too
        raise Malformed(str(error).partition("\n")[0]) from error


def _built(manifest: Mapping[str, Any], reader: Reader) -> tuple[Graph, dict[str, Program]]:
    data = manifest.get("graph")
    if type(data) is not dict or data.keys() != PARTS.keys() | HOST.keys():
        raise Malformed("its graph has other parts")

    def part(name: str) -> Any:
        with at(name):
            return decoded(_coder(name), data[name], of)

    of = reader
    graph = Graph(part("target"))
    add_room(tiles=graph.target.tiles)
    replicas = part("replication_factor")
    if not 1 <= replicas <= MOST_REPLICAS:
        raise Malformed(f"it has {replicas:,} replicas")
    graph.replication_factor = replicas
    variables = part("variables")
    homes = [home_of(graph, tiles) for tiles in part("virtual_graphs")]
    for variable in variables:
        add_variable(graph, variable, homes)
    for number, variable in enumerate(variables):
        add_metadata(graph, number, variable)
    views = ViewReader(graph.space.variables, reader.arrays)
    of = GraphReader(reader.arrays, reader.classes, reader.locations, (), graph, views)
    with at("spaces"):
        views.read_spaces(manifest.get("spaces"))
    for saved in part("compute_sets"):
        made = graph.add_compute_set(saved.name)
        if made.name != saved.name:
            raise Malformed(f"two compute sets are called '{saved.name}'")
        made.location = saved.location
        with at(f"compute set '{saved.name}'"):
            add_vertices(graph, made, saved)
    if len(graph.variables) > len(variables):  # metadata that nobody needs
        graph.space.take_back(graph.variables[len(variables)])
    of.handles = add_host(graph, part)
    ProgramReader(part("functions"), of).read(manifest.get("nodes"))
    graph._parts.operations.extend(part("operations"))
    add_host_tensors(graph, part("reads"), part("writes"))
    return graph, dict(part("programs"))
