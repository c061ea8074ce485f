"""The phases in which data move between tiles, or are rearranged on them.

    compute set     before    gathered on the tile, or copied   `moved_data`
                              because the vertex overwrites it
                              received from other tiles           `moved_data`,
                                                                  `exchange_cycles`
                              received from other IPUs            `global_phase`
                    vertices
                    after     the same in reverse, for results
    Copy                      on its tile, to other tiles, to other IPUs
    StreamCopy ...            host exchange                       `host_phase`

The computation starts from the runs of elements that vertices access. With the segments of the tile
mapping, looked up once for each field (`locations`), these give pieces that move between tiles and
rows to gather, then the load of each tile, and finally cycles.

Tiles wait for each other only if they exchange data: a compute set that uses only local elements
has no sync. (Graphcore's own model adds a sync to every compute set; in its experiments each has an
exchange as well.)

Between IPUs, all tiles of all IPUs first wait for each other. An exchange then takes a fixed time
plus the time of the slowest link that a tile's data use: all data on a link share its rate, and
data for several tiles of an IPU pass once. The fixed time is what halos of a Gaussian blur on 16
Mk1 IPUs took in addition to the time for their bytes (thorbenlouw/lbm-graphcore, experiments); for
the links see `poplite.machine.target`.

Between tiles and host, only the amount of data matters, not its tiles: the cost is a fixed time for
each transfer plus bytes divided by a rate (graphcore/examples, tutorials). The real time depends on
the load of the host and on other traffic on the bus; remote buffers are treated like the host.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.series import Steps
from poplite.cost.exchange_cycles import (
    MovedPieces,
    PairSums,
    by_place,
    exchange_phase,
    joined,
    load_of,
    sent_home,
)
from poplite.cost.locations import Locations, locations_of
from poplite.cost.moved_data import (
    CopiedRows,
    RemoteElements,
    copy_phase,
    joined_rows,
    parts_of,
    phases_of_few,
    pieces_between,
    rows_of,
    rows_to_gather,
    rows_to_keep,
    sum_of_parts,
    touched,
)
from poplite.cost.step_cost import NOTHING, PhaseCost, at_tiles
from poplite.graph.compute_sets.vertex_block import Edges, VertexBlock, VertexTiles
from poplite.graph.tensor.tensor_mapping import mapping_of
from poplite.machine.target import Link, Target, global_sync_cycles, link_bytes_per_cycle, route
from poplite.program.copy import CrossReplicaCopy
from poplite.report.execution import Cause
from poplite.report.per_tile import PerTile
from poplite.view import Storage, View, contains_aliases

if TYPE_CHECKING:
    from poplite.graph.compute_sets.edge_table import EdgeTable, Family, FieldEdges
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor
    from poplite.program import Program, TensorCopy
    from poplite.source import SourceLocation


def global_phase(
    target: Target,
    pieces: MovedPieces,
    causes: tuple[Cause, ...],
    buffers: PerTile = NOTHING,
    replica_map: Sequence[int] = (0,),
) -> PhaseCost:
    """Return the phase in which pieces move, each to another IPU or replica.

    The target is one replica's part of the machine; `replica_map` has, for each replica, the
    replica that receives its pieces.
    """
    pieces = pieces.merged()
    source, to = pieces.source // target.tiles_per_ipu, pieces.to // target.tiles_per_ipu
    flow = source * target.ipus + to
    order, fresh = by_place(pieces.source * target.ipus + to, pieces.at, pieces.size)
    size = fresh * pieces.width[order]
    traffic = np.bincount(flow[order], size, target.ipus**2).astype(np.int64)
    waits = _waits(target, traffic, replica_map)[flow]
    sent = np.bincount(pieces.source[order], size, target.tiles).astype(np.int64)
    received = np.bincount(pieces.to, pieces.bytes, target.tiles).astype(np.int64)
    cycles = -(-np.maximum(sent, received) // target.exchange_bytes_per_cycle)
    for tiles in (pieces.source, pieces.to):
        np.maximum.at(cycles, tiles, waits)
    cycles[cycles > 0] += int(target.cost("global_exchange_cycles"))
    sums = PairSums(target.tiles)
    sums.add_moving(pieces)
    replicas = len(replica_map)
    whole = dataclasses.replace(target, ipus=target.ipus * replicas, tiles=target.tiles * replicas)
    return PhaseCost(
        "global exchange",
        PerTile.of(cycles),
        global_sync_cycles(whole),
        received=PerTile.of(received),
        sent=PerTile.of(sent),
        buffers=buffers,
        causes=causes,
        pairs=sums.pairs(),
    )


def _waits(target: Target, traffic: Int64, replica_map: Sequence[int]) -> Int64:
    """Return int64[ipus * ipus], the cycles that the bytes from one IPU to another take."""
    ipus, load = target.ipus, Counter[Link]()
    waits = np.zeros_like(traffic)
    flows = [
        (flow, route(replica * ipus + flow // ipus, other * ipus + flow % ipus))
        for flow in np.flatnonzero(traffic).tolist()
        for replica, other in enumerate(replica_map)
    ]
    for flow, links in flows:
        for link in links:
            load[link] += int(traffic[flow])
    for flow, links in flows:
        cycles = [math.ceil(load[link] / link_bytes_per_cycle(target, link)) for link in links]
        waits[flow] = max([int(waits[flow]), *cycles])
    return waits


def host_phase(graph: Graph, program: Program) -> PhaseCost:
    """Return the phase in which a program moves data from or to the host."""
    target, (reads, writes) = graph.target, (program.reads, program.writes)
    sent, received = (_bytes(graph, tensors) for tensors in (reads, writes))
    num_bytes = int(sent.sum() + received.sum())
    cycles = int(target.cost("host_exchange_cycles"))
    cycles += math.ceil(num_bytes / target.cost("host_bytes_per_cycle"))
    tiles = np.flatnonzero(sent + received) if num_bytes else np.zeros(1, np.int64)
    moved = [f"'{tensor.name}'" for tensor in (*reads, *writes)]
    why = f"{'go' if len(moved) > 1 else 'goes'} between device and host"
    cause = Cause(" and ".join(moved) or str(program), why, program.location.portable, num_bytes)
    return PhaseCost(
        "host exchange",
        at_tiles(target.tiles, tiles, np.full(len(tiles), cycles)),
        int(target.cost("sync_cycles")),
        received=PerTile.of(received),
        sent=PerTile.of(sent),
        causes=(cause,),
    )


def _bytes(graph: Graph, tensors: Sequence[Tensor]) -> Int64:
    """Return int64[tiles], the bytes of tensors on each tile."""
    total = np.zeros(graph.target.tiles, np.int64)
    for tensor in tensors:
        held = mapping_of(graph.space, tensor.view).elements_per_tile
        total += held * tensor.element_type.size_bytes
    return total


MOST_CAUSES = 3
"""Maximum number of fields that are listed as causes of a phase; all others become one cause."""

MOST_PIECES = 1 << 20
"""Maximum number of pieces that are processed at a time, unless they all leave one tile."""


Phases = tuple[tuple[PhaseCost, ...], tuple[PhaseCost, ...]]
"""The phases before the vertices of a compute set, and those after them."""


def phases_of_compute_set(graph: Graph, table: EdgeTable) -> Phases:
    """Return the phases that bring inputs to vertices, and those that return results."""
    moved = list(_moved(graph, table))
    before = [each for each in moved if each.part.field.reads]
    after = [each for each in moved if each.part.field.writes]
    return tuple(_phases(graph.target, before, _IN)), tuple(_phases(graph.target, after, _OUT))


def phases_of_alike(phases: Phases, first: EdgeTable, table: EdgeTable) -> Phases | None:
    """Return the phases of a compute set that differs from another one only in its variables.

    Only the user's lines differ. Returns None if one line of `first` corresponds to several lines
    of `table`.
    """
    lines = {"": ""}
    for known, own in zip(first.families, table.families, strict=True):
        assert isinstance(known.vertices, VertexBlock)
        assert isinstance(own.vertices, VertexBlock)
        line = own.vertices.location.portable
        if lines.setdefault(known.vertices.location.portable, line) != line:
            return None
    if all(line == own for line, own in lines.items()):
        return phases
    before, after = (tuple([_with_lines(each, lines) for each in some]) for some in phases)
    return before, after


def _with_lines(phase: PhaseCost, lines: Mapping[str, str]) -> PhaseCost:
    return replace(phase, causes=tuple([replace(c, at=lines[c.at]) for c in phase.causes]))


def phases_of_copy(graph: Graph, copy: TensorCopy | CrossReplicaCopy) -> tuple[PhaseCost, ...]:
    """Return the phases of a Copy."""
    homes, views = locations_of(graph), (copy.source.view, copy.destination.view)
    if not isinstance(copy, CrossReplicaCopy) and copy.num_elements:
        few = phases_of_few(graph.target, homes, copy, views)
        if few is not None:
            return few
    parts = [_phases_of_views(graph, homes, copy, *views) for views in parts_of(copy)]
    by_kind: dict[str, list[PhaseCost]] = {}
    for phase in chain.from_iterable(parts):
        by_kind.setdefault(phase.kind, []).append(phase)
    return tuple(sum_of_parts(graph.target, phases) for phases in by_kind.values())


def _phases_of_views(
    graph: Graph,
    homes: Locations,
    copy: TensorCopy | CrossReplicaCopy,
    source: View,
    destination: View,
) -> Iterator[PhaseCost]:
    """Yield the phases of a part of a Copy."""
    width, target = copy.source.element_type.size_bytes, graph.target
    pieces, into = pieces_between(homes, source, destination, width)
    what, at = f"'{copy.source.name}' -> '{copy.destination.name}'", copy.location.portable
    if isinstance(copy, CrossReplicaCopy) and copy.replica_map != _identity(copy):
        moved = int(pieces.bytes.sum())
        cause = Cause(what, "goes to other replicas", at, moved, len(pieces.to))
        yield global_phase(target, pieces, (cause,), replica_map=copy.replica_map)
        return
    stays = np.flatnonzero(pieces.source == pieces.to)
    num_bytes = int(pieces.bytes.sum())
    if len(stays):
        rows = rows_of(homes, pieces.ordered(stays), into[stays])
        here = int(rows.bytes.sum())
        cause = Cause(what, "is copied on its tile", at, here, len(rows.tile))
        yield copy_phase(target, rows, (cause,))
        num_bytes -= here
    if num_bytes:
        cause = Cause(what, "goes to other tiles", at, num_bytes, len(pieces.to) - len(stays))
        once = isinstance(source.space, Storage) and not contains_aliases(source)
        yield from _exchanges(target, [pieces], once, lambda: ((cause,), NOTHING))


def phases_of_host(graph: Graph, program: Program) -> tuple[PhaseCost, ...]:
    """Return the phases of a program that moves data from or to the host or remote buffers."""
    return (host_phase(graph, program),)


class _Moved(NamedTuple):
    """The moves of one field.

    Attributes:
        family: the family of the vertices.
        part: the field.
        remote: the elements that vertices access on other tiles.
        rows: the elements on the vertices' tile that must be gathered, or scattered; None if there
            are none.
        kept: the elements that are copied because their vertex overwrites them; None if there are
            none.
    """

    family: Family
    part: FieldEdges
    remote: RemoteElements
    rows: CopiedRows | None
    kept: CopiedRows | None

    def at(self, tile: int) -> SourceLocation:
        """Return the user's line that added the first of the vertices on a tile."""
        vertices = self.family.vertices
        if isinstance(vertices, VertexBlock):
            return vertices.location
        return next(vertex.location for vertex in vertices if vertex.tile == tile)


