"""The cycles of an exchange on every tile, computed from the pieces that move.

Nothing is negotiated while an exchange runs: each tile is compiled to send every word, and to
listen to every sender, in a fixed cycle.  So the cycles follow from the pieces::

    words        one comes in and one goes out in a cycle, at once.  A word that goes to many tiles
                 is sent once; both tiles of a pair share it, and take two a cycle
    controls     instructions of the supervisor: some whenever a receiver turns to another
                 source or place, one for each stretch that a sender sends
    latency      from the sync to the first word, by the length of its route

    a tile's cycles = latency + max(words in, words out, controls)

A piece from far away may take longer: its own latency and its own words.  Words do not conflict on
the way, and no conflicts are modelled: schedules of the C600 took 2.6 % longer than planned.

Sources: ipu-stack, ipu21/costs.rs and docs/EXCHANGE_INSTRUCTION_REFERENCE.md; poplibs, lib/poplin
(pairs of tiles that share what they receive).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import sorted_with_order
from poplite.cost.exchange.pieces import MovedPieces, pairs_of_few
from poplite.cost.step_cost import NOTHING, PhaseCost, at_few, at_tiles
from poplite.jit.build import address, native
from poplite.jit.kernels.exchange import (
    LOAD_WORDS,
    PIECE_WORDS,
    PLACE_WORDS,
    fragments,
    receive,
    routes,
    send,
)
from poplite.machine.facts import FACTS
from poplite.report.execution import Cause, TilePairs
from poplite.report.per_tile import PerTile

if TYPE_CHECKING:
    from poplite.machine.target import Target

FEW = 16
"""Most pieces of a Copy that are added up without compiled code.

Kept for benchmarks/compilation.py: `10,000 Copies of 10 elements, with the model / without`.
"""

_KERNEL_COSTS = (
    "word_bytes",
    "longest_send_words",
    "receive_controls",
    "pointer_controls",
    "send_controls",
)
"""The constants of the machine that the kernels take, in their order."""

_PLACE = (0, 2)
"""Columns of a piece in the kernels' arrays: its source and its place there."""

_EMPTY_FEW = [0, 0, 0, 0, 1 << 62, 0, 0, 0]
_EMPTY = np.array(_EMPTY_FEW)
"""The load of a tile that has neither received nor sent."""


class Load(NamedTuple):
    """The work of each tile that takes part in an exchange.

    Attributes:
        tiles: int64[n], their numbers, ascending.
        words_in: int64[n], words received; half of the words that a pair shares.
        words_out: int64[n], words sent.
        words_apart: int64[n], words sent to other pairs.
        controls: int64[n], instructions.
        first: int64[n], cycles until the first word of any piece that it sends or receives.
        last: int64[n], cycles until the slowest single piece that it receives has arrived.
        received: int64[n], bytes received.
        sent: int64[n], bytes sent.
    """

    tiles: Int64
    words_in: Int64
    words_out: Int64
    words_apart: Int64
    controls: Int64
    first: Int64
    last: Int64
    received: Int64
    sent: Int64


