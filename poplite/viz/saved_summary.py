"""The summary of a saved file, from what its report says of the graph."""

from __future__ import annotations

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.report.compilation import Compilation
from poplite.report.memory import Memory, peaks_of
from poplite.report.program_tree import Program, num_steps
from poplite.report.report import NO_PROGRAM, Report
from poplite.viz.names import size_bytes
from poplite.viz.program.of_report import saved_programs
from poplite.viz.program.tree import runs_of
from poplite.viz.summary import ProgramLength, Summary, VertexCount, machine_name

DATA = "variable", "constant"
"""Categories of what holds elements of tensors."""


def summary_of_report(report: Report, program: str | None = None) -> Summary:
    """Count what a report says of a graph; of its programs all, or the one that is named.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable(pl.FLOAT, (8,), name, mapping=1) for name in "xy")
    >>> summary = summary_of_report(pl.Engine(graph, pl.Copy(x, y)).report())
    >>> summary.verdict, summary.variables, summary.variable_bytes, summary.program
    ('fits', 2, 64, ProgramLength(steps=1, runs=1))
    """
    compilation = report.compilation
    target, memory = compilation.target, compilation.modelled
    bytes_of_tiles = np.zeros(target.tiles, np.int64)
    kinds: tuple[tuple[str, int], ...] = ()
    if memory is not None:
        bytes_of_tiles = memory.including_gaps.array()
    worst = int(bytes_of_tiles.argmax())
    if memory is not None:
        kinds = tuple(_kinds_on(memory, worst).items())
    counts, sizes, unmapped = _data(compilation)
    vertex_tiles = {
        tile
        for each in compilation.compute_sets
        for vertices in each.vertices
        for tile in vertices.count_by_tile.tiles.array().tolist()
    }
    steps = (
        report.places
        if program is None
        else [each for each in report.places if each.program_name == program]
    )
    return Summary(
        machine=machine_name(target),
        target=target,
        replicas=compilation.replicas,
        variables=counts[0],
        variable_bytes=sizes[0],
        constants=counts[1],
        constant_bytes=sizes[1],
        compute_sets=compilation.graph.num_compute_sets,
        classes=tuple(
            sorted(
                (VertexCount(each.name, each.vertices) for each in compilation.vertex_types),
                key=lambda each: -each.vertices,
            )
        ),
        edges=compilation.graph.num_edges,
        vertex_tiles=len(vertex_tiles),
        unplaced_vertices=0,
        used_tiles=_used_tiles(compilation),
        unmapped_elements=sum(unmapped),
        unmapped_variables=sum(count > 0 for count in unmapped),
        worst_tile=worst,
        worst_bytes=int(bytes_of_tiles[worst]),
        kinds=kinds,
        unmodelled="" if memory is not None else "the option debug.instrument was False",
        over_tiles=int(np.count_nonzero(bytes_of_tiles > target.tile_memory_bytes)),
        program=None if report.note == NO_PROGRAM else _length(report, program),
        cycles=None if report.cycles is None else sum(each.cycles for each in steps),
        runs=report.runs,
        note=report.run_note,
    )


def _kinds_on(memory: Memory, tile: int) -> dict[str, int]:
    """Return the bytes of each kind of thing on a tile in its fullest step, and between them."""
    step = int(peaks_of(memory).step[tile])
    found: dict[str, int] = {}
    for held in memory.held:
        size = held.bytes[tile]
        if size and (held.steps is None or held.is_in(step)):
            kind = held.category.replace("_", " ")
            found[kind] = found.get(kind, 0) + size
    found = dict(sorted(found.items(), key=lambda each: -each[1]))
    gaps = memory.including_gaps[tile] - sum(found.values())
    return found | ({"gaps": gaps} if gaps else {})


def _length(report: Report, program: str | None) -> ProgramLength:
    trees: dict[str, Program] = dict(report.compilation.programs)
    nodes = saved_programs(report)
    chosen = list(trees) if program is None else [program]
    runs = [runs_of(nodes[name]) for name in chosen]
    known = [count for count in runs if count is not None]
    total = sum(known) if len(known) == len(runs) else None
    return ProgramLength(sum(num_steps(trees[name]) for name in chosen), total)


def _data(compilation: Compilation) -> tuple[list[int], list[int], list[int]]:
    """Return numbers and bytes of variables and constants, and elements of each without a tile."""
    counts, sizes, unmapped = [0, 0], [0, 0], []
    for variable in compilation.variables:
        counts[variable.constant] += 1
        sizes[variable.constant] += size_bytes(variable)
        if variable.first is not None and variable.tiles is not None:
            end = int(np.prod(variable.shape, dtype=np.int64))
            length = np.diff(variable.first.array(), append=end)
            unmapped.append(int(length[variable.tiles.array() < 0].sum()))
    if not len(compilation.variables) and compilation.modelled is not None:  # of an older file
        for held in compilation.modelled.held:
            if held.category in DATA:
                counts[DATA.index(held.category)] += 1
                sizes[DATA.index(held.category)] += held.bytes.total
    return counts, sizes, unmapped


def _used_tiles(compilation: Compilation) -> int:
    used: Int64 = np.zeros(0, np.int64)
    for variable in compilation.variables:
        if variable.tiles is not None:
            used = np.union1d(used, variable.tiles.array())
    held = () if compilation.modelled is None else compilation.modelled.held
    for each in held if not len(used) else ():
        if each.category in DATA:
            used = np.union1d(used, each.bytes.tiles.array())
    return int(np.count_nonzero(used >= 0))
