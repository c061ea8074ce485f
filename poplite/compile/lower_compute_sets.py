"""Lower compute sets, with the variables of their graph, to their stored form.

    edges   ->  places    pointers for contiguous fields, copies for others
    places  ->  columns   start, length and rows of every field, as numbers for all vertices
    columns ->  rows      a few runs, or tables (`poplite.compile.places`)

A compute set that differs from an earlier one only in its variables gets the earlier step, with
moved addresses::

    Add(x=a[0:64] ...)    rows     start 0, step 4 ...       gather   1000 <- 128, 192 ...
    Add(x=c[0:64] ...)    rows     start 512, step 4 ...     gather   1000 <- 640, 704 ...

All positions of a field move by the same distance as its variable; temporaries do not move.

State is placed first, since temporaries start where it ends. An executable contains two parts of
the graph: its variables (`stored`), and the descriptions of its vertices for messages
(`origins_of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Series, Steps, compact, constant, counting, taken
from poplite.compile.lower_copies import NO_MOVES
from poplite.compile.places import (
    InPlace,
    PlacedEdges,
    Places,
    RowLists,
    direct,
    rows_in_place,
    vertices_of,
)
from poplite.executable.encoding import NUMBER, Moves, RowForm, positions
from poplite.executable.parts import (
    MOST_PIECES,
    ArenaLayout,
    ComputeStep,
    ElementTiles,
    Origins,
    StoredVariable,
    Vertices,
)
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet, StateValues, Vectors, VertexInstance
from poplite.graph.compute_sets.edge_table import EdgeTable, Family
from poplite.graph.compute_sets.vertex_block import EdgeRuns, Edges, VertexTiles
from poplite.source import SourceLocation
from poplite.vertex.compute.meaning import meaning_of
from poplite.vertex.fields import Field
from poplite.vertex.vertex import Vertex
from poplite.vertices.slices import gathers_rows, needs_old_rows, updates_rows
from poplite.view import storages

if TYPE_CHECKING:
    from poplite.graph.space import Variable


Column = tuple[int, str]

VERTEX_OVERHEAD = 8
"""Work for starting one vertex, in elements; used only to balance chunks."""


def lower_compute_sets(
    compute_sets: Iterable[tuple[ComputeSet, EdgeTable]],
    layout: ArenaLayout,
    checked: Iterable[bool],
) -> list[ComputeStep]:
    """Lower checked compute sets; reserve state and temporaries in the layout.

    `checked` has, for each, whether its outputs are saved first, since its vertices may fail.
    """
    listed = [(*each, saved) for each, saved in zip(compute_sets, checked, strict=True)]
    in_place: dict[EdgeTable, InPlace] = {}
    for _, table, is_checked in listed:
        if not is_checked:
            in_place[table] = rows_in_place(table, layout, in_place)
    states = [
        [_place_state(family, layout, in_place.get(table, {})) for family in table.families]
        for _, table, _ in listed
    ]
    classes = dict.fromkeys(family.cls for _, table, _ in listed for family in table.families)
    raising = {cls for cls in classes if meaning_of(cls).raises}
    steps: list[ComputeStep] = []
    known: dict[EdgeTable, Lowered] = {}
    for (compute_set, table, is_checked), state in zip(listed, states, strict=True):
        rows, alike, step = in_place.get(table, {}), table.alike, None
        if alike in known and not is_checked and _are_same(in_place.get(alike, {}), rows):
            step = known[alike].moved_to(compute_set.name, table, state, layout)
        if step is None:
            may_fault = is_checked or any(family.cls in raising for family in table.families)
            known[table] = _lowered(compute_set, table, state, layout, may_fault, rows)
            step = known[table].step
        steps.append(step)
    return steps


def _are_same(one: InPlace, other: InPlace) -> bool:
    """Return whether two searches for rows in place had the same result."""
    return [*one.values()] == [*other.values()]


def _lowered(
    compute_set: ComputeSet,
    table: EdgeTable,
    states: list[dict[Column, Series]],
    layout: ArenaLayout,
    may_fault: bool,
    in_place: InPlace,
) -> Lowered:
    places = Places(table, layout, in_place)
    groups = [
        tuple(_groups(family, state, [places[field] for field in family.fields]))
        for family, state in zip(table.families, states, strict=True)
    ]
    gather, scatter = places.moves()
    is_saved = may_fault and not all(map(_stays_inside, table.families))
    save, restore = places.saves() if is_saved else (NO_MOVES, NO_MOVES)
    step = ComputeStep(
        name=compute_set.name,
        num_vertices=len(compute_set.vertices),
        gather=gather,
        save=save,
        groups=tuple(chain.from_iterable(groups)),
        scatter=scatter,
        restore=restore,
        may_fault=may_fault,
    )
    return Lowered(table, places, states, groups, step)


def _stays_inside(family: Family) -> bool:
    """Return whether vertices only copy rows that their edges have, and so never fail.

    Saving the table in each turn of a loop that writes a row of it would take most of the time.
    """
    is_update = updates_rows(family.cls) and not needs_old_rows(family.cls)
    if not is_update and not gathers_rows(family.cls):
        return False
    length = {each.field.name: each.edges.length.array() for each in family.fields}
    near, width = length["s" if is_update else "out"], np.asarray(family.state["width"], np.int64)
    is_whole = (width > 0) & (length["x"] >= width) & (near == length["index"] * width)
    return bool(is_whole.all())


# -- state -----------------------------------------------------------------------------------------


def _place_state(family: Family, layout: ArenaLayout, in_place: InPlace) -> dict[Column, Series]:
    """Put the values of state fields into the arena, and return their positions."""
    placed: dict[Column, Series] = {}
    rows = [in_place[field] for field in family.fields if field in in_place]
    state = {**family.state, **{each.stride_name: each.stride for each in rows}}
    for position, field in enumerate(family.cls.fields.values()):
        if field.is_edge:
            continue
        values = state[field.name]
        if isinstance(values, Vectors):
            at = layout.place_state(values.values) // field.element.size_bytes
            placed[position, "start"] = _behind_each_other(at, values.length)
            placed[position, "length"] = values.length
        else:
            placed[position, "start"] = _place_scalars(field, values, family.numbers.count, layout)
    return placed


def _behind_each_other(first: int, length: Series) -> Series:
    if length.only is not None:
        return counting(0, length.count).times(length.only).moved(first)
    sizes = length.array()
    return compact(np.cumsum(sizes) - sizes).moved(first)


def _place_scalars(field: Field, values: StateValues, count: int, layout: ArenaLayout) -> Series:
    """Place one value for each vertex, or one for all if their bytes are the same."""
    array = np.asarray(values, field.element.dtype).reshape(-1)
    bits = array.view(f"u{field.element.size_bytes}")
    if (bits == bits[0]).all():
        array = array[:1]
    at = layout.place_state(array) // field.element.size_bytes
    return counting(at, count) if len(array) == count else constant(at, count)


# -- columns ---------------------------------------------------------------------------------------


def _groups(
    family: Family, state: dict[Column, Series], places: list[PlacedEdges]
) -> Iterator[Vertices]:
    """Yield the descriptor rows of a family, one group for each form of its list fields."""
    values: dict[Column, Series] = {(NUMBER, "number"): family.numbers, **state}
    lists: dict[int, RowLists] = {}
    for placed in places:
        position = placed.field.position
        if placed.field.field.depth < 2:
            values[position, "start"] = placed.start
            values[position, "length"] = placed.length
        else:
            lists[position] = RowLists(placed)
    work = _work(places, family.numbers.count)
    for even, chosen in _by_form(lists, family.numbers.count):
        forms = [_form(lists.get(n), even.get(n, True)) for n in range(len(family.cls.fields))]
        own = values | {
            (position, part): numbers
            for position, rows in lists.items()
            for part, numbers in rows.columns(even[position]).items()
        }
        tables = {position: rows.table for position, rows in lists.items() if not even[position]}
        if chosen is None:
            yield vertices_of(family.cls, tuple(forms), own, tables, work)
            continue
        some = {column: taken(numbers, chosen) for column, numbers in own.items()}
        some_work = work if isinstance(work, int) else work[chosen]
        yield vertices_of(family.cls, tuple(forms), some, tables, some_work)


def _by_form(
    lists: dict[int, RowLists], count: int
) -> Iterator[tuple[dict[int, bool], Int64 | None]]:
    """Group vertices by which of their lists are evenly spaced, in order of first occurrence.

    Yields for each group whether each list field is even, and the vertices, or None for all.
    """
    mixed = {n: rows.even for n, rows in lists.items() if isinstance(rows.even, np.ndarray)}
    alike = {n: bool(rows.even) for n, rows in lists.items() if n not in mixed}
    if not mixed:
        yield alike, None
        return
    code = np.zeros(count, np.int64)
    for number, even in enumerate(mixed.values()):
        code |= even.astype(np.int64) << number
    kinds, first = np.unique(code, return_index=True)
    for kind in kinds[np.argsort(first)].tolist():
        own = {n: bool(kind >> number & 1) for number, n in enumerate(mixed)}
        yield alike | own, np.flatnonzero(code == kind)


def _form(rows: RowLists | None, even: bool) -> RowForm | None:
    if rows is None:
        return None
    return "stride" if even else rows.form


def _work(places: list[PlacedEdges], count: int) -> Int64 | int:
    """Return the work of each vertex: a single number if it is the same for all."""
    alike = VERTEX_OVERHEAD
    others: list[Int64] = []
    for placed in places:
        edges = placed.field.edges
        if edges.length.only is not None and edges.rows.only is not None:
            alike += edges.length.only * edges.rows.only
            continue
        length = edges.length.array()
        if edges.rows.only != 1:
            total = np.append(0, np.cumsum(length))
            stops = np.cumsum(edges.rows.array())
            length = total[stops] - total[stops - edges.rows.array()]
        others.append(length)
    return sum(others, np.full(count, alike)) if others else alike


# -- the stored form of a graph --------------------------------------------------------------------


def stored(variables: Sequence[Variable]) -> tuple[StoredVariable, ...]:
    """Return variables without their graph, by ascending address; values become read-only."""
    for variable in variables:
        if variable.initial_value is not None:
            variable.initial_value.flags.writeable = False
        if variable.replica_values:
            for values in variable.replica_values.values():
                values.flags.writeable = False
    nothing: dict[int, npt.NDArray[Any]] = {}  # shared by all
    return tuple(
        [
            StoredVariable(
                variable.name,
                variable.element_type,
                variable.shape,
                variable.base,
                variable.num_elements,
                variable.constant,
                variable.location,
                variable.initial_value,
                dict(variable.replica_values) if variable.replica_values else nothing,
                pieces,
                (variable.packed_with_value or None) if variable.with_value else None,
            )
            for variable, pieces in zip(variables, _pieces(variables), strict=True)
        ]
    )


def _pieces(variables: Sequence[Variable]) -> Iterator[ElementTiles | None]:
    """Yield the tiles of each variable's elements; None beyond the limit on pieces."""
    room = MOST_PIECES
    for variable in variables:
        tile = variable.only_tile
        count = 1 if tile is not None else variable.mapping.num_pieces
        if not variable.num_elements or count > room:
            yield None
            continue
        room -= count
        if tile is not None:
            yield _on_one_tile(tile)
        else:
            breaks, tiles = variable.mapping.pieces()
            yield ElementTiles(compact(breaks[:-1]), compact(tiles.astype(np.int64)))


