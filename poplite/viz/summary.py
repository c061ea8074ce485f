"""A graph in a dozen numbers, with a verdict and a row for each, or a report at a glance.

A graph is counted directly; for a saved file, the numbers are those of its report.  Memory is that
of the memory model, as in the engine: variables, messages, code and stacks.  For a graph that
cannot be compiled yet, it is that of variables and constants only, with the reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import VertexInstance
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.program import Program, Sequence as Steps
from poplite.report.compilation import Compilation, Variable as CompiledVariable
from poplite.report.findings import Finding
from poplite.report.memory import Memory, peaks_of
from poplite.report.report import NO_PROGRAM, Report
from poplite.text import amount
from poplite.vertex.vertex import Field, Vertex
from poplite.viz.colours import MEMORY, SPENT, Role
from poplite.viz.draw.words import cut, name_text, share_text, size_text
from poplite.viz.marks import (
    BarCell,
    FactList,
    Gap,
    Legend,
    LengthStrip,
    ListColumn,
    Listing,
    ListRow,
    Mark,
    Picture,
    StripPart,
    Words,
    composed,
)
from poplite.viz.names import VARIABLES, have_no_tile, size_bytes
from poplite.viz.painters import PictureData, by_field
from poplite.viz.program import runs_of
from poplite.viz.program_nodes import many, runs_text, saved_programs
from poplite.viz.tile_map import modelled, tile_load

USED = Role("used", "█", "q7", 0, "#")
OVER = Role("over its memory", "!", "over")


@frozen
class ProgramLength:
    """How long a program is.

    Attributes:
        steps: its leaves, each place counted.
        runs: total number of executions, with repetitions; None if it depends on data.
    """

    steps: int
    runs: int | None


@frozen
class Summary(PictureData):
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
        unmodelled: why the memory model knows nothing; empty if it does.
        over_tiles: tiles that hold more than their memory.
        program: length of the program, or None when there is none.
        cycles: of all runs so far, or of one as compiled; None if that is not known.
        runs: how often it ran; 0 where it is shown as compiled.
        note: the origin of the cycles; empty if they were measured in runs.
    """

    machine: str
    target: Target
    replicas: int
    variables: int
    variable_bytes: int
    constants: int
    constant_bytes: int
    compute_sets: int
    classes: tuple[tuple[str, int], ...]
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

    KIND: ClassVar[str] = "summary"

    @property
    def vertices(self) -> int:
        """Vertices of all classes."""
        return sum(count for _, count in self.classes)

    @property
    def fits(self) -> bool:
        """Whether the elements mapped so far fit on every tile."""
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
            return f"fits so far: {have_no_tile(self.unmapped_elements, 'element')}"
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
        classes = classes_text(self.classes)
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
            holes.append(f"{have_no_tile(self.unmapped_elements, 'element')} ({where})")
        if self.unplaced_vertices:
            holes.append(have_no_tile(self.unplaced_vertices, "vertex", "vertices"))
        return f"! {'; '.join(holes)}" if holes else "complete"

    def _worst(self) -> str:
        limit = self.target.tile_memory_bytes
        share = 100 * self.worst_bytes / limit
        percent = "under 0.1 %" if 0 < share < 0.1 else f"{share:,.1f} %"
        mark = "! " if self.over_tiles else ""
        size = f"{size_text(self.worst_bytes)} of {size_text(limit)}"
        return f"{mark}tile {self.worst_tile}: {size}, {percent}"

    def picture(self) -> Picture:
        """Return a verdict, a row for each number, and how full the fullest tile is.

        >>> from poplite.graph import Graph
        >>> summary_of(Graph()).picture().title
        'summary: variables fit; no program given'
        """
        title = f"{'' if self.fits else '! '}summary: {self.verdict}"
        return composed(title, FactList(tuple(self.rows())), self._fullest())

    def _fullest(self) -> Listing:
        """Return a bar of the worst tile's bytes against its memory, with any excess."""
        used, limit = self.worst_bytes, self.target.tile_memory_bytes
        columns = (
            ListColumn("", "name"),
            ListColumn("", "bar", whole=max(used, limit), track=True),
            ListColumn(""),
        )
        both = ((USED, min(used, limit)), (OVER, used - limit))
        bar = tuple(part for part in both if part[1] > 0)
        name = f"{'! ' if used > limit else ''}tile {self.worst_tile}"
        return Listing(columns, (ListRow((name, bar, size_text(limit))),), has_titles=False)

    def data(self) -> dict[str, object]:
        """Return all fields, and numbers derived from them."""
        classes = [{"name": name, "vertices": count} for name, count in self.classes]
        found = by_field(self) | {"kinds": dict(self.kinds), "classes": classes}
        return found | {"fits": self.fits, "verdict": self.verdict, "vertices": self.vertices}