def exchange_phase(
    target: Target,
    load: Load,
    causes: tuple[Cause, ...],
    buffers: PerTile = NOTHING,
    pairs: TilePairs | None = None,
) -> PhaseCost:
    """Return the phase in which pieces move between the tiles of an IPU, or of several."""
    costs = _constants(target)
    words = np.maximum(load.words_in, _words_out(costs, load))
    payload = -(-words * costs.word_bytes // costs.bytes_per_cycle)
    cycles = np.maximum(load.first + np.maximum(payload, load.controls), load.last)
    columns = cycles, load.received, load.sent, load.controls
    spreads = tuple([at_tiles(target.tiles, load.tiles, column) for column in columns])
    return _phase(target, spreads, causes, buffers, pairs)


def _words_out(costs: _Constants, load: Load) -> Int64:
    """Return the words for whose sending each tile must wait."""
    if costs.send_lanes >= costs.pair_tiles:
        return load.words_out
    # Both tiles of a pair send over one lane, but not what they send each other.
    pair = load.tiles // costs.pair_tiles
    return np.bincount(pair, load.words_apart).astype(np.int64)[pair]


def load_of(target: Target, parts: Iterable[MovedPieces], once: bool = False) -> Load:
    """Return the load of the tiles from pieces; those that stay on their tile do not count.

    No piece leaves its IPU. One part has all pieces that leave some tiles, or all that reach some;
    sources ascend. `once` means that no element is known to leave its tile twice.

    >>> from poplite.machine.target import Target
    >>> source, to = np.array([0, 0]), np.array([2, 7])     # 10 floats from tile 0 to 2 and 7
    >>> pieces = MovedPieces(source, to, np.array([5, 5]), source + 10, source + 4, source == 0)
    >>> load = load_of(Target(), [pieces])
    >>> load.tiles.tolist(), load.words_in.tolist(), load.words_out.tolist()
    ([0, 2, 7], [0, 10, 10], [10, 0, 0])
    """
    load = np.tile(_EMPTY, (target.tiles, 1))
    for part in parts:
        if len(part.to):
            _add(target, part, once, load)
    tiles = np.flatnonzero(load[:, -2:].any(axis=1))
    return Load(tiles, *load[tiles].T)


def exchange_of_few(
    target: Target,
    pieces: tuple[tuple[int, ...], ...],
    causes: tuple[Cause, ...],
    known: dict[object, tuple[tuple[PerTile, ...], TilePairs | None]],
) -> PhaseCost:
    """Return the exchange phase of a few pieces, as columns; `known` caches their numbers."""
    found = known.get(pieces)
    if found is None:
        tiles, load = _sums_of_few(target, pieces)
        columns = [load[word::LOAD_WORDS] for word in range(LOAD_WORDS)]
        source, to, _, size, width, _ = pieces
        moved = zip(source, to, map(mul, size, width), strict=True)
        spreads = _spreads_of_few(target, [tiles, *columns])
        found = known[pieces] = spreads, pairs_of_few(target.tiles, moved)
    return _phase(target, found[0], causes, NOTHING, found[1])


def _phase(
    target: Target,
    spreads: tuple[PerTile, ...],
    causes: tuple[Cause, ...],
    buffers: PerTile,
    pairs: TilePairs | None,
) -> PhaseCost:
    cycles, received, sent, controls = spreads
    return PhaseCost(
        "exchange",
        cycles,
        _constants(target).sync_cycles,
        received=received,
        sent=sent,
        buffers=buffers,
        causes=causes,
        controls=controls,
        pairs=pairs,
    )


def _spreads_of_few(target: Target, load: Sequence[list[int]]) -> tuple[PerTile, ...]:
    """Return cycles, bytes in, bytes out and controls of a load whose columns are lists."""
    known = _constants(target)
    tiles, words_in, words_out, words_apart, controls, first, last, received, sent = load
    if known.send_lanes < known.pair_tiles:
        pair = [tile // known.pair_tiles for tile in tiles]
        words_out = [
            sum([words for words, other in zip(words_apart, pair, strict=True) if other == own])
            for own in pair
        ]
    cycles = []
    for k in range(len(tiles)):
        payload = -(-max(words_in[k], words_out[k]) * known.word_bytes // known.bytes_per_cycle)
        cycles.append(max(first[k] + max(payload, controls[k]), last[k]))
    columns = cycles, received, sent, controls
    return tuple([at_few(target.tiles, tiles, each) for each in columns])


def _sums_of_few(target: Target, pieces: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Add up pieces without compiled code; return the tiles that take part, and their loads."""
    source, to, at, size, width, jumps = map(list, pieces)
    known = _constants(target)
    ends = zip(source, to, strict=True)
    tiles = sorted({tile for pair in ends if pair[0] != pair[1] for tile in pair})
    number = {tile: position for position, tile in enumerate(tiles)}
    source, to = ([number.get(tile, -1) for tile in column] for column in (source, to))
    rows = [0] * (len(to) * PIECE_WORDS)
    count = fragments(source, to, at, size, width, jumps, len(to), rows)
    order = list(range(count))
    if count > 1:
        source, at = (rows[word : count * PIECE_WORDS : PIECE_WORDS] for word in _PLACE)
        order.sort(key=lambda piece: (source[piece], at[piece]))
    load, costs = _EMPTY_FEW * len(tiles), known.few_kernel
    where = [word for tile in tiles for word in known.few_places[tile]]
    receive(rows, count, costs, load)
    send(rows, order, count, 0, costs, *known.latency, known.few_cycles, where, load)
    return tiles, load


def _add(target: Target, pieces: MovedPieces, once: bool, load: Int64) -> None:
    """Add the load of pieces to that of all tiles."""
    known = _constants(target)
    rows = np.empty((len(pieces.to), PIECE_WORDS), np.int64)
    columns = [np.ascontiguousarray(column) for column in pieces]
    count = native(fragments)(*map(address, columns), len(rows), address(rows))
    if once:
        order = np.arange(count)
    else:
        source, at = (rows[:count, word] for word in _PLACE)
        order = sorted_with_order(source * (int(at.max(initial=0)) + 1) + at)[1]
    costs, sums = address(known.kernel), address(load)
    native(receive)(address(rows), count, costs, sums)
    tables = address(known.cycles), address(known.places), sums
    native(send)(address(rows), address(order), count, once, costs, *known.latency, *tables)


class _Constants(NamedTuple):
    """The constants of a machine, looked up once; tables also as lists."""

    word_bytes: int
    bytes_per_cycle: int
    sync_cycles: int
    send_lanes: int
    pair_tiles: int
    latency: tuple[int, int, int]
    kernel: Int64
    cycles: Int64
    places: Int64
    few_kernel: list[int]
    few_cycles: list[int]
    few_places: list[list[int]]


@lru_cache(maxsize=8)
def _constants(target: Target) -> _Constants:
    names = "word_bytes", "sync_cycles", "send_lanes", "pair_tiles"
    word_bytes, sync_cycles, send_lanes, pair_tiles = (int(target.cost(name)) for name in names)
    if has_map(target):
        latency = 0, int(target.cost("setup_cycles")), int(target.cost("arrival_cycles"))
    else:
        latency = int(target.cost("exchange_cycles")), 0, 0
    kernel = np.array([target.cost(name) for name in _KERNEL_COSTS]).astype(np.int64)
    tables = kernel, route_cycles(target), places(target)
    return _Constants(
        word_bytes,
        target.exchange_bytes_per_cycle,
        sync_cycles,
        send_lanes,
        pair_tiles,
        latency,
        *tables,
        *(table.tolist() for table in tables),
    )


# -- routes ----------------------------------------------------------------------------------------
# Tiles come in pairs, and pairs fill the die column by column, up and down in turn::
#
#                column 0        column 1  ...         8 columns left of the middle, 8 right of it
#     row 22     44,45  46,47    136,137  138,139
#     ...
#     row 1       2, 3  88,89     94, 95  180,181
#     row 0       0, 1  90,91     92, 93  182,183
#
# A *route* is the time from the cycle in which the sender issues a word to that in which the
# receiver must have selected this sender, each counted from its own release by the sync: it may be
# negative.  The word is in memory some cycles later, the more the higher up the receiver is.
#
# Source: ipu-stack, topology.rs, which follows Graphcore's own model of the C600's fabric.


_CYCLES = (
    "column_cycles",
    "near_entry_cycles",
    "far_entry_cycles",
    "left_column_cycles",
    "right_column_cycles",
    "turn_cycles",
    "row_cycles",
    "release_cycles",
)
"""The constants of routes, in the order of the kernels."""


def has_map(target: Target) -> bool:
    """Return whether the positions of the tiles of an IPU are known."""
    facts = FACTS[target.architecture]
    return "die_rows" in facts and target.tiles_per_ipu <= facts["tiles"].value


@lru_cache(maxsize=8)
def places(target: Target) -> Int64:
    """Return where the tiles are, int64[tiles, 6].

    Columns: row, column counted from the nearer side, whether it is right of the middle, whether
    the second of its column, lane in the pair, and number of the pair. Without a map all are 0 but
    the last.
    """
    tiles = np.arange(target.tiles)
    found = np.zeros((target.tiles, PLACE_WORDS), np.int64)
    found[:, -1] = tiles // int(target.cost("pair_tiles"))
    if has_map(target):
        rows, columns = int(target.cost("die_rows")), int(target.cost("die_columns"))
        pair, lane = np.divmod(tiles % target.tiles_per_ipu, int(target.cost("pair_tiles")))
        block, row = np.divmod(pair, rows)
        column, is_second = np.divmod(block, 2)
        is_right = column >= columns // 2
        found[:, 0] = np.where(is_second, rows - 1 - row, row)
        found[:, 1] = np.where(is_right, columns - 1 - column, column)
        found[:, 2], found[:, 3], found[:, 4] = is_right, is_second, lane
    return found


@lru_cache(maxsize=8)
def route_cycles(target: Target) -> Int64:
    """Return the constants of routes, int64[8]; 0 where there is no map."""
    known = has_map(target)
    return np.array([target.cost(name) if known else 0 for name in _CYCLES]).astype(np.int64)


def route(target: Target, source: Int64, to: Int64) -> Int64:
    """Return int64[n], the routes between tiles of one IPU of a machine with a map.

    >>> from poplite.machine.target import Target
    >>> route(Target(architecture="c600"), np.array([0, 0]), np.array([2, 1471])).tolist()
    [-31, -28]
    """
    found, pieces = np.empty(len(to), np.int64), (address(source), address(to), len(to))
    native(routes)(address(places(target)), address(route_cycles(target)), *pieces, address(found))
    return found