class _Way(NamedTuple):
    """The direction in which data move.

    Attributes:
        pieces: text in messages for data that move between tiles.
        rows: text in messages for copies on a tile.
        is_in: whether data move before the vertices run.
    """

    pieces: str
    rows: str
    is_in: bool

    def needs_room(self, moved: _Moved) -> bool:
        """Return whether a field needs buffers that the opposite direction did not allocate."""
        return self.is_in or not moved.part.field.reads


_IN = _Way("comes from other tiles", "is gathered from several places", True)
_OUT = _Way("goes to other tiles", "is scattered to several places", False)

KEPT = "is overwritten by an Output of its vertex"
"""The reason why an Input that shares elements with an Output of its vertex is copied."""


def _moved(graph: Graph, table: EdgeTable) -> Iterator[_Moved]:
    """Yield the moves of each field that needs them."""
    home = None
    for family in table.families:
        tiles = None
        for part in family.fields:
            if not part.edges.num_elements:
                continue
            home = locations_of(graph) if home is None else home
            tiles = family.tiles(graph.target.tiles) if tiles is None else tiles
            # Metadata of QUARTER is read when the vertex starts.
            own = None if part.field.is_implicit else table.crossings.own.get(part)
            if own is None and _is_at_home(part.edges, tiles, home):
                continue
            seen = touched(part, tiles)
            at = home.many(seen.begin)
            width, depth = part.field.element.size_bytes, part.field.depth
            remote = RemoteElements(seen, at, width, graph.target.tiles)
            rows = rows_to_gather(part, tiles, seen, at, home) if depth else None
            kept = None if own is None else rows_to_keep(part, own, rows, tiles, at, home)
            if rows is not None or kept is not None or remote.count:
                yield _Moved(family, part, remote, rows, kept)