def summary_of(graph: Graph, program: Program | Mapping[str, Program] | None = None) -> Summary:
    """Count the contents of a graph, and the memory that one or several named programs need.

    >>> from poplite.graph import Graph
    >>> graph = Graph(Target(tiles=2, tile_memory_bytes=24))
    >>> _ = graph.add_variable("float32", (8,), "x", mapping=1)
    >>> summary_of(graph).verdict
    'does not fit: tile 1 needs 3,200 B, has 24 B (3,176 B over), and 1 more tile'
    """
    graph = graph.top_level_graph
    load, (memory, unmodelled) = tile_load(graph), modelled(graph, program)
    vertices = [vertex for each in graph.compute_sets for vertex in each.vertices.items()]
    singles = [vertex for each in graph.compute_sets for vertex in each.vertices.singles()]
    tiles = set[int]().union(*(each.vertices.tiles() for each in graph.compute_sets))
    data = [
        (each.constant, each.num_elements * each.element_type.size_bytes)
        for each in graph.variables
    ]
    holes = [variable for variable in graph.variables if not variable.mapping.is_complete]
    return _summary(
        graph.target,
        memory,
        load.size_bytes,
        data,
        replicas=graph.replication_factor,
        compute_sets=len(graph.compute_sets),
        classes=class_counts(vertices),
        edges=num_edges(vertices),
        vertex_tiles=len(tiles),
        unplaced_vertices=sum(vertex.tile is None for vertex in singles),
        used_tiles=int(np.count_nonzero(load.elements)),
        unmapped_elements=load.unmapped_elements,
        unmapped_variables=len(holes) if load.unmapped_elements else 0,
        unmodelled=unmodelled,
        program=_steps_of(program),
    )


def _summary(
    target: Target,
    memory: Memory | None,
    mapped: Int64,
    data: Sequence[tuple[bool, int]],
    **others: Any,
) -> Summary:
    """Return a summary with numbers derived from the memory of tiles, or else from the mapping.

    `data` contains, for each variable and constant, whether it is constant, and its bytes.
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
        kinds=() if memory is None else kinds_on(memory, worst),
        over_tiles=int(np.count_nonzero(on_tiles > target.tile_memory_bytes)),
        **others,
    )


def _steps_of(program: Program | Mapping[str, Program] | None) -> ProgramLength | None:
    """Return the lengths of programs, if each runs once."""
    if not program:
        return None
    whole = program if isinstance(program, Program) else Steps(*program.values())
    return ProgramLength(whole.num_steps, runs_of(whole))


def summary_of_report(report: Report, program: str | None = None) -> Summary:
    """Count the contents of a report, for all of its programs or for the named one.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x, y = (graph.add_variable(pl.FLOAT, (8,), name, mapping=1) for name in "xy")
    >>> summary = summary_of_report(pl.Engine(graph, pl.Copy(x, y)).report())
    >>> summary.verdict, summary.variables, summary.variable_bytes, summary.program
    ('fits', 2, 64, ProgramLength(steps=1, runs=1))
    """
    compilation, memory = report.compilation, report.compilation.modelled
    vertices = [each for one in compilation.compute_sets for each in one.vertices]
    tiles = [each.count_by_tile.tiles.array() for each in vertices]
    counts = [(each.name, each.vertices) for each in compilation.vertex_types]
    unmapped = [_unmapped(variable) for variable in compilation.variables]
    steps = [each for each in report.places if program in (None, each.program_name)]
    nodes = saved_programs(report)
    chosen = nodes if program is None else {program: nodes[program]}
    data, used = _data(compilation)
    return _summary(
        compilation.target,
        memory,
        np.zeros(compilation.target.tiles, np.int64),
        data,
        replicas=compilation.replicas,
        compute_sets=compilation.graph.num_compute_sets,
        classes=tuple(sorted(counts, key=lambda each: -each[1])),
        edges=compilation.graph.num_edges,
        vertex_tiles=_num_distinct(tiles),
        unplaced_vertices=0,
        used_tiles=_num_distinct(used),
        unmapped_elements=sum(unmapped),
        unmapped_variables=sum(count > 0 for count in unmapped),
        unmodelled="" if memory is not None else "the option debug.instrument was False",
        program=None if report.note == NO_PROGRAM else _steps_of(chosen),
        cycles=None if report.cycles is None else sum(each.cycles for each in steps),
        runs=report.runs,
        note=report.run_note,
    )


def _data(compilation: Compilation) -> tuple[list[tuple[bool, int]], list[Int64]]:
    """Return for each variable whether it is constant, and its bytes; and the tiles in use."""
    known, memory = compilation.variables, compilation.modelled
    if len(known) or memory is None:
        tiles = {id(each.tiles): each.tiles for each in known if each.tiles is not None}
        sizes = [(each.constant, size_bytes(each)) for each in known]
        return sizes, [each.array() for each in tiles.values()]
    held = [each for each in memory.held if each.category in VARIABLES]  # of an older file
    sizes = [(each.category == "constant", each.bytes.total) for each in held]
    return sizes, [each.bytes.tiles.array() for each in held]


def _num_distinct(tiles: Sequence[Int64]) -> int:
    return int((np.unique(np.concatenate([[-1], *tiles])) >= 0).sum())


def _unmapped(variable: CompiledVariable) -> int:
    """Return the number of a variable's elements without a tile; 0 if its tiles are unknown."""
    if variable.first is None or variable.tiles is None:
        return 0
    if not variable.tiles.values.count or variable.tiles.values.low >= 0:
        return 0
    length = np.diff(variable.first.array(), append=math.prod(variable.shape))
    return int(length[variable.tiles.array() < 0].sum())


