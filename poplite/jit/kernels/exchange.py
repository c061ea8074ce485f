"""What a step costs tiles: the load of an exchange, their workers, their memory."""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int32s, Int64s

PIECE_WORDS = 8
"""Words of each piece: source, receiver, address, elements, bytes of one, a jump, words, route."""

PLACE_WORDS = 6
"""Words of a tile's place: row, column, whether right, whether second of its column, lane, pair."""

LOAD_WORDS = 8
"""Words of a tile's load: words in, words out, its lane's, controls, first, last, bytes in, out."""


def route(places: Int64s, cycles: Int64s, source: int, to: int) -> int:
    """Return the time from issuing a word at one tile to choosing its sender at another.

    `places` are PLACE_WORDS of each tile.  `cycles` are: between columns; entering the near pair,
    and the far one; a column's place left of the middle, and right of it; a turn; between rows;
    the release by sync.
    """
    a, b = source * PLACE_WORDS, to * PLACE_WORDS
    if places[b + 2] == places[b + 3]:
        entry = cycles[1] + places[b + 4]
    else:
        entry = cycles[2] - places[b + 4]
    across = cycles[0] * (places[b + 1] - places[a + 1] - (places[a + 2] ^ places[a + 3])) + entry
    if across < 0:
        across = -across
    side = cycles[4] if places[b + 2] > 0 else cycles[3]
    time = across + side * (places[a + 1] - places[b + 1])
    if places[a + 2] > places[b + 2]:
        time += cycles[5]
    return time + cycles[6] * (places[a] - places[b]) - cycles[7]


def routes(
    places: Int64s, cycles: Int64s, source: Int64s, to: Int64s, count: int, out: Int64s
) -> int:
    """Find the routes of many pieces, and return how many."""
    for i in range(count):
        out[i] = route(places, cycles, source[i], to[i])
    return count


def fragments(
    source: Int64s, to: Int64s, at: Int64s, size: Int64s, width: Int64s, jumps: Bytes, count: int,
    out: Int64s,
) -> int:  # fmt: skip
    """Join pieces that continue where the one before ends, and return the number of fragments.

    Args:
        source: the tile that each piece leaves; one that stays on its tile is left out.
        to: the tile that it reaches; pieces are ordered by it, and by place there.
        at: its first place.
        size: its elements.
        width: bytes of an element.
        jumps: whether it lands elsewhere than behind the piece before.
        count: how many pieces.
        out: PIECE_WORDS of each fragment; words and route are found later.
    """
    piece = jump = 0
    for i in range(count):
        if jumps[i] > 0:
            jump = 1
        if source[i] == to[i]:
            jump = 1
            continue
        last = piece - PIECE_WORDS
        goes_on = piece > 0 and jump == 0 and out[last] == source[i] and out[last + 1] == to[i]
        goes_on = goes_on and out[last + 4] == width[i]
        if goes_on and out[last + 2] + out[last + 3] == at[i]:
            out[last + 3] += size[i]
            continue
        out[piece], out[piece + 1], out[piece + 2] = source[i], to[i], at[i]
        out[piece + 3], out[piece + 4], out[piece + 5] = size[i], width[i], jump
        piece += PIECE_WORDS
        jump = 0
    return piece // PIECE_WORDS


def receive(pieces: Int64s, count: int, costs: Int64s, load: Int64s) -> int:
    """Add up what tiles receive, find the words of each piece, and return how many there are.

    `pieces` are as `fragments` leaves them, ordered by receiver and place there; their words are
    written.  `costs` are: bytes of a word; words of the longest send; controls of a receiver that
    turns to a source, and to a place; controls of a send.  `load`, LOAD_WORDS of each tile, is
    added to.
    """
    for i in range(count):
        piece = i * PIECE_WORDS
        row = pieces[piece + 1] * LOAD_WORDS
        size = pieces[piece + 3] * pieces[piece + 4]
        words = (size + costs[0] - 1) // costs[0]
        pieces[piece + 6] = words
        is_first = load[row + 6] == 0
        load[row] += words
        load[row + 6] += size
        before = piece - PIECE_WORDS
        if pieces[piece + 5] > 0 or is_first:
            load[row + 3] += costs[2] + costs[3]
        elif i == 0 or pieces[piece] != pieces[before] or pieces[piece + 1] != pieces[before + 1]:
            load[row + 3] += costs[2]
    return count


