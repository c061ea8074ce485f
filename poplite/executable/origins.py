"""What messages call the vertices of a compute set, without the graph.

    vertices    0 ... 999,999                       1,000,000
    class       Add                                 Sum
    tile        0 0 0 ... 1471                      3
    line        blur.py:14                          blur.py:20

Each is kept as runs, or as the smallest numbers that do, so that a million vertices take few
bytes each, and none where neighbours are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.source import SourceLocation
from poplite.vertex.vertex import Vertex


@dataclass(frozen=True, slots=True)
class NamedVertex:
    """A vertex as messages call it.

    Attributes:
        vertex_class: its class.
        index: its position in the compute set.
        tile: the tile it runs on.
        location: the user's line that added it.

    >>> from poplite.source import here
    >>> print(NamedVertex(Vertex, 5, 2, here()))
    Vertex 5 on tile 2
    """

    vertex_class: type[Vertex]
    index: int
    tile: int
    location: SourceLocation

    def __str__(self) -> str:
        return f"{self.vertex_class.__name__} {self.index} on tile {self.tile}"


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Class, tile and line of all vertices of a compute set.

    Attributes:
        classes: the vertex classes.
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


def origins_of(compute_set: ComputeSet) -> Origins:
    """Return class, tile and line of the vertices of a compute set.

    Args:
        compute_set: all its vertices have tiles.
    """
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
            class_of = VertexTiles.alike(cls, len(part), len(classes))
            location_of = VertexTiles.alike(line, len(part), len(locations))
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
    """Return the numbers of all parts, one behind the other."""
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