def machine_name(target: Target) -> str:
    """Return the name of a target.

    >>> machine_name(Target()), machine_name(Target(tiles=16))
    ('Mk2 (GC200)', 'Mk2 tiles')
    """
    known = Target(ipus=target.ipus)
    if target == known:
        return "Mk2 (GC200)"
    return "Mk2 tiles" if replace(target, tiles=known.tiles) == known else "custom"


def kinds_on(plan: Memory, tile: int) -> tuple[tuple[str, int], ...]:
    """Return the bytes of each kind of thing on a tile in its fullest step, and between them.

    They add up to the bytes that the tile needs.
    """
    step, found = int(peaks_of(plan).step[tile]), Counter[str]()
    live = [held for held in plan.held if held.steps is None or held.is_in(step)]
    alike = Counter([(held.category, id(held.bytes)) for held in live])
    spreads = {id(held.bytes): held.bytes for held in live}
    for (category, key), count in alike.items():
        found[category.replace("_", " ")] += count * spreads[key][tile]
    gaps = plan.including_gaps[tile] - found.total()
    return tuple(pair for pair in (*found.most_common(), ("gaps", gaps)) if pair[1])


# -- vertices --------------------------------------------------------------------------------------

Vertices = VertexInstance | VertexBlock

SHOWN_CLASSES = 6
LONGEST_CLASS = 32


def edges_of(vertex: VertexInstance) -> Iterator[tuple[Field, Tensor]]:
    """Yield the connected edges of a vertex: the field and its tensor.

    Each row of a list of edges is one.

    >>> import poplite as pl
    >>> class Sum(pl.Vertex):
    ...     rows: pl.Input[pl.Vector[pl.Vector[pl.FLOAT]]]
    ...     def compute(self) -> None:
    ...         pass
    >>> graph = pl.Graph()
    >>> vertex = graph.add_vertex(graph.add_compute_set("sum"), Sum)
    >>> graph.connect(vertex["rows"][1], graph.add_variable(pl.FLOAT, (4,), "x"))
    >>> [tensor.name for _, tensor in edges_of(vertex)]
    ['x']
    """
    fields = vertex.vertex_class.fields
    for name, value in vertex.connections.items():
        if name not in vertex.rows:
            for tensor in value if isinstance(value, tuple) else (value,):
                yield fields[name], tensor
    for name, rows in vertex.rows.items():  # connected one by one, perhaps with gaps
        for tensor in rows.values():
            yield fields[name], tensor


def num_edges(vertices: Iterable[Vertices]) -> int:
    """Count the edges of vertices, single ones and blocks.

    >>> num_edges([])
    0
    """
    return sum(
        vertex.num_edges if isinstance(vertex, VertexBlock) else sum(1 for _ in edges_of(vertex))
        for vertex in vertices
    )


