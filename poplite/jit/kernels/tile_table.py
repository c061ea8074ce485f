"""The tile on which every part of a view lives: views cut where the tile changes.

A table of segments says on which tile addresses live: `breaks[k]` up to `breaks[k + 1]` are on
`tiles[k]`, -1 for none.  `buckets` finds a segment without a long search: the breaks before
bucket `b`, which holds `1 << shift` addresses, are the first `buckets[b]`.

A piece is a stretch of the flattened view on one tile.  Both kernels that cut write each piece's
tile and end, if there is room, and always add up pieces and elements by tile: `totals[2 * row]`
and `totals[2 * row + 1]`, where row 0 stands for no tile, row 1 for tile 0 and so on.
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
