"""What an exchange takes: cycles of every tile, from the pieces that move.

Nothing is negotiated while an exchange runs: the compiler has told each tile when to send which
word, and when to listen to whom.  So what it takes follows from the pieces::

    words        one comes in and one goes out in a cycle, at once.  A word that goes to many tiles
                 is sent once; both tiles of a pair share it, and take two a cycle
    controls     instructions of the supervisor: some whenever a receiver turns to another
                 source or place, one for each stretch that a sender sends
    latency      from the sync to the first word, by the way it has to go

    a tile's cycles = latency + max(words in, words out, controls)

A piece from far away may last longer: its own latency and its own words.  There is no conflict on
the way, and none is modelled: schedules of the C600 took 2.6 % more than was planned.

Sources: ipu-stack, ipu21/costs.rs and docs/EXCHANGE_INSTRUCTION_REFERENCE.md; poplibs, lib/poplin
(pairs of tiles that share what they receive).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.arrays.sweep import sorted_with_order
from poplite.cost.exchange.latency import has_map, places, route_cycles
from poplite.cost.exchange.pieces import Pieces
from poplite.cost.spread import NOTHING, Spread
from poplite.cost.step_cost import Cause, Phase
from poplite.jit.kernels.exchange import LOAD_WORDS, PIECE_WORDS, fragments, receive, send
from poplite.jit.native import address, native

if TYPE_CHECKING:
    from poplite.machine.target import Target

FEW = 16
"""Pieces that are added up without compiled code."""

_KERNEL_COSTS = (
    "word_bytes",
    "longest_send_words",
    "receive_controls",
    "pointer_controls",
    "send_controls",
)
"""What the kernels take of the machine, in their order."""

_PLACE = (0, 2)
"""Words of a piece: its source and its place there."""

_EMPTY_FEW = [0, 0, 0, 0, 1 << 62, 0, 0, 0]
_EMPTY = np.array(_EMPTY_FEW)
"""The load of a tile at first: nothing has come or gone."""


class Load(NamedTuple):
    """What an exchange asks of the tiles that take part.

    Attributes:
        tiles: int64[n], their numbers, rising.
        words_in: int64[n], words that come; of what a pair shares, half.
        words_out: int64[n], words that go.
        words_apart: int64[n], words that go to other pairs.
        controls: int64[n], instructions.
        first: int64[n], cycles until the first word of any piece that it sends or receives.
        last: int64[n], cycles until the slowest single piece that it receives is there.
        received: int64[n], bytes that come.
        sent: int64[n], bytes that go.
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
    target: Target, load: Load, causes: tuple[Cause, ...], buffers: Spread = NOTHING
) -> Phase:
    """Return the phase in which pieces move between the tiles of an IPU, or of each of several.

    Args:
        target: the machine.
        load: what they ask of the tiles.
        causes: what they are moved for.
        buffers: bytes that tiles need to receive in.
    """
    costs = _constants(target)
    if len(load.tiles) <= FEW:
        spreads = _spreads_of_few(target, [column.tolist() for column in load])
        return _phase(target, spreads, causes, buffers)
    words = np.maximum(load.words_in, _words_out(costs, load))
    payload = -(-words * costs.word_bytes // costs.bytes_per_cycle)
    cycles = np.maximum(load.first + np.maximum(payload, load.controls), load.last)
    columns = cycles, load.received, load.sent, load.controls
    spreads = tuple([Spread.at_tiles(load.tiles, column) for column in columns])
    return _phase(target, spreads, causes, buffers)


def _words_out(costs: _Constants, load: Load) -> Int64:
    """Return the words that each tile must wait for to be sent."""
    if costs.send_lanes >= costs.pair_tiles:
        return load.words_out
    # Both send over one lane, but what they send each other stays between them.
    pair = load.tiles // costs.pair_tiles
    return np.bincount(pair, load.words_apart).astype(np.int64)[pair]


def load_of(target: Target, parts: Iterable[Pieces], once: bool = False) -> Load:
    """Return what pieces ask of the tiles.

    Args:
        target: the machine.
        parts: pieces that do not leave their IPU; those that stay on their tile do not count.
            All that leave a tile are in one part, or all that reach one; sources rise.
        once: whether it is known that no element leaves its tile twice.

    >>> from poplite.machine.target import Target
    >>> source, to = np.array([0, 0]), np.array([2, 7])     # 10 floats from tile 0 to 2 and 7
    >>> pieces = Pieces(source, to, np.array([5, 5]), source + 10, source + 4, source == 0)
    >>> load = load_of(Target(), [pieces])
    >>> load.tiles.tolist(), load.words_in.tolist(), load.words_out.tolist()
    ([0, 2, 7], [0, 10, 10], [10, 0, 0])
    """
    some = (part for part in parts if len(part.to))
    begun = list(islice(some, 2))
    if len(begun) == 1 and len(begun[0].to) <= FEW:
        return _load_of_few(target, begun[0])
    load = np.tile(_EMPTY, (target.tiles, 1))
    for part in chain(begun, some):
        _add(target, part, once, load)
    tiles = np.flatnonzero(load[:, -2:].any(axis=1))
    return Load(tiles, *load[tiles].T)


def exchange_of_few(
    target: Target,
    pieces: tuple[tuple[int, ...], ...],
    causes: tuple[Cause, ...],
    known: dict[object, tuple[Spread, ...]],
) -> Phase:
    """Return the phase in which a few pieces move between the tiles of an IPU.

    Args:
        target: the machine.
        pieces: columns of `Pieces`; some piece leaves its tile.
        causes: what they are moved for.
        known: what other pieces took on this machine; added to.
    """
    spreads = known.get(pieces)
    if spreads is None:
        tiles, load = _sums_of_few(target, pieces)
        columns = [load[word::LOAD_WORDS] for word in range(LOAD_WORDS)]
        spreads = known[pieces] = _spreads_of_few(target, [tiles, *columns])
    return _phase(target, spreads, causes, NOTHING)


def _phase(
    target: Target, spreads: tuple[Spread, ...], causes: tuple[Cause, ...], buffers: Spread
) -> Phase:
    cycles, received, sent, controls = spreads
    return Phase(
        "exchange",
        cycles,
        _constants(target).sync_cycles,
        received=received,
        sent=sent,
        buffers=buffers,
        causes=causes,
        controls=controls,
    )


def _spreads_of_few(target: Target, load: Sequence[list[int]]) -> tuple[Spread, ...]:
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
    return tuple([Spread.at_few(tiles, each) for each in (cycles, received, sent, controls)])


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


def _load_of_few(target: Target, pieces: Pieces) -> Load:
    tiles, load = _sums_of_few(target, [column.tolist() for column in pieces])
    return Load(np.array(tiles, np.int64), *np.reshape(load, (-1, LOAD_WORDS)).T)


def _add(target: Target, pieces: Pieces, once: bool, load: Int64) -> None:
    """Add what pieces ask of all tiles."""
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
    """What is needed of the machine, looked up once; tables also as lists."""

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
