"""A graph in a dozen numbers, drawn as a verdict and a row for each number.

A graph is counted itself; of a saved file its report says the same.  Memory is what the model finds
for the program, as the engine does: variables, messages, code and stacks.  Of a graph that cannot
be compiled so far it is variables and constants alone, with why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.machine.target import Target
from poplite.report.program_tree import num_steps
from poplite.report.report import NO_PROGRAM
from poplite.text import amount
from poplite.viz.colours import Role
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.units import size_text
from poplite.viz.graph_counts import (
    class_counts,
    classes_text,
    kinds_on,
    modelled,
    num_edges,
    tile_load,
)
from poplite.viz.marks import FactList, Gap, ListColumn, Listing, ListRow, Picture, heading
from poplite.viz.names import VARIABLES, size_bytes
from poplite.viz.painters import Forms, forms_of
from poplite.viz.program import runs_of
from poplite.viz.program_nodes import many, runs_text, saved_programs

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.program import Program
    from poplite.report import Report
    from poplite.report.compilation import Compilation
    from poplite.report.memory import Memory


@frozen
class VertexCount:
    """How many vertices of one class there are."""

    name: str
    vertices: int


@frozen
class ProgramLength:
    """How long a program is.

    Attributes:
        steps: its leaves, each place counted.
        runs: how often they run in all, with what repeats; None where data decide.
    """

    steps: int
    runs: int | None


@frozen
class Summary:
    """A graph in numbers.

    Attributes:
        machine: name of the target.
        target: the target of one replica; all numbers are those of one replica.
        replicas: how many replicas of the graph there are.
        classes: vertices by class, most first.
        edges: connected fields of vertices; each row of a list of edges is one.
        vertex_tiles: tiles that have vertices.
        unplaced_vertices: vertices without a tile.
        used_tiles: tiles that hold elements.
        unmapped_variables: variables and constants that have elements without a tile.
        worst_tile: the tile that needs most bytes.
        worst_bytes: the bytes that it needs in the step that needs most.
        kinds: those bytes by kind of thing, the most first.
        unmodelled: why the memory model knows nothing; empty where it does.
        over_tiles: tiles that hold more than their memory.
        program: length of the program, or None when there is none.
        cycles: of all runs so far, or of one as compiled; None where that is not known.
        runs: how often it ran; 0 where it is shown as compiled.
        note: what the cycles are of; empty where they are those of runs.
    """

    machine: str
    target: Target
    replicas: int
    variables: int
    variable_bytes: int
    constants: int
    constant_bytes: int
    compute_sets: int
    classes: tuple[VertexCount, ...]
    edges: int
    vertex_tiles: int
    unplaced_vertices: int
    used_tiles: int
    unmapped_elements: int
    unmapped_variables: int
    worst_tile: int
    worst_bytes: int
    kinds: tuple[tuple[str, int], ...]
    unmodelled: str
    over_tiles: int
    program: ProgramLength | None
    cycles: int | None = None
    runs: int = 0
    note: str = ""

    @property
    def vertices(self) -> int:
        """Vertices of all classes."""
        return sum(entry.vertices for entry in self.classes)

    @property
    def fits(self) -> bool:
        """Whether what is mapped so far fits every tile."""
        return not self.over_tiles

    @property
    def verdict(self) -> str:
        """Whether the graph fits its target, on one line."""
        limit = self.target.tile_memory_bytes
        if self.over_tiles:
            others = self.over_tiles - 1
            more = f", and {amount(others, 'more tile')}" if others else ""
            return (
                f"does not fit: tile {self.worst_tile} needs {size_text(self.worst_bytes)}, "
                f"has {size_text(limit)} ({size_text(self.worst_bytes - limit)} over){more}"
            )
        if self.unmapped_elements:
            return f"fits so far: {_have_no_tile(self.unmapped_elements, 'element')}"
        if self.unmodelled:
            return f"variables fit; the rest is not known: {self.unmodelled}"
        return "variables fit; no program given" if self.program is None else "fits"

    def rows(self) -> list[tuple[str, str]]:
        """Return `(label, text)` of each row under the verdict."""
        target = self.target
        return [
            ("target", self._target()),
            *([("replicas", f"{self.replicas:,}, each with all of this")] * (self.replicas > 1)),
            ("variables", f"{self.variables:,} ({size_text(self.variable_bytes)})"),
            ("constants", f"{self.constants:,} ({size_text(self.constant_bytes)})"),
            ("compute sets", f"{self.compute_sets:,}"),
            ("vertices", self._vertices()),
            ("edges", f"{self.edges:,}"),
            ("program", self._program()),
            *([("cycles", cycles)] if (cycles := self._cycles()) else []),
            ("mapping", self._mapping()),
            ("tiles used", f"{self.used_tiles:,} of {target.tiles:,}"),
            ("worst tile", self._worst()),
            ("memory", self._memory()),
        ]

    def _memory(self) -> str:
        if self.unmodelled:
            return f"of variables and constants alone: {self.unmodelled}"
        return ", ".join(f"{kind} {size_text(size)}" for kind, size in self.kinds)

    def _target(self) -> str:
        target = self.target
        tiles, size = amount(target.tiles_per_ipu, "tile"), size_text(target.tile_memory_bytes)
        ipus = f"{target.ipus:,} IPUs of " if target.ipus > 1 else ""
        workers = amount(target.workers, "worker thread")
        return f"{self.machine}: {ipus}{tiles} of {size}, {workers} each"

    def _vertices(self) -> str:
        if not self.classes:
            return "0"
        classes = classes_text([(entry.name, entry.vertices) for entry in self.classes])
        return f"{self.vertices:,} on {amount(self.vertex_tiles, 'tile')}: {classes}"

    def _program(self) -> str:
        if self.program is None:
            return "none given"
        return f"{many(self.program.steps, 'step')}, {runs_text(self.program.runs)}"

    def _cycles(self) -> str:
        if self.cycles is None:
            return "" if self.unmodelled else self.note
        how = f" in {amount(self.runs, 'run')}" if self.runs else ""
        return f"{self.cycles:,}{how}{f', {self.note}' if self.note else ''}"

    def _mapping(self) -> str:
        holes = []
        if self.unmapped_elements:
            where = amount(self.unmapped_variables, "variable")
            holes.append(f"{_have_no_tile(self.unmapped_elements, 'element')} ({where})")
        if self.unplaced_vertices:
            holes.append(_have_no_tile(self.unplaced_vertices, "vertex", "vertices"))
        return f"! {'; '.join(holes)}" if holes else "complete"

    def _worst(self) -> str:
        limit = self.target.tile_memory_bytes
        share = 100 * self.worst_bytes / limit
        percent = "under 0.1 %" if 0 < share < 0.1 else f"{share:,.1f} %"
        mark = "! " if self.over_tiles else ""
        size = f"{size_text(self.worst_bytes)} of {size_text(limit)}"
        return f"{mark}tile {self.worst_tile}: {size}, {percent}"


def summary_of(graph: Graph, program: Program | Mapping[str, Program] | None = None) -> Summary:
    """Count what a graph holds, and what tiles need when a program runs, or several by name.

    >>> from poplite.graph import Graph
    >>> graph = Graph(Target(tiles=2, tile_memory_bytes=24))
    >>> _ = graph.add_variable("float32", (8,), "x", mapping=1)
    >>> summary_of(graph).verdict
    'does not fit: tile 1 needs 3,200 B, has 24 B (3,176 B over), and 1 more tile'
    """
    graph = graph.top_level_graph
    load, model = tile_load(graph), modelled(graph, program)
    lists = [compute_set.vertices for compute_set in graph.compute_sets]
    vertices = [vertex for listed in lists for vertex in listed.items()]
    holes = [variable for variable in graph.variables if not variable.mapping.is_complete]
    return _summary(
        graph.target,
        model.plan,
        load.size_bytes,
        [
            (variable.constant, variable.num_elements * variable.element_type.size_bytes)
            for variable in graph.variables
        ],
        replicas=graph.replication_factor,
        compute_sets=len(graph.compute_sets),
        classes=tuple(VertexCount(*pair) for pair in class_counts(vertices)),
        edges=num_edges(vertices),
        vertex_tiles=len(set[int]().union(*(listed.tiles() for listed in lists))),
        unplaced_vertices=sum(
            vertex.tile is None for listed in lists for vertex in listed.singles()
        ),
        used_tiles=int(np.count_nonzero(load.elements)),
        unmapped_elements=load.unmapped,
        unmapped_variables=len(holes) if load.unmapped else 0,
        unmodelled=model.missing,
        program=_steps_of(program),
    )


def _summary(
    target: Target,
    memory: Memory | None,
    mapped: Int64,
    data: Sequence[tuple[bool, int]],
    **others: Any,
) -> Summary:
    """Return a summary with what follows from the memory of tiles, or else from what is mapped.

    `data` says of each variable and constant whether it is constant, and its bytes.
    """
    on_tiles = mapped if memory is None else memory.including_gaps.array()
    worst = int(on_tiles.argmax())
    sizes = [[size for is_constant, size in data if is_constant == kind] for kind in (False, True)]
    return Summary(
        machine=machine_name(target),
        target=target,
        variables=len(sizes[0]),
        variable_bytes=sum(sizes[0]),
        constants=len(sizes[1]),
        constant_bytes=sum(sizes[1]),
        worst_tile=worst,
        worst_bytes=int(on_tiles[worst]),
        kinds=() if memory is None else tuple(kinds_on(memory, worst).items()),
        over_tiles=int(np.count_nonzero(on_tiles > target.tile_memory_bytes)),
        **others,
    )


def _steps_of(program: Program | Mapping[str, Program] | None) -> ProgramLength | None:
    """Return how long programs are, each of which runs once."""
    from poplite.program import Program, Sequence

    if not program:
        return None
    whole = program if isinstance(program, Program) else Sequence(*program.values())
    return ProgramLength(whole.num_steps, runs_of(whole))


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
    counts = (VertexCount(each.name, each.vertices) for each in compilation.vertex_types)
    vertex_tiles = {
        tile
        for each in compilation.compute_sets
        for vertices in each.vertices
        for tile in vertices.count_by_tile.tiles.array().tolist()
    }
    unmapped = _unmapped(compilation)
    steps = [each for each in report.places if program in (None, each.program_name)]
    return _summary(
        target,
        memory,
        np.zeros(target.tiles, np.int64),
        _data(compilation),
        replicas=compilation.replicas,
        compute_sets=compilation.graph.num_compute_sets,
        classes=tuple(sorted(counts, key=lambda each: -each.vertices)),
        edges=compilation.graph.num_edges,
        vertex_tiles=len(vertex_tiles),
        unplaced_vertices=0,
        used_tiles=_used_tiles(compilation),
        unmapped_elements=sum(unmapped),
        unmapped_variables=sum(count > 0 for count in unmapped),
        unmodelled="" if memory is not None else "the option debug.instrument was False",
        program=None if report.note == NO_PROGRAM else _length(report, program),
        cycles=None if report.cycles is None else sum(each.cycles for each in steps),
        runs=report.runs,
        note=report.run_note,
    )


def _length(report: Report, program: str | None) -> ProgramLength:
    trees = dict(report.compilation.programs)
    nodes = saved_programs(report)
    chosen = list(trees) if program is None else [program]
    runs = [runs_of(nodes[name]) for name in chosen]
    known = [count for count in runs if count is not None]
    total = sum(known) if len(known) == len(runs) else None
    return ProgramLength(sum(num_steps(trees[name]) for name in chosen), total)


def _data(compilation: Compilation) -> list[tuple[bool, int]]:
    """Return of each variable and constant whether it is constant, and its bytes."""
    if len(compilation.variables) or compilation.modelled is None:
        return [(each.constant, size_bytes(each)) for each in compilation.variables]
    return [  # of an older file
        (held.category == "constant", held.bytes.total)
        for held in compilation.modelled.held
        if held.category in VARIABLES
    ]


def _unmapped(compilation: Compilation) -> list[int]:
    """Return the elements without a tile of each variable whose tiles are known."""
    found = []
    for variable in compilation.variables:
        if variable.first is not None and variable.tiles is not None:
            end = int(np.prod(variable.shape, dtype=np.int64))
            length = np.diff(variable.first.array(), append=end)
            found.append(int(length[variable.tiles.array() < 0].sum()))
    return found


def _used_tiles(compilation: Compilation) -> int:
    used: Int64 = np.zeros(0, np.int64)
    for variable in compilation.variables:
        if variable.tiles is not None:
            used = np.union1d(used, variable.tiles.array())
    held = () if compilation.modelled is None else compilation.modelled.held
    for each in held if not len(used) else ():
        if each.category in VARIABLES:
            used = np.union1d(used, each.bytes.tiles.array())
    return int(np.count_nonzero(used >= 0))


def machine_name(target: Target) -> str:
    """Return what a target is called.

    >>> machine_name(Target()), machine_name(Target(tiles=16))
    ('Mk2 (GC200)', 'Mk2 tiles')
    """
    known = Target(ipus=target.ipus)
    if target == known:
        return "Mk2 (GC200)"
    return "Mk2 tiles" if replace(target, tiles=known.tiles) == known else "custom"


def _have_no_tile(count: int, noun: str, plural: str = "") -> str:
    return f"{amount(count, noun, plural)} {'has' if count == 1 else 'have'} no tile"


# -- picture ---------------------------------------------------------------------------------------

USED = Role("used", "█", "q7", 0, "#")
OVER = Role("over its memory", "!", "over")


def summary_forms(summary: Summary) -> Forms:
    """Return the forms of a graph's summary."""
    return forms_of(summary_picture(summary), partial(summary_json, summary))