def fresh_words(pieces: Int64s, piece: int, fresh: int, word_bytes: int) -> int:
    """Return the words of `fresh` elements of a piece."""
    if fresh == pieces[piece + 3]:
        return pieces[piece + 6]
    return (fresh * pieces[piece + 4] + word_bytes - 1) // word_bytes


def send(
    pieces: Int64s, order: Int64s, count: int, once: int, costs: Int64s, constant: int, setup: int,
    arrival: int, cycles: Int64s, places: Int64s, load: Int64s,
) -> int:  # fmt: skip
    """Add up what tiles send, and when it arrives, and return how many sends there are.

    Args:
        pieces: as `receive` leaves them; their routes are written.
        order: pieces by source and place there; of equal ones, by receiver.
        count: how many pieces.
        once: 1 where no element leaves its tile twice; then pieces may have any order.
        costs: as for `receive`.
        constant: the latency of all pieces, or 0 where `places` are known.
        setup: cycles until a tile can send or listen.
        arrival: cycles from the entry of a tile of row 0 to its memory.
        cycles: as for `route`.
        places: PLACE_WORDS of each tile.
        load: LOAD_WORDS of each tile; added to.
    """
    begin = sends = sent = apart = 0
    tile = -1
    while begin < count:
        piece = order[begin] * PIECE_WORDS
        at = pieces[piece + 2]
        if once > 0 or pieces[piece] != tile:
            tile, sent, apart = pieces[piece], at, at
        # All pieces that begin here leave at once, when the last receiver listens.
        end, least, most = begin, 0, 0
        while end < count:
            piece = order[end] * PIECE_WORDS
            if pieces[piece] != tile or pieces[piece + 2] != at:
                break
            if constant == 0:
                time = route(places, cycles, tile, pieces[piece + 1])
                pieces[piece + 7] = time
                least = time if time < least else least
            most = pieces[piece + 6] if pieces[piece + 6] > most else most
            end += 1
        row = tile * LOAD_WORDS
        load[row + 3] += costs[4]
        if most > costs[1]:
            load[row + 3] += costs[4] * ((most - 1) // costs[1])
        before = -1
        for k in range(begin, end):
            piece = order[k] * PIECE_WORDS
            to, words, latency = pieces[piece + 1], pieces[piece + 6], constant
            other = to * LOAD_WORDS
            if constant == 0:
                latency = setup - least + pieces[piece + 7]
                latency += arrival + cycles[6] * places[to * PLACE_WORDS]
            if latency < load[row + 4]:
                load[row + 4] = latency
            if latency < load[other + 4]:
                load[other + 4] = latency
            if latency + words > load[other + 5]:
                load[other + 5] = latency + words
            pair = places[to * PLACE_WORDS + 5]
            if before >= 0 and pieces[before + 3] == pieces[piece + 3]:
                near = pieces[before + 1]
                if near != to and places[near * PLACE_WORDS + 5] == pair:
                    load[other] -= words // 2
                    load[near * LOAD_WORDS] -= words // 2
            before = piece
            stop = at + pieces[piece + 3]
            low = sent if sent > at else at
            if stop > low:
                load[row + 7] += (stop - low) * pieces[piece + 4]
                load[row + 1] += fresh_words(pieces, piece, stop - low, costs[0])
                sent = stop
            low = apart if apart > at else at
            if stop > low and places[tile * PLACE_WORDS + 5] != pair:
                load[row + 2] += fresh_words(pieces, piece, stop - low, costs[0])
                apart = stop
        sends += 1
        begin = end
    return sends


# -- workers of a tile -----------------------------------------------------------------------------


def pack(tiles: Int32s, slots: Int64s, count: int, workers: int, busy: Int64s) -> int:
    """Give every vertex to the worker of its tile that is free first, and return how many.

    Vertices come in the order in which they start; `slots` are the worker slots of each.  `busy` is
    [tiles, workers], slots given to each worker so far; added to.
    """
    for vertex in range(count):
        begin = tiles[vertex] * workers
        free, least = begin, busy[begin]
        for worker in range(begin + 1, begin + workers):
            if busy[worker] < least:
                free, least = worker, busy[worker]
        busy[free] = least + slots[vertex]
    return count


def finish(busy: Int64s, tiles: int, workers: int, cycles: Int64s) -> int:
    """Add the time of the slowest worker of each tile, free all, and return the most of all tiles.

    `busy` is [tiles, workers], slots given to each worker; 0 afterwards.  Workers take turns, so
    each slot is `workers` cycles.  `cycles`, of each tile, are added to.
    """
    most = 0
    for tile in range(tiles):
        slowest = 0
        for worker in range(tile * workers, (tile + 1) * workers):
            if busy[worker] > slowest:
                slowest = busy[worker]
            busy[worker] = 0
        cycles[tile] += slowest * workers
        if cycles[tile] > most:
            most = cycles[tile]
    return most


# -- memory of a tile ------------------------------------------------------------------------------


ALWAYS = -1
"""First step of things that are needed all the time."""


def aligned(address: int, align: int) -> int:
    """Return the next multiple of an alignment."""
    return (address + align - 1) // align * align


def first_fit(
    size: Int64s, align: Int64s, upper: Int64s, first: Int64s, last: Int64s, count: int,
    border: int, limit: int, active: Int64s, out: Int64s,
) -> int:  # fmt: skip
    """Find addresses, and return the bytes in use, gaps included.

    Where things lie on both sides of a border, free memory below it can be used, and is not a gap;
    but it is a gap if the things above reach beyond the end of memory.

    Args:
        size: bytes of each thing; those without any are skipped.
        align: alignment of each address.
        upper: 1 for things that lie above the border.
        first: the first step of each, `ALWAYS` before all others, and then rising.
        last: the last step of each.
        count: how many things.
        border: the first address of the upper part, if there are things for it.
        limit: the end of memory.
        active: room for all: those that are needed in the present step, by address.
        out: the addresses.
    """
    split = 0
    for i in range(count):
        if upper[i] > 0 and size[i] > 0:
            split = 1
    low = lowest = live = 0
    high = highest = border
    for i in range(count):
        if size[i] == 0:
            continue
        # Things that have ended make room: no later thing begins before this one.
        kept = 0
        for k in range(live):
            if last[active[k]] >= first[i]:
                active[kept] = active[k]
                kept += 1
        live = kept
        at = high if upper[i] > 0 else low
        at = aligned(at, align[i])
        if split > 0 and at < high and at + size[i] > border:
            at = aligned(high, align[i])
        place = 0
        for k in range(live):
            other = active[k]
            if at + size[i] <= out[other]:
                break
            if out[other] + size[other] > at:
                at = aligned(out[other] + size[other], align[i])
                if split > 0 and at < high and at + size[i] > border:
                    at = aligned(high, align[i])
            place = k + 1
        out[i] = at
        end = at + size[i]
        above = split > 0 and at >= border
        if first[i] == ALWAYS:
            if above:
                high = end
            else:
                low = end
        else:
            for k in range(live, place, -1):
                active[k] = active[k - 1]
            active[place] = i
            live += 1
        if above and end > highest:
            highest = end
        if not above and end > lowest:
            lowest = end
    if split > 0 and highest > limit:
        return highest
    return lowest + highest - border
