"""Lowered steps: launches of drivers over descriptor rows, without any address in them.

A compute set becomes up to six launches, which run one after the other::

    gather       copy fields whose elements are not contiguous into temporaries
    save         with strict checks: copy what vertices write in place
    count        where data decide what vertices take: drivers that count it, and nothing else
    vertices     run the drivers
    scatter      copy written temporaries back
    sum slots    where data decide what vertices take: add up what all of them took

A Copy becomes one launch.  The engine turns launches into chunks once it knows where the
arena and the compiled drivers are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy.typing as npt  # noqa: TC002 - files are read by it

from poplite.arrays.intervals import Int64
from poplite.executable.rows import (
    Columns,
    Forms,
    Moves,
    bound_rows,
    forms_of,
)
from poplite.frozen import frozen
from poplite.graph.compute_sets.vertex_block import VertexTiles
from poplite.source import SourceLocation
from poplite.vertex.vertex import Vertex, vertex_label


@frozen(eq=False)
class Vertices:
    """Runs of vertices of one class that one driver takes.

    Attributes:
        cls: the vertex class.
        columns: what the words of a row mean (`poplite.executable.rows`).
        rows: int64[runs, width], descriptor rows.
        tables: what flat and table columns refer to, by number of the column; shared with the
            graph where it holds the same numbers.
        weights: int64[runs], work of each run, in elements.
    """

    cls: type[Vertex]
    columns: Columns
    rows: Int64
    tables: Mapping[int, npt.NDArray[Any]]
    weights: Int64

    @property
    def forms(self) -> Forms:
        """How the rows of list fields are found."""
        return forms_of(self.columns, len(self.cls.fields))

    def words(self) -> Int64:
        """Return the rows as the driver reads them; the tables must outlive them."""
        return bound_rows(self.rows, self.columns, self.tables)


@frozen(eq=False)
class ComputeStep:
    """A lowered compute set.

    Attributes:
        gather: copies into temporaries.
        save: copies of what vertices write in place; none when no vertex may fault.
        scatter: copies back from temporaries.
        restore: copies back of what was saved, for after a fault.
        may_fault: whether what vertices write is saved: with strict checks, and where a `compute`
            raises exceptions.
    """

    name: str
    num_vertices: int
    gather: Moves
    save: Moves
    groups: tuple[Vertices, ...]
    scatter: Moves
    restore: Moves
    may_fault: bool


@frozen(eq=False)
class CopyStep:
    """A lowered Copy.

    Attributes:
        replica_map: for each replica the one whose memory is written; None where each writes
            its own.
    """

    name: str
    moves: Moves
    replica_map: tuple[int, ...] | None = None


def phases_of(step: ComputeStep | CopyStep) -> list[tuple[Moves | Vertices, ...]]:
    """Return what each launch of a step runs, in order; nothing where it only counts."""
    if isinstance(step, CopyStep):
        return [(step.moves,)]
    return [(step.gather,), (step.save,), (), step.groups, (step.scatter,), ()]


def vertex_classes(steps: Iterable[ComputeStep | CopyStep]) -> list[type[Vertex]]:
    """Return the classes of all vertices, each once, in the order of the steps."""
    groups = (group for step in steps if isinstance(step, ComputeStep) for group in step.groups)
    return list(dict.fromkeys(group.cls for group in groups))


@frozen(eq=False)
class NamedVertex:
    """A vertex as messages call it; `index` is its position in the compute set.

    >>> from poplite.source import here
    >>> print(NamedVertex(Vertex, 5, 2, here()))
    vertex 5 of 'Vertex' on tile 2
    """

    vertex_class: type[Vertex]
    index: int
    tile: int
    location: SourceLocation

    def __str__(self) -> str:
        return f"{vertex_label(self.vertex_class, self.index)} on tile {self.tile}"


@frozen(eq=False)
class Origins:
    """Class, tile and line of all vertices of a compute set.

    Attributes:
        locations: the user's lines that added vertices.
        class_of: number of the class of each vertex.
        tile_of: tile of each vertex.
        location_of: number of the line of each vertex.
    """

    classes: tuple[type[Vertex], ...]
    locations: tuple[SourceLocation, ...]
    class_of: VertexTiles
    tile_of: VertexTiles
    location_of: VertexTiles

    def __getitem__(self, number: int) -> NamedVertex:
        return NamedVertex(
            self.classes[self.class_of.at(number)],
            number,
            self.tile_of.at(number),
            self.locations[self.location_of.at(number)],
        )

    def __len__(self) -> int:
        return self.tile_of.count
