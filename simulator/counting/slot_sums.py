"""Compiled code that adds up what a compute set took, once its vertices were counted.

It has the arguments of a driver, and one record (`poplite.simulator.counting.record_words`) as its
rows, so that the interpreter runs it like any driver.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int64s
from poplite.simulator.codegen.launcher import set_word, word
from poplite.simulator.counting import record_words as at


def _add(place: int, number: int, value: int) -> None:
    set_word(place, number, word(place, number) + value)


def _pack(record: Int64s, table: int) -> None:
    """Set the cycles of vertices that share workers; each runs on the worker free first."""
    busy, workers, vertices = record[at.BUSY], record[at.WORKERS], record[at.SHARED]
    begin = 0
    for tile in range(record[at.TILES]):
        end, slowest = word(record[at.SHARED_ENDS], tile), 0
        if end - begin <= workers:  # the usual case: each vertex has a worker
            for k in range(begin, end):
                slowest = max(slowest, word(table, word(vertices, k)))
        else:
            for worker in range(workers):
                set_word(busy, worker, 0)
            for k in range(begin, end):
                free, least = 0, word(busy, 0)
                for worker in range(1, workers):
                    if word(busy, worker) < least:
                        free, least = worker, word(busy, worker)
                taken = least + word(table, word(vertices, k))
                set_word(busy, free, taken)
                slowest = max(slowest, taken)
        set_word(record[at.CYCLES], tile, slowest * workers)
        begin = end


def sum_slots(
    arena: Bytes, record: Int64s, low: int, high: int, first: int, last: int, faults: Int64s
) -> None:
    """Add what one execution took to the totals of a record; arguments are those of a driver."""
    cycles, most = record[at.CYCLES], record[at.MOST]
    totals, tiles = record[at.TOTALS], record[at.TILES]
    for tile in range(tiles):
        set_word(most, tile, 0)
    for replica in range(record[at.REPLICAS]):
        table = record[at.TABLE] + 8 * replica * record[at.STRIDE]
        _pack(record, table)
        for k in range(record[at.ALONE_COUNT]):
            _add(cycles, word(record[at.ALONE_TILES], k), word(table, word(record[at.ALONE], k)))
        for tile in range(tiles):
            set_word(most, tile, max(word(most, tile), word(cycles, tile)))
    slowest, segment = 0, record[at.LEAST]
    for tile in range(tiles):
        taken = word(most, tile)
        slowest = max(slowest, taken)
        segment = max(segment, taken + word(record[at.BESIDE], tile))
        _add(totals, at.TOTAL_WORDS + tile, taken)
    _add(totals, at.TOTAL_EXECUTIONS, 1)
    _add(totals, at.TOTAL_SLOWEST, slowest)
    _add(totals, at.TOTAL_SEGMENT, segment)
    slots = at.TOTAL_WORDS + tiles
    cut = slots + record[at.FAMILIES]
    for replica in range(record[at.REPLICAS]):
        table, begin = record[at.TABLE] + 8 * replica * record[at.STRIDE], 0
        for run in range(record[at.RUNS]):
            end, taken, longest = word(record[at.RUN_ENDS], run), 0, 0
            for vertex in range(begin, end):
                taken += word(table, vertex)
                longest = max(longest, word(table, vertex))
            family = word(record[at.RUN_FAMILIES], run)
            if replica == 0:
                _add(totals, slots + family, taken)
            if longest >= word(record[at.RUN_LIMITS], run):
                _add(totals, cut + family, 1)
            begin = end
