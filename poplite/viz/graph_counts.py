"""A graph in numbers, before anything runs: what lies on each tile, classes of vertices, edges.

>>> load = TileLoad("two tiles", np.array([4, 0]), np.array([16, 0]), 0, 638_976)
>>> load.summary()
'16 B on 1 of 2 tiles (0)'
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poplite.errors import PopliteError
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import VertexInstance
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.graph.space import variable_named
from poplite.graph.tile_mapping import NO_TILE, ranges
from poplite.report.memory import Memory, peaks_of
from poplite.text import amount
from poplite.viz.draw.columns import cut
from poplite.viz.draw.units import name_text, size_text

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.space import Variable
    from poplite.graph.tensor.tensor import Tensor
    from poplite.program import Program
    from poplite.vertex.vertex import Field, Vertex


@frozen(eq=False)
class TileLoad:
    """Elements and bytes of some variables on every tile.

    Attributes:
        title: what was counted.
        elements: int64[tiles].
        size_bytes: int64[tiles].
        unmapped: elements that have no tile.
        limit_bytes: memory of one tile.
        ipus: IPUs that the tiles are on, each with as many.
        needed: int64[tiles], what they need with code, messages, stacks and copies; None where only
            variables are counted.
        unmodelled: why the graph cannot be compiled so that these could be counted; "" otherwise.
    """

    title: str
    elements: npt.NDArray[np.int64]
    size_bytes: npt.NDArray[np.int64]
    unmapped: int
    limit_bytes: int
    ipus: int = 1
    needed: npt.NDArray[np.int64] | None = None
    unmodelled: str = ""

    def summary(self) -> str:
        """Return how much lies where, on one line."""
        used = np.flatnonzero(self.size_bytes)
        total = size_text(int(self.size_bytes.sum()))
        where = f" ({ranges(used)})" if 0 < len(used) < len(self.size_bytes) else ""
        count = amount(len(self.size_bytes), "tile")
        return f"{total} on {len(used):,} of {count}{where}"

    def balance(self) -> str:
        """Return the extremes among the tiles that hold anything; empty when none does.

        >>> TileLoad("", np.array([4, 2]), np.array([16, 8]), 0, 99).balance()
        'most 16 B (tile 0), least 8 B (tile 1), mean 12 B a used tile'
        """
        used = np.flatnonzero(self.size_bytes)
        if not len(used):
            return ""
        size = self.size_bytes[used]
        most, least = int(size.argmax()), int(size.argmin())
        if size[most] == size[least]:
            return f"{size_text(int(size[most]))} on each used tile"
        return (
            f"most {size_text(int(size[most]))} (tile {used[most]}), "
            f"least {size_text(int(size[least]))} (tile {used[least]}), "
            f"mean {size_text(round(float(size.mean())))} a used tile"
        )

    def warnings(self) -> list[str]:
        """Return a line each for elements without a tile, and for what is not counted.

        >>> TileLoad("", np.array([4, 2]), np.array([16, 8]), 3, 10).warnings()
        ['! 3 elements have no tile']
        """
        lines = []
        if self.unmapped:
            have = "has" if self.unmapped == 1 else "have"
            lines.append(f"! {amount(self.unmapped, 'element')} {have} no tile")
        if self.unmodelled:
            lines.append(f"! code, messages and stacks are not counted: {self.unmodelled}")
        return lines


def tile_load(graph: Graph, names: Sequence[str] = ()) -> TileLoad:
    """Count what lies on every tile: the named variables and constants, or all.

    Raises UnknownName when the graph has no variable of a name.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> _ = graph.add_variable("float32", (8,), "x", mapping=3)
    >>> tile_load(graph).summary()
    '32 B on 1 of 1,472 tiles (3)'
    """
    graph = graph.top_level_graph
    chosen = [
        variable_named(graph.space, name, at=None) for name in dict.fromkeys(names)
    ] or graph.variables
    tiles = graph.target.tiles
    # One array for all variables: a loop over 10^5 small ones would be slow.
    pieces = [variable.mapping.pieces() for variable in chosen]
    none = np.empty(0, np.int64)
    begin = np.concatenate([none, *(breaks[:-1] for breaks, _ in pieces)])
    length = np.concatenate([none, *(breaks[1:] for breaks, _ in pieces)]) - begin
    tile = np.concatenate([none, *(tile for _, tile in pieces)])
    each = np.array([variable.element_type.size_bytes for variable in chosen], np.int64)
    size = length * np.repeat(each, np.array([len(tile) for _, tile in pieces], np.int64))
    known = tile != NO_TILE
    elements, size_bytes = (
        np.bincount(tile[known], count[known], tiles).astype(np.int64) for count in (length, size)
    )
    unmapped = int(length[~known].sum())
    limit = graph.target.tile_memory_bytes
    title = _title(chosen, bool(names))
    return TileLoad(title, elements, size_bytes, unmapped, limit, graph.target.ipus)


def _title(chosen: Sequence[Variable], named: bool) -> str:
    if named:
        return ", ".join(f"'{name_text(variable.name)}'" for variable in chosen)
    constants = sum(variable.constant for variable in chosen)
    parts = [amount(len(chosen) - constants, "variable")]
    parts += [amount(constants, "constant")] if constants else []
    return " and ".join(parts)


# -- what the memory model says --------------------------------------------------------------------


@frozen(eq=False)
class Modelled:
    """The memory of tiles, or why it is not known.

    Attributes:
        plan: what tiles hold; None for a graph that cannot be compiled so far.
        missing: why it cannot.
    """

    plan: Memory | None
    missing: str = ""


def modelled(graph: Graph, programs: Program | Mapping[str, Program] | None = None) -> Modelled:
    """Return what tiles hold when programs run; without any, what lies there all the time.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> _ = graph.add_variable(pl.FLOAT, (100,), "x", mapping=1)
    >>> list(modelled(graph).plan.including_gaps)
    [3168, 3568]
    """
    from poplite.compile.compiler import plan_memory  # and with it all that prices steps
    from poplite.program import Sequence

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Modelled(plan_memory(graph, programs or Sequence()))
        except PopliteError as error:
            return Modelled(None, error.what)


def judged_load(graph: Graph, programs: Program | Mapping[str, Program] | None = None) -> TileLoad:
    """Count what tiles need in all, and what of it variables take.

    What cannot be compiled yet has its variables counted alone, and says why.
    """
    load = tile_load(graph)
    model = modelled(graph, programs)
    if model.plan is None:
        return replace(load, unmodelled=model.missing)
    title = load.title if programs else f"{load.title}, no program"
    replicas = graph.replication_factor
    title += f"; of one of {replicas:,} replicas" if replicas > 1 else ""
    return replace(load, title=title, needed=model.plan.including_gaps.array())


def kinds_on(plan: Memory, tile: int) -> dict[str, int]:
    """Return the bytes of each kind of thing on a tile in its fullest step, and between them.

    They add up to the bytes that the tile needs.
    """
    step = int(peaks_of(plan).step[tile])
    found: dict[str, int] = {}
    for held in plan.held:
        size = held.bytes[tile] if held.steps is None or held.is_in(step) else 0
        if size:
            kind = held.category.replace("_", " ")
            found[kind] = found.get(kind, 0) + size
    found = dict(sorted(found.items(), key=lambda each: -each[1]))
    gaps = plan.including_gaps[tile] - sum(found.values())
    return found | ({"gaps": gaps} if gaps else {})


# -- vertices --------------------------------------------------------------------------------------

Vertices = VertexInstance | VertexBlock

SHOWN_CLASSES = 6
LONGEST_CLASS = 32


def edges_of(vertex: VertexInstance) -> Iterator[tuple[Field, Tensor]]:
    """Yield the connected edges of a vertex: the field, and the tensor behind it.

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
