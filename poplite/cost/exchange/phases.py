"""What moves between tiles, and what that takes.

    compute set     before    what is put together on a tile, or  `on_tile_copies`
                              kept as the vertex overwrites it
                              what other tiles have               `internal`
                              what other IPUs have                `between_ipus`
                    vertices
                    after     the same with what they wrote, to where it lives
    Copy                      what stays on its tile, goes to others, to other IPUs
    StreamCopy ...            host exchange                       `host`

Tiles wait for each other only where they exchange: what a compute set reads, writes and works on
alone takes no sync.  (The maker's model adds one for every compute set; in its experiments each
has an exchange too.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.series import Steps
from poplite.cost.exchange.between_ipus import global_phase
from poplite.cost.exchange.copies import (
    parts_of,
    phases_of_few,
    pieces_between,
    rows_of,
    sum_of_parts,
)
from poplite.cost.exchange.host import host_phase
from poplite.cost.exchange.locations import Locations, locations_of
from poplite.cost.exchange.on_tile_copies import Rows, copy_phase, joined_rows
from poplite.cost.exchange.pieces import Pieces, joined, sent_home
from poplite.cost.exchange.remote_reads import RemoteElements, touched
from poplite.cost.exchange.rows_to_gather import rows_to_gather, rows_to_keep
from poplite.cost.exchange.within_ipu import FEW, exchange_phase, load_of
from poplite.cost.spread import NOTHING, Spread
from poplite.cost.step_cost import Cause, Phase
from poplite.graph.compute_sets.vertex_block import VertexBlock
from poplite.program.replicated import CrossReplicaCopy
from poplite.view import Storage, contains_aliases

if TYPE_CHECKING:
    from poplite.arrays.intervals import Int64
    from poplite.graph.compute_sets.compute_set import ComputeSet
    from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges
    from poplite.graph.compute_sets.edges import Edges
    from poplite.graph.compute_sets.vertex_tiles import VertexTiles
    from poplite.graph.graph import Graph
    from poplite.machine.target import Target
    from poplite.program import Program, TensorCopy
    from poplite.source import SourceLocation
    from poplite.view import View

MOST_CAUSES = 3
"""Causes of a phase that are kept."""

MOST_PIECES = 1 << 20
"""Pieces that are looked at together, if they do not leave one tile."""


def phases_of_compute_set(
    graph: Graph, compute_set: ComputeSet, table: EdgeTable
) -> tuple[tuple[Phase, ...], tuple[Phase, ...]]:
    """Return what brings vertices their inputs, and what brings their results home.

    Args:
        graph: whose mapping says where variables live.
        compute_set: the compute set.
        table: its edges.
    """
    moved = list(_moved(graph, table))
    before = [each for each in moved if each.part.field.reads]
    after = [each for each in moved if each.part.field.writes]
    return tuple(_phases(graph.target, before, _IN)), tuple(_phases(graph.target, after, _OUT))


def phases_of_copy(graph: Graph, copy: TensorCopy | CrossReplicaCopy) -> tuple[Phase, ...]:
    """Return what a Copy takes.

    Args:
        graph: whose mapping says where variables live.
        copy: the program.
    """
    homes, views = locations_of(graph), (copy.source.view, copy.destination.view)
    if not isinstance(copy, CrossReplicaCopy) and copy.num_elements:
        few = phases_of_few(graph.target, homes, copy, views)
        if few is not None:
            return few
    parts = [_phases_of_views(graph, homes, copy, *views) for views in parts_of(copy)]
    by_kind: dict[str, list[Phase]] = {}
    for phase in chain.from_iterable(parts):
        by_kind.setdefault(phase.kind, []).append(phase)
    return tuple(sum_of_parts(graph.target, phases) for phases in by_kind.values())


def _phases_of_views(
    graph: Graph,
    homes: Locations,
    copy: TensorCopy | CrossReplicaCopy,
    source: View,
    destination: View,
) -> Iterator[Phase]:
    """Yield what part of a Copy takes."""
    width, target = copy.source.element_type.size_bytes, graph.target
    pieces, into = pieces_between(homes, source, destination, width)
    what = f"'{copy.source.name}' -> '{copy.destination.name}'"
    if isinstance(copy, CrossReplicaCopy) and copy.replica_map != _identity(copy):
        cause = Cause(what, "goes to other replicas", copy.location, int(pieces.bytes.sum()))
        yield global_phase(target, pieces, (cause,), replica_map=copy.replica_map)
        return
    stays = np.flatnonzero(pieces.source == pieces.to)
    num_bytes = int(pieces.bytes.sum())
    if len(stays):
        rows = rows_of(homes, pieces.ordered(stays), into[stays])
        here = int(rows.bytes.sum())
        cause = Cause(what, "is copied on its tile", copy.location, here)
        yield copy_phase(target, rows, (cause,))
        num_bytes -= here
    if num_bytes:
        cause = Cause(what, "goes to other tiles", copy.location, num_bytes)
        once = len(pieces.to) > FEW and isinstance(source.space, Storage)
        once = once and not contains_aliases(source)
        yield from _exchanges(target, [pieces], once, lambda: ((cause,), NOTHING))


def phases_of_host(graph: Graph, program: Program) -> tuple[Phase, ...]:
    """Return what a program takes that moves data from or to the host, or remote buffers.

    Args:
        graph: whose mapping says where variables live.
        program: a StreamCopy, a RemoteCopy, ...
    """
    return (host_phase(graph, program),)


class _Moved(NamedTuple):
    """What is moved for one field.

    Attributes:
        family: whose field it is.
        part: the field.
        remote: of what vertices touch, what lives on other tiles.
        rows: of what vertices touch, what must be put together or taken apart on their tile.
        kept: of what they read, what is copied because they overwrite it.
    """

    family: Family
    part: FieldEdges
    remote: RemoteElements
    rows: Rows | None
    kept: Rows | None

    def at(self, tile: int) -> SourceLocation:
        """Return the user's line that added the vertices, or the first of them on a tile."""
        vertices = self.family.vertices
        if isinstance(vertices, VertexBlock):
            return vertices.location
        return next(vertex.location for vertex in vertices if vertex.tile == tile)


