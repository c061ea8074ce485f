"""Rows of numbers that occur more than once: each is numbered by its first occurrence."""

from __future__ import annotations

from poplite.jit.kernels import Int32s, Int64s


def alike(columns: Int64s, words: int, count: int, row: int, other: int) -> int:
    """Return 1 where two rows hold the same numbers, else 0."""
    for word in range(words):
        if columns[word * count + row] != columns[word * count + other]:
            return 0
    return 1


def distinct(
    columns: Int64s, words: int, count: int, table: Int32s, mask: int, first: Int64s, index: Int64s
) -> int:
    """Number the different rows, in the order in which they first occur, and return how many.

    `columns` are [words, count], at least one word.  `table`, a hash table, has mask + 1 places, a
    power of two and more than there are rows, all -1.  Written are the `first` row of each number,
    and the number of each row, `index`.
    """
    found = 0
    for row in range(count):
        if row > 0 and alike(columns, words, count, row, row - 1):
            index[row] = index[row - 1]
            continue
        mixed = 0
        for word in range(words):
            number = columns[word * count + row]
            # Products stay below 2**63, so that Python and machine agree.
            folded = (number ^ (number >> 32) * 0x9E3779B1) & 0xFFFFFFFF
            mixed = (mixed & 0xFFFFFFFF ^ folded) * 0x5BD1E995
            mixed ^= mixed >> 29
        place = mixed & mask
        while table[place] >= 0 and not alike(columns, words, count, row, first[table[place]]):
            place = place + 1 & mask
        if table[place] < 0:
            table[place] = found
            first[found] = row
            found += 1
        index[row] = table[place]
    return found
