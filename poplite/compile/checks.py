"""Checks that need the complete program.

A call that is wrong by itself raises at once. This module checks everything that could still have
been added or changed: tensors of another graph, missing edges and state, vertices and elements
without a tile, and races (`poplite.compile.races`). All faults of one kind are reported together.

Each message names the objects, their source lines, and the program step that needs them::

    Execute, Copy, If, ...  ->  graph?  edges?  tiles of vertices?  of elements?  races?

Source: Poplar user guide, "Mapping" and "Compute sets"; SDK error texts for the wording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from poplite.compile.races import check_in_place, check_races
from poplite.errors import (
    SHOWN_FAULTS,
    ControlProgramError,
    EmptyComputeSetWarning,
    GraphConnectionError,
    InvalidTileMapping,
    NoSizeSpecified,
    SizeOverflowError,
    listed,
    warn,
)
from poplite.executable.encoding import MOST_RUNS
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.edge_table import EdgeTables
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tile_mapping import TileMapping, ranges, unmapped_error
from poplite.program import (
    Execute,
    Program,
    Repeat,
    Step,
    children_first,
    distinct_decisions,
    distinct_steps,
)
from poplite.program.base import FunctionCall
from poplite.source import SourceLocation
from poplite.text import amount, same_problem
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.vertex import Field
from poplite.view import storages


class _Place(NamedTuple):
    """The place where a program uses an object; formatted only for errors, for speed."""

    step: Step | str
    of_program: str = ""

    def __str__(self) -> str:
        return f"{self.step}{self.of_program}"


class _Used(NamedTuple):
    """The objects that programs use, each with the first step that uses it."""

    compute_sets: dict[ComputeSet, _Place]
    tensors: list[tuple[Tensor, _Place, SourceLocation]]
    results: dict[Execute, _Place]

    def add(self, program: Program, where: _Place) -> None:
        tensors = *program.reads, *program.writes
        self.tensors.extend((tensor, where, program.location) for tensor in tensors)


class _Fault(NamedTuple):
    text: str
    at: SourceLocation
    where: _Place

    def __str__(self) -> str:
        return f"{self.text} ({self.at})"


def check_program(graph: Graph, programs: Mapping[str, Program], edges_of: EdgeTables) -> None:
    """Reject programs that a real machine would reject, or would run with wrong results.

    `edges_of` is called only once all edges of the programs are known to be connected.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4,), "x")
    >>> tables = EdgeTables(x.graph.space)
    >>> check_program(x.graph, {"main": pl.PrintTensor(x)}, tables)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    poplite.errors.InvalidTileMapping: 'x': elements [0, 4) of 4 have no tile ...
    """
    _check_counts(programs)
    used = _used(graph, programs)
    _check_graph(graph, used)
    _check_functions(graph, programs)
    _check_connected(used)
    _check_vertices_mapped(graph, used)
    _check_results(used)
    tables = {cs: edges_of(cs) for cs in used.compute_sets}
    _check_variables_mapped(graph, used, {cs: edges_of.owners(tables[cs]) for cs in tables})
    check_races(graph, tables, used.compute_sets)
    check_in_place(graph, tables, used.compute_sets)
    _warn_of_empty(used)


def _check_counts(programs: Mapping[str, Program]) -> None:
    """Reject programs that run more steps than counters can hold, if each branch is taken."""
    for program in programs.values():
        runs: dict[int, int] = {}
        for node in children_first(program):
            count = sum([runs[id(part)] for part in node.children]) if node.children else 1
            if isinstance(node, Repeat):
                count *= max(node.count, 1)
            runs[id(node)] = 0 if node.is_empty else count
            if runs[id(node)] > MOST_RUNS:
                raise SizeOverflowError(
                    f"{node} would run more than {MOST_RUNS:,} steps",
                    at=node.location,
                    found=f"about {count:.1e} steps if each branch is taken once",
                    fix="use fewer repetitions, or Loop(body), which runs until something stops it",
                )


def _used(graph: Graph, programs: Mapping[str, Program]) -> _Used:
    used = _Used({}, [], {})
    for what, handles in (
        ("create_host_read", graph.host_reads),
        ("create_host_write", graph.host_writes),
    ):
        for name, handle in handles.items():
            where = _Place(f"{what} '{name}', {handle.location}")
            used.tensors.append((handle.tensor, where, handle.location))
    for name, program in programs.items():
        of_program = f", of program '{name}'" if len(programs) > 1 else ""
        for step in distinct_steps(program):
            where = _Place(step, of_program)
            if isinstance(step.program, Execute):
                used.compute_sets.setdefault(step.program.compute_set, where)
                if step.program.result is not None:
                    used.results[step.program] = where
            used.add(step.program, where)
        for step in distinct_decisions(program):
            used.add(step.program, _Place(step, of_program))
    return used


def _check_graph(graph: Graph, used: _Used) -> None:
    faults = [
        _Fault(f"compute set '{cs.name}' of {cs.graph!r}", cs.location, where)
        for cs, where in used.compute_sets.items()
        if cs.graph is not graph
    ]
    faults += [
        _Fault(f"tensor {_quoted(t)}of {t.graph!r}", _location(t, at), where)
        for t, where, at in used.tensors
        if t.graph is not graph
    ]
    if faults:
        raise ControlProgramError(
            f"the program uses {amount(len(faults), 'object')} from a graph other than {graph!r}",
            at=faults[0].at,
            where=str(faults[0].where),
            found=listed([str(fault) for fault in faults], "objects"),
            fix="make compute sets, variables and the engine with the same graph",
        )


def _check_functions(graph: Graph, programs: Mapping[str, Program]) -> None:
    """Reject functions of another graph, even if they run no step and use no object."""
    calls = {
        node: name
        for name, program in programs.items()
        for node in children_first(program)
        if isinstance(node, FunctionCall) and node.function.graph is not graph
    }
    for call, name in calls.items():
        raise ControlProgramError(
            f"{call}: the function must belong to {graph!r}",
            at=call.location,
            where=f"program '{name}'" if len(programs) > 1 else "",
            found=f"it belongs to {call.function.graph!r} ({call.function.location})",
            fix="call graph.add_function(program) on the graph of the engine",
        )


def _quoted(tensor: Tensor) -> str:
    return f"'{tensor.name}' " if tensor.name else "without elements "


def _location(tensor: Tensor, step: SourceLocation) -> SourceLocation:
    """Return the line that made the first variable of a tensor, or else the step's line."""
    owners = storages(tensor.view)
    return tensor.graph.variable_of(owners[0]).location if owners else step


