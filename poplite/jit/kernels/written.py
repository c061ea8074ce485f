"""The memory of strict checks: which elements are written, and what further runs make of them.

Elements are listed field by field in one table, for the memory of every replica; `places` says
where their bytes begin.  Values are the bits of an element of any size, so that all of them fit in
int64.  For each byte a shadow says whether it is written: 1 or 0.

These arguments mean the same in all kernels: `memory` or `shadow` of all replicas, `stride` bytes
from one replica to the next; `fields`, FIELD_WORDS of each of `count` fields; `places` of each of
`total` elements.  Arrays about elements are [replicas, elements], int64 or, as flags, uint8.
"""

from __future__ import annotations

from poplite.jit.kernels import Bytes, Int32s, Int64s

FIELD_END, FIELD_SIZE, FIELD_READS, FIELD_WRITES, FIELD_HOLES, FIELD_PASSES, FIELD_WORDS = range(7)
"""Words of each field: elements up to its last; bytes of one; whether vertices read and write it;
how many of its elements nothing has written, in all replicas; whether vertices may copy to it
what is elsewhere."""

FILL_WORDS = 6
"""Words of each way of filling an element: two values for the first further run, two for the
second, and two for Outputs."""

VARIANTS = 16
"""The first ways of each field: an element is filled in one of them, two elements mostly in
different ones."""

SPREAD, SPREAD_SHIFT, SPREAD_NUMBERS = 2654435769, 28, (1 << 31) - 1
"""Which variant: a few bits of the product of the golden ratio and the number of an element."""

HOLE, WRITTEN, DEPENDENT = range(3)
"""What the runs make of an element: it holds what nothing has written, as before or by a copy;
its value is the same in all runs; or it depends on what nothing has written."""

INCOMPLETE, LOSSY, GAINED = 1, 2, 4
"""Results of moving or marking: not all of it is written; something written no longer is.  Of
moving also: something is written that was not."""

MOVED = -1
"""What is known of bytes is copied from the bytes that are read."""

RECORD_WORDS = 6
"""Words of each copy record of `poplite.executable.moves`."""

PIECE_MASK = (1 << 32) - 1
"""Pieces are uint32."""


def find_holes(
    shadow: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, holes: Bytes,
) -> int:  # fmt: skip
    """Find the elements that nothing has written: write `holes`, and their number to each field.

    Returned is how many further runs find out what needs them: two where one may be read, one where
    none is read, and none where there are none.
    """
    found = read = 0
    for field in range(count):
        fields[field * FIELD_WORDS + FIELD_HOLES] = 0
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size, lacking = fields[row + FIELD_SIZE], 0
            while i < fields[row + FIELD_END]:
                at = replica * stride + places[i]
                written = 0
                for byte in range(size):
                    written += shadow[at + byte]
                hole = 1 if written < size else 0
                holes[replica * total + i] = hole
                lacking += hole
                i += 1
            fields[row + FIELD_HOLES] += lacking
            found += lacking
            read += lacking * fields[row + FIELD_READS]
    if read > 0:
        return 2
    return 1 if found > 0 else 0


def is_taken(fields: Int64s, row: int, only_results: int) -> int:
    """Return 1 for a field that vertices write, or, unless `only_results`, one that has holes."""
    has_holes = fields[row + FIELD_HOLES] * (1 - only_results)
    return 1 if fields[row + FIELD_WRITES] + has_holes > 0 else 0


def take(
    memory: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, only_results: int, values: Int64s,
) -> int:  # fmt: skip
    """Read into `values` the elements that `is_taken` selects."""
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size = fields[row + FIELD_SIZE]
            end = fields[row + FIELD_END]
            if is_taken(fields, row, only_results) > 0:
                for k in range(i, end):
                    at = replica * stride + places[k]
                    value = 0
                    for byte in range(size):
                        value |= memory[at + byte] << (8 * byte)
                    values[replica * total + k] = value
            i = end
    return total


def store(memory: Bytes, at: int, size: int, value: int) -> int:
    """Write one element, and return its size."""
    for byte in range(size):
        memory[at + byte] = (value >> (8 * byte)) & 255
    return size


def put(
    memory: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, only_results: int, values: Int64s,
) -> int:  # fmt: skip
    """Write from `values` the elements that `is_taken` selects."""
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size = fields[row + FIELD_SIZE]
            end = fields[row + FIELD_END]
            if is_taken(fields, row, only_results) > 0:
                for k in range(i, end):
                    store(memory, replica * stride + places[k], size, values[replica * total + k])
            i = end
    return total


def other_than(fills: Int64s, pair: int, value: int) -> int:
    """Return the value of a pair that an element does not hold."""
    return fills[pair + 1] if fills[pair] == value else fills[pair]