def _is_at_home(edges: Edges, tiles: VertexTiles, homes: Locations) -> bool:
    """Return whether a field is obviously contiguous on the tile of its only vertex."""
    if tiles.count > 1 or not isinstance(edges.start, Steps):
        return False
    size = edges.length.only
    if not size:
        return False
    return homes.hold(edges.start.low, edges.start.high + size, tiles.at(0))


def _phases(target: Target, moved: Sequence[_Moved], way: _Way) -> Iterator[PhaseCost]:
    """Yield the phases before or after the vertices."""
    several = ((each, *own) for each in moved for own in ((each.rows, way.rows), (each.kept, KEPT)))
    copied = [(each, rows, why) for each, rows, why in several if rows is not None]
    if copied:
        room = np.zeros(target.tiles, np.int64)
        found = [_Sums(each, why) for each, _, why in copied]
        for (each, rows, _), sums in zip(copied, found, strict=True):
            sums.add(rows.tile, rows.bytes)
            if way.needs_room(each):
                _add(room, rows.tile, rows.bytes)
        every = joined_rows([rows for _, rows, _ in copied])
        yield copy_phase(target, every, _causes(found), PerTile.of(room))
    some = [each for each in moved if each.remote.count]
    if some:
        room = np.zeros(target.tiles, np.int64)
        found = [_Sums(each, way.pieces) for each in some]
        parts = _parts(found, way, room)
        # A result leaves only the tile of the only vertex that wrote it.
        once = not way.is_in or (len(some) == 1 and some[0].part.edges.surely_disjoint())
        yield from _exchanges(target, parts, once, lambda: (_causes(found), PerTile.of(room)))


