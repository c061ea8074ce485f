"""A field of a vertex as a regions picture, and the copies that connecting it forces.

    tile 5 has      . a b . . c d .        an edge  a b x c d, x from another tile
    copies          a b and c d are copied on tile 5, beside x, each time the vertex runs

An edge that is one stretch of its tile's memory needs nothing; one that comes entirely from other
tiles lands in its order.  The cost model has the same rules (`poplite.cost`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poplite.errors import UnknownName, did_you_mean, listed
from poplite.frozen import frozen
from poplite.graph.tile_mapping import ranges
from poplite.text import amount
from poplite.viz.draw.units import name_text, size_text
from poplite.viz.tensors.frames import (
    Frame,
    RegionFrames,
    Strip,
    TileRuns,
    frame_of,
    joined,
    strip_of,
)

if TYPE_CHECKING:
    from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor


@frozen
class FieldCopies:
    """What a field of one vertex makes necessary.

    Attributes:
        name: compute set, vertex and field, as `blur#3.x`.
        vertex_class: name of its class.
        tile: of the vertex; None before it has one.
        reads: whether the vertex reads the field; it writes it otherwise, or as well.
        edges: vectors that the field is; 1 unless it is a list.
        places: of each edge, how many places it is gathered from.
        field_bytes: bytes of all edges.
        away_bytes: of these, on other tiles.
        away_tiles: those tiles, as ranges.
        copied_bytes: of these, copied on the vertex's tile so that each edge is consecutive.
    """

    name: str
    vertex_class: str
    tile: int | None
    reads: bool
    writes: bool
    edges: int
    places: tuple[int, ...]
    field_bytes: int
    away_bytes: int
    away_tiles: str
    copied_bytes: int

    def lines(self) -> list[str]:
        """Return what is copied and why, as sentences."""
        verb = {(True, False): "reads", (False, True): "writes"}.get(
            (self.reads, self.writes), "updates"
        )
        on = "no tile yet" if self.tile is None else f"tile {self.tile:,}"
        head = f"{name_text(self.vertex_class)} on {on} {verb} {size_text(self.field_bytes)}"
        lines = [f"{head} as {amount(self.edges, 'edge')}"]
        apart = [count for count in self.places if count > 1]
        if apart:
            which = "it is" if self.edges == 1 else f"{len(apart):,} of {self.edges:,} are"
            most = (
                f"{max(apart):,} places" if len(set(apart)) < 2 else f"up to {max(apart):,} places"
            )
            lines.append(f"{which} gathered from {most}")
        if self.tile is None:
            return lines
        if self.away_bytes:
            way = "come from" if self.reads else "go to"
            lines.append(f"{size_text(self.away_bytes)} {way} other tiles ({self.away_tiles})")
        if self.copied_bytes:
            lines.append(f"{size_text(self.copied_bytes)} are copied on {on}, as they lie apart")
        if not (self.away_bytes or self.copied_bytes):
            lines.append("nothing is copied: it is used where it lies")
        return lines

    def as_json(self) -> dict[str, object]:
        """Return the same as data."""
        return {
            "name": self.name,
            "vertex_class": self.vertex_class,
            "tile": self.tile,
            "reads": self.reads,
            "writes": self.writes,
            "places": self.places,
            "bytes": self.field_bytes,
            "bytes_on_other_tiles": self.away_bytes,
            "bytes_copied_on_tile": self.copied_bytes,
        }


def frames_of_field(graph: Graph, words: str) -> RegionFrames:
    """Find a field `compute set#vertex.field`, its intervals, and the copies it forces.

    Without `#vertex` it is the first vertex.  Raises UnknownName when there is no such field.

    >>> import poplite as pl
    >>> class Sum(pl.Vertex):
    ...     x: pl.Input[pl.Vector[pl.FLOAT]]
    ...     def compute(self) -> None:
    ...         pass
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> x = graph.add_variable(pl.FLOAT, (4, 6), "x", mapping=0)
    >>> _ = graph.add_vertex(graph.add_compute_set("sum"), Sum, tile=0, x=x[:, 2])
    >>> print(*frames_of_field(graph, "sum.x").field.lines(), sep=", ")
    Sum on tile 0 reads 16 B as 1 edge, it is gathered from 4 places, 16 B are copied on ...
    """
    vertex, name = _field_named(graph, words)
    field = vertex.vertex_class.fields[name]
    found = vertex.connections.get(name)
    edges = list(found) if isinstance(found, tuple) else [found] if found is not None else []
    edges += vertex.rows.get(name, {}).values()
    shown = f"{vertex.compute_set.name}#{vertex.index}.{name}"
    if not edges:
        raise UnknownName(
            f"field {name_text(shown)!r} is connected to nothing",
            at=None,
            found=f"it is declared {field}",
            fix=f"graph.connect(vertex[{name!r}], tensor)",
        )
    if field.depth == 2 and not isinstance(found, tuple) and found is not None:
        edges = list(found)
    strip, base = strip_of(edges)
    frames = [frame_of(shown, edge, strip, base) for edge in edges]
    copies = _copies(shown, vertex, name, frames, strip)
    title = f"regions of field '{name_text(shown)}'"
    return RegionFrames(title, strip, (_together(shown, edges, frames),), copies)


def _field_named(graph: Graph, words: str) -> tuple[VertexInstance, str]:
    place, _, field = words.rpartition(".")
    name, marked, number = place.rpartition("#")
    if not (marked and number.isdecimal()):
        name, number = place, "0"
    sets: dict[str, ComputeSet] = {each.name: each for each in graph.compute_sets}
    if name not in sets:
        known = [name_text(each) for each in sets]
        raise UnknownName(
            f"the graph has no compute set {name_text(name)!r}{did_you_mean(name, sets)}",
            at=None,
            found=f"it has:\n{listed(known, 'compute sets')}" if known else "it has none",
            fix="--field 'COMPUTE SET#VERTEX.FIELD'",
        )
    vertices = sets[name].vertices
    if int(number) >= len(vertices):
        raise UnknownName(
            f"compute set {name_text(name)!r} has no vertex {int(number):,}",
            at=None,
            found=f"it has {amount(len(vertices), 'vertex', 'vertices')}, numbered from 0",
            fix=f"--field '{name_text(name)}#0.{name_text(field)}'",
        )
    vertex = vertices[int(number)]
    known = [
        each for each, f in vertex.vertex_class.fields.items() if f.is_edge and "." not in each
    ]
    if field not in known:
        raise UnknownName(
            f"{vertex.vertex_class.__name__} has no edge field {name_text(field)!r}"
            f"{did_you_mean(field, known)}",
            at=None,
            found=f"it has {', '.join(known)}",
            fix=f"--field '{name_text(name)}#{number}.{known[0] if known else 'x'}'",
        )
    return vertex, field


def _together(name: str, edges: list[Tensor], frames: list[Frame]) -> Frame:
    """Return all edges of a field as one frame; no interval is of two edges."""
    if len(frames) == 1:
        return frames[0]
    sizes = [frame.num_elements for frame in frames]
    shape = (len(sizes), sizes[0]) if len(set(sizes)) == 1 else (sum(sizes),)
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    pieces = TileRuns(
        np.concatenate([f.pieces.begin + k for f, k in zip(frames, starts, strict=True)]),
        np.concatenate([f.pieces.length for f in frames]),
        np.concatenate([f.pieces.tile for f in frames]),
    )
    begin = np.concatenate([frame.begin for frame in frames])
    length = np.concatenate([frame.length for frame in frames])
    return Frame(name, frames[0].type_name, shape, begin, length, joined(pieces))


def _copies(
    name: str, vertex: VertexInstance, field: str, frames: list[Frame], strip: Strip
) -> FieldCopies:
    declared = vertex.vertex_class.fields[field]
    size = declared.element.size_bytes
    total = sum(frame.num_elements for frame in frames)
    away, copied, places = 0, 0, []
    tiles: set[int] = set()
    for frame in frames:
        stretches, own, others = _stretches(frame, strip, vertex.tile)
        places.append(stretches)
        away += frame.num_elements - own
        tiles |= others
        if own and (stretches > 1 or own < frame.num_elements):
            copied += own
    return FieldCopies(
        name,
        vertex.vertex_class.__name__,
        vertex.tile,
        declared.reads,
        declared.writes,
        len(frames),
        tuple(places),
        total * size,
        0 if vertex.tile is None else away * size,
        ranges(sorted(tiles)) if tiles else "",
        0 if vertex.tile is None else copied * size,
    )


def _stretches(frame: Frame, strip: Strip, tile: int | None) -> tuple[int, int, set[int]]:
    """Return from how many places an edge comes, its elements on a tile, and its other tiles.

    What a tile holds of a variable is consecutive in its memory, whatever lies between in the
    variable.
    """
    pieces = strip.pieces
    on_tile = np.where(pieces.tile == (-1 if tile is None else tile), pieces.length, 0)
    before = np.cumsum(on_tile) - on_tile
    count, own, others = 0, 0, set[int]()
    last: tuple[int, int, int] | None = None
    for begin, length in zip(frame.begin.tolist(), frame.length.tolist(), strict=True):
        variable, end = strip.variable_at(begin), begin + length
        k = int(np.searchsorted(pieces.begin, begin, side="right")) - 1
        while begin < end:
            stop = min(end, int(pieces.begin[k] + pieces.length[k]))
            owner, size = int(pieces.tile[k]), stop - begin
            if owner == tile:
                at = int(before[k]) + begin - int(pieces.begin[k])
                own += size
            else:
                at = begin
                others.add(owner)
            count += last != (owner, variable, at)
            last = owner, variable, at + size
            begin, k = stop, k + 1
    return count, own, others - {-1}
