"""Kernels for tiles: views cut where the tile changes; loads of an exchange, workers, memory.

A table of segments gives the tiles of addresses: `breaks[k]` up to `breaks[k + 1]` are on
`tiles[k]`, -1 for none. `buckets` finds a segment without a long search: the breaks before bucket
`b`, which has `1 << shift` addresses, are the first `buckets[b]`.

A piece is a contiguous range of the flattened view on one tile. Both kernels that cut write each
piece's tile and end, if there is room, and always add up pieces and elements by tile: `totals[2 *
row]` and `totals[2 * row + 1]`, where row 0 is for no tile, row 1 for tile 0 and so on.

Walks over runs and segments find the tiles of elements: `places` are the distances from the
addresses of each segment to places (`poplite.cost.locations`), `begin` and `end` are the first
addresses of runs and the addresses after the last; at most `room` results are written.
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int32s, Int64s

LEVEL_WORDS = 6
"""Words of a level: extent, stride, index; for a block: minimum and maximum step, elements."""


def segment_at(breaks: Int64s, buckets: Int32s, shift: int, at: int) -> int:
    """Return the segment of an address."""
    bucket = (at - breaks[0]) >> shift
    low, high = buckets[bucket], buckets[bucket + 1]
    while low < high:
        middle = (low + high) >> 1
        if breaks[middle] <= at:
            low = middle + 1
        else:
            high = middle
    return low - 1


def another_segment(breaks: Int64s, buckets: Int32s, shift: int, k: int, at: int) -> int:
    """Return the segment of an address that is not in segment `k`; often it is the next one."""
    if breaks[k + 1] <= at and at < breaks[k + 2]:
        return k + 1
    return segment_at(breaks, buckets, shift, at)


def end_piece(
    totals: Int64s, out_tile: Int32s, out_end: Int64s, room: int, piece: int, tile: int,
    begin: int, end: int,
) -> int:  # fmt: skip
    """Write piece number `piece`, and return the number of the next."""
    if piece < room:
        out_tile[piece] = tile
        out_end[piece] = end
    totals[2 * tile + 2] += 1
    totals[2 * tile + 3] += end - begin
    return piece + 1


def cut_strided(
    levels: Int64s, depth: int, at: int, breaks: Int64s, buckets: Int32s, shift: int,
    tiles: Int32s, totals: Int64s, out_tile: Int32s, out_end: Int64s, room: int,
) -> int:  # fmt: skip
    """Cut a strided view, and return the number of its pieces.

    Levels are the digits, innermost first, then one for the complete view.  A block of a level
    covers all elements of its inner levels; a block of level 0 is a run. At each place, as many
    blocks as fit in one segment are taken at once, from the highest level that can start there.
    """
    position = begin = piece = 0
    k = segment_at(breaks, buckets, shift, at)
    low, high, tile = breaks[k], breaks[k + 1], tiles[k]
    level = depth
    while level <= depth:
        if at < low or at >= high:
            k = another_segment(breaks, buckets, shift, k, at)
            low, high = breaks[k], breaks[k + 1]
            if tiles[k] != tile:
                piece = end_piece(totals, out_tile, out_end, room, piece, tile, begin, position)
                tile, begin = tiles[k], position
        word = level * LEVEL_WORDS
        first, last = at + levels[word + 3], at + levels[word + 4]
        if level > 0 and (first < low or last >= high):
            level -= 1
            continue
        stride, blocks = levels[word + 1], levels[word] - levels[word + 2]
        if last >= high:
            # A run that extends beyond one or several segments.
            rest, stop = levels[word + 5], at
            while rest > 0:
                if stop == high:
                    k += 1
                    high = breaks[k + 1]
                    if tiles[k] != tile:
                        piece = end_piece(
                            totals, out_tile, out_end, room, piece, tile, begin, position
                        )
                        tile, begin = tiles[k], position
                step = rest if rest < high - stop else high - stop
                stop += step
                position += step
                rest -= step
            low, blocks = breaks[k], 1
        else:
            if stride > 0:
                fitting = (high - 1 - last) // stride + 1
            elif stride < 0:
                fitting = (first - low) // -stride + 1
            else:
                fitting = blocks
            blocks = fitting if fitting < blocks else blocks
            position += blocks * levels[word + 5]
        at += blocks * stride
        levels[word + 2] += blocks
        while level <= depth and levels[word] == levels[word + 2]:
            at -= levels[word] * levels[word + 1]
            levels[word + 2] = 0
            level += 1
            word += LEVEL_WORDS
            if level <= depth:
                at += levels[word + 1]
                levels[word + 2] += 1
    return end_piece(totals, out_tile, out_end, room, piece, tile, begin, position)


def cut_runs(
    starts: Int64s, lengths: Int64s, step: int, count: int, breaks: Int64s, buckets: Int32s,
    shift: int, tiles: Int32s, totals: Int64s, out_tile: Int32s, out_end: Int64s, room: int,
) -> int:  # fmt: skip
    """Cut runs of addresses, and return the number of pieces.

    Run `i` has `lengths[i * step]` elements.
    """
    position = begin = piece = 0
    k = segment_at(breaks, buckets, shift, starts[0])
    low, high, tile = breaks[k], breaks[k + 1], tiles[k]
    for i in range(count):
        at = starts[i]
        stop = at + lengths[i * step]
        while at < stop:
            if at < low or at >= high:
                k = another_segment(breaks, buckets, shift, k, at)
                low, high = breaks[k], breaks[k + 1]
                if tiles[k] != tile:
                    piece = end_piece(totals, out_tile, out_end, room, piece, tile, begin, position)
                    tile, begin = tiles[k], position
            taken = (stop if stop < high else high) - at
            position += taken
            at += taken
    return end_piece(totals, out_tile, out_end, room, piece, tile, begin, position)


def by_tile(tile: Int32s, end: Int64s, count: int, cursors: Int64s, out: Int64s) -> int:
    """Put pieces, as pairs of start and end, into rows by tile.

    `cursors` contains the position of the next piece of each row. Start and end are adjacent, since
    every row is written at a different place, and fewer places are better for the cache.
    """
    begin = 0
    for i in range(count):
        row = tile[i] + 1
        place = cursors[row]
        cursors[row] = place + 1
        out[2 * place] = begin
        begin = end[i]
        out[2 * place + 1] = begin
    return count


# -- the tiles of the elements of runs -------------------------------------------------------------


SUM_BITS = 31
"""Number of bits of each of the two sums that identify edges; their products fit in 64 bits."""

MODULUS = (1 << SUM_BITS) - 1
"""The modulus of these sums, a prime."""

FIRST_FACTOR, SECOND_FACTOR = 48271, 69621
"""The factors of these sums, primitive roots of the prime."""


def away(
    breaks: Int64s, buckets: Int32s, shift: int, tiles: Int32s, places: Int64s,
    tile: Int64s, begin: Int64s, end: Int64s, count: int,
    held: Int64s, least: Int64s, low: int, high: int,
    source: Int64s, to: Int64s, at: Int64s, size: Int64s, jumps: Int64s, room: int,
) -> int:  # fmt: skip
    """Find the pieces of runs that are not on the run's own tile; return their count.

    Its own arguments:
        tile: the tile of each run.
        held: number of pieces on each tile; increased if `room` is 0.
        least: the lowest tile that has pieces, by the tile of the run; lowered if `room` is 0.
        low: the lowest tile of the pieces that are written.
        high: one past the highest tile of the pieces that are written.
        source: the tile that each piece is on.
        to: the tile of the piece's run.
        at: the first place of each piece.
        size: the number of elements of each piece.
        jumps: 1 if the element before or after it is on the tile of the run, not in an adjacent
            piece.
    """
    piece = k = 0
    for i in range(count):
        start, stop, own = begin[i], end[i], tile[i]
        # Whether the previous segment is on the run's own tile, and whether it was just written.
        is_behind = was_written = 0
        while start < stop:
            if start < breaks[k] or start >= breaks[k + 1]:
                k = another_segment(breaks, buckets, shift, k, start)
            rest = stop if stop < breaks[k + 1] else breaks[k + 1]
            home = tiles[k]
            if home == own:
                if was_written > 0:
                    jumps[piece - 1] = 1
                is_behind, was_written = 1, 0
            else:
                was_written = 0
                if room == 0:
                    held[home] += 1
                    least[own] = home if home < least[own] else least[own]
                    piece += 1
                elif low <= home and home < high:
                    if piece < room:
                        source[piece], to[piece], at[piece] = home, own, start + places[k]
                        size[piece], jumps[piece] = rest - start, is_behind
                        was_written = 1
                    piece += 1
                is_behind = 0
            start = rest
    return piece


def stretches(
    breaks: Int64s, buckets: Int32s, shift: int, tiles: Int32s, places: Int64s,
    first: Int64s, begin: Int64s, size: Int64s, tile: Int64s, count: int,
    counts: Int64s, sums: Int64s, edge: Int64s, at: Int64s, within: Int64s, length: Int64s,
    room: int,
) -> int:  # fmt: skip
    """Find the elements of edges on the tile of their vertex; return the number of rows.

    Consecutive elements on one tile are a row, wherever they are in a variable. An edge that is a
    single row is left out: its count is 0.

    Its own arguments:
        first: the first run of each edge, and one past the last run of all.
        tile: the tile of each edge.
        count: the number of edges.
        counts: the number of rows of each edge.
        sums: for each edge with rows, a checksum of its places; different edges seldom have equal
            checksums.
        edge: the edge of each row.
        at: the first place of each row.
        within: the first position of each row in its edge.
        length: the number of elements of each row.
    """
    row = k = 0
    for e in range(count):
        top = row
        position = pieces = one = other = 0
        goes_on, last, is_own = -1, -1, False
        for i in range(first[e], first[e + 1]):
            start, stop = begin[i], begin[i] + size[i]
            while start < stop:
                if start < breaks[k] or start >= breaks[k + 1]:
                    k = another_segment(breaks, buckets, shift, k, start)
                step = (stop if stop < breaks[k + 1] else breaks[k + 1]) - start
                place = start + places[k]
                if place != goes_on or tiles[k] != last:
                    pieces += 1
                    last = tiles[k]
                    one = mixed(one, place, position, FIRST_FACTOR)
                    other = mixed(other, place, position, SECOND_FACTOR)
                    is_own = last == tile[e]
                    if is_own:
                        if row < room:
                            edge[row], at[row], within[row], length[row] = e, place, position, 0
                        row += 1
                if is_own and row <= room:
                    length[row - 1] += step
                position += step
                start += step
                goes_on = place + step
        if pieces < 2:
            row = top
        counts[e] = row - top
        one = mixed(one, 0, position, FIRST_FACTOR)
        sums[e] = (one << SUM_BITS) + mixed(other, 0, position, SECOND_FACTOR)
    return row


def mixed(total: int, place: int, position: int, factor: int) -> int:
    """Return a checksum extended by one place; all values below `MODULUS` are equally likely."""
    total = (total + place) % MODULUS * factor % MODULUS
    return (total + position) % MODULUS * factor % MODULUS


def crossing(
    breaks: Int64s, buckets: Int32s, shift: int, tiles: Int32s, places: Int64s,
    begin: Int64s, end: Int64s, count: int,
) -> int:  # fmt: skip
    """Return the number of runs that have elements in several segments."""
    found = k = 0
    for i in range(count):
        if begin[i] < breaks[k] or begin[i] >= breaks[k + 1]:
            k = another_segment(breaks, buckets, shift, k, begin[i])
        found += end[i] > breaks[k + 1]
    return found


def pair(
    breaks: Int64s, buckets: Int32s, shift: int, tiles: Int32s, places: Int64s,
    begin: Int64s, size: Int64s, other_begin: Int64s, other_size: Int64s, count: int,
    source: Int64s, to: Int64s, at: Int64s, into: Int64s, length: Int64s, room: int,
) -> int:  # fmt: skip
    """Cut two lists of runs where a run of either ends or changes its tile; return the count.

    Both lists have the same number of elements, no run is empty, and the first list has `count`
    runs. The results for each piece are its tile and first place in the first list, `source` and
    `at`, those in the second, `to` and `into`, and its number of elements, `length`.
    """
    piece = k = m = i = j = 0
    one, one_end = begin[0], begin[0] + size[0]
    other, other_end = other_begin[0], other_begin[0] + other_size[0]
    while True:
        if one < breaks[k] or one >= breaks[k + 1]:
            k = another_segment(breaks, buckets, shift, k, one)
        if other < breaks[m] or other >= breaks[m + 1]:
            m = another_segment(breaks, buckets, shift, m, other)
        rest = one_end if one_end < breaks[k + 1] else breaks[k + 1]
        others = other_end if other_end < breaks[m + 1] else breaks[m + 1]
        step = rest - one if rest - one < others - other else others - other
        if piece < room:
            source[piece], to[piece] = tiles[k], tiles[m]
            at[piece], into[piece], length[piece] = one + places[k], other + places[m], step
        piece += 1
        one += step
        other += step
        if one == one_end:
            i += 1
            if i == count:
                return piece
            one, one_end = begin[i], begin[i] + size[i]
        if other == other_end:
            j += 1
            other, other_end = other_begin[j], other_begin[j] + other_size[j]


# -- costs of a step on tiles ----------------------------------------------------------------------

PIECE_WORDS = 8
"""Words of each piece: source, receiver, address, elements, element size, jump, words, route."""

PLACE_WORDS = 6
"""Words of a tile's place: row, column, is right, is second of its column, lane, pair."""