class _Way(NamedTuple):
    """Which way things go.

    Attributes:
        pieces: what is said of what moves.
        rows: what is said of what is copied.
        is_in: whether it is before the vertices run.
    """

    pieces: str
    rows: str
    is_in: bool

    def needs_room(self, moved: _Moved) -> bool:
        """Whether it takes memory; what is also read has got some."""
        return self.is_in or not moved.part.field.reads


_IN = _Way("comes from other tiles", "is put together from several places", True)
_OUT = _Way("goes to other tiles", "is taken apart to several places", False)

_KEPT = "keeps its values from before, as an Output of its vertex overwrites them"


def _moved(graph: Graph, table: EdgeTable) -> Iterator[_Moved]:
    """Yield what is moved for each field, if anything is."""
    home = None
    for family in table.families:
        tiles = None
        for part in family.fields:
            if not part.edges.num_elements:
                continue
            home = locations_of(graph) if home is None else home
            tiles = family.tiles(graph.target.tiles) if tiles is None else tiles
            # Metadata of QUARTER is read when the vertex begins.
            own = None if part.field.is_implicit else table.crossings.own.get(part)
            if own is None and _is_at_home(part.edges, tiles, home):
                continue
            seen = touched(part, tiles)
            remote = RemoteElements(seen, home, part.field.element.size_bytes, graph.target.tiles)
            rows = rows_to_gather(part, tiles, seen, home) if part.field.depth else None
            kept = None if own is None else rows_to_keep(part, own, rows, tiles, home)
            if rows is not None or kept is not None or remote.count:
                yield _Moved(family, part, remote, rows, kept)


def _is_at_home(edges: Edges, tiles: VertexTiles, homes: Locations) -> bool:
    """Tell whether it is plain that a field lies in one place, on the tile of its one vertex."""
    if tiles.count > 1 or not isinstance(edges.start, Steps):
        return False
    size = edges.length.only
    if not size:
        return False
    return homes.hold(edges.start.low, edges.start.high + size, tiles.at(0))


