"""The data of a regions picture: tensors and fields as intervals of their variables.

The variables lie on a strip one after the other; an interval is a range of the strip::

    strip        a a a a a a b b b        positions 0 to 8, tiles below them
    x.reverse    5 4 3 2 1 0              6 intervals of 1
    concat       0 1 2 3 4 5 6 7 8        2 intervals: none joins two variables

>>> from poplite.graph import Graph
>>> x = Graph().add_variable("float32", (4, 6), "x", mapping=0)
>>> frames = frames_of(x, [read_operation("1:3, ::2"), read_operation("dimShuffle 1,0")])
>>> [(frame.shape, frame.num_intervals) for frame in frames.frames]
[((4, 6), 1), ((2, 3), 6), ((3, 2), 6)]

Connecting a field of a vertex may force copies::

    tile 5 has      . a b . . c d .        an edge  a b x c d, x from another tile
    copies          a b and c d are copied on tile 5, beside x, each time the vertex runs

An edge that is contiguous in its tile's memory needs nothing; one that comes entirely from other
tiles lands in its order.  The cost model has the same rules (`poplite.cost`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64
from poplite.errors import SizeOverflowError, UnknownName, did_you_mean, listed
from poplite.frozen import frozen
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.graph import Graph
from poplite.graph.space import Variable
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import made_from
from poplite.graph.tile_mapping import NO_TILE, ranges
from poplite.graph.variable_mapping import split
from poplite.text import amount
from poplite.types import type_text
from poplite.view import num_runs, runs, storages
from poplite.viz.draw.words import name_text, shape_text, size_text
from poplite.viz.painters import by_field
from poplite.viz.tensors.views import TensorOperation, applied, read_operation

MOST_INTERVALS = 1 << 20
"""Intervals of the finest tensor of a picture."""

__all__ = ["Frame", "TileRuns", "RegionFrames", "Strip", "frames_of", "read_operation"]


@frozen(eq=False)
class TileRuns:
    """Consecutive elements of one tile: int64[n] each, in order.

    Attributes:
        begin: first elements.
        length: elements of each.
        tile: their tiles, -1 for none.
    """

    begin: Int64
    length: Int64
    tile: Int64

    def tiles(self) -> Int64:
        """Return the tiles that have elements, rising."""
        return np.unique(self.tile[self.tile != NO_TILE])


def tiles_or_none(tile: Int64) -> list[int | None]:
    """Return tiles for JSON: null for none."""
    return [None if each == NO_TILE else each for each in tile.tolist()]


def placement(tile: Int64, length: Int64) -> tuple[str, str]:
    """Return the tiles of runs of elements and, after a comma, the number without a tile.

    >>> placement(np.array([5, -1]), np.array([3, 1]))
    ('on 1 tile (5)', ', 1 element unmapped')
    """
    tiles, missing = np.unique(tile[tile != NO_TILE]), int(length[tile == NO_TILE].sum())
    if not len(tiles):
        return "on no tile", ""
    unmapped = f", {amount(missing, 'element')} unmapped" if missing else ""
    return f"on {amount(len(tiles), 'tile')} ({ranges(tiles)})", unmapped


@frozen(eq=False)
class Strip:
    """The memory of variables, one after the other.

    Attributes:
        names: of the variables, verbatim.
        first: int64[variables + 1], where each begins; the last is the end.
        pieces: the tiles of the elements, by position.
    """

    names: tuple[str, ...]
    first: Int64
    pieces: TileRuns

    @property
    def num_elements(self) -> int:
        """Elements of all variables."""
        return int(self.first[-1])

    def place(self, position: int) -> tuple[int, int]:
        """Return the variable at a position, and the element."""
        variable = int(np.searchsorted(self.first, position, side="right")) - 1
        return variable, position - int(self.first[variable])

    def places(self, position: Int64) -> tuple[Int64, Int64]:
        """Return the variables at positions, and the elements.

        >>> nothing = np.empty(0, np.int64)
        >>> strip = Strip(("a", "b"), np.array([0, 6, 9]), TileRuns(nothing, nothing, nothing))
        >>> strip.places(np.array([1, 7]))
        (array([0, 1]), array([1, 1]))
        """
        variable = np.searchsorted(self.first, position, side="right") - 1
        return variable, position - self.first[variable]

    def tiles_text(self, begin: int, length: int) -> str:
        """Return the tiles of a range of positions in words, with "none" where there are none.

        >>> at, one = np.arange(3), np.ones(3, np.int64)
        >>> strip = Strip(("a",), np.array([0, 3]), TileRuns(at, one, at))
        >>> strip.tiles_text(0, 3), strip.tiles_text(1, 1)
        ('0-2', '1')
        """
        pieces = self.pieces
        low = np.searchsorted(pieces.begin + pieces.length, begin, side="right")
        high = np.searchsorted(pieces.begin, begin + length, side="left")
        tiles = np.unique(pieces.tile[low:high])
        return ranges(tiles[tiles != NO_TILE])


@frozen(eq=False)
class Frame:
    """A tensor.

    Attributes:
        operation: the operation that made it from the previous tensor; for the first one, its name.
        type_name: its element type.
        begin: int64[intervals], positions on the strip, in the order of the tensor.
        length: int64[intervals], elements of each, above 0.
        pieces: the tiles of the tensor's elements, in row-major order.
    """

    operation: str
    type_name: str
    shape: tuple[int, ...]
    begin: Int64
    length: Int64
    pieces: TileRuns

    @property
    def num_elements(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.shape)

    @property
    def num_intervals(self) -> int:
        """Number of its intervals."""
        return len(self.begin)

    def positions(self) -> list[int]:
        """Return the position of each element."""
        ends = zip(self.begin.tolist(), self.length.tolist(), strict=True)
        return [place for begin, size in ends for place in range(begin, begin + size)]

    @property
    def type_and_shape(self) -> str:
        """As in `float32[4, 6]`."""
        return f"{self.type_name}{shape_text(self.shape)}"


@frozen(eq=False)
class RegionFrames:
    """Tensors, usually one and the results of successive operations on it.

    Attributes:
        title: the title of the picture.
        strip: the variables underlying all of them.
        frames: one for each tensor.
        field: the cost of connecting the last one to a vertex; None if no field is shown.
        follows: whether each tensor is made from the previous one.
    """

    title: str
    strip: Strip
    frames: tuple[Frame, ...]
    field: FieldCopies | None = None
    follows: bool = True

    def data(self) -> dict[str, object]:
        """Return the frames as data; intervals name the variable by position and its elements.

        >>> from poplite.graph import Graph
        >>> x = Graph().add_variable("float32", (4,), "x", mapping=0)
        >>> frames_of(x, []).data()["variables"]
        [{'name': 'x', 'elements': 4}]
        """
        first = self.strip.first
        variables = [
            {"name": name, "elements": size}
            for name, size in zip(self.strip.names, np.diff(first).tolist(), strict=True)
        ]
        return {
            "title": self.title,
            "variables": variables,
            "frames": [_frame_data(frame, self.strip) for frame in self.frames],
            "field": self.field and by_field(self.field, "edges", "away_tiles"),
        }


def frames_of(tensor: Tensor, operations: Sequence[TensorOperation]) -> RegionFrames:
    """Apply operations one after the other, and find the intervals after each.

    Raises what the operations raise, and SizeOverflowError for too many intervals.
    """
    tensors = [tensor]
    for operation in operations:
        tensors.append(applied(tensors[-1], operation))
    strip, base = strip_of(tensors)
    names = [name_text(tensor.name), *(operation.text for operation in operations)]
    frames = [frame_of(name, each, strip, base) for name, each in zip(names, tensors, strict=True)]
    title = f"regions of '{names[0]}' {frames[0].type_and_shape}"
    return RegionFrames(title, strip, tuple(frames))


def frames_of_tensors(tensors: Sequence[Tensor], names: Sequence[str] = ()) -> RegionFrames:
    """Find the intervals of any tensors, after those of their whole variables.

    A tensor without a name is labelled with the operations that made it.

    Raises SizeOverflowError for too many intervals.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (4, 6), "x", mapping=0)
    >>> [(each.operation, each.num_intervals) for each in frames_of_tensors([x.T[1:3]]).frames]
    [('x', 1), ("'x'[:, 1:3].T", 8)]
    """
    graph, variables = tensors[0].graph, variables_of(tensors)
    whole = {variable: graph.tensor(variable.name) for variable in variables}
    called = [name_text(name) for name in names or map(made_from, tensors)]
    drawn = [(name_text(variable.name), base) for variable, base in whole.items()]
    drawn += [
        (name, each)
        for name, each in zip(called, tensors, strict=True)
        if names or not any(each == base for base in whole.values())
    ]
    strip, base = strip_of([each for _, each in drawn])
    frames = tuple(frame_of(name, each, strip, base) for name, each in drawn)
    shown = ", ".join(called)
    return RegionFrames(f"regions of {shown}", strip, frames, follows=False)


def variables_of(tensors: Sequence[Tensor]) -> list[Variable]:
    """Return the variables underlying tensors, in order of first occurrence."""
    found = {storage: None for each in tensors for storage in storages(each.view)}
    return [tensors[0].graph.variable_of(storage) for storage in found]


def strip_of(tensors: Sequence[Tensor]) -> tuple[Strip, Int64]:
    """Return the strip of the variables underlying tensors, and the first address of each."""
    variables = variables_of(tensors)
    first = np.cumsum([0, *(variable.num_elements for variable in variables)])
    held = [variable.mapping.pieces() for variable in variables]
    pieces = _end_to_end([np.diff(breaks) for breaks, _ in held], [owner for _, owner in held])
    names = tuple(variable.name for variable in variables)
    base = np.array([variable.storage.base for variable in variables], np.int64)
    return Strip(names, first, pieces), base


def frame_of(name: str, tensor: Tensor, strip: Strip, base: Int64) -> Frame:
    """Return the intervals of a tensor; raises SizeOverflowError for too many of them."""
    count = num_runs(tensor.view)
    if count > MOST_INTERVALS:
        raise SizeOverflowError(
            f"{name} has {count:,} intervals, but at most {MOST_INTERVALS:,} can be drawn",
            at=None,
            found=f"its shape is {shape_text(tensor.shape)}",
            fix="take a part of it first, for instance --op '0:4'",
        )
    address, length = runs(tensor.view)
    order = np.argsort(base)
    owner = order[np.searchsorted(base[order], address, side="right") - 1]
    position = address - base[owner] + strip.first[owner]
    about = name, type_text(tensor.element_type), tensor.shape
    return Frame(*about, position, length.copy(), pieces_of(tensor))


def pieces_of(tensor: Tensor) -> TileRuns:
    """Return the tiles of the elements of a tensor, in row-major order."""
    owners = [(v.storage.base, v.mapping) for v in variables_of([tensor])]
    tile, _, length = split(owners, *runs(tensor.view))
    return joined(_end_to_end([length], [tile]))


def _end_to_end(length: Sequence[Int64], tile: Sequence[npt.NDArray[Any]]) -> TileRuns:
    """Return adjacent runs, from their columns in parts."""
    nothing = np.empty(0, np.int64)
    sizes, tiles = (np.concatenate([nothing, *parts]).astype(np.int64) for parts in (length, tile))
    return TileRuns(np.cumsum(sizes) - sizes, sizes, tiles)


def joined(pieces: TileRuns) -> TileRuns:
    """Join pieces that follow each other on one tile."""
    if not len(pieces.tile):
        return pieces
    starts = np.flatnonzero(np.diff(pieces.tile, prepend=pieces.tile[:1] - 1))
    begin = pieces.begin[starts]
    end = int(pieces.begin[-1] + pieces.length[-1])
    return TileRuns(begin, np.diff(np.append(begin, end)), pieces.tile[starts])


def _frame_data(frame: Frame, strip: Strip) -> dict[str, object]:
    variable, begin = strip.places(frame.begin)
    return {
        "operation": frame.operation,
        "element_type": frame.type_name,
        "shape": frame.shape,
        "intervals": {"variable": variable, "begin": begin, "length": frame.length},
        "tiles": by_field(frame.pieces) | {"tile": tiles_or_none(frame.pieces.tile)},
    }


@frozen
class FieldCopies:
    """The gathering and copying that a field of one vertex requires.

    Attributes:
        name: compute set, vertex and field, as `blur#3.x`.
        vertex_class: name of its class.
        tile: of the vertex; None before it has one.
        reads: whether the vertex reads the field; it writes it otherwise, or as well.
        edges: number of vectors in the field; 1 unless it is a list.
        places: of each edge, how many places it is gathered from.
        bytes: bytes of all edges.
        bytes_on_other_tiles: of these, on other tiles.
        away_tiles: those tiles, as ranges.
        bytes_copied_on_tile: of these, copied on the vertex's tile, for each edge to be
            consecutive.
    """

    name: str
    vertex_class: str
    tile: int | None
    reads: bool
    writes: bool
    edges: int
    places: tuple[int, ...]
    bytes: int
    bytes_on_other_tiles: int
    away_tiles: str
    bytes_copied_on_tile: int

    def lines(self) -> list[str]:
        """Return the copies and their reasons, as sentences."""
        verbs = {(True, False): "reads", (False, True): "writes"}
        verb = verbs.get((self.reads, self.writes), "updates")
        on = "no tile yet" if self.tile is None else f"tile {self.tile:,}"
        head = f"{name_text(self.vertex_class)} on {on} {verb} {size_text(self.bytes)}"
        lines = [f"{head} as {amount(self.edges, 'edge')}"]
        apart = [count for count in self.places if count > 1]
        if apart:
            which = "it is" if self.edges == 1 else f"{len(apart):,} of {self.edges:,} are"
            up_to = "up to " * (len(set(apart)) > 1)
            lines.append(f"{which} gathered from {up_to}{max(apart):,} places")
        if self.tile is None:
            return lines
        away, copied = self.bytes_on_other_tiles, self.bytes_copied_on_tile
        if away:
            way = "come from" if self.reads else "go to"
            lines.append(f"{size_text(away)} {way} other tiles ({self.away_tiles})")
        if copied:
            lines.append(f"{size_text(copied)} are copied on {on}, as they lie apart")
        if not (away or copied):
            lines.append("nothing is copied: it is used where it lies")
        return lines


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
    fields = vertex.vertex_class.fields.items()
    known = [each for each, declared in fields if declared.is_edge and "." not in each]
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
    """Return all edges of a field as one frame; no interval belongs to two edges."""
    if len(frames) == 1:
        return frames[0]
    sizes = [frame.num_elements for frame in frames]
    shape = (len(sizes), sizes[0]) if len(set(sizes)) == 1 else (sum(sizes),)
    parts = [frame.pieces for frame in frames]
    pieces = _end_to_end([each.length for each in parts], [each.tile for each in parts])
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
    if vertex.tile is None:
        away = copied = 0
    about = name, vertex.vertex_class.__name__, vertex.tile, declared.reads, declared.writes
    sizes = total * size, away * size, ranges(sorted(tiles)) if tiles else "", copied * size
    return FieldCopies(*about, len(frames), tuple(places), *sizes)


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
        (variable, _), end = strip.place(begin), begin + length
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