def class_counts(vertices: Iterable[Vertices]) -> tuple[tuple[str, int], ...]:
    """Return name and vertices of each class, most first, else in the order met.

    Classes that have the same name are counted separately.

    >>> class_counts([])
    ()
    """
    counts: Counter[type[Vertex]] = Counter()
    for vertex in vertices:
        counts[vertex.vertex_class] += len(vertex) if isinstance(vertex, VertexBlock) else 1
    return tuple((cls.__name__, count) for cls, count in counts.most_common())


def classes_text(counts: Sequence[tuple[str, int]]) -> str:
    """Return the largest classes in words; `counts` begins with them.

    >>> classes_text([("Blur", 2000), ("Add", 4)])
    'Blur 2,000, Add 4'
    """
    shown = [
        f"{cut(name_text(name), LONGEST_CLASS)} {count:,}" for name, count in counts[:SHOWN_CLASSES]
    ]
    hidden = len(counts) - len(shown)
    return ", ".join(shown + ([amount(hidden, "more class", "more classes")] if hidden else []))


# -- a report at a glance --------------------------------------------------------------------------

MOST_FINDINGS = 6


@frozen
class Overview(PictureData):
    """The overview of a report.

    Attributes:
        time: cycles of a tile on average; they add up to all cycles.
        tile: the fullest tile; None if memory is not modelled.
        memory: bytes on it at its peak; they add up to what it needs.
        findings: the largest uses and losses of cycles, the largest first.
        limit_bytes: memory of a tile.
        note: the origin of the cycles; empty if they are those of one run.
    """

    time: BarCell
    tile: int | None
    memory: BarCell
    findings: tuple[Finding, ...]
    limit_bytes: int
    note: str = ""

    def picture(self) -> Picture:
        """Return a strip of time, a strip of memory, and what to look at first.

        >>> parts = ((SPENT["sync"], 9),)
        >>> Overview(parts, None, (), (), 9).picture().marks[0].text
        "where a tile's time goes, on average"
        """
        marks: list[Mark] = []
        if self.time:
            marks += [Words(name_text(self.note))] if self.note else []
            marks += [Words("where a tile's time goes, on average", "strong"), *_strip(self.time)]
        if self.memory:
            needed = int(sum(size for _, size in self.memory))
            over = "! over the limit, " if needed > self.limit_bytes else ""
            said = f"{over}what fills tile {self.tile:,}, the fullest: {size_text(needed)}"
            marks += [Words(said, "strong"), *_strip(self.memory, self.limit_bytes)]
        if self.findings:
            said = "what to look at first; cycles are computed: what the remedy would save"
            shares = [f"{100 * e.share:.1f}%" if e.share else "!" for e in self.findings]
            texts = [name_text(each.text) for each in self.findings]
            facts = FactList(tuple(zip(shares, texts, strict=True)))
            marks += [Words(said, "strong"), facts]
        return Picture("where time and memory go, and what to look at first", tuple(marks))


def overview_of(report: Report) -> Overview:
    """Gather the overview of a report; programs that did not run count as run once.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> x = graph.add_variable(pl.INT, (500,), "x", mapping=1)
    >>> overview_of(pl.Engine(graph, pl.Sequence()).report()).memory[0]
    (Role(words='variables', ...), 2000)
    """
    memory, spent = report.compilation.modelled, report.shown.time_parts()
    tile = None if memory is None else memory.including_gaps.worst_tile
    held = []
    if memory is not None and tile is not None:
        kinds = peaks_of(memory).kinds()
        held = [(MEMORY[name], int(each[tile])) for name, each in kinds.items()]
    return Overview(
        time=tuple((SPENT[part], cycles) for part, cycles in spent.items() if cycles > 0),
        tile=tile,
        memory=tuple((role, size) for role, size in held if size > 0),
        findings=report.insights.findings[:MOST_FINDINGS],
        limit_bytes=report.compilation.target.tile_memory_bytes,
        note=report.run_note,
    )


def _strip(parts: BarCell, limit: int | None = None) -> tuple[Mark, ...]:
    """Return parts one after the other, and the share of each."""
    whole, end, lain, roles = sum(size for _, size in parts), 0.0, [], []
    for role, size in parts:
        words = f"{role.words} {share_text(size / whole)}"
        begin, end = end, end + size
        lain.append(StripPart(round(begin), round(end) - round(begin), role, role.words, words))
        roles.append(replace(role, words=words))
    return LengthStrip(tuple(lain), round(whole), limit), Legend(tuple(roles)), Gap()
