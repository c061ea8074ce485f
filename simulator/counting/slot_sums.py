"""Compiled code that writes down what a compute set took, once its vertices were counted.

It has the arguments of a driver, and its rows are one record
(`poplite.simulator.counting.record_words`), so that the interpreter runs it as it runs everything
else.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numba.core import types

from poplite.simulator.codegen.launcher import ARGUMENTS, set_word, word
from poplite.simulator.counting.record_words import (
    ALONE,
    ALONE_COUNT,
    ALONE_TILES,
    BESIDE,
    BUSY,
    CYCLES,
    FAMILIES,
    LEAST,
    MOST,
    REPLICAS,
    SHARED,
    SHARED_COUNT,
    SHARED_TILES,
    STRIDE,
    TABLE,
    TILES,
    TOTAL_EXECUTIONS,
    TOTAL_SEGMENT,
    TOTAL_SLOWEST,
    TOTAL_WORDS,
    TOTALS,
    VERTICES,
    WORKERS,
)


def _add(place: Any, number: Any, value: Any) -> None:
    set_word(place, number, word(place, number) + value)


def _pack(record: Any, table: Any) -> None:
    """Add what vertices take that share the workers of their tile, each to the one free first."""
    busy, cycles, workers = record[BUSY], record[CYCLES], record[WORKERS]
    for place in range(record[TILES] * workers):
        set_word(busy, place, 0)
    for k in range(record[SHARED_COUNT]):
        begin = word(record[SHARED_TILES], k) * workers
        free, least = begin, word(busy, begin)
        for place in range(begin + 1, begin + workers):
            if word(busy, place) < least:
                free, least = place, word(busy, place)
        set_word(busy, free, least + word(table, word(record[SHARED], k)))
    for tile in range(record[TILES]):
        slowest = 0
        for place in range(tile * workers, (tile + 1) * workers):
            slowest = max(slowest, word(busy, place))
        _add(cycles, tile, slowest * workers)


def sum_slots(
    arena: Any, record: Any, low: Any, high: Any, first: Any, last: Any, faults: Any
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
        for tile in range(tiles):
            set_word(cycles, tile, 0)
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
    for vertex in range(record[VERTICES]):
        family = word(record[FAMILIES], vertex)
        _add(totals, TOTAL_WORDS + tiles + family, word(record[TABLE], vertex))


def sum_slots_source() -> tuple[Callable[..., Any], Sequence[Any], Any]:
    """Return what `poplite.jit.build` compiles for `sum_slots`."""
    return sum_slots, ARGUMENTS, types.none