@lru_cache(maxsize=1 << 14)
def _on_one_tile(tile: int) -> ElementTiles:
    """Return the only piece of a variable on one tile; cached, since many variables share it."""
    return ElementTiles(constant(0, 1), constant(tile, 1))


def origins_of(compute_set: ComputeSet) -> Origins:
    """Return class, tile and line of the vertices of a compute set, all of which have tiles."""
    classes: dict[type[Vertex], int] = {}
    locations: dict[SourceLocation, int] = {}
    columns: list[tuple[VertexTiles, VertexTiles, VertexTiles]] = []
    for part in compute_set.vertices.parts:
        if not len(part):
            continue
        if isinstance(part, list):
            numbers = np.array([_numbers(vertex, classes, locations) for vertex in part])
            class_of, tile_of, location_of = (
                VertexTiles.of(column, int(column.max()) + 1) for column in numbers.T
            )
        else:
            cls = classes.setdefault(part.vertex_class, len(classes))
            line = locations.setdefault(part.location, len(locations))
            class_of = VertexTiles.constant(cls, len(part), len(classes))
            location_of = VertexTiles.constant(line, len(part), len(locations))
            tile_of = part.tiles
        columns.append((class_of, tile_of, location_of))
    class_of, tile_of, location_of = (
        _joined([each[column] for each in columns]) for column in range(3)
    )
    return Origins(tuple(classes), tuple(locations), class_of, tile_of, location_of)