class _Missing(NamedTuple):
    """A field that a vertex lacks; `unsized` if setting its size would be enough."""

    what: str
    field: Field
    unsized: bool = False


def _check_connected(used: _Used) -> None:
    faults = [
        (_Fault(f"{vertex} of '{compute_set.name}': {lack.what}", vertex.location, where), lack)
        for compute_set, where in used.compute_sets.items()
        for vertex in compute_set.vertices.singles()
        for lack in _missing(vertex)
    ]
    if not faults:
        return
    first, lack = faults[0]
    several = len(faults) > 1
    name = f"vertex['{lack.field.name}']"
    kind = NoSizeSpecified if lack.unsized else GraphConnectionError
    raise kind(
        first.text + (f"; {same_problem(len(faults) - 1, 'more field')}" * several),
        at=first.at,
        where=str(first.where),
        found=listed([str(fault) for fault, _ in faults], "fields")
        if several
        else f"declared {lack.field}",
        fix="pass every field to add_vertex, or "
        + (
            f"graph.connect({name}, tensor)"
            if lack.field.is_edge
            else f"graph.set_initial_value({name}, value)"
        )
        + (f"; graph.set_field_size({name}, n) sets the number of values" if lack.unsized else ""),
    )


def _missing(vertex: VertexInstance) -> Iterator[_Missing]:
    fields = vertex.vertex_class.fields
    if len(vertex.connections) + len(vertex.state) == len(fields):
        return
    for name, field in fields.items():
        if name in vertex.connections or name in vertex.state or name in vertex.waiting:
            continue
        if field.is_implicit:  # missing only if the field that it belongs to is missing
            continue
        if name in vertex.rows or (field.is_edge and name in vertex.sizes):
            rows = vertex.rows.get(name, {})
            gaps = _gaps(sorted(rows), vertex.sizes.get(name, max(rows, default=0)))
            what = f"rows {gaps} of field '{name}' are not connected"
            yield _Missing(what, field, name not in vertex.sizes)
        elif field.is_edge:
            yield _Missing(f"field '{name}' is not connected", field, field.depth == 2)
        else:
            yield _Missing(f"field '{name}' has no value", field, field.depth > 0)


