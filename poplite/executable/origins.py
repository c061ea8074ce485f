"""What messages call the vertices of a compute set, without the graph.

    vertices    0 ... 999,999                       1,000,000
    class       Add                                 Sum
    tile        0 0 0 ... 1471                      3
    line        blur.py:14                          blur.py:20

Each is kept as runs, or as the smallest integers that suffice, so that a million vertices take a
few bytes each, and none where neighbours are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from poplite.graph.compute_sets.vertex_tiles import VertexTiles
from poplite.source import SourceLocation
from poplite.vertex.vertex import Vertex


@dataclass(frozen=True, slots=True, eq=False)
class NamedVertex:
    """A vertex as messages call it; `index` is its position in the compute set.

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