def _phases(target: Target, moved: Sequence[_Moved], way: _Way) -> Iterator[Phase]:
    """Yield the phases before vertices, or after them."""
    several = (
        (each, *own) for each in moved for own in ((each.rows, way.rows), (each.kept, _KEPT))
    )
    copied = [(each, rows, why) for each, rows, why in several if rows is not None]
    if copied:
        room = np.zeros(target.tiles, np.int64)
        found = [_Sums(each, why) for each, _, why in copied]
        for (each, rows, _), sums in zip(copied, found, strict=True):
            sums.add(rows.tile, rows.bytes)
            if way.needs_room(each):
                _add(room, rows.tile, rows.bytes)
        every = joined_rows([rows for _, rows, _ in copied])
        yield copy_phase(target, every, _causes(found), Spread.of(room))
    some = [each for each in moved if each.remote.count]
    if some:
        room = np.zeros(target.tiles, np.int64)
        found = [_Sums(each, way.pieces) for each in some]
        parts = _parts(found, way, room)
        # What comes home comes from the one vertex that wrote it.
        once = not way.is_in or (len(some) == 1 and some[0].part.edges.surely_disjoint())
        yield from _exchanges(target, parts, once, lambda: (_causes(found), Spread.of(room)))


def _parts(found: Sequence[_Sums], way: _Way, room: Int64) -> Iterator[Pieces]:
    """Yield all pieces, those that live on some tiles at a time; add up bytes by field and tile."""
    stops = [len(room)]
    if sum(sums.moved.remote.count for sums in found) > MOST_PIECES:
        held = np.sum([sums.moved.remote.held() for sums in found], axis=0)
        stops = [*(np.flatnonzero(np.diff(np.cumsum(held) // MOST_PIECES)) + 1).tolist(), *stops]
    for low, high in zip([0, *stops], stops, strict=False):
        several = []
        for sums in found:
            pieces = sums.moved.remote.pieces(low, high)
            if len(pieces.to):
                sums.add(pieces.to, pieces.bytes)
                several.append(pieces)
                if not way.is_in and way.needs_room(sums.moved):
                    _add(room, pieces.to, pieces.bytes)
        if several:
            every = joined(several)
            if way.is_in:
                _add(room, every.to, every.bytes)
            yield every if way.is_in else sent_home(every)


def _exchanges(
    target: Target,
    parts: Iterable[Pieces],
    once: bool,
    told: Callable[[], tuple[tuple[Cause, ...], Spread]],
) -> Iterator[Phase]:
    """Yield the exchange within IPUs, then that between them; the first one has the buffers."""
    others: list[Pieces] = []
    load = load_of(target, _within(target, parts, others), once)
    causes, buffers = told()
    if len(load.tiles):
        yield exchange_phase(target, load, causes, buffers)
        buffers = NOTHING
    if others:
        every = Pieces._make(np.concatenate(column) for column in zip(*others, strict=True))
        yield global_phase(target, every, causes, buffers)


def _within(target: Target, parts: Iterable[Pieces], others: list[Pieces]) -> Iterator[Pieces]:
    """Yield what stays in its IPU, and keep the others."""
    for pieces in parts:
        if target.ipus == 1:
            yield pieces
            continue
        stays = pieces.source // target.tiles_per_ipu == pieces.to // target.tiles_per_ipu
        if stays.any():
            yield pieces.kept(stays)
        if not stays.all():
            others.append(pieces.kept(~stays))


class _Sums:
    """The bytes of a field, and the tile of the vertex that its largest piece is for.

    Args:
        moved: what is moved for the field.
        why: what is said of it.
    """

    def __init__(self, moved: _Moved, why: str) -> None:
        self.moved, self.why, self.bytes = moved, why, 0
        self._most, self._tile = 0, 0

    def add(self, tile: Int64, num_bytes: Int64) -> None:
        """Add pieces; of the largest, the first counts that is for the least tile.

        Args:
            tile: int64[n], of vertices; rising, or else all there are.
            num_bytes: int64[n].
        """
        self.bytes += int(num_bytes.sum())
        largest = int(num_bytes.argmax())
        most, at = int(num_bytes[largest]), int(tile[largest])
        if most > self._most or (most == self._most and at < self._tile):
            self._most, self._tile = most, at

    def cause(self) -> Cause:
        """Return the field as a cause."""
        field = f"field '{self.moved.part.field.name}' of {self.moved.family.cls.__name__}"
        return Cause(field, self.why, self.moved.at(self._tile), self.bytes)


def _causes(found: Sequence[_Sums]) -> tuple[Cause, ...]:
    """Return the largest causes."""
    return tuple(sums.cause() for sums in sorted(found, key=lambda sums: -sums.bytes)[:MOST_CAUSES])


def _add(total: Int64, tiles: Int64, num_bytes: Int64) -> None:
    total += np.bincount(tiles, num_bytes, len(total)).astype(np.int64)


def _identity(copy: CrossReplicaCopy) -> tuple[int, ...]:
    return tuple(range(len(copy.replica_map)))