def _gaps(rows: Sequence[int], size: int) -> str:
    """Return the missing rows of a list as text; `size`, its length, may be far above len(rows)."""
    between = [range(a + 1, b) for a, b in pairwise([-1, *rows, size]) if a + 1 < b]
    return ", ".join(
        [*map(ranges, between[:SHOWN_FAULTS]), *["..."] * (len(between) > SHOWN_FAULTS)]
    )


def _check_vertices_mapped(graph: Graph, used: _Used) -> None:
    faults = [
        _Fault(f"{vertex} of '{compute_set.name}'", vertex.location, where)
        for compute_set, where in used.compute_sets.items()
        for vertex in compute_set.vertices.singles()
        if vertex.tile is None
    ]
    if faults:
        raise InvalidTileMapping(
            f"{amount(len(faults), 'vertex', 'vertices')} "
            f"{'has' if len(faults) == 1 else 'have'} no tile",
            at=faults[0].at,
            where=str(faults[0].where),
            found=listed([str(fault) for fault in faults], "vertices"),
            fix=f"pass add_vertex(..., tile=0), or call graph.set_tile_mapping(vertex, tile); "
            f"tiles are {ranges(range(graph.target.tiles))}",
        )


def _check_results(used: _Used) -> None:
    for execute, where in used.results.items():
        compute_set = execute.compute_set
        classes = dict.fromkeys(some.vertex_class for some in compute_set.vertices.items())
        if any(meaning_of(cls).returns for cls in classes):
            continue
        names = [f"'{cls.__name__}', whose compute returns nothing" for cls in classes]
        raise ControlProgramError(
            f"{execute}: no vertex of '{compute_set.name}' returns a truth value",
            at=execute.location,
            where=str(where),
            found=listed(names, "classes") if names else "the compute set has no vertices",
            fix="declare def compute(self) -> bool, or leave out the result: Execute(compute_set)",
        )


def _check_variables_mapped(
    graph: Graph, used: _Used, owners: Mapping[ComputeSet, Sequence[int]]
) -> None:
    first_use: dict[Variable, _Place] = {}
    variables = graph.variables
    for compute_set, where in used.compute_sets.items():
        for number in owners[compute_set]:
            first_use.setdefault(variables[number], where)
    for tensor, where, _ in used.tensors:
        for storage in storages(tensor.view):
            first_use.setdefault(graph.variable_of(storage), where)
    holes = [variable for variable in first_use if not variable.mapping.is_complete]
    if not holes:
        return
    errors = [_unmapped(graph, variable, str(first_use[variable])) for variable in holes]
    if len(errors) == 1:
        raise errors[0]
    lines = [f"{error.what} ({error.at})" for error in errors]
    raise InvalidTileMapping(
        f"{len(errors):,} variables have elements without a tile",
        at=errors[0].at,
        where=errors[0].where,
        found=listed(lines, "variables"),
        fix=f"{errors[0].fix}, and so on",
    )


def _unmapped(graph: Graph, variable: Variable, where: str) -> InvalidTileMapping:
    breaks, tiles = variable.mapping.pieces()
    mapping = TileMapping(graph.target.tiles, tiles, np.diff(breaks))
    return unmapped_error(
        variable.name, mapping, graph.target.tiles, variable.location, where, shape=variable.shape
    )


def _warn_of_empty(used: _Used) -> None:
    empty = {cs: where for cs, where in used.compute_sets.items() if not len(cs.vertices)}
    if not empty:
        return
    first, where = next(iter(empty.items()))
    lines = [f"'{cs.name}' ({cs.location})" for cs in empty]
    what = f"compute set '{first.name}' is executed without vertices"
    warn(
        EmptyComputeSetWarning(
            f"{len(empty):,} compute sets are executed without vertices" if lines[1:] else what,
            at=first.location,
            where=str(where),
            found=listed(lines, "compute sets") if lines[1:] else "",
            fix=f"call graph.add_vertex(compute_set, ...) before the engine is made, or leave out "
            f"Execute('{first.name}')",
        )
    )
