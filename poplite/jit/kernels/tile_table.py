"""The tile on which every part of a view lives: views cut where the tile changes.

A table of segments says on which tile addresses live: `breaks[k]` up to `breaks[k + 1]` are on
`tiles[k]`, -1 for none.  `buckets` finds a segment without a long search: the breaks before
bucket `b`, which holds `1 << shift` addresses, are the first `buckets[b]`.

A piece is a stretch of the flattened view on one tile.  Both kernels that cut write each piece's
tile and end, if there is room, and always add up pieces and elements by tile: `totals[2 * row]`
and `totals[2 * row + 1]`, where row 0 is for no tile, row 1 for tile 0 and so on.

Walks over runs and segments find the tiles of elements: `places` are the distances from the
addresses of each segment to places (`poplite.cost.locations`), `begin` and `end` first
addresses of runs, and those after the last; at most `room` results are written.
"""

from __future__ import annotations

from poplite.jit.kernels import Int32s, Int64s

LEVEL_WORDS = 6
"""Words of a level: extent, stride, index, and of one block: least and greatest step, elements."""


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
    """Return the segment, not `k`, of an address: often the next."""
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

    Levels are the digits, innermost first, then one for the complete view.  A block of a level is
    all that its inner levels reach; one of level 0 is a run.  As many blocks as lie in one
    segment are taken at once, of the highest level that can begin at this place.
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
            # A run that sticks out of its segment, perhaps of several.
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
    """Put pieces, as pairs of begin and end, into rows by tile.

    `cursors` says where the next piece of each row goes.  Begin and end are written as pairs, since
    every row is written at a place of its own, and fewer places stay in the cache better.
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
"""Bits of each of the two sums that identify edges: products fit in 64 bits."""

MODULUS = (1 << SUM_BITS) - 1
"""The modulus of these sums: a prime."""

FIRST_FACTOR, SECOND_FACTOR = 48271, 69621
"""The factors of these sums: powers of either are all numbers below the prime."""


def away(
    breaks: Int64s, buckets: Int32s, shift: int, tiles: Int32s, places: Int64s,
    tile: Int64s, begin: Int64s, end: Int64s, count: int,
    held: Int64s, least: Int64s, low: int, high: int,
    source: Int64s, to: Int64s, at: Int64s, size: Int64s, jumps: Int64s, room: int,
) -> int:  # fmt: skip
    """Find the pieces of runs that live on other tiles than their own; return how many there are.

    Its own arguments:
        tile: of each run.
        held: number of pieces by the tile on which they live; added to if `room` is 0.
        least: the least of these tiles by the tile of the run; lowered if `room` is 0.
        low: least tile of the pieces that are written.
        high: one past the greatest.
        source: the tile on which each piece lives.
        to: the tile of its run.
        at: its first place.
        size: its elements.
        jumps: 1 where an element before or behind it, in place of the neighbouring piece, lives on
            the tile of the run.
    """
    piece = k = 0
    for i in range(count):
        start, stop, own = begin[i], end[i], tile[i]
        # Whether the segment before is on the run's own tile; whether it has just been written.
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
    """Find what lies on the tile of its vertex, but is not all of its edge; return its rows.

    Consecutive elements on one tile are a row, wherever they are in a variable.

    Its own arguments:
        first: the first run of each edge, and one past the last of all.
        tile: of each edge.
        count: how many edges.
        counts: for each edge the number of its rows.
        sums: for each edge with rows, a number for its places; others seldom have the same.
        edge: the edge of each row.
        at: its first place.
        within: its first position in the edge.
        length: its elements.
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
    """Return a sum of places, continued: all numbers below `MODULUS` are equally likely."""
    total = (total + place) % MODULUS * factor % MODULUS
    return (total + position) % MODULUS * factor % MODULUS


def crossing(
    breaks: Int64s, buckets: Int32s, shift: int, tiles: Int32s, places: Int64s,
    begin: Int64s, end: Int64s, count: int,
) -> int:  # fmt: skip
    """Return how many runs have elements of several segments."""
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
    """Cut two lists of runs where a run of either ends or changes its tile; return the pieces.

    Both lists have equally many elements, no run is empty, and the first list has `count` runs.
    Written are, for each piece, its tile and first place in the first list, `source` and `at`,
    those in the second, `to` and `into`, and its elements, `length`.
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