def variant_of(place: int, size: int) -> int:
    """Return in which variant an element is filled, from its first byte and its size."""
    return ((place // size & SPREAD_NUMBERS) * SPREAD >> SPREAD_SHIFT) % VARIANTS


def put_other(
    memory: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, fills: Int64s, ways: int, old: Int64s, fill: int, chosen: Bytes,
) -> int:  # fmt: skip
    """Write other values in the elements that are `chosen`, and return how many they are.

    `fills` are FILL_WORDS of each of the `ways` of each field; `old` is what the elements hold;
    `fill` says which of the three pairs is used.
    """
    done = 0
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size = fields[row + FIELD_SIZE]
            while i < fields[row + FIELD_END]:
                here = replica * total + i
                if chosen[here] > 0:
                    way = field * ways + variant_of(places[i], size)
                    pair = way * FILL_WORDS + 2 * fill
                    value = other_than(fills, pair, old[here])
                    store(memory, replica * stride + places[i], size, value)
                    done += 1
                i += 1
    return done


def is_among(value: int, values: Int64s, count: int) -> int:
    """Return 1 where a value is among some, which rise, else 0."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return 1 if low < count and values[low] == value else 0


def gather_held(holes: Bytes, old: Int64s, count: int, held: Int64s) -> int:
    """List what holes hold, equal neighbours once, and return how many values these are.

    `count` is how many elements there are in all replicas; `held` has room for all of them.
    """
    done = 0
    for i in range(count):
        if holes[i] > 0 and (done == 0 or held[done - 1] != old[i]):
            held[done] = old[i]
            done += 1
    return done


def judge(
    replicas: int, fields: Int64s, count: int, total: int, places: Int64s, fills: Int64s,
    ways: int, holes: Bytes, found: Bytes, old: Int64s, result: Int64s, first: Int64s,
    second: Int64s, held: Int64s, num_held: int, runs: int,
) -> int:  # fmt: skip
    """Judge results by runs with other values in the holes; return how many are DEPENDENT.

    A hole is kept where it holds in each run what it was filled with, in its own variant; what
    another hole was filled with was passed on, where the field's vertices do that at all.

    Its own arguments:
        fills: FILL_WORDS of each way of each field.
        ways: in how many ways each field is filled, or an element that was copied to it.
        holes: which elements nothing had written before.
        found: written: HOLE, WRITTEN or DEPENDENT.
        old: what elements held before.
        result: what they hold after the real run, for fields that vertices write.
        first: what they hold after the first further run.
        second: after the second one.
        held: what holes held before, rising.
        num_held: how many of these.
        runs: how many further runs there were: 1 where no hole is read.
    """
    wrong = 0
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            end = fields[row + FIELD_END]
            if fields[row + FIELD_WRITES] > 0:
                for k in range(i, end):
                    here = replica * total + k
                    value = result[here]
                    found[here] = WRITTEN
                    if first[here] == value and (runs == 1 or second[here] == value):
                        continue
                    found[here] = HOLE
                    own = variant_of(places[k], fields[row + FIELD_SIZE])
                    is_other = is_own = False
                    for way in range(ways):
                        pair = (field * ways + way) * FILL_WORDS
                        if first[here] == other_than(fills, pair, value) and (
                            runs == 1 or second[here] == other_than(fills, pair + 2, value)
                        ):
                            is_other = True
                            if way % VARIANTS == own:
                                is_own = True
                    if is_own and holes[here] > 0 and old[here] == value:
                        continue
                    is_passed = is_other and runs > 1 and fields[row + FIELD_PASSES] > 0
                    if is_passed and is_among(value, held, num_held) > 0:
                        continue
                    found[here] = DEPENDENT
                    wrong += 1
            i = end
    return wrong


def mark(
    shadow: Bytes, stride: int, replicas: int, fields: Int64s, count: int, places: Int64s,
    total: int, holes: Bytes, found: Bytes,
) -> int:  # fmt: skip
    """Record in the shadow which results are written.

    `holes` are those of before, `found` is WRITTEN or HOLE for each result.  Returned is INCOMPLETE
    when an element that vertices touch is not written now, with LOSSY when one of them was written
    before.
    """
    flags = 0
    for replica in range(replicas):
        i = 0
        for field in range(count):
            row = field * FIELD_WORDS
            size = fields[row + FIELD_SIZE]
            end = fields[row + FIELD_END]
            if fields[row + FIELD_WRITES] > 0:
                for k in range(i, end):
                    here = replica * total + k
                    written = 1 if found[here] == WRITTEN else 0
                    if written == 0:
                        flags |= INCOMPLETE if holes[here] > 0 else INCOMPLETE | LOSSY
                    for byte in range(size):
                        shadow[replica * stride + places[k] + byte] = written
            elif fields[row + FIELD_HOLES] > 0:
                flags |= INCOMPLETE
            i = end
    return flags


def carry(
    records: Int64s, count: int, pieces: Int32s, known: int, there: Bytes, here: Bytes
) -> int:
    """Move what is known of bytes, as copies move the bytes.

    `pieces` are three numbers of each listed piece.  `known` is MOVED, or 1 or 0 to record for all
    written bytes.  `there` is the shadow of the replica that is written, `here` of the one that is
    read.  Returned is INCOMPLETE when something that moved is not written, with LOSSY when it
    overwrote something that was, and GAINED when something written overwrote what was not.
    """
    lacking = lost = gained = 0
    for record in range(count):
        row = record * RECORD_WORDS
        to, start, rows = records[row], records[row + 1], records[row + 2]
        size, far, near = records[row + 3], records[row + 4], records[row + 5]
        for block in range(rows):
            if size > 0:
                target, source, length = to + block * far, start + block * near, size
            else:
                piece = 3 * (far + block)
                target = to + (pieces[piece] & PIECE_MASK)
                source = start + (pieces[piece + 1] & PIECE_MASK)
                length = pieces[piece + 2] & PIECE_MASK
            for byte in range(length):
                written = here[source + byte] if known == MOVED else known
                lacking |= written ^ 1
                lost |= there[target + byte] & (written ^ 1)
                gained |= (there[target + byte] ^ 1) & written
                there[target + byte] = written
    return lacking * INCOMPLETE + lost * LOSSY + gained * GAINED
