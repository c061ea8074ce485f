"""Vertices of a tile on its workers: each goes to the worker that is free first."""

from __future__ import annotations

from poplite.jit.kernels import Int32s, Int64s


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
