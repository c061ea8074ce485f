"""Compiled code that writes down what a compute set took, once its vertices were counted.

It has the arguments of a driver, and its rows are one record
(`poplite.simulator.counting.record_words`), so that the interpreter runs it as it runs everything
else.

Importing this module imports llvmlite.
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int64s
from poplite.simulator.codegen.launcher import set_word, word
from poplite.simulator.counting.record_words import (
    ALONE,
    ALONE_COUNT,
    ALONE_TILES,
    BESIDE,
    BUSY,
    CYCLES,
    LEAST,
    MOST,
    REPLICAS,
    RUN_ENDS,
    RUN_FAMILIES,
    RUNS,
    SHARED,
    SHARED_ENDS,
    STRIDE,
    TABLE,
    TILES,
    TOTAL_EXECUTIONS,
    TOTAL_SEGMENT,
    TOTAL_SLOWEST,
    TOTAL_WORDS,
    TOTALS,
    WORKERS,
)


def _add(place: int, number: int, value: int) -> None:
    set_word(place, number, word(place, number) + value)


def _pack(record: Int64s, table: int) -> None:
    """Set what vertices take that share the workers of their tile, each on the one free first."""
    busy, workers, vertices = record[BUSY], record[WORKERS], record[SHARED]
    begin = 0
    for tile in range(record[TILES]):
        end, slowest = word(record[SHARED_ENDS], tile), 0
        if end - begin <= workers:  # as most tiles are: each vertex has a worker
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
        set_word(record[CYCLES], tile, slowest * workers)
        begin = end


def sum_slots(
    arena: Bytes, record: Int64s, low: int, high: int, first: int, last: int, faults: Int64s
) -> None:
    """Add what one execution took to the totals of a record.

    Args:
        arena: not used.
        record: see `poplite.simulator.counting.record_words`.
        low: not used, as are those behind it.
        high: -
        first: -
        last: -
        faults: -
    """
    cycles, most, totals, tiles = record[CYCLES], record[MOST], record[TOTALS], record[TILES]
    for tile in range(tiles):
        set_word(most, tile, 0)
    for replica in range(record[REPLICAS]):
        table = record[TABLE] + 8 * replica * record[STRIDE]
        _pack(record, table)
        for k in range(record[ALONE_COUNT]):
            _add(cycles, word(record[ALONE_TILES], k), word(table, word(record[ALONE], k)))
        for tile in range(tiles):
            set_word(most, tile, max(word(most, tile), word(cycles, tile)))
    slowest, segment = 0, record[LEAST]
    for tile in range(tiles):
        taken = word(most, tile)
        slowest = max(slowest, taken)
        segment = max(segment, taken + word(record[BESIDE], tile))
        _add(totals, TOTAL_WORDS + tile, taken)
    _add(totals, TOTAL_EXECUTIONS, 1)
    _add(totals, TOTAL_SLOWEST, slowest)
    _add(totals, TOTAL_SEGMENT, segment)
    begin = 0
    for run in range(record[RUNS]):
        end, taken = word(record[RUN_ENDS], run), 0
        for vertex in range(begin, end):
            taken += word(record[TABLE], vertex)
        _add(totals, TOTAL_WORDS + tiles + word(record[RUN_FAMILIES], run), taken)
        begin = end
