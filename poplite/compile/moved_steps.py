"""The step of a compute set from that of an earlier one, equal but for its variables.

    Add(x=a[0:64] ...)    rows     start 0, step 4 ...       gather   1000 <- 128, 192 ...
    Add(x=c[0:64] ...)    rows     start 512, step 4 ...     gather   1000 <- 640, 704 ...

All positions of a field move as far as its variable does; temporaries stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poplite.arrays.series import Series, Steps
from poplite.compile.places import Places, direct
from poplite.executable.descriptor import positions
from poplite.executable.layout import ArenaLayout
from poplite.executable.moves import Moves
from poplite.executable.step import ComputeStep, Vertices
from poplite.graph.compute_sets.edge_table import EdgeTable
from poplite.graph.compute_sets.edges import EdgeRuns, Edges
from poplite.view import storages

State = Mapping[tuple[int, str], Series]
"""Where the values of a family's state are: start and length, by position of the field."""


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A compute set that has been lowered.

    Attributes:
        table: its edges.
        places: where they are.
        states: where the state of each family is.
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
        """Return the step of a compute set that is equal to this one but for its variables.

        None where positions do not all move together: those of a field that is gathered in part,
        or is of several variables.
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
                else:  # rows that are all read in place
                    distances[field.position] = (to[0] - bounds[0]) // placed.size
            if None in distances.values():
                return None
            groups += [_moved_rows(each, distances) for each in rows]
        gather, scatter = _moved(step.gather, 1, variables), _moved(step.scatter, 0, variables)
        if gather is None or scatter is None:
            return None
        return replace(step, name=name, groups=tuple(groups), gather=gather, scatter=scatter)


_Distances = dict[int, int | None]
"""How far each field moves, in elements; None for one whose positions move apart."""


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
    """Return how far numbers have moved; None where they did not move together."""
    if isinstance(numbers, Steps):
        if not isinstance(others, Steps) or numbers.digits != others.digits:
            return None
        return others.first - numbers.first
    if isinstance(others, Steps) or not np.array_equal(numbers.offset, others.offset):
        return None
    return others.base - numbers.base


def _variable(edges: Edges, layout: ArenaLayout) -> tuple[int, int] | None:
    """Return the first byte of the variable that all elements are of, and the one behind it.

    None for several variables.
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
    # What is gathered is of one variable, or has no form.
    position = layout.byte_position(address)
    variable, element = layout.variable_at(position)
    first = position - element * variable.element_type.size_bytes
    return first, first + variable.size_bytes


def _moved_rows(vertices: Vertices, distances: Mapping[int, int | None]) -> Vertices:
    """Return descriptor rows whose fields start elsewhere."""
    rows = vertices.rows.copy()
    for column, at in positions(vertices.columns):
        if column.part in ("start", "base"):
            rows[:, at] += distances[column.field] or 0
    return replace(vertices, rows=rows)


def _moved(moves: Moves, side: int, variables: Mapping[int, tuple[int, int]]) -> Moves | None:
    """Return moves whose destinations, side 0, or sources, side 1, are in other variables.

    `variables` has by first byte the byte behind each, and how far what moves with it does. None
    where one record is of several.
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
