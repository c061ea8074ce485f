"""Vertices of a tile on its workers: each goes to the worker that is free first."""

from __future__ import annotations

from poplite.jit.kernels import Int32s, Int64s


def pack(tiles: Int32s, slots: Int64s, count: int, workers: int, busy: Int64s) -> int:
    """Give every vertex to the first worker of its tile that is free, and return how many.

    Args:
        tiles: the tile of each vertex.
        slots: worker slots of each.
        count: vertices, in the order in which they start.
        workers: of a tile.
        busy: tiles * workers, slots that each worker has been given; added to.
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
    """Add what the slowest worker of each tile takes, free all, and return the most of all tiles.

    Args:
        busy: tiles * workers, slots that each worker has been given; 0 afterwards.
        tiles: how many.
        workers: of a tile, which take turns: each of their slots is `workers` cycles.
        cycles: tile cycles of each tile; added to.
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
