"""A graph and its programs as tables for the host program, and what Python finds in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poplite.compile.compiler import Programs, named_programs
from poplite.compile.program_parts import parts_of
from poplite.files import replacing
from poplite.graph.compute_sets.forms import EdgeTables
from poplite.graph.graph import Graph
from poplite.ipu.codelets.file_text import CodeletFile, codelet_file
from poplite.ipu.tables.columns import ALIGNMENT, file_of
from poplite.ipu.tables.copied_inputs import copied_inputs
from poplite.ipu.tables.cycles import CyclesSince
from poplite.ipu.tables.edges import EdgesTable
from poplite.ipu.tables.host_places import (
    HostPlaces,
    handle_columns,
    handle_places,
    host_variables,
)
from poplite.ipu.tables.places import Place
from poplite.ipu.tables.programs import ProgramColumns
from poplite.ipu.tables.refused import check_exported
from poplite.ipu.tables.series import ElementBytes, SeriesTable, Texts
from poplite.ipu.tables.variables import VariableColumns
from poplite.ipu.tables.vertices import VertexColumns
from poplite.machine.floating_point import OVERFLOW_NAN, TRAPS
from poplite.program import CycleStamp, PrintTensor


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """A graph and its programs as the host program reads them.

    Attributes:
        data: the file.
        codelets: the C++ text of all vertex classes, and their names in it.
        programs: names of the programs.
        streams: the place of each stream, by name; also of those that carry what is printed.
        functions: the places of the arrays of each function of the host, inputs first.
        prints: by the name of its stream, the program that prints.
        reads: the place of each handle that the host reads: "variable:x", "handle:x".
        writes: the same of those that it writes.
        mapping_bytes: size of the mapping that Python shares with the host program.
    """

    data: bytes
    codelets: CodeletFile
    programs: tuple[str, ...]
    streams: Mapping[str, Place]
    functions: Mapping[str, tuple[Place, ...]]
    prints: Mapping[str, PrintTensor]
    reads: Mapping[str, Place]
    writes: Mapping[str, Place]
    mapping_bytes: int

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file, completely or not at all."""
        with replacing(Path(path)) as file:
            file.write(self.data)


def tables_of(
    graph: Graph,
    programs: Programs,
    edges_of: EdgeTables | None = None,
    *,
    float_mode: int = 0,
    stops_outside: bool = False,
) -> Tables:
    """Return a graph and its programs as tables.

    The programs were checked before, as `compile_graph` does.

    Args:
        graph: the graph.
        programs: as of `compile_graph`.
        edges_of: the edges of compute sets, where they are known already.
        float_mode: how floating-point arithmetic behaves at first (`poplite.machine`), of which
            the traps count: halves that are too large become NaN.
        stops_outside: whether an index outside of a field stops its vertex.

    Raises:
        ExportError: for what a real IPU is not given yet, with the lines.
        VertexCompileError: for vertex classes that cannot be codelets.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> tables = tables_of(graph, {"there": pl.Copy(a, b)})
    >>> sorted(tables.reads), tables.writes["variable:a"].shape
    (['variable:a', 'variable:b'], (3,))
    """
    graph = graph.top_level_graph
    named = named_programs(programs)
    check_exported(graph, named)
    edges_of = edges_of or EdgeTables(graph.space)
    parts = parts_of(named.values())
    compute_sets = parts.compute_sets
    classes = {family.cls: None for each in compute_sets for family in edges_of(each).families}
    if any(isinstance(leaf, CycleStamp) and leaf.since is not None for leaf in parts.leaves):
        classes[CyclesSince] = None
    codelets = codelet_file(classes, stops_outside=stops_outside)
    hosted = host_variables(graph)
    reads, writes = handle_places(graph, hosted)
    largest = max((each.size_bytes for each in (*reads.values(), *writes.values())), default=0)

    texts, values, series = Texts(), ElementBytes(), SeriesTable()
    edges = EdgesTable(series)
    variables = VariableColumns(texts, series, values)
    for variable in graph.variables:
        variables.add(variable, hosted=variable in hosted)
    vertices = VertexColumns(codelets.names, graph.target.tiles, texts, series, edges, values)
    host = HostPlaces(graph._parts.handles.streams, largest)
    trees = ProgramColumns(host, texts, edges)
    for number, each in enumerate(compute_sets):
        copied = copied_inputs(graph, each, edges_of(each), variables.end)
        for one in copied:
            variables.add_copy(one)
        vertices.add(each, edges_of(each), {one.field: one.edges for one in copied})
        trees.add_compute_set(each, number, copied)
    for name, program in named.items():
        trees.add(name, program)

    size = max(host.end, ALIGNMENT)
    counts = [*variables.columns()["variable.count"], *vertices.columns()["family.count"]]
    largest = max(edges.largest, max(counts, default=0))  # no count of the tables is larger
    columns: dict[str, Any] = {
        "machine": [graph.target.tiles, size, (float_mode & TRAPS) | OVERFLOW_NAN, largest],
        **variables.columns(),
        **host.columns(texts),
        **handle_columns(graph, texts, edges),
        **vertices.columns(),
        **trees.columns(),
        "since.class": [texts.number(codelets.names[CyclesSince])]
        if CyclesSince in classes
        else [],
        **edges.columns(),
        **series.columns(),
        **texts.columns(),
        **values.columns(),
    }
    return Tables(
        data=file_of(columns),
        codelets=codelets,
        programs=tuple(named),
        streams=host.streams,
        functions=host.functions,
        prints=host.prints,
        reads=reads,
        writes=writes,
        mapping_bytes=size,
    )
