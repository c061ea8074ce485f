"""Compute sets that are equal but for their variables: layers of a network, steps of a solver.

    Add(x=a[0:64], out=b[0:64])    form   Add(x=0[0:64], out=1[0:64])    variables a, b
    Add(x=c[0:64], out=d[0:64])           the same                                 c, d

Variables of a form are numbered by address, and each counts by its size and the tiles of its
elements. The edges that meet, the moves between tiles, and the elements gathered there are the same
for all compute sets of a form, and found once.

So are the edges of one variable, which start elsewhere in another one, and are the same otherwise::

    x[0:4], x[4:8], x[8:12]     of variable x, at 0          start 0, step 4      length 4
    y[0:4], y[4:8], y[8:12]     of variable y, at 1001       start 1001, step 4   length 4
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import NARROW, Listed, Series, Steps
from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges, edge_table
from poplite.graph.compute_sets.vertex_block import EdgeRuns, Edges, VertexBlock
from poplite.view import Cat, Storage, View, storages
from poplite.view.concatenation import SlicedViews

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.storage.space import Space


def form_of_view(view: View) -> Hashable:
    """Return what the elements of a view are within its one variable.

    >>> from poplite.view import all_of
    >>> x, y = (all_of(Storage(number, 100 * number, 6), (2, 3)) for number in range(2))
    >>> form_of_view(x.dim_shuffle((1, 0))) == form_of_view(y.dim_shuffle((1, 0)))
    True
    """
    space = view.space
    if isinstance(space, Storage):
        return view.shape, view.dims, view.off
    kids = space.kids
    if isinstance(kids, tuple):
        below: Hashable = tuple([form_of_view(kid) for kid in kids])
    else:
        below = form_of_view(kids.template), kids.extent.tobytes(), kids.off.tobytes()
    return view.shape, view.dims, view.off, space.outer, below


def moved_view(view: View, storage: Storage) -> View:
    """Return a view of one variable as one of another."""
    space: Storage | Cat = storage
    if not isinstance(view.space, Storage):
        kids = view.space.kids
        if isinstance(kids, tuple):
            parts: tuple[View, ...] | SlicedViews = tuple(
                [moved_view(kid, storage) for kid in kids]
            )
        else:
            parts = SlicedViews(moved_view(kids.template, storage), kids.extent, kids.off)
        space = Cat(parts, view.space.outer)
    return View(view.shape, view.dims, view.off, space)


def may_move(edges: Edges) -> bool:
    """Return whether edges that are moved are kept as those that are made in their place."""
    return not isinstance(edges.start, Listed) or edges.start.offset.dtype == NARROW


def moved_edges(edges: Edges, distance: int, storage: Storage) -> Edges:
    """Return edges of one variable as those of another, which begins at a distance."""
    start, pieces = edges.start, edges.pieces
    if start is not None and edges.num_elements:
        start = start.moved(distance)
    if isinstance(pieces, EdgeRuns):
        pieces = pieces._replace(begin=pieces.begin + distance)
    elif pieces is not None:
        pieces = moved_view(pieces, storage)
    return Edges(edges.rows, edges.length, start, pieces, edges.pairs)


MOST_EDGES = 1 << 14
"""Edges of a field beyond which no form is sought: compute sets that are large are few."""


Role = Literal["any", "written", "input"]
"""Fields of a compute set: all, those that are written, or those that are only read."""


class Form(NamedTuple):
    """What a compute set is but for its variables.

    Attributes:
        key: equal for compute sets that differ in their variables only.
        variables: the numbers of the variables, ascending.
    """

    key: Hashable
    variables: tuple[int, ...]


class EdgeTables:
    """The edge tables of the compute sets of a graph, whose mapping must not change meanwhile.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         self.x = 2.0 * self.x
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> for name in "xy":
    ...     x = graph.add_variable(pl.FLOAT, (10,), name, mapping="linear")
    ...     _ = graph.add_vertices(graph.add_compute_set(), Double, tile=0, x=x)
    >>> tables = EdgeTables(graph.space)
    >>> first, second = map(tables, graph.compute_sets)
    >>> second.alike is first, tables.owners(second)
    (True, (1,))
    >>> tables.owners(second, "written")
    (1,)
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._tables: dict[ComputeSet, EdgeTable] = {}
        self._forms: dict[EdgeTable, Form] = {}
        self._first: dict[Hashable, EdgeTable] = {}
        self._owners: dict[tuple[EdgeTable, Role], tuple[int, ...]] = {}
        self._mappings: dict[int, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def __call__(self, compute_set: ComputeSet) -> EdgeTable:
        """Return the edges of a compute set whose fields are all connected."""
        found = self._tables.get(compute_set)
        if found is None:
            found = self._tables[compute_set] = edge_table(compute_set)
            form = self._form(found)
            if form is not None:
                self._forms[found] = form
                first = self._first.setdefault(form.key, found)
                found.alike = None if first is found else first
        return found

    def owners(self, table: EdgeTable, role: Role = "any") -> tuple[int, ...]:
        """Return the numbers of the variables below the fields of a compute set, ascending.

        `role` says which fields: all, those that are written, or those that are only read.
        """
        found = self._owners.get((table, role))
        if found is None:
            found = self._owners[table, role] = self._found_owners(table, role)
        return found

    def _found_owners(self, table: EdgeTable, role: Role) -> tuple[int, ...]:
        if table.alike is None:
            writes = {"any": (True, False), "written": (True,), "input": (False,)}[role]
            fields = [each for each in table.fields if each.field.writes in writes]
            return tuple(_owners(self._space, fields))
        theirs, own = self._forms[table.alike].variables, self._forms[table].variables
        to = dict(zip(theirs, own, strict=True))
        return tuple([to[number] for number in self.owners(table.alike, role)])

    def _form(self, table: EdgeTable) -> Form | None:
        """Return the form of a compute set; None for vertices that were added one by one."""
        if not all(_may_have_form(family) for family in table.families):
            return None
        seen = _Seen(self._space)
        families = []
        for family in table.families:
            fields = [_edges(part.edges, seen) for part in family.fields]
            if None in fields:
                return None
            families.append((family.cls, _series(family.numbers), _tiles(family), *fields))
        variables, places = seen.numbered()
        mappings = tuple([self._mapping(number) for number in variables])
        return Form((tuple(families), places, mappings), variables)

    def _mapping(self, number: int) -> int:
        """Return a number for the size and the tiles of a variable, the same for equal ones."""
        found = self._mappings.get(number)
        if found is None:
            breaks, tiles = self._space.variables[number].mapping.pieces()
            key = breaks.tobytes(), tiles.tobytes()
            found = self._mappings[number] = self._numbers.setdefault(key, len(self._numbers))
        return found


class _Seen:
    """The variables behind the fields of a compute set, as fields are gone through."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._owners: list[int | Int64] = []

    def steps(self, steps: Steps) -> Hashable:
        """Add regular addresses, and return what they are within their variables."""
        first = self._space.owner(steps.low)
        if first != self._space.owner(steps.high):
            return self.addresses(steps.array())
        self._owners.append(first)
        return steps.first - self._space.variables[first].base, steps.digits

    def addresses(self, addresses: Int64) -> Hashable:
        """Add addresses, and return what they are within their variables."""
        first = self._space.owner(int(addresses.min()))
        if first == self._space.owner(int(addresses.max())):
            self._owners.append(first)
            return (addresses - self._space.variables[first].base).tobytes()
        owners = self._space.owners(addresses)
        self._owners.append(owners)
        numbers, which = np.unique(owners, return_inverse=True)
        bases = np.array([self._space.variables[number].base for number in numbers.tolist()])
        within: Int64 = addresses - bases[which]
        return within.tobytes()

    @property
    def is_of_several(self) -> bool:
        """Whether the addresses that were added last are those of several variables."""
        return not isinstance(self._owners[-1], int)

    def storage(self, storage: Storage) -> None:
        """Add a variable."""
        self._owners.append(storage.id)

    def numbered(self) -> tuple[tuple[int, ...], Hashable]:
        """Return all variables, ascending, and the position of each owner among them."""
        every: set[int] = set()
        for each in self._owners:
            every.update([each] if isinstance(each, int) else each.tolist())
        variables = sorted(every)
        number = {each: position for position, each in enumerate(variables)}
        array = np.array(variables, np.int64)
        places = [
            number[each] if isinstance(each, int) else np.searchsorted(array, each).tobytes()
            for each in self._owners
        ]
        return tuple(variables), tuple(places)


def _may_have_form(family: Family) -> bool:
    """Return whether vertices were added together, with few edges."""
    is_block = isinstance(family.vertices, VertexBlock)
    return is_block and all(part.edges.length.count <= MOST_EDGES for part in family.fields)


def _tiles(family: Family) -> Hashable:
    assert isinstance(family.vertices, VertexBlock)
    tiles = family.vertices.tiles
    return None if tiles.stops is None else tiles.stops.tobytes(), tiles.tiles.tobytes()


def _series(series: Series) -> Hashable:
    if isinstance(series, Steps):
        return series.first, series.digits
    return series.base, series.offset.tobytes()


def _edges(edges: Edges, seen: _Seen) -> Hashable:
    """Return what edges are within their variables.

    None where elements of several variables are gathered: their distances on a tile depend on the
    tile's whole memory.
    """
    counts, start, pieces = (_series(edges.rows), _series(edges.length)), edges.start, edges.pieces
    if not edges.num_elements:
        return counts
    if isinstance(start, Steps):
        return counts, seen.steps(start)
    if start is not None:
        return counts, seen.addresses(start.array())
    if isinstance(pieces, EdgeRuns):
        begin = pieces.begin
        within = seen.addresses(begin)
        if seen.is_of_several:
            return None
        return counts, pieces.first.tobytes(), pieces.size.tobytes(), within
    assert pieces is not None
    below = storages(pieces)
    if len(below) > 1:
        return None
    seen.storage(below[0])
    return counts, form_of_view(pieces)


def _owners(space: Space, fields: Sequence[FieldEdges]) -> list[int]:
    owners: set[int] = set()
    for field in fields:
        low, high = field.envelope
        first, last = space.owner(low), space.owner(high - 1)
        if first != last:
            owners.update(np.unique(space.owners(field.runs.begin)).tolist())
        else:
            owners.add(first)
    return sorted(owners)