def _numbers(
    vertex: VertexInstance, classes: dict[type[Vertex], int], locations: dict[SourceLocation, int]
) -> tuple[int, int, int]:
    assert vertex.tile is not None, "the checks refuse vertices without a tile"
    return (
        classes.setdefault(vertex.vertex_class, len(classes)),
        vertex.tile,
        locations.setdefault(vertex.location, len(locations)),
    )


def _joined(parts: list[VertexTiles]) -> VertexTiles:
    """Return the tiles of all parts, concatenated."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return VertexTiles(1, None, np.zeros(0, np.uint8))
    count = max(part.num_tiles for part in parts)
    runs = [part.runs() for part in parts]
    before = np.cumsum([0, *(part.count for part in parts[:-1])])
    stops = np.concatenate([stop + first for (_, stop, _), first in zip(runs, before, strict=True)])
    numbers = np.concatenate([each for _, _, each in runs])
    if len(stops) < stops[-1] // 8:
        return VertexTiles(count, stops, numbers.astype(np.min_scalar_type(count - 1)))
    return VertexTiles.of(np.repeat(numbers, np.diff(stops, prepend=0)), count)


# -- moved steps -----------------------------------------------------------------------------------


State = Mapping[tuple[int, str], Series]
"""Positions of the values of a family's state: start and length, by position of the field."""