LOAD_WORDS = 8
"""Words of a tile's load: words in, out, out of its lane, controls, first, last, bytes in, out."""


def route(places: Int64s, cycles: Int64s, source: int, to: int) -> int:
    """Return the time from issuing a word at one tile to selecting its sender at another.

    `places` are PLACE_WORDS for each tile. `cycles` are those: from one column to the next; to
    enter the near pair; to enter the far pair; for a column left of the middle; for a column right
    of it; for a turn; from one row to the next; for the release by the sync.
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
    """Find the routes of many pieces, and return their count."""
    for i in range(count):
        out[i] = route(places, cycles, source[i], to[i])
    return count


def fragments(
    source: Int64s, to: Int64s, at: Int64s, size: Int64s, width: Int64s, jumps: Bytes, count: int,
    out: Int64s,
) -> int:  # fmt: skip
    """Join pieces that start where the previous piece ends, and return the number of fragments.

    Args:
        source: the tile that each piece leaves; pieces that stay on their tile are skipped.
        to: the tile that each piece reaches; pieces are ordered by this tile, and by place there.
        at: the first place of each piece.
        size: the number of elements of each piece.
        width: the size of an element of each piece, in bytes.
        jumps: whether each piece does not land directly after the previous one.
        count: the number of pieces.
        out: PIECE_WORDS for each fragment; words and route are found later.
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
    """Add up the loads of receiving tiles, find the words of each piece, and return their sum.

    `pieces` are those from `fragments`, ordered by receiver and place there; their words are
    written. `costs` are: size of a word in bytes; words of the longest send; controls of a receiver
    for switching to another source, and to another place; controls of a send. `load`, LOAD_WORDS
    for each tile, is increased.
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
    """Add up the loads and arrival times of sending tiles, and return the number of sends.

    Args:
        pieces: those from `receive`; their routes are written.
        order: pieces by source and place there; among equals, by receiver.
        count: the number of pieces.
        once: 1 if no element leaves its tile twice; then pieces may have any order.
        costs: as for `receive`.
        constant: the latency of all pieces, or 0 if `places` are known.
        setup: cycles until a tile can send or listen.
        arrival: cycles from the entry of a tile of row 0 to its memory.
        cycles: as for `route`.
        places: PLACE_WORDS for each tile.
        load: LOAD_WORDS for each tile; increased.
    """
    begin = sends = sent = apart = 0
    tile = -1
    while begin < count:
        piece = order[begin] * PIECE_WORDS
        at = pieces[piece + 2]
        if once > 0 or pieces[piece] != tile:
            tile, sent, apart = pieces[piece], at, at
        # All pieces that start here leave at the same time, when the last receiver listens.
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
    """Assign every vertex to the first free worker of its tile, and return the number of vertices.

    Vertices are in the order in which they start; `slots` are the worker slots of each. `busy`,
    [tiles, workers], has the slots assigned to each worker so far; it is increased.
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
    """Add the time of each tile's slowest worker, reset workers, and return the maximum time.

    `busy`, [tiles, workers], has the slots assigned to each worker; it is 0 afterwards. Workers
    take turns, so each slot takes `workers` cycles. The time is added to the `cycles` of each tile.
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
"""The first step of things that are always live."""


def aligned(address: int, align: int) -> int:
    """Return the next multiple of an alignment."""
    return (address + align - 1) // align * align


def first_fit(
    size: Int64s, align: Int64s, upper: Int64s, first: Int64s, last: Int64s, count: int,
    border: int, limit: int, active: Int64s, out: Int64s,
) -> int:  # fmt: skip
    """Find addresses by first fit, and return the bytes in use, including gaps.

    If things are on both sides of a border, free memory below it can still be used, and is not a
    gap, unless the things above it extend beyond the end of memory.

    Args:
        size: size of each thing in bytes; things of 0 bytes are skipped.
        align: alignment of each address.
        upper: 1 for things above the border.
        first: the first step of each thing, first all that are `ALWAYS`, then ascending.
        last: the last step of each thing.
        count: the number of things.
        border: the first address of the upper part, if there are things for it.
        limit: the end of memory.
        active: room for all things; it contains the things live in the current step, by address.
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
        # Things that have ended make room: no later thing starts before this one.
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
