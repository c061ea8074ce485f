"""The kernels of `poplite.jit.kernels_written` in NumPy: same names, arguments and results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from poplite.jit import kernels_written as kernels
from poplite.simulator.run.touched import ranges

Array = npt.NDArray[Any]


def _parts(
    memory: Array, stride: int, replicas: int, fields: Array, count: int, places: Array
) -> Iterator[tuple[int, Array, slice, Array, Array]]:
    """Yield each field: its number, its row, its elements, those of all memory, their positions.

    The last is int64[replicas, elements].
    """
    begin = 0
    for number, row in enumerate(fields[:count]):
        size, part = int(row[kernels.FIELD_SIZE]), slice(begin, int(row[kernels.FIELD_END]))
        elements = memory[: len(memory) // size * size].view(f"u{size}")
        at = (places[part] + np.arange(replicas)[:, np.newaxis] * stride) // size
        yield number, row, part, elements, at
        begin = part.stop


def _is_taken(row: Array, only_results: int) -> bool:
    has_holes = not only_results and row[kernels.FIELD_HOLES]
    return bool(row[kernels.FIELD_WRITES] or has_holes)


def find_holes(
    shadow: Array, stride: int, replicas: int, fields: Array, count: int, places: Array,
    total: int, holes: Array,
) -> int:  # fmt: skip
    """Find the elements that nothing has written."""
    for _, row, part, elements, at in _parts(shadow, stride, replicas, fields, count, places):
        holes[:, part] = elements[at] != _full(elements)
        row[kernels.FIELD_HOLES] = np.count_nonzero(holes[:, part])
    lacking = fields[:count, kernels.FIELD_HOLES] > 0
    is_read = (lacking & (fields[:count, kernels.FIELD_READS] > 0)).any()
    return 2 if is_read else int(lacking.any())


def move_values(
    memory: Array, stride: int, replicas: int, fields: Array, count: int, places: Array,
    total: int, only_results: int, values: Array, is_put: int,
) -> int:  # fmt: skip
    """Read elements, or write them."""
    for _, row, part, elements, at in _parts(memory, stride, replicas, fields, count, places):
        if _is_taken(row, only_results):
            if is_put:
                elements[at] = values[:, part]
            else:
                values[:, part] = elements[at]
    return total


def put_other(
    memory: Array, stride: int, replicas: int, fields: Array, count: int, places: Array,
    total: int, fills: Array, ways: int, is_put: int, old: Array, fill: int, chosen: Array,
) -> int:  # fmt: skip
    """Write other values in some elements, or count those that hold them."""
    done = 0
    for number, _, part, elements, at in _parts(memory, stride, replicas, fields, count, places):
        own, size = chosen[:, part], elements.itemsize
        others = _filled_with(fills[number], fill, places[part], size, old[:, part])
        if is_put:
            elements[at[own]] = others[own]
        done += int(np.count_nonzero(elements[at[own]] == others[own].astype(elements.dtype)))
    return done


def _filled_with(fills: Array, fill: int, places: Array, size: int, old: Array) -> Array:
    """Return what `put_other` writes where elements of a field hold `old`."""
    return _other_than(fills[_variant_of(places, size), fill].T, old)


def gather_held(holes: Array, old: Array, count: int, held: Array) -> int:
    """List what holes hold."""
    values = old[holes]
    if len(values):
        values = values[np.append(True, values[1:] != values[:-1])]
    held[: len(values)] = values
    return len(values)


def judge(
    replicas: int, fields: Array, count: int, total: int, places: Array, fills: Array,
    ways: int, holes: Array, found: Array, old: Array, result: Array, first: Array,
    second: Array, held: Array, num_held: int, runs: int,
) -> int:  # fmt: skip
    """Tell what runs with other values in the holes say about results."""
    begin, wrong = 0, 0
    others = (first, second)[:runs]
    for row, own in zip(fields[:count], fills, strict=True):
        part = slice(begin, int(row[kernels.FIELD_END]))
        begin = part.stop
        if not row[kernels.FIELD_WRITES]:
            continue
        value, runs_again = result[:, part], [each[:, part] for each in others]
        written = np.all([each == value for each in runs_again], axis=0)
        variant = _variant_of(places[part], int(row[kernels.FIELD_SIZE]))
        is_other, is_own = _hold_fills(value, runs_again, own, variant)
        is_passed = np.isin(value, held[:num_held]) & (runs > 1)
        is_passed &= bool(row[kernels.FIELD_PASSES])
        is_hole = holes[:, part] & (old[:, part] == value) & is_own
        found[:, part] = np.select(
            [written, is_hole, is_passed & is_other],
            [kernels.WRITTEN, kernels.HOLE, kernels.PASSED],
            kernels.DEPENDENT,
        )
        wrong += int(np.count_nonzero(found[:, part] == kernels.DEPENDENT))
    return wrong


def _variant_of(places: Array, size: int) -> Array:
    """Return the variant of values that elements are filled with."""
    spread = (places // size & kernels.SPREAD_NUMBERS) * kernels.SPREAD
    return np.asarray((spread >> kernels.SPREAD_SHIFT) % kernels.VARIANTS)


def _hold_fills(
    value: Array, runs_again: list[Array], ways: Array, variant: Array
) -> tuple[Array, Array]:
    """Return which results hold in each run what a hole was filled with, and which their own."""
    way = np.arange(len(ways)).reshape(-1, 1, 1)
    is_other = np.ones((len(ways), *value.shape), np.bool_)
    for run, each in enumerate(runs_again):
        pairs = ways[:, run, :, np.newaxis, np.newaxis].swapaxes(0, 1)
        is_other &= each == _other_than(pairs, value)
    is_own = is_other & (way % kernels.VARIANTS == variant)
    return np.asarray(is_other.any(axis=0)), np.asarray(is_own.any(axis=0))


def mark(
    shadow: Array, stride: int, replicas: int, fields: Array, count: int, places: Array,
    total: int, holes: Array, found: Array,
) -> int:  # fmt: skip
    """Note which results are written."""
    flags = 0
    for _, row, part, elements, at in _parts(shadow, stride, replicas, fields, count, places):
        if row[kernels.FIELD_WRITES]:
            written = found[:, part] == kernels.WRITTEN
            flags |= 0 if written.all() else kernels.INCOMPLETE
            flags |= kernels.LOSSY if (~written & ~holes[:, part]).any() else 0
            elements[at] = np.where(written, _full(elements), 0)
        elif row[kernels.FIELD_HOLES]:
            flags |= kernels.INCOMPLETE
    return flags


def carry(
    records: Array, count: int, pieces: Array, known: int, there: Array, here: Array,
    there_words: Array, here_words: Array,
) -> int:  # fmt: skip
    """Move which bytes are written."""
    flags = 0
    for to, start, rows, size, far, near in records[:count].tolist():
        if size:
            at = as_strided(there[to:], (rows, size), (far, 1))
            written = as_strided(here[start:], (rows, size), (near, 1))
            flags |= _note(at, written if known == kernels.MOVED else np.full_like(at, known))
            continue
        listed = pieces[far : far + rows].astype(np.int64)
        places = ranges(to + listed[:, 0], listed[:, 2])
        written = here[ranges(start + listed[:, 1], listed[:, 2])]
        at = there[places]
        flags |= _note(at, written if known == kernels.MOVED else np.full_like(at, known))
        there[places] = at
    return flags


def rows_are_written(
    memory: Array, shadow: Array, lookups: Array, count: int, reads: int, others: Array,
    num_others: int, size: int, rows: Array,
) -> int:  # fmt: skip
    """Return whether all is written that vertices read which move rows."""
    index = lookups[:count, kernels.LOOKUP_INDEX]
    if not shadow[ranges(index, np.full(count, 4))].all():
        return 0
    words = memory[ranges(index, np.full(count, 4))].view(np.uint32)
    row = words.astype(np.int64) - lookups[:count, kernels.LOOKUP_FIRST]
    there = np.flatnonzero((row >= 0) & (row < lookups[:count, kernels.LOOKUP_ROWS]))
    here, length = lookups[there], lookups[there, kernels.LOOKUP_BYTES]
    table = here[:, kernels.LOOKUP_TABLE] + row[there] * here[:, kernels.LOOKUP_STRIDE]
    read = [ranges(others[:num_others], np.full(num_others, size))]
    read += [ranges(here[:, kernels.LOOKUP_NEAR], length)] if reads & kernels.READS_NEAR else []
    read += [ranges(table, length)] if reads & kernels.READS_TABLE else []
    if not shadow[np.concatenate(read)].all():
        return 0
    written = there, table
    if not reads & kernels.READS_NEAR:
        written = np.arange(count), lookups[:count, kernels.LOOKUP_NEAR]
    rows[0] = len(written[0])
    rows[1 : 1 + 2 * rows[0]] = np.stack(written, axis=1).ravel()
    return 1


def mark_rows(shadow: Array, lookups: Array, rows: Array) -> int:
    """Note that listed rows are written."""
    lookup, at = rows[1 : 1 + 2 * rows[0]].reshape(-1, 2).T
    written = np.unique(ranges(at, lookups[lookup, kernels.LOOKUP_BYTES]))
    gained = len(written) - np.count_nonzero(shadow[written])
    shadow[written] = 1
    return int(gained)


def _note(there: Array, written: Array) -> int:
    """Write whether some bytes are written; return what the kernel says about that."""
    flags = 0 if written.all() else kernels.INCOMPLETE
    flags |= kernels.LOSSY if (there > written).any() else 0
    flags |= kernels.GAINED if (there < written).any() else 0
    there[...] = written
    return flags


def _full(elements: Array) -> Any:
    """Return the shadow of a written element of that size."""
    return np.ones(elements.itemsize, np.uint8).view(elements.dtype)[0]


def _other_than(pair: Array, values: Array) -> Array:
    return np.asarray(np.where(values == pair[0], pair[1], pair[0]))
