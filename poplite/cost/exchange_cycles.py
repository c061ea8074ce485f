"""The cycles of an exchange on every tile, computed from the pieces that move.

Nothing is negotiated while an exchange runs: each tile is compiled to send every word, and to
listen to every sender, in a fixed cycle. So cycles can be computed from the pieces::

    words        a tile receives one and sends one per cycle. A word for many tiles is sent
                 once; the two tiles of a pair share words for both, and take two per cycle
    controls     instructions of the supervisor: some whenever a receiver switches to another
                 source or place, one for each stretch that a sender sends
    latency      cycles from the sync to the first word, by the length of its route

    a tile's cycles = latency + max(words in, words out, controls)

A piece from far away may take longer: its own latency plus its own words. Conflicts between words
on their way are not modelled: schedules on the C600 took 2.6 % longer than planned.

Sources: ipu-stack, ipu21/costs.rs and docs/EXCHANGE_INSTRUCTION_REFERENCE.md; poplibs, lib/poplin
(pairs of tiles that share what they receive).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from poplite.arrays.intervals import Int64, sorted_order, sorted_with_order
from poplite.arrays.series import compact
from poplite.cost.step_cost import NOTHING, PhaseCost, at_few, at_tile, at_tiles, times
from poplite.jit.build import address, native
from poplite.jit.kernels_tiles import (
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


Mask = npt.NDArray[np.bool_]


# -- pieces ----------------------------------------------------------------------------------------
# Stretches of memory, each from one tile to another. A piece goes to a tile whose vertices access
# elements that are on another tile:
#     x on tiles 0 0 0 1 1 1      a vertex on tile 1 reads x[1:5]     piece 0 -> 1   x[1:3]
#                                 and has x[3:5]


class MovedPieces(NamedTuple):
    """Runs of elements, each of which moves as a whole.

    Attributes:
        source: int64[n], the tile that each piece leaves.
        to: int64[n], the tile that each piece reaches; ascending, and on each tile in memory
            order.
        at: int64[n], the place of the first element (`poplite.cost.locations`).
        size: int64[n], number of elements, at least one.
        width: int64[n], size of an element in bytes.
        jumps: bool[n], whether it does not land directly after the previous piece; true for the
            first piece that reaches a tile.
    """

    source: Int64
    to: Int64
    at: Int64
    size: Int64
    width: Int64
    jumps: Mask

    def ordered(self, order: Int64) -> MovedPieces:
        """Return the pieces with the given numbers, in the given order."""
        return MovedPieces._make(column[order] for column in self)

    def kept(self, chosen: Mask) -> MovedPieces:
        """Return the pieces chosen by bool[n]; a piece that follows an omitted piece jumps."""
        kept = MovedPieces._make(column[chosen] for column in self)
        behind = np.zeros(len(chosen), np.bool_)
        behind[1:] = ~chosen[:-1] & (self.to[1:] == self.to[:-1])
        return kept._replace(jumps=kept.jumps | behind[chosen])

    @property
    def bytes(self) -> Int64:
        """int64[n], the bytes of each piece."""
        return self.size * self.width

    def merged(self) -> MovedPieces:
        """Return the pieces, joined where source and destination continue the previous piece."""
        goes_on = np.zeros(len(self.to), np.bool_)
        if len(self.to) > 1:
            behind = self.at[1:] == self.at[:-1] + self.size[:-1]
            alike = (self.source[1:] == self.source[:-1]) & (self.to[1:] == self.to[:-1])
            goes_on[1:] = behind & alike & (self.width[1:] == self.width[:-1]) & ~self.jumps[1:]
        if not goes_on.any():
            return self
        first = np.flatnonzero(~goes_on)
        return self.ordered(first)._replace(size=np.add.reduceat(self.size, first))


def joined(several: Sequence[MovedPieces]) -> MovedPieces:
    """Return pieces of several fields, by receiving tile; a tile receives each element once."""
    if len(several) == 1:
        return several[0]
    every = MovedPieces._make(np.concatenate(column) for column in zip(*several, strict=True))
    order, fresh = by_place(every.to, every.at, every.size)
    every = every.ordered(order)
    every = every._replace(at=every.at + every.size - fresh, size=fresh)
    return by_source(MovedPieces._make(column[fresh > 0] for column in every))


def by_source(pieces: MovedPieces) -> MovedPieces:
    """Return pieces in an order in which a receiver seldom switches to another source."""
    if not len(pieces.to):
        return pieces
    order = sorted_order(pieces.to * (int(pieces.source.max()) + 1) + pieces.source)
    return pieces.ordered(order)


def by_place(tile: Int64, at: Int64, size: Int64) -> tuple[Int64, Int64]:
    """Return the order of runs by tile and place, and how much of each is new.

    `tile`, `at` (first places) and `size` (numbers of elements, at least one) are int64[n]. Returns
    the order, and for each run in that order the number of its last elements that are in no earlier
    run.

    >>> by_place(np.array([1, 0, 1]), np.array([6, 6, 4]), np.array([4, 2, 3]))[1].tolist()
    [2, 3, 3]
    """
    span = int((at + size).max()) + 1
    begin, order = sorted_with_order(tile * span + at)
    end = begin + size[order]
    fresh = end - begin
    furthest = np.maximum.accumulate(end)
    fresh[1:] = np.maximum(end[1:] - np.maximum(begin[1:], furthest[:-1]), 0)
    return order, fresh


def sent_home(pieces: MovedPieces) -> MovedPieces:
    """Return the pieces that return elements, each read by one tile, to their own tiles."""
    if not len(pieces.to):
        return pieces
    back = pieces._replace(source=pieces.to, to=pieces.source)
    back = back.ordered(by_place(back.to, back.at, back.size)[0])
    jumps = np.ones(len(back.to), np.bool_)
    jumps[1:] = (back.to[1:] != back.to[:-1]) | (back.at[1:] != (back.at + back.size)[:-1])
    return back._replace(jumps=jumps)


# -- bytes between tiles ---------------------------------------------------------------------------
#
#     pieces   5 words 0 -> 2, 3 words 0 -> 2, 5 words 0 -> 7        in one exchange
#     pairs    32 B 0 -> 2, 20 B 0 -> 7
# A word that one tile sends to several others is sent once, but counted for each receiver here: a
# tile receives the sum over its sources, and may send less than the sum over its destinations.
# If there are very many pairs, only sums over blocks of tiles and the largest pairs are stored.


MOST_PAIRS = 10_000
"""Maximum number of pairs of tiles that are stored."""

MOST_BLOCKS = 64
"""Maximum number of blocks of tiles if there are more pairs."""

LARGEST = 50
"""Number of the largest pairs that are stored in addition to blocks."""


class PairSums:
    """Adds up the bytes of pieces by pair of tiles; pieces that stay on their tile do not count.

    >>> sums = PairSums(8)
    >>> source, to = np.array([0, 0, 0]), np.array([2, 2, 7])
    >>> four = np.array([4, 4, 4])
    >>> sums.add(MovedPieces(source, to, four, np.array([5, 3, 5]), four, source == 0))
    >>> [column.tolist() for column in sums.pairs().columns()]
    [[2, 7], [0, 0], [32, 20]]
    """

    def __init__(self, num_tiles: int) -> None:
        self._num_tiles = num_tiles
        self._keys: list[Int64] = []
        self._bytes: list[Int64] = []

    def add(self, pieces: MovedPieces) -> None:
        """Add pieces that move within a replica."""
        moves = pieces.to != pieces.source
        self.add_moving(pieces if moves.all() else pieces.kept(moves))

    def add_moving(self, pieces: MovedPieces) -> None:
        """Add pieces that all move, even if to the same tile of another replica."""
        key, size = _summed(pieces.to * self._num_tiles + pieces.source, pieces.bytes)
        self._keys.append(key)
        self._bytes.append(size)

    def pairs(self) -> TilePairs | None:
        """Return the sums; None if there are none."""
        if not self._keys:
            return None
        key, size = self._keys[0], self._bytes[0]
        if len(self._keys) > 1:
            key, size = _summed(np.concatenate(self._keys), np.concatenate(self._bytes))
        return _kept(self._num_tiles, key, size)


def pairs_of_few(num_tiles: int, pieces: Iterable[Sequence[int]]) -> TilePairs | None:
    """Return the pairs of a few pieces, each (source, to, bytes); None if there are no pairs."""
    sums: dict[int, int] = {}
    for source, to, size in pieces:
        if source != to:
            key = to * num_tiles + source
            sums[key] = sums.get(key, 0) + size
    if not sums:
        return None
    if len(sums) == 1:
        ((key, total),) = sums.items()
        return TilePairs(1, at_tile(num_tiles**2, key, total))
    keys = sorted(sums)
    return TilePairs(1, at_few(num_tiles**2, keys, [sums[key] for key in keys]))


def sum_of_pairs(num_tiles: int, parts: Iterable[TilePairs | None]) -> TilePairs | None:
    """Return the summed pairs of the parts of an exchange, in the largest blocks of any part."""
    several = [each for each in parts if each is not None]
    if not several:
        return None
    block = max(each.block for each in several)
    blocks = -(-num_tiles // block)
    keys, sizes = [], []
    for each in several:
        to, source, size = each.columns()
        if each.block < block:
            to, source = to // block, source // block
        keys.append(to * blocks + source)
        sizes.append(size)
    key, size = _summed(np.concatenate(keys), np.concatenate(sizes))
    if block == 1:
        return _kept(num_tiles, key, size)
    largest = sorted((pair for each in several for pair in each.largest), key=lambda p: -p[2])
    return TilePairs(block, _of_blocks(blocks, key, size), tuple(largest[:LARGEST]))


def pairs_of_several(pairs: TilePairs, factor: int) -> TilePairs | None:
    """Return the bytes of several executions; None for 0 executions."""
    if not factor:
        return None
    largest = tuple((source, to, size * factor) for source, to, size in pairs.largest)
    return TilePairs(pairs.block, times(pairs.bytes, factor), largest)


def _summed(key: Int64, size: Int64) -> tuple[Int64, Int64]:
    """Return each key once, ascending, with the sum of its sizes."""
    if not len(key):
        return key, size
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")  # fast on keys that are nearly sorted
        key, size = key[order], size[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    return key[first], np.add.reduceat(size, first)


def _kept(num_tiles: int, key: Int64, size: Int64) -> TilePairs | None:
    """Return pairs in the form in which they are stored, from ascending keys."""
    if not len(key):
        return None
    if len(key) <= MOST_PAIRS:
        return TilePairs(1, _of_blocks(num_tiles, key, size))
    to, source = np.divmod(key, num_tiles)
    most = np.argsort(-size, kind="stable")[:LARGEST]
    columns = (column[most].tolist() for column in (source, to, size))
    block = -(-num_tiles // MOST_BLOCKS)
    blocks = -(-num_tiles // block)
    key, size = _summed(to // block * blocks + source // block, size)
    largest = tuple(zip(*columns, strict=True))
    return TilePairs(block, _of_blocks(blocks, key, size), largest)


def _of_blocks(blocks: int, key: Int64, size: Int64) -> PerTile:
    return PerTile(blocks * blocks, compact(key), compact(size))


# -- the cycles of tiles ---------------------------------------------------------------------------

FEW = 16
"""Maximum number of pieces of a Copy that are added up without compiled code.