@frozen(eq=False)
class Lowered:
    """A compute set that has been lowered.

    Attributes:
        table: its edges.
        places: the places of the edges.
        states: the positions of the state of each family.
        groups: the descriptor rows of each family.
        step: the step.
    """

    table: EdgeTable
    places: Places
    states: Sequence[State]
    groups: Sequence[Sequence[Vertices]]
    step: ComputeStep

    def moved_to(
        self, name: str, table: EdgeTable, states: Sequence[State], layout: ArenaLayout
    ) -> ComputeStep | None:
        """Return the step of a compute set that differs from this one only in its variables.

        None if positions do not move by a common distance, as for a field that is partly gathered
        or reads several variables.
        """
        step, groups = self.step, []
        variables: dict[int, tuple[int, int]] = {}
        if step.may_fault:
            return None
        columns = self.table.families, table.families, self.states, states, self.groups
        for mine, other, state, other_state, rows in zip(*columns, strict=True):
            distances = _distances_of_state(state, other_state)
            for field, moved in zip(mine.fields, other.fields, strict=True):
                placed = self.places[field]
                if placed.gathered is False:
                    distances[field.position] = _distance(placed.start, direct(moved, layout))
                    continue
                bounds, to = (_variable(each, layout) for each in (field.edges, moved.edges))
                if bounds is None or to is None:
                    return None
                if placed.gathered is True:
                    variables[bounds[0]] = bounds[1], to[0] - bounds[0]
                    distances[field.position] = 0
                elif placed.gathered.any() or not field.edges.length.low:
                    return None
                else:  # all rows are read in place
                    distances[field.position] = (to[0] - bounds[0]) // placed.size
            if None in distances.values():
                return None
            groups += [_moved_rows(each, distances) for each in rows]
        gather, scatter = _moved(step.gather, 1, variables), _moved(step.scatter, 0, variables)
        if gather is None or scatter is None:
            return None
        return replace(step, name=name, groups=tuple(groups), gather=gather, scatter=scatter)