def _parts(found: Sequence[_Sums], way: _Way, room: Int64) -> Iterator[MovedPieces]:
    """Yield all pieces, for a few tiles at a time, and add up bytes by field and tile."""
    stops = [len(room)]
    if sum(sums.moved.remote.count for sums in found) > MOST_PIECES:
        held = np.sum([sums.moved.remote.held for sums in found], axis=0)
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
    parts: Iterable[MovedPieces],
    once: bool,
    described: Callable[[], tuple[tuple[Cause, ...], PerTile]],
) -> Iterator[PhaseCost]:
    """Yield the exchange within IPUs, which gets the cost of buffers, then that between IPUs."""
    others: list[MovedPieces] = []
    sums = PairSums(target.tiles)
    load = load_of(target, _within(target, parts, others, sums), once)
    causes, buffers = described()  # known only after all parts have been added up
    every, far = None, causes
    if others:
        every = MovedPieces._make(np.concatenate(column) for column in zip(*others, strict=True))
    if len(load.tiles):
        if every is not None:
            causes, far = _divided(causes, int(every.bytes.sum()))
        yield exchange_phase(target, load, causes, buffers, sums.pairs())
        buffers = NOTHING
    if every is not None:
        yield global_phase(target, every, far, buffers)


def _divided(
    causes: tuple[Cause, ...], between: int
) -> tuple[tuple[Cause, ...], tuple[Cause, ...]]:
    """Divide the bytes of causes among the exchanges within IPUs and between IPUs.

    Pieces are divided in the same way.
    """
    whole = sum(cause.bytes for cause in causes)
    far = [cause.bytes * between // whole for cause in causes]
    far[0] += between - sum(far)  # the largest
    within = (_part_of(c, c.bytes - part) for c, part in zip(causes, far, strict=True))
    beyond = (_part_of(c, part) for c, part in zip(causes, far, strict=True))
    return tuple(c for c in within if c.bytes), tuple(c for c in beyond if c.bytes)


def _part_of(cause: Cause, num_bytes: int) -> Cause:
    """Return a part of a cause, with a proportional number of its pieces."""
    return replace(cause, bytes=num_bytes, pieces=-(-cause.pieces * num_bytes // cause.bytes))


def _within(
    target: Target, parts: Iterable[MovedPieces], others: list[MovedPieces], sums: PairSums
) -> Iterator[MovedPieces]:
    """Yield the pieces that stay in their IPU, and add them up; append the rest to `others`."""
    for pieces in parts:
        if target.ipus == 1:
            sums.add(pieces)
            yield pieces
            continue
        stays = pieces.source // target.tiles_per_ipu == pieces.to // target.tiles_per_ipu
        if stays.any():
            kept = pieces.kept(stays)
            sums.add(kept)
            yield kept
        if not stays.all():
            others.append(pieces.kept(~stays))


class _Sums:
    """The pieces of a field, the reason for the move, and the tile with the largest piece."""

    def __init__(self, moved: _Moved, why: str) -> None:
        self.moved, self.why, self.bytes, self.pieces = moved, why, 0, 0
        self._most, self._tile = 0, 0

    def add(self, tile: Int64, num_bytes: Int64) -> None:
        """Add pieces by the tiles of their vertices; among the largest, the lowest tile counts.

        Both arrays are int64[n]; tiles are ascending, unless all pieces are added at once.
        """
        self.bytes += int(num_bytes.sum())
        self.pieces += len(num_bytes)
        largest = int(num_bytes.argmax())
        most, at = int(num_bytes[largest]), int(tile[largest])
        if most > self._most or (most == self._most and at < self._tile):
            self._most, self._tile = most, at

    def cause(self) -> Cause:
        """Return the field as a cause."""
        field = f"field '{self.moved.part.field.name}' of {self.moved.family.cls.__name__}"
        line = self.moved.at(self._tile).portable
        return Cause(field, self.why, line, self.bytes, self.pieces)


def _causes(found: Sequence[_Sums]) -> tuple[Cause, ...]:
    """Return the largest causes, and one for all others; equal fields of a line are one cause."""
    fields: dict[tuple[str, str, str], Cause] = {}
    for cause in sorted([sums.cause() for sums in found], key=lambda cause: -cause.bytes):
        key = cause.what, cause.why, cause.at
        fields[key] = _joined(cause, [fields[key]]) if key in fields else cause
    order = sorted(fields.values(), key=lambda cause: -cause.bytes)
    if others := order[MOST_CAUSES:]:
        what = f"each of {len(others):,} other fields" if len(others) > 1 else "another field"
        rest = _joined(Cause(what, others[0].why, "", 0), others)
        return *order[:MOST_CAUSES], rest
    return tuple(order)


def _joined(cause: Cause, others: Sequence[Cause]) -> Cause:
    """Return a cause with the bytes and pieces of others added."""
    num_bytes, pieces = (
        sum(each) for each in zip(*((c.bytes, c.pieces) for c in others), strict=True)
    )
    return replace(cause, bytes=cause.bytes + num_bytes, pieces=cause.pieces + pieces)


def _add(total: Int64, tiles: Int64, num_bytes: Int64) -> None:
    total += np.bincount(tiles, num_bytes, len(total)).astype(np.int64)


def _identity(copy: CrossReplicaCopy) -> tuple[int, ...]:
    return tuple(range(len(copy.replica_map)))