Needed by benchmarks/compilation.py: `Copy of 10 elements with its costs, of 10,000`, at most 100
us.
"""

_KERNEL_COSTS = (
    "word_bytes",
    "longest_send_words",
    "receive_controls",
    "pointer_controls",
    "send_controls",
)
"""Constants of the machine, in the order of the kernels' arguments."""

_PLACE = (0, 2)
"""Columns of a piece in the kernels' arrays: its source tile and its place on that tile."""

_EMPTY_FEW = [0, 0, 0, 0, 1 << 62, 0, 0, 0]
_EMPTY = np.array(_EMPTY_FEW)
"""The load of a tile that has neither received nor sent."""


class Load(NamedTuple):
    """The work of each tile that takes part in an exchange.

    Attributes:
        tiles: int64[n], their numbers, ascending.
        words_in: int64[n], words received; words that a pair shares count half.
        words_out: int64[n], words sent.
        words_apart: int64[n], words sent to other pairs.
        controls: int64[n], control instructions.
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
    """Return the phase in which pieces move between the tiles of an IPU, or of several IPUs."""
    columns = cycles_of_load(target, load), load.received, load.sent, load.controls
    spreads = tuple([at_tiles(target.tiles, load.tiles, column) for column in columns])
    return _phase(target, spreads, causes, buffers, pairs)


def cycles_of_load(target: Target, load: Load) -> Int64:
    """Return int64[n], the cycles after the sync of each tile that takes part."""
    costs = _constants(target)
    words = np.maximum(load.words_in, _words_out(costs, load))
    payload = -(-words * costs.word_bytes // costs.bytes_per_cycle)
    cycles: Int64 = np.maximum(load.first + np.maximum(payload, load.controls), load.last)
    return cycles


def _words_out(costs: _Constants, load: Load) -> Int64:
    """Return the number of words for which the lane of each tile is busy sending."""
    if costs.send_lanes >= costs.pair_tiles:
        return load.words_out
    # Both tiles of a pair send over one lane, except what they send to each other.
    pair = load.tiles // costs.pair_tiles
    return np.bincount(pair, load.words_apart).astype(np.int64)[pair]


def load_of(target: Target, parts: Iterable[MovedPieces], once: bool = False) -> Load:
    """Return the load of tiles from pieces; pieces that stay on their tile do not count.

    No piece leaves its IPU. Each part has all pieces that leave certain tiles, or all pieces that
    reach certain tiles; sources ascend. `once` means that no element leaves its tile twice.

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
    """Return the exchange phase of a few pieces, given as columns; `known` caches the numbers."""
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
# Tiles come in pairs, and pairs fill the die column by column, alternately up and down::
#
#                column 0        column 1  ...         8 columns left of the middle, 8 right of it
#     row 22     44,45  46,47    136,137  138,139
#     ...
#     row 1       2, 3  88,89     94, 95  180,181
#     row 0       0, 1  90,91     92, 93  182,183
#
# A *route* is the time from the cycle in which the sender issues a word to that in which the
# receiver must have selected this sender, each counted from its own release by the sync; it may be
# negative. The word is in memory some cycles later; the delay grows with the row of the receiver.
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
    """Return the positions of tiles, int64[tiles, 6].

    The columns are: row, column counted from the nearer side, whether it is right of the middle,
    whether it is the second of its column, lane in the pair, and number of the pair. Without a map
    all columns except the last are 0.
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
    """Return the constants of routes, int64[8]; all 0 without a map."""
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