_Distances = dict[int, int | None]
"""Distance that each field moves, in elements; None if its positions move differently."""


def _distances_of_state(state: State, other: State) -> _Distances:
    distances: _Distances = {}
    for (position, part), numbers in state.items():
        distance = _distance(numbers, other[position, part])
        if part == "length":
            distances[position] = distances[position] if distance == 0 else None
        else:
            distances[position] = distance
    return distances


def _distance(numbers: Series, others: Series) -> int | None:
    """Return the distance by which all numbers have moved; None if distances differ."""
    if isinstance(numbers, Steps):
        if not isinstance(others, Steps) or numbers.digits != others.digits:
            return None
        return others.first - numbers.first
    if isinstance(others, Steps) or not np.array_equal(numbers.offset, others.offset):
        return None
    return others.base - numbers.base


def _variable(edges: Edges, layout: ArenaLayout) -> tuple[int, int] | None:
    """Return the first byte of the variable that contains all elements, and its end.

    None if the elements are in several variables.
    """
    start, pieces = edges.start, edges.pieces
    if start is not None:
        if layout.shift(start.low, start.high) is None:
            return None
        address = start.low
    elif isinstance(pieces, EdgeRuns):
        address = int(pieces.begin[0])
    else:
        assert pieces is not None
        address = storages(pieces)[0].base
    # Gathered elements belong to one variable; otherwise the compute set has no form.
    position = layout.byte_position(address)
    variable, element = layout.variable_at(position)
    first = position - element * variable.element_type.size_bytes
    return first, first + variable.size_bytes


def _moved_rows(vertices: Vertices, distances: Mapping[int, int | None]) -> Vertices:
    """Return descriptor rows with moved starts of fields."""
    rows = vertices.rows.copy()
    for column, at in positions(vertices.columns):
        if column.part in ("start", "base"):
            rows[:, at] += distances[column.field] or 0
    return replace(vertices, rows=rows)


def _moved(moves: Moves, side: int, variables: Mapping[int, tuple[int, int]]) -> Moves | None:
    """Return moves with the destinations (side 0) or sources (side 1) moved to other variables.

    `variables` maps the first byte of each variable to its end and the distance that it moves.
    Returns None if a record belongs to several variables.
    """
    if not len(moves.records):
        return moves
    firsts = np.array(sorted(variables), np.int64)
    ends, distances = np.array([variables[first] for first in firsts.tolist()], np.int64).T
    records = moves.records.copy()
    low = records[:, side]
    high = low + (records[:, 2] - 1) * records[:, 4 + side] + records[:, 3]
    is_list = records[:, 3] == 0
    if is_list.any():
        high[is_list] = low[is_list] + int((moves.pieces[:, side] + moves.pieces[:, 2]).max())
    which = np.searchsorted(firsts, low, side="right") - 1
    if (which < 0).any() or (np.minimum(low, high) < firsts[which]).any():
        return None
    if (np.maximum(low, high) > ends[which]).any():
        return None
    records[:, side] += distances[which]
    return Moves(records, moves.pieces)
