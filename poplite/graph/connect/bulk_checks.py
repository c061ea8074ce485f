"""Rules of connecting, applied to many vertices at once.

Rules are written for one vertex (`poplite.graph.connect.rules`). A `Probe` stands for the vertex
that a message would name, and raises the rule's own error for it::

    probe.refuse([3, 7, 9], check)      check(3) raises for vertex 3; 7 and 9 are named below
    probe.check_each(check)             the same for all vertices that the rule refuses

Two rules are computed from arrays::

    doubly_written    vertices that write an element twice, or a constant
    metadata_of       metadata of QUARTER fields, and vertices that mix two kinds
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, compact
from poplite.errors import SHOWN_FAULTS, PopliteError
from poplite.graph.compute_sets.compute_set import ComputeSet, new_vertex
from poplite.graph.compute_sets.edges import Edges
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.graph.tensor.metadata import same_meaning
from poplite.source import SourceLocation
from poplite.vertex.vertex import Vertex
from poplite.view import View, address_at

if TYPE_CHECKING:
    from poplite.graph.storage.space import Space

Rule = Callable[[int], None]
"""Takes the position of a vertex among those that are added, and raises its error."""


class Probe:
    """One of many vertices that are being added: the one that a message would name.

    Attributes:
        vertex: stands for that one; `move_to` changes its number.
        count: number of vertices, once it is known.
        tiles: their tiles, once they are known.
    """

    def __init__(
        self, compute_set: ComputeSet, vertex_class: type[Vertex], at: SourceLocation
    ) -> None:
        self.vertex = new_vertex(compute_set, vertex_class, at)
        self.graph, self._first = compute_set.graph, self.vertex.index
        self.count = 0
        self.tiles: VertexTiles | None = None

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.vertex.vertex_class.__name__

    @property
    def names(self) -> str:
        """The class and the range of numbers of all vertices."""
        return f"{self.name} {self._first} to {self._first + self.count - 1}"

    def move_to(self, k: int) -> None:
        """Make the probe stand for vertex `k`."""
        self.vertex.index = self._first + k
        if self.tiles is not None and self.count:
            self.vertex.tile = self.tiles.at(k)

    def check_each(self, check: Rule) -> None:
        """Apply a rule to all vertices."""
        faulty = []
        for k in range(self.count):
            try:
                check(k)
            except PopliteError:
                faulty.append(k)
        self.refuse(faulty, check)

    def refuse(self, faulty: Sequence[int] | Int64, check: Rule) -> None:
        """Raise the rule's error for the first faulty vertex, if any; `faulty` is ascending."""
        if not len(faulty):
            return
        self.move_to(int(faulty[0]))
        try:
            check(int(faulty[0]))
        except PopliteError as error:
            self._raise(error, faulty)
        raise AssertionError(f"the rule for one vertex passes {self.vertex}")

    def _raise(self, error: PopliteError, faulty: Sequence[int] | Int64) -> NoReturn:
        others = [self._first + int(k) for k in faulty[1:SHOWN_FAULTS]]
        if not others:
            raise error
        more = len(faulty) - 1 - len(others)
        names = ", ".join(map(str, others)) + (f" and {more:,} more" if more else "")
        raise type(error)(
            error.what,
            at=error.at,
            found=f"{error.found}\nthe same of {self.name} {names}".lstrip("\n"),
            fix=error.fix,
        ) from None


NOBODY = np.zeros(0, np.int64)


def doubly_written(space: Space, written: Mapping[str, Edges], constants: Iterable[str]) -> Int64:
    """Return the positions, ascending, of vertices that write an element twice, or a constant.

    `constants` are names of written fields that may hold constants.
    """
    filled = [edges for edges in written.values() if edges.num_elements]
    faulty = [_of_constants(space, written[name]) for name in constants]
    disjoint = all(_is_one_run(edges) or edges.surely_disjoint() for edges in filled)
    spans = [edges.envelope() for edges in filled]
    if not disjoint or any(a < d and c < b for (a, b), (c, d) in combinations(spans, 2)):
        faulty.append(_overlapping(filled))
    return np.unique(np.concatenate([NOBODY, *faulty]))


def _is_one_run(edges: Edges) -> bool:
    """Tell whether every vertex has one edge of consecutive elements."""
    return edges.start is not None and edges.rows.only == 1


def _overlapping(filled: list[Edges]) -> Int64:
    """Return the vertices with two overlapping runs among fields that have elements."""
    columns = [_runs_by_vertex(edges) for edges in filled]
    vertex, begin, end = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((begin, vertex))
    vertex, begin, end = vertex[order], begin[order], end[order]
    # Sorted intervals overlap only if two neighbours do.
    meet = (vertex[1:] == vertex[:-1]) & (begin[1:] < end[:-1])
    return np.unique(vertex[1:][meet])


def _runs_by_vertex(edges: Edges) -> tuple[Int64, Int64, Int64]:
    runs = edges.runs()
    vertex = np.repeat(np.arange(edges.num_vertices), edges.rows.array())
    return vertex[runs.edge()], runs.begin, runs.begin + runs.size


def _of_constants(space: Space, edges: Edges) -> Int64:
    vertex, begin, _ = _runs_by_vertex(edges)
    is_constant = np.array([variable.constant for variable in space.variables])
    return np.unique(vertex[is_constant[space.owners(begin)]])


def metadata_of(space: Space, edges: Edges) -> tuple[Series | None, Int64]:
    """Return the address of a QUARTER field's metadata for each vertex, and the faulty vertices.

    The addresses are None where no edge has elements. Vertices are faulty whose elements have no
    metadata, or different ones.
    """
    if not edges.num_elements:
        return None, NOBODY
    low, high = edges.envelope()
    vertex, owners = np.arange(edges.num_vertices), space.owners(np.array([low, high - 1]))
    if owners[0] != owners[1]:
        vertex, begin, _ = _runs_by_vertex(edges)
        owners = space.owners(begin)
    used, place = np.unique(owners, return_inverse=True)
    metadata = [space.variables[owner].metadata for owner in used.tolist()]
    kinds = [_first_alike(space, metadata, each) for each in metadata]
    of_run = np.array(kinds)[place if len(used) > 1 else 0]
    least = np.full(edges.num_vertices, len(kinds))
    most = np.full(edges.num_vertices, -2)  # stays so without elements
    np.minimum.at(least, vertex, of_run)
    np.maximum.at(most, vertex, of_run)
    faulty = (most != -2) & ((most != least) | (least < 0))
    if faulty.any():
        return None, np.flatnonzero(faulty)
    addresses = [address_at(each, 0) for each in metadata if each is not None]
    return compact(np.array(addresses)[np.maximum(most, 0)]), NOBODY


def _first_alike(space: Space, metadata: Sequence[View | None], one: View | None) -> int:
    """Return the position of the first equivalent metadata; -1 for none."""
    if one is None:
        return -1
    return next(k for k, other in enumerate(metadata) if same_meaning(space, other, one))
