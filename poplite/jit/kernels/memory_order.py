"""The pass over memory that forms groups: contiguous ranges of memory on one tile.

Rows come in the order of memory.  A row is `count` runs of consecutive elements; from one run to
the next the address moves by `step` and the position in the tensor by `stride`::

    4 x 3, transposed      row 0: addresses 0 1 2 3 ... (step 1), positions 0 4 8 1 ... (stride 4)

Complete runs of a row before the next change of tile are written by one loop without a
test; in a row of consecutive addresses they are members of one group, otherwise each is a group.
"""

from __future__ import annotations

from poplite.jit.kernels import Int64s

MEMBERS, GROUPS, ADDRESS, POSITION, SEGMENT, TILE = range(6)
"""The words of `state`, kept from call to call; at address and position the last member ended."""


def form_groups(
    address: Int64s,
    position: Int64s,
    length: Int64s,
    rows: int,
    uniform: int,
    count: int,
    step: int,
    stride: int,
    breaks: Int64s,
    tiles: Int64s,
    tiled: int,
    sized: int,
    drop: int,
    begin: Int64s,
    size: Int64s,
    first: Int64s,
    start: Int64s,
    tile_of: Int64s,
    state: Int64s,
) -> int:
    """Append the members of rows, and the groups they form; return the number of groups so far.

    Args:
        address: first address of each row.
        position: its position in the tensor.
        length: elements of each row's only run, where `uniform` is 0.
        rows: how many rows.
        uniform: elements of every run.
        count: runs of each row; 1 where `uniform` is 0.
        step: from run to run, addresses; at least `uniform`.
        stride: from run to run, positions; not `uniform` where `step` is.
        breaks: rising addresses where the tile changes; enclose all rows.
        tiles: the tile between each two breaks.
        tiled: whether to write `tile_of`.
        sized: whether to write `size`; otherwise all members have `uniform` elements.
        drop: whether to leave out memory of earlier rows; where a row repeats some, `count` is 1.
        begin: positions of the members.
        size: elements of the members.
        first: first member of each group.
        start: address of each group.
        tile_of: tile of each group.
        state: six numbers, kept from call to call.
    """
    m, g, end, after = state[MEMBERS], state[GROUPS], state[ADDRESS], state[POSITION]
    k, tile = state[SEGMENT], state[TILE]
    for r in range(rows):
        a, p = address[r], position[r]
        run = uniform if uniform > 0 else length[r]
        if drop and a < end:
            seen = end - a
            if seen >= run:
                continue
            a, p, run = end, p + seen, run - seen
        rest, todo = run, count
        while todo > 0:
            while breaks[k + 1] <= a:
                k += 1
            room = breaks[k + 1] - a
            take = rest if rest < room else room
            if a != end or tiles[k] != tile:
                tile = tiles[k]
                first[g], start[g] = m, a
                if tiled:
                    tile_of[g] = tile
                g += 1
            elif p == after:
                # Memory and tensor continue together: the last member grows.
                m -= 1
                p -= size[m]
                a -= size[m]
                rest += size[m]
                take += size[m]
            begin[m] = p
            if sized:
                size[m] = take
            m += 1
            end, after = a + take, p + take
            if take < rest:
                a, p, rest = end, after, rest - take
                continue
            todo -= 1
            if todo == 0:
                break
            a, p, rest = end - run + step, after - run + stride, run
            room = breaks[k + 1] - a
            if room < run:
                continue
            fitting = (room - run) // step + 1
            fitting = fitting if fitting < todo else todo
            for i in range(fitting):
                begin[m + i] = p + i * stride
            if sized:
                for i in range(fitting):
                    size[m + i] = run
            if step != run:
                for i in range(fitting):
                    first[g + i] = m + i
                for i in range(fitting):
                    start[g + i] = a + i * step
                if tiled:
                    for i in range(fitting):
                        tile_of[g + i] = tile
                g += fitting
            m += fitting
            todo -= fitting
            a, p = a + fitting * step, p + fitting * stride
            end, after = a - step + run, p - stride + run
    state[MEMBERS], state[GROUPS], state[ADDRESS], state[POSITION] = m, g, end, after
    state[SEGMENT], state[TILE] = k, tile
    return g