def summary_picture(summary: Summary) -> Picture:
    """Return a verdict, a row for each number, and how full the fullest tile is.

    >>> from poplite.graph import Graph
    >>> summary_picture(summary_of(Graph())).title
    'summary: variables fit; no program given'
    """
    title = f"{'' if summary.fits else '! '}summary: {summary.verdict}"
    facts = FactList(tuple(summary.rows()))
    return Picture(title, (*heading(title), Gap(), facts, Gap(), _fullest(summary)))


def _fullest(summary: Summary) -> Listing:
    """Return a bar of the worst tile's bytes against its memory, and of what is over."""
    used, limit = summary.worst_bytes, summary.target.tile_memory_bytes
    columns = (
        ListColumn("", "name"),
        ListColumn("", "bar", whole=max(used, limit), track=True),
        ListColumn(""),
    )
    bar = tuple(part for part in ((USED, min(used, limit)), (OVER, used - limit)) if part[1] > 0)
    name = f"{'! ' if used > limit else ''}tile {summary.worst_tile}"
    return Listing(columns, (ListRow((name, bar, size_text(limit))),), has_titles=False)


# -- data ------------------------------------------------------------------------------------------


def summary_json(summary: Summary) -> str:
    """Return a summary as JSON.

    >>> import json
    >>> from poplite.graph import Graph
    >>> json.loads(summary_json(summary_of(Graph())))["verdict"]
    'variables fit; no program given'
    """
    data = asdict(summary) | {
        "fits": summary.fits,
        "kinds": dict(summary.kinds),
        "verdict": summary.verdict,
        "vertices": summary.vertices,
    }
    return json_text("summary", data)
